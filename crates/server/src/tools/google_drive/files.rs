//! The Drive API, version 3: what the tools ask of it.

pub mod create;
pub mod list;
pub mod read;

use domain::UserId;
use reqwest::{Client, RequestBuilder, StatusCode};
use serde::{Deserialize, Serialize};
use url::Url;

use super::error::DriveError;
use super::http::{self, Answer, MAX_DOCUMENT};
use super::tokens;
use crate::app::App;

const FOLDER: &str = "application/vnd.google-apps.folder";
const DOCUMENT: &str = "application/vnd.google-apps.document";
const SPREADSHEET: &str = "application/vnd.google-apps.spreadsheet";
const PRESENTATION: &str = "application/vnd.google-apps.presentation";
const SHORTCUT: &str = "application/vnd.google-apps.shortcut";
/// Ids have some 30 to 50 characters.
const MAX_ID: usize = 200;

/// A file as the API describes it. Sizes are texts there.
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
    /// The type in words, where it has any.
    fn kind(&self) -> &str {
        match self.mime_type.as_str() {
            FOLDER => "folder",
            DOCUMENT => "Google Doc",
            SPREADSHEET => "Google Sheet",
            PRESENTATION => "Google Slides",
            SHORTCUT => "shortcut",
            other => other,
        }
    }
}

/// The address of something in the API.
fn address(app: &App, path: &[&str]) -> Result<Url, DriveError> {
    let mut url = app.config.google_endpoints.drive.clone();
    match url.path_segments_mut() {
        Ok(mut segments) => segments.pop_if_empty().extend(path),
        Err(()) => return Err(DriveError::Internal(anyhow::anyhow!("the address of the Drive API is no base"))),
    };
    Ok(url)
}

/// Asks the API for at most `limit` bytes. A token that it refuses is renewed once.
async fn ask(
    app: &App,
    user: UserId,
    limit: usize,
    request: impl Fn(&Client) -> RequestBuilder + Send + Sync,
) -> Result<Answer, DriveError> {
    let client = app.google_drive.http.client()?;
    let mut access = tokens::access(app, user, None).await?;
    let mut answer = http::send(request(client).bearer_auth(&access), limit).await?;
    if answer.status == StatusCode::UNAUTHORIZED {
        access = tokens::access(app, user, Some(&access)).await?;
        answer = http::send(request(client).bearer_auth(&access), limit).await?;
    }
    if answer.status.is_success() { Ok(answer) } else { Err(refusal(&answer)) }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Failure {
    error: FailureDetails,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FailureDetails {
    message: String,
    errors: Vec<Reason>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Reason {
    reason: String,
}

fn refusal(answer: &Answer) -> DriveError {
    let failure: Failure = answer.read().unwrap_or_default();
    let reason = failure.error.errors.first().map_or("", |first| first.reason.as_str());
    match (answer.status.as_u16(), reason) {
        (401, _) => DriveError::LinkEnded,
        (403, "insufficientPermissions" | "ACCESS_TOKEN_SCOPE_INSUFFICIENT") => DriveError::NotPermitted,
        (429, _) | (403, "rateLimitExceeded" | "userRateLimitExceeded") => DriveError::TooMany,
        (404, _) => DriveError::NotFound,
        (status, _) => DriveError::Refused { status, message: failure.error.message.chars().take(300).collect() },
    }
}

/// Checks an id before it becomes part of an address or a query.
fn id<'a>(what: &str, said: &'a str) -> Result<&'a str, DriveError> {
    let said = said.trim();
    let is_id = (1..=MAX_ID).contains(&said.len())
        && said.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if is_id {
        return Ok(said);
    }
    Err(DriveError::Arguments(format!("{said:?} is not the id of a {what}. google_drive_list_files tells the ids.")))
}
