//! `/api/google-drive`: linking and unlinking a person's Google Drive.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::http::browser_cookie::BrowserCookie;
use crate::http::error::ApiError;
use crate::http::extract::{Query, SignedIn};
use crate::tools::google_drive::{self, DriveError, LINK_LIFETIME, LinkError};

const COOKIE: BrowserCookie = BrowserCookie { name: "google-drive-link", path: "/api/google-drive" };

/// `{configured, linked}`.
#[derive(Debug, Serialize)]
pub struct Status {
    configured: bool,
    linked: bool,
}

/// `{url}`.
#[derive(Debug, Serialize)]
pub struct Link {
    url: String,
}

/// What Google sends back with the browser.
#[derive(Debug, Deserialize)]
pub struct Returned {
    state: Option<String>,
    code: Option<String>,
    error: Option<String>,
}

/// Whether Google Drive can be linked, and whether it is.
pub async fn status(State(app): State<App>, who: SignedIn) -> Result<Json<Status>, ApiError> {
    let linked = google_drive::is_linked(&app, who.user).await?;
    Ok(Json(Status { configured: app.config.google.is_some(), linked }))
}

/// Begins a link and says where to send the browser.
pub async fn link(State(app): State<App>, who: SignedIn) -> Result<Response, ApiError> {
    let begun = google_drive::begin(&app, who.user).await?;
    let cookie = [(header::SET_COOKIE, COOKIE.set(&app, &begun.browser, LINK_LIFETIME))];
    Ok((AppendHeaders(cookie), Json(Link { url: begun.url.into() })).into_response())
}

/// Where Google sends the browser when the person has decided. The page says what came of it.
pub async fn callback(State(app): State<App>, headers: HeaderMap, Query(returned): Query<Returned>) -> Response {
    let browser = COOKIE.read(&headers).unwrap_or_default();
    let state = returned.state.as_deref().unwrap_or_default();
    let ended = google_drive::complete(&app, state, returned.code.as_deref(), browser).await;
    let outcome = match ended {
        Ok(()) => "linked",
        Err(_) if returned.error.as_deref() == Some("access_denied") => "denied",
        Err(LinkError::NotBegunHere) => "expired",
        Err(error) => {
            tracing::warn!(%error, "a Google Drive could not be linked");
            "failed"
        }
    };
    let cookie = [(header::SET_COOKIE, COOKIE.set(&app, "", 0))];
    (AppendHeaders(cookie), Redirect::to(&format!("/?tab=servers&google-drive={outcome}"))).into_response()
}

/// Revokes and forgets the authorisation.
pub async fn unlink(State(app): State<App>, who: SignedIn) -> Result<StatusCode, ApiError> {
    google_drive::unlink(&app, who.user).await?;
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
