//! `/auth/v1`: GoTrue's API, so far as this server offers it. What it does not offer is refused in the protocol's own words.

mod about;
mod accounts;
mod body;
mod error;
mod extract;
mod tokens;

use axum::Router;
use axum::middleware::from_fn;
use axum::routing::{any, get, post};

use crate::app::App;
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
pub fn routes() -> Router<App> {
    let absent = |refusal: Refusal| any(async move || error::refuse(refusal));
    Router::new()
        .route("/signup", post(accounts::sign_up))
        .route("/token", post(tokens::grant))
        .route("/user", get(accounts::show).put(accounts::update))
        .route("/logout", post(tokens::sign_out))
        .route("/.well-known/jwks.json", get(jwks))
        .route("/settings", get(about::settings))
        .route("/health", get(about::health))
        .route("/recover", absent(NO_MAIL))
        .route("/resend", absent(NO_MAIL))
        .route("/reauthenticate", absent(NO_MAIL))
        .route("/magiclink", absent(NO_MAIL))
        .route("/otp", absent(NO_OTP))
        .route("/verify", absent(NO_SUCH_OTP))
        .route("/authorize", absent(NO_PROVIDER))
        .route("/sso", absent(NO_SAML))
        .route("/user/identities/authorize", absent(NO_LINKING))
        .route("/user/identities/{id}", absent(NO_LINKING))
        .route("/factors", absent(NO_MFA))
        .route("/factors/{id}", absent(NO_FACTOR))
        .route("/factors/{id}/challenge", absent(NO_FACTOR))
        .route("/factors/{id}/verify", absent(NO_FACTOR))
        .fallback(error::no_such_route)
        .method_not_allowed_fallback(error::method_not_allowed)
        .layer(from_fn(error::speak_the_protocol))
}
