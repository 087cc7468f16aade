//! `/api/google-drive`: linking and unlinking the user's Google Drive.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{AppendHeaders, NoContent, Redirect};
use builtin_servers::BuiltinServers;
use builtin_servers::google_drive::{DriveError, LINK_LIFETIME_SECONDS, LinkError};
use http_server::error::ApiError;
use http_server::extract::Query;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::browser_cookie::BrowserCookie;
use crate::signed_in::SignedIn;
use crate::state::SiteUrl;

/// Cookie that binds the authorisation to the browser that began it.
const LINK_COOKIE: BrowserCookie = BrowserCookie { name: "google-drive-link", path: "/api/google-drive" };

/// State of Google Drive.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DriveStatus {
    /// Whether the server has a Google client, so that Drives can be linked.
    configured: bool,
    /// Whether the user's Drive is linked.
    linked: bool,
}

/// Google's authorisation page, to which the browser is to be sent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DriveLink {
    #[schemars(url)]
    url: String,
}

/// Query parameters of Google's redirect.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct RedirectQuery {
    state: Option<String>,
    code: Option<String>,
    error: Option<String>,
}

/// Reports whether Google Drive can be linked, and whether it is.
pub async fn get_status(
    State(builtin_servers): State<BuiltinServers>,
    who: SignedIn,
) -> Result<Json<DriveStatus>, ApiError> {
    let drive = builtin_servers.google_drive();
    Ok(Json(DriveStatus {
        configured: drive.is_configured(),
        linked: drive.is_linked(who.user).await.map_err(to_api_error)?,
    }))
}

/// Starts linking and returns the URL of Google's authorisation page.
pub async fn start_link(
    State(builtin_servers): State<BuiltinServers>,
    State(site_url): State<SiteUrl>,
    who: SignedIn,
) -> Result<(AppendHeaders<[(HeaderName, String); 1]>, Json<DriveLink>), ApiError> {
    let link = builtin_servers.google_drive().start_link(who.user).await.map_err(to_api_error)?;
    let cookie = [(header::SET_COOKIE, LINK_COOKIE.set(&site_url, &link.browser_secret, LINK_LIFETIME_SECONDS))];
    Ok((AppendHeaders(cookie), Json(DriveLink { url: link.url.into() })))
}

/// Completes linking when Google redirects the browser back, and redirects to the web app, which shows the result.
pub async fn complete_link(
    State(builtin_servers): State<BuiltinServers>,
    State(site_url): State<SiteUrl>,
    headers: HeaderMap,
    Query(returned): Query<RedirectQuery>,
) -> (AppendHeaders<[(HeaderName, String); 1]>, Redirect) {
    let browser = LINK_COOKIE.read(&headers).unwrap_or_default();
    let state = returned.state.as_deref().unwrap_or_default();
    // The cookie must be that of the browser that began, whatever `state` says.
    let drive = builtin_servers.google_drive();
    let outcome = match drive.complete_link(state, returned.code.as_deref(), browser).await {
        Ok(()) => "linked",
        // Also fails in `complete_link`, since no code came; the user's own refusal deserves its own message.
        Err(_) if returned.error.as_deref() == Some("access_denied") => "denied",
        Err(LinkError::NotStartedHere) => "expired",
        Err(error) => {
            tracing::warn!(%error, "a Google Drive could not be linked");
            "failed"
        }
    };
    // The cookie is valid for one attempt.
    let cookie = [(header::SET_COOKIE, LINK_COOKIE.set(&site_url, "", 0))];
    (AppendHeaders(cookie), Redirect::to(&format!("/?tab=servers&google-drive={outcome}")))
}

/// Revokes the authorisation at Google and deletes it.
pub async fn unlink_drive(State(builtin_servers): State<BuiltinServers>, who: SignedIn) -> Result<NoContent, ApiError> {
    builtin_servers.google_drive().unlink(who.user).await.map_err(to_api_error)?;
    Ok(NoContent)
}

/// Converts to the error response.
fn to_api_error(error: DriveError) -> ApiError {
    match error {
        DriveError::NotConfigured => {
            ApiError::Conflict { code: "google_drive_not_configured", message: error.to_string() }
        }
        DriveError::Internal(source) => source.into(),
        other => ApiError::Upstream { code: "google_drive_failed", message: other.to_string() },
    }
}
