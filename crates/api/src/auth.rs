//! `/auth/v1`: the subset of GoTrue's API that this server supports. Unsupported routes respond with GoTrue's own errors.

mod admin;
mod dto;
mod email_routes;
mod error;
mod extract;
mod metadata;
mod mfa;
mod tokens;
mod unsupported;
mod users;
mod verify;

use axum::middleware::from_fn;

use super::route::Access::{Anyone, FirstFactor, Owner, SignedIn};
use super::route::{Section, delete, get, patch, post, put};
use unsupported::{NO_OAUTH_SERVER, NO_PASSKEYS, NO_SAML};

pub use dto::UserBody;
pub use extract::Address;
pub use metadata::get_jwks;

/// Maximum size of a request body, in bytes, as in GoTrue.
const BODY_LIMIT: usize = 1024 * 1024;

/// Returns the routes below `/auth/v1`.
pub fn section() -> Section {
    let routes = [
        post("/signup", Anyone, users::sign_up),
        post("/token", Anyone, tokens::issue_token),
        get("/user", FirstFactor, users::get_user),
        put("/user", FirstFactor, users::update_user),
        post("/logout", FirstFactor, tokens::sign_out),
        post("/recover", Anyone, email_routes::send_recovery_email),
        post("/otp", Anyone, email_routes::send_sign_in_email),
        post("/magiclink", Anyone, email_routes::send_magic_link),
        post("/resend", Anyone, email_routes::resend_email),
        get("/reauthenticate", FirstFactor, email_routes::send_reauthentication_code),
        post("/verify", Anyone, verify::verify_token),
        get("/verify", Anyone, verify::follow_link),
        get("/.well-known/jwks.json", Anyone, get_jwks),
        post("/factors", SignedIn, mfa::enroll_factor),
        delete("/factors/{id}", Owner, mfa::unenroll_factor),
        post("/factors/{id}/challenge", Owner, mfa::create_challenge),
        post("/factors/{id}/verify", Owner, mfa::verify_factor),
        get("/settings", Anyone, metadata::get_settings),
        get("/health", Anyone, metadata::get_health),
    ];
    let unsupported = [
        get("/authorize", Anyone, unsupported::reject_authorize),
        post("/sso", Anyone, NO_SAML),
        get("/sso/saml/metadata", Anyone, NO_SAML),
        post("/sso/saml/acs", Anyone, NO_SAML),
        get("/user/identities/authorize", FirstFactor, unsupported::reject_linking),
        delete("/user/identities/{id}", FirstFactor, unsupported::reject_linking),
        get("/user/oauth/grants", FirstFactor, unsupported::reject_grants),
        delete("/user/oauth/grants", FirstFactor, unsupported::reject_grants),
        get("/factors/recovery-codes", FirstFactor, unsupported::reject_recovery_codes),
        post("/factors/recovery-codes", FirstFactor, unsupported::reject_recovery_codes),
        delete("/factors/recovery-codes", FirstFactor, unsupported::reject_recovery_codes),
        post("/factors/recovery-codes/regenerate", FirstFactor, unsupported::reject_recovery_codes),
        post("/factors/recovery-codes/verify", FirstFactor, unsupported::reject_recovery_code),
        post("/oauth/clients/register", Anyone, NO_OAUTH_SERVER),
        post("/oauth/token", Anyone, NO_OAUTH_SERVER),
        get("/oauth/userinfo", Anyone, NO_OAUTH_SERVER),
        get("/oauth/authorize", Anyone, NO_OAUTH_SERVER),
        get("/oauth/authorizations/{id}", Anyone, NO_OAUTH_SERVER),
        post("/oauth/authorizations/{id}/consent", Anyone, NO_OAUTH_SERVER),
        post("/passkeys/registration/options", Anyone, NO_PASSKEYS),
        post("/passkeys/registration/verify", Anyone, NO_PASSKEYS),
        post("/passkeys/authentication/options", Anyone, NO_PASSKEYS),
        post("/passkeys/authentication/verify", Anyone, NO_PASSKEYS),
        get("/passkeys", Anyone, NO_PASSKEYS),
        patch("/passkeys/{id}", Anyone, NO_PASSKEYS),
        delete("/passkeys/{id}", Anyone, NO_PASSKEYS),
    ];
    let routes = routes.into_iter().chain(admin::routes()).chain(unsupported);
    Section::new("/auth/v1", routes, |routes| {
        routes
            .fallback(error::no_such_route)
            .method_not_allowed_fallback(error::method_not_allowed)
            // Added last, because a layer wraps only the routes and fallbacks that were there before it.
            .layer(from_fn(error::write_error))
    })
}
