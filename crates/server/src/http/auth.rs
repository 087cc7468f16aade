//! `/auth/v1`: GoTrue's API, so far as this server offers it. What it does not offer is refused in the protocol's own words.

mod about;
mod accounts;
mod body;
mod error;
mod extract;
mod tokens;

use axum::middleware::from_fn;

use super::route::Access::{Anyone, SignedIn};
use super::route::{Section, delete, get, post, put};
use crate::auth::refusal::Refusal;

pub use about::jwks;

/// The largest request body, in bytes: the protocol's.
const BODY_LIMIT: usize = 1024 * 1024;

const NO_MAIL: Refusal = Refusal::absent(400, "email_provider_disabled", "This server sends no e-mail");
const NO_OTP: Refusal = Refusal::absent(422, "otp_disabled", "Signups not allowed for otp");
const NO_SUCH_OTP: Refusal = Refusal::absent(403, "otp_expired", "Token has expired or is invalid");
const NO_PROVIDER: Refusal = Refusal::absent(400, "validation_failed", "Unsupported provider: provider is not enabled");
const NO_SAML: Refusal = Refusal::absent(404, "saml_provider_disabled", "SAML 2.0 is disabled");
const NO_LINKING: Refusal = Refusal::absent(404, "manual_linking_disabled", "Manual linking is disabled");
const NO_MFA: Refusal = Refusal::absent(422, "mfa_totp_enroll_not_enabled", "MFA enroll is disabled for TOTP");
const NO_FACTOR: Refusal = Refusal::absent(404, "mfa_factor_not_found", "Factor not found");

/// The routes below `/auth/v1`.
pub fn section() -> Section {
    let routes = [
        post("/signup", Anyone, accounts::sign_up),
        post("/token", Anyone, tokens::grant),
        get("/user", SignedIn, accounts::show),
        put("/user", SignedIn, accounts::update),
        post("/logout", SignedIn, tokens::sign_out),
        get("/.well-known/jwks.json", Anyone, jwks),
        get("/settings", Anyone, about::settings),
        get("/health", Anyone, about::health),
    ];
    let absent = [
        post("/recover", Anyone, NO_MAIL),
        post("/resend", Anyone, NO_MAIL),
        get("/reauthenticate", Anyone, NO_MAIL),
        post("/magiclink", Anyone, NO_MAIL),
        post("/otp", Anyone, NO_OTP),
        get("/verify", Anyone, NO_SUCH_OTP),
        post("/verify", Anyone, NO_SUCH_OTP),
        get("/authorize", Anyone, NO_PROVIDER),
        post("/sso", Anyone, NO_SAML),
        get("/user/identities/authorize", Anyone, NO_LINKING),
        delete("/user/identities/{id}", Anyone, NO_LINKING),
        post("/factors", Anyone, NO_MFA),
        delete("/factors/{id}", Anyone, NO_FACTOR),
        post("/factors/{id}/challenge", Anyone, NO_FACTOR),
        post("/factors/{id}/verify", Anyone, NO_FACTOR),
    ];
    Section::new("/auth/v1", routes.into_iter().chain(absent), |routes| {
        routes
            .fallback(error::no_such_route)
            .method_not_allowed_fallback(error::method_not_allowed)
            .layer(from_fn(error::speak_the_protocol))
    })
}
