//! `/admin/api` of the operator's listener: what the operator's page shows and changes.

mod audit_log;
mod quotas;
mod registration_tokens;
mod shared_servers;
pub mod system;
mod usage;
mod users;

use accounts::AuthError;
use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::middleware::map_response;
use axum::response::Response;
use domain::UserId;
use http_server::error::{self, ApiError};
use http_server::route::Access::Admin;
use http_server::route::{Section, delete, get, post, put};
use storage::Storage;
use storage::users::User;

use crate::AppState;

/// Returns the routes below `/admin/api`. They are not part of the product's API, and so of no OpenAPI document.
pub(crate) fn section() -> Section<AppState> {
    let routes = [
        // Users.
        get("/users", Admin, users::list_users),
        post("/users/invitations", Admin, users::invite_user),
        get("/users/{id}", Admin, users::get_user),
        post("/users/{id}/lock", Admin, users::lock_user),
        post("/users/{id}/unlock", Admin, users::unlock_user),
        post("/users/{id}/sign-out", Admin, users::sign_out_user),
        delete("/users/{id}/factors/{factor}", Admin, users::delete_factor),
        delete("/users/{id}/passkeys/{passkey}", Admin, users::delete_passkey),
        post("/users/{id}/delete", Admin, users::delete_user),
        get("/users/{id}/quotas", Admin, quotas::list_quotas),
        put("/users/{id}/quotas", Admin, quotas::set_quotas),
        // Registration tokens.
        get("/registration-tokens", Admin, registration_tokens::list_tokens),
        post("/registration-tokens", Admin, registration_tokens::create_token),
        delete("/registration-tokens/{id}", Admin, registration_tokens::revoke_token),
        // Usage and audit log.
        get("/usage", Admin, usage::get_usage),
        get("/audit-events", Admin, audit_log::list_events),
        // Shared servers.
        get("/shared-servers", Admin, shared_servers::list_servers),
        post("/shared-servers", Admin, shared_servers::offer_server),
        delete("/shared-servers/{id}", Admin, shared_servers::withdraw_server),
        // The server.
        get("/server", Admin, system::get_server),
        get("/diagnostics", Admin, system::get_diagnostics),
        post("/test-email", Admin, system::send_test_email),
        get("/backups", Admin, system::list_backups),
        post("/backups", Admin, system::make_backup),
    ];
    Section::new("/admin/api", routes, |routes| {
        routes
            .fallback(error::no_such_route)
            .method_not_allowed_fallback(error::method_not_allowed)
            .layer(map_response(forbid_storing))
    })
}

/// Keeps caches from storing a response.
async fn forbid_storing(mut response: Response) -> Response {
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The account that the first path parameter names.
struct NamedUser(User);

impl<S> FromRequestParts<S> for NamedUser
where
    Storage: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        // As a list of pairs, since some of the routes have a second parameter.
        let ids = axum::extract::Path::<Vec<(String, String)>>::from_request_parts(parts, state).await;
        let id = ids.ok().and_then(|ids| ids.first()?.1.parse::<UserId>().ok()).ok_or(NO_ACCOUNT)?;
        Ok(Self(Storage::from_ref(state).users().get(id).await?.ok_or(NO_ACCOUNT)?))
    }
}

const NO_ACCOUNT: ApiError = ApiError::NotFound("account");

/// Maps an error of the account service to this API's shape. The operator may know why an email was not sent.
fn account_error(error: AuthError) -> ApiError {
    let (code, message) = (error.code(), error.to_string());
    match error {
        AuthError::Internal(error) => error.into(),
        AuthError::EmailNotSent { source, .. } => {
            ApiError::Upstream { code: "email_not_sent", message: source.to_string() }
        }
        AuthError::RateLimited { retry_after } | AuthError::EmailRateLimited { retry_after } => {
            ApiError::TooManyTries { retry_after }
        }
        _ => ApiError::Unprocessable { code, message },
    }
}

/// Returns the id of the account with an id or an email address.
///
/// # Errors
///
/// No account has the address. Ids are not looked up: the audit log has those of deleted accounts.
async fn find_user(storage: &Storage, user: &str) -> Result<UserId, ApiError> {
    let user = user.trim();
    if let Ok(id) = user.parse() {
        return Ok(id);
    }
    let account = storage.users().get_by_email(&user.to_lowercase()).await?;
    let missing =
        || ApiError::Unprocessable { code: "no_account", message: "no account has this address or id".into() };
    Ok(account.ok_or_else(missing)?.id)
}
