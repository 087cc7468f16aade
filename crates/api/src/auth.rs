//! `/auth/v1`: the subset of GoTrue's API that this server supports. Unsupported routes respond with GoTrue's own errors.

mod admin;
mod dto;
mod email_routes;
mod error;
mod extract;
mod identities;
mod metadata;
mod mfa;
mod oidc;
mod passkeys;
mod recovery_codes;
mod redirects;
mod tokens;
mod unsupported;
mod users;
mod verify;

use axum::middleware::from_fn;
use http_server::route::Access::{Anyone, FirstFactor, Owner, SignedIn};
use http_server::route::Section;
use http_server::routes;

use crate::AppState;

pub use dto::UserBody;
pub use metadata::get_jwks;

/// Maximum size of a request body, in bytes, as in GoTrue.
const BODY_LIMIT: usize = 1024 * 1024;

/// Returns the routes below `/auth/v1`.
pub fn section() -> Section<AppState> {
    let mut routes = routes! {
        /// Creates an account, or an anonymous one without email address and phone number.
        post("/signup", Anyone, users::sign_up),
        /// Issues tokens for a password, a refresh token or the code of a link. The body depends on the grant type.
        post("/token", Anyone, tokens::issue_token),
        /// Returns the caller's account.
        get("/user", FirstFactor, users::get_user),
        /// Changes the caller's account.
        put("/user", FirstFactor, users::update_user),
        /// Ends sessions of the caller.
        post("/logout", FirstFactor, tokens::sign_out),
        /// Sends a link to choose a new password. The response does not disclose whether the address has an account.
        post("/recover", Anyone, email_routes::send_recovery_email),
        /// Sends a link and a code to sign in. The response does not disclose whether the address has an account.
        post("/otp", Anyone, email_routes::send_sign_in_email),
        /// Sends a link and a code to sign in, for older clients.
        post("/magiclink", Anyone, email_routes::send_magic_link),
        /// Sends the pending email of an account again.
        post("/resend", Anyone, email_routes::resend_email),
        /// Sends the caller a code that permits a new password.
        get("/reauthenticate", FirstFactor, email_routes::send_reauthentication_code),
        /// Verifies an emailed code or the token of an emailed link, and begins a session.
        post("/verify", Anyone, verify::verify_token),
        /// Verifies an emailed link and redirects to its target, with a session or an error.
        get("/verify", Anyone, verify::follow_link),
        /// Begins to link the caller's account at the identity provider, and redirects to it or returns its page.
        get("/user/identities/authorize", FirstFactor, identities::begin_link),
        /// Unlinks an account at the identity provider, unless the caller could not sign in without it.
        delete("/user/identities/{id}", FirstFactor, identities::unlink),
        /// Begins a sign-in at the identity provider and redirects to it.
        get("/authorize", Anyone, oidc::authorize),
        /// Completes a sign-in when the identity provider redirects the browser back, and redirects to the target of
        /// the sign-in, with a code, a session or an error.
        get("/callback", Anyone, oidc::complete_sign_in),
        /// Returns the page of the identity provider at which the caller signs out there, too, after signing out here.
        post("/oidc/logout", FirstFactor, oidc::get_logout_page),
        /// Ends the sessions of a user who has signed out at the identity provider, which sends the request.
        post("/oidc/backchannel-logout", Anyone, oidc::end_sessions),
        /// Returns the public keys that verify access tokens. They may be cached for ten minutes.
        get("/.well-known/jwks.json", Anyone, get_jwks),
        /// Enrolls an authenticator app as a second factor.
        post("/factors", SignedIn, mfa::enroll_factor),
        /// Deletes a second factor of the caller.
        delete("/factors/{id}", Owner, mfa::unenroll_factor),
        /// Creates a challenge for a second factor of the caller.
        post("/factors/{id}/challenge", Owner, mfa::create_challenge),
        /// Counts the caller's recovery codes.
        get("/factors/recovery-codes", FirstFactor, recovery_codes::get_status),
        /// Issues the first recovery codes of the caller, each of which replaces the code of an authenticator once.
        post("/factors/recovery-codes", SignedIn, recovery_codes::generate),
        /// Deletes the caller's recovery codes.
        delete("/factors/recovery-codes", SignedIn, recovery_codes::remove),
        /// Replaces the caller's recovery codes.
        post("/factors/recovery-codes/regenerate", SignedIn, recovery_codes::renew),
        /// Uses up a recovery code, and raises the session to `aal2`.
        post("/factors/recovery-codes/verify", FirstFactor, recovery_codes::verify),
        /// Verifies the code for a challenge. The factor takes effect, and the session is raised to `aal2`.
        post("/factors/{id}/verify", Owner, mfa::verify_factor),
        /// Begins the registration of a passkey of the caller.
        post("/passkeys/registration/options", SignedIn, passkeys::begin_registration),
        /// Completes the registration of a passkey with the response of the authenticator.
        post("/passkeys/registration/verify", SignedIn, passkeys::finish_registration),
        /// Begins a sign-in with a passkey. The browser offers those that it has for this site.
        post("/passkeys/authentication/options", Anyone, passkeys::begin_sign_in),
        /// Completes a sign-in with the response of the authenticator, and begins a session.
        post("/passkeys/authentication/verify", Anyone, passkeys::finish_sign_in),
        /// Lists the caller's passkeys, oldest first.
        get("/passkeys", SignedIn, passkeys::list_passkeys),
        /// Renames a passkey of the caller.
        patch("/passkeys/{id}", Owner, passkeys::rename_passkey),
        /// Deletes a passkey of the caller.
        delete("/passkeys/{id}", Owner, passkeys::delete_passkey),
        /// Returns which ways to sign in exist.
        get("/settings", Anyone, metadata::get_settings),
        /// Returns name and version of the server.
        get("/health", Anyone, metadata::get_health),
    };
    routes.extend(admin::routes());
    routes.extend(unsupported::routes());
    Section::new("/auth/v1", routes, |routes| {
        routes
            .fallback(error::no_such_route)
            .method_not_allowed_fallback(error::method_not_allowed)
            // Added last, because a layer wraps only the routes and fallbacks that were there before it.
            .layer(from_fn(error::write_error))
    })
}
