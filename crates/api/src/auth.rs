//! `/auth/v1`: GoTrue's API, so far as this server offers it. What it does not offer is refused in the protocol's own words.

mod about;
mod absent;
mod admin;
mod body;
mod error;
mod extract;
mod factors;
mod letters;
mod tokens;
mod users;
mod verify;

use axum::middleware::from_fn;

use super::route::Access::{Anyone, FirstFactor, Owner, SignedIn};
use super::route::{Section, delete, get, patch, post, put};
use absent::{NO_OAUTH_SERVER, NO_PASSKEYS, NO_SAML};

pub use about::jwks;
pub use body::UserBody;
pub use extract::Address;

/// The largest request body, in bytes: the protocol's.
const BODY_LIMIT: usize = 1024 * 1024;

/// The routes below `/auth/v1`.
pub fn section() -> Section {
    let routes = [
        post("/signup", Anyone, users::sign_up),
        post("/token", Anyone, tokens::grant),
        get("/user", FirstFactor, users::show),
        put("/user", FirstFactor, users::update),
        post("/logout", FirstFactor, tokens::sign_out),
        post("/recover", Anyone, letters::recover),
        post("/otp", Anyone, letters::otp),
        post("/magiclink", Anyone, letters::magic_link),
        post("/resend", Anyone, letters::resend),
        get("/reauthenticate", FirstFactor, letters::reauthenticate),
        post("/verify", Anyone, verify::show),
        get("/verify", Anyone, verify::follow),
        get("/.well-known/jwks.json", Anyone, jwks),
        post("/factors", SignedIn, factors::enroll),
        delete("/factors/{id}", Owner, factors::unenroll),
        post("/factors/{id}/challenge", Owner, factors::challenge),
        post("/factors/{id}/verify", Owner, factors::verify),
        get("/settings", Anyone, about::settings),
        get("/health", Anyone, about::health),
    ];
    let absent = [
        get("/authorize", Anyone, absent::authorize),
        post("/sso", Anyone, NO_SAML),
        get("/sso/saml/metadata", Anyone, NO_SAML),
        post("/sso/saml/acs", Anyone, NO_SAML),
        get("/user/identities/authorize", FirstFactor, absent::link),
        delete("/user/identities/{id}", FirstFactor, absent::link),
        get("/user/oauth/grants", FirstFactor, absent::grants),
        delete("/user/oauth/grants", FirstFactor, absent::grants),
        get("/factors/recovery-codes", FirstFactor, absent::recovery_codes),
        post("/factors/recovery-codes", FirstFactor, absent::recovery_codes),
        delete("/factors/recovery-codes", FirstFactor, absent::recovery_codes),
        post("/factors/recovery-codes/regenerate", FirstFactor, absent::recovery_codes),
        post("/factors/recovery-codes/verify", FirstFactor, absent::recovery_code),
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
    let routes = routes.into_iter().chain(admin::routes()).chain(absent);
    Section::new("/auth/v1", routes, |routes| {
        routes
            .fallback(error::no_such_route)
            .method_not_allowed_fallback(error::method_not_allowed)
            .layer(from_fn(error::speak_the_protocol))
    })
}
