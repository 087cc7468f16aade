//! `/api/google-drive`: linking and unlinking the user's Google Drive.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use builtin_servers::BuiltinServers;
use builtin_servers::google_drive::{DriveError, LINK_LIFETIME_SECONDS, LinkError};
use serde::{Deserialize, Serialize};

use crate::browser_cookie::BrowserCookie;
use crate::error::ApiError;
use crate::extract::{Query, SignedIn};
use crate::state::SiteUrl;

/// Cookie that binds the authorisation to the browser that began it.
const LINK_COOKIE: BrowserCookie = BrowserCookie { name: "google-drive-link", path: "/api/google-drive" };

/// Response of [`get_status`]: whether the server has a Google client, and whether the user's Drive is linked.
#[derive(Debug, Serialize)]
pub struct DriveStatus {
    configured: bool,
    linked: bool,
}

/// Response of [`start_link`]: Google's authorisation page.
#[derive(Debug, Serialize)]
pub struct DriveLink {
    url: String,
}

/// Query parameters of Google's redirect.
#[derive(Debug, Deserialize)]
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
    Ok(Json(DriveStatus { configured: drive.is_configured(), linked: drive.is_linked(who.user).await? }))
}

/// Starts linking and returns the URL of Google's authorisation page.
pub async fn start_link(
    State(builtin_servers): State<BuiltinServers>,
    State(site_url): State<SiteUrl>,
    who: SignedIn,
) -> Result<Response, ApiError> {
    let link = builtin_servers.google_drive().start_link(who.user).await?;
    let cookie = [(header::SET_COOKIE, LINK_COOKIE.set(&site_url, &link.browser_secret, LINK_LIFETIME_SECONDS))];
    Ok((AppendHeaders(cookie), Json(DriveLink { url: link.url.into() })).into_response())
}

/// Completes linking when Google redirects the browser back, and redirects to the web app, which shows the result.
pub async fn complete_link(
    State(builtin_servers): State<BuiltinServers>,
    State(site_url): State<SiteUrl>,
    headers: HeaderMap,
    Query(returned): Query<RedirectQuery>,
) -> Response {
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
    (AppendHeaders(cookie), Redirect::to(&format!("/?tab=servers&google-drive={outcome}"))).into_response()
}

/// Revokes the authorisation at Google and deletes it.
pub async fn unlink_drive(
    State(builtin_servers): State<BuiltinServers>,
    who: SignedIn,
) -> Result<StatusCode, ApiError> {
    builtin_servers.google_drive().unlink(who.user).await?;
    Ok(StatusCode::NO_CONTENT)
}

impl From<DriveError> for ApiError {
    fn from(error: DriveError) -> Self {
        match error {
            DriveError::NotConfigured => {
                Self::Conflict { code: "google_drive_not_configured", message: error.to_string() }
            }
            DriveError::Internal(source) => source.into(),
            other => Self::Upstream { code: "google_drive_failed", message: other.to_string() },
        }
    }
}
