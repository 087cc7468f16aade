//! Requests to version 3 of the Drive API.

mod create;
mod list;
mod read;

use domain::UserId;
use reqwest::{Client, RequestBuilder, StatusCode};
use serde::{Deserialize, Serialize};
use url::Url;

use super::GoogleDrive;
use super::error::DriveError;
use super::http::{self, GoogleResponse, MAX_DOCUMENT_BYTES};

pub use list::MAX_PAGE_SIZE;

const FOLDER_TYPE: &str = "application/vnd.google-apps.folder";
const DOCUMENT_TYPE: &str = "application/vnd.google-apps.document";
const SPREADSHEET_TYPE: &str = "application/vnd.google-apps.spreadsheet";
const PRESENTATION_TYPE: &str = "application/vnd.google-apps.presentation";
const SHORTCUT_TYPE: &str = "application/vnd.google-apps.shortcut";
/// Maximum length of an id, in bytes. Google's have 30 to 50.
const MAX_ID_BYTES: usize = 200;
/// Maximum length of an error message of Google, in characters.
const MAX_MESSAGE_CHARS: usize = 300;

/// A file as the API describes it. Sizes are strings there.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    mime_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    modified_time: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    web_view_link: Option<String>,
    #[serde(default, skip_serializing)]
    shortcut_details: Option<Shortcut>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shortcut {
    target_id: String,
}

impl File {
    /// Returns a name for the type, or the media type if there is none.
    fn type_name(&self) -> &str {
        match self.mime_type.as_str() {
            FOLDER_TYPE => "folder",
            DOCUMENT_TYPE => "Google Doc",
            SPREADSHEET_TYPE => "Google Sheet",
            PRESENTATION_TYPE => "Google Slides",
            SHORTCUT_TYPE => "shortcut",
            other => other,
        }
    }
}

impl GoogleDrive {
    /// Returns the URL of a resource of the API.
    fn api_url(&self, path: &[&str]) -> Result<Url, DriveError> {
        let mut url = self.settings.endpoints.drive.clone();
        match url.path_segments_mut() {
            // The configured base ends with a slash, which would leave an empty segment. Each part is percent-encoded.
            Ok(mut segments) => segments.pop_if_empty().extend(path),
            Err(()) => return Err(DriveError::Internal(anyhow::anyhow!("the URL of the Drive API cannot be a base"))),
        };
        Ok(url)
    }

    /// Sends a request and reads at most `max_bytes` of the response body. A rejected access token is renewed once.
    async fn request(
        &self,
        user: UserId,
        max_bytes: usize,
        request: impl Fn(&Client) -> RequestBuilder + Send + Sync,
    ) -> Result<GoogleResponse, DriveError> {
        let client = self.http.client()?;
        let mut access = self.access_token(user, None).await?;
        let mut response = http::send(request(client).bearer_auth(&access), max_bytes).await?;
        // A token may be revoked before it expires. A second rejection means that the authorisation itself has ended.
        if response.status == StatusCode::UNAUTHORIZED {
            access = self.access_token(user, Some(&access)).await?;
            response = http::send(request(client).bearer_auth(&access), max_bytes).await?;
        }
        if response.status.is_success() { Ok(response) } else { Err(error_of(&response)) }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorResponse {
    error: ErrorDetails,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorDetails {
    message: String,
    errors: Vec<ErrorReason>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorReason {
    reason: String,
}

/// Returns the error of a response with an error status.
fn error_of(response: &GoogleResponse) -> DriveError {
    let body: ErrorResponse = response.json().unwrap_or_default();
    let reason = body.error.errors.first().map_or("", |first| first.reason.as_str());
    match (response.status.as_u16(), reason) {
        (401, _) => DriveError::LinkEnded,
        // Google's consent page lets users untick single scopes.
        (403, "insufficientPermissions" | "ACCESS_TOKEN_SCOPE_INSUFFICIENT") => DriveError::NotPermitted,
        // The Drive API reports its limits with either status.
        (429, _) | (403, "rateLimitExceeded" | "userRateLimitExceeded") => DriveError::RateLimited,
        (404, _) => DriveError::NotFound,
        (status, _) => {
            DriveError::Rejected { status, message: body.error.message.chars().take(MAX_MESSAGE_CHARS).collect() }
        }
    }
}

/// Validates an id before it becomes part of a URL or a query. `noun` names what it identifies.
fn checked_id<'a>(noun: &str, text: &'a str) -> Result<&'a str, DriveError> {
    let text = text.trim();
    let is_id = (1..=MAX_ID_BYTES).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if is_id {
        return Ok(text);
    }
    Err(DriveError::Arguments(format!("{text:?} is not the id of a {noun}. google_drive_list_files tells the ids.")))
}
