//! `/api/shares` and `/api/shared`: read-only snapshots of chats for anyone who has the link.

use std::sync::Arc;

use agent::chats::link;
use agent::chats::snapshot::{self, SharedMessage, With};
use axum::Json;
use axum::extract::{FromRef, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, NoContent, Response};
use domain::{ChatId, Clock, FileId, ShareId, Timestamp, UserId};
use http_server::error::ApiError;
use http_server::extract::{JsonBody, Named, NamedTwo};
use http_server::openapi::{Operation, OperationOutput};
use http_server::response::DeletedCount;
use platform::AuditLog;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use storage::Storage;
use storage::audit_events::AuditEventKind;
use storage::shares::NewShare;
use uuid::Uuid;

use super::files::{FileResponse, file_response};
use crate::AppState;
use crate::chat_lookup::ChatLookup;
use crate::limiters::DownloadLimiter;
use crate::signed_in::SignedIn;
use crate::state::SiteUrl;

/// Maximum number of shares per user.
const MAX_SHARES: i64 = 200;
/// Maximum size of a snapshot, in bytes.
const MAX_SNAPSHOT_BYTES: usize = 16 * 1024 * 1024;
/// Maximum number of messages of a snapshot.
const MAX_SNAPSHOT_MESSAGES: i64 = 20_000;

/// Optional content of a shared chat.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ShareOptions {
    /// Whether arguments and results of tools are included.
    #[serde(default)]
    tools: bool,
    /// Whether the files that the user attached are included.
    #[serde(default)]
    files: bool,
}

/// A share as its owner sees it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Share")]
struct ShareDto {
    id: ShareId,
    session_id: ChatId,
    title: String,
    /// Number of messages.
    messages: i64,
    /// Whether arguments and results of tools are included.
    tools: bool,
    created_at: Timestamp,
}

/// The user's shares, newest first, without their links.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ShareList {
    shares: Vec<ShareDto>,
}

/// A new share with its link, which no other response contains.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CreatedShare {
    id: ShareId,
    /// Number of messages.
    messages: i64,
    #[schemars(url)]
    url: String,
}

/// Input for creating a share.
#[derive(Debug, Clone)]
pub struct ShareWriter {
    storage: Storage,
    clock: Arc<dyn Clock>,
    audit: AuditLog,
}

impl FromRef<AppState> for ShareWriter {
    fn from_ref(state: &AppState) -> Self {
        Self { storage: state.storage.clone(), clock: Arc::clone(&state.clock), audit: state.audit.clone() }
    }
}

/// Creates a snapshot of a chat and returns its link (`POST /api/sessions/{id}/shares`). Only the hash of the token
/// is stored, so the link cannot be shown again.
pub async fn create_share(
    State(chats): State<ChatLookup>,
    State(ShareWriter { storage, clock, audit }): State<ShareWriter>,
    State(site_url): State<SiteUrl>,
    caller: SignedIn,
    Named(chat): Named,
    JsonBody(wish): JsonBody<ShareOptions>,
) -> Result<Json<CreatedShare>, ApiError> {
    let chat = chats.find_stored(caller.user, &chat).await?;
    let messages = storage.chats().list_messages(caller.user, chat, MAX_SNAPSHOT_MESSAGES).await?;
    let (shared, files) = snapshot::shared(messages, With { tools: wish.tools, files: wish.files });
    if shared.is_empty() {
        let message = "there is nothing in this chat yet".to_owned();
        return Err(ApiError::Unprocessable { code: "nothing_to_share", message });
    }
    let json = serde_json::to_string(&shared).map_err(|error| ApiError::Internal(error.into()))?;
    // The limit applies to the encoded form, which is what the database stores.
    if json.len() > MAX_SNAPSHOT_BYTES {
        let message = format!("a shared chat can have at most {} MiB", MAX_SNAPSHOT_BYTES / (1024 * 1024));
        return Err(ApiError::Unprocessable { code: "too_large", message });
    }
    let token = link::fresh()?;
    let share = NewShare {
        id: ShareId::fresh(),
        token_hash: link::hash(&token),
        chat,
        messages: json,
        files,
        count: i64::try_from(shared.len()).unwrap_or(i64::MAX),
        tools: wish.tools,
        now: clock.now(),
    };
    let events = audit.by_user(caller.user, AuditEventKind::ShareCreated);
    let stored = storage.shares().insert(caller.user, &share, MAX_SHARES, &events).await;
    let has_room = stored.map_err(|error| match error {
        storage::Error::NotFound => ApiError::NotFound("session"),
        other => other.into(),
    })?;
    if !has_room {
        let message = format!("{MAX_SHARES} chats are already shared; stop sharing one first");
        return Err(ApiError::Conflict { code: "too_many_shares", message });
    }
    // The link opens the web app, which loads the snapshot.
    let mut url = site_url.0;
    url.set_path("/");
    url.query_pairs_mut().clear().append_pair("share", &token);
    Ok(Json(CreatedShare { id: share.id, messages: share.count, url: url.into() }))
}

/// Lists the user's shares (`GET /api/shares`).
pub async fn list_shares(State(storage): State<Storage>, caller: SignedIn) -> Result<Json<ShareList>, ApiError> {
    let shares = storage.shares().list(caller.user).await?.into_iter().map(|share| ShareDto {
        id: share.id,
        session_id: share.chat,
        title: share.title,
        messages: share.count,
        tools: share.tools,
        created_at: share.created_at,
    });
    Ok(Json(ShareList { shares: shares.collect() }))
}

/// Deletes all shares of the user (`DELETE /api/shares`).
pub async fn delete_all_shares(
    State(storage): State<Storage>,
    State(audit): State<AuditLog>,
    caller: SignedIn,
) -> Result<Json<DeletedCount>, ApiError> {
    let events = audit.by_user(caller.user, AuditEventKind::ShareDeleted);
    Ok(Json(DeletedCount { ended: storage.shares().delete_all(caller.user, &events).await? }))
}

/// Deletes a share (`DELETE /api/shares/{id}`).
pub async fn delete_share(
    State(storage): State<Storage>,
    State(audit): State<AuditLog>,
    caller: SignedIn,
    Named(id): Named,
) -> Result<NoContent, ApiError> {
    let id: ShareId = id.parse().map_err(|_| ApiError::NotFound("share"))?;
    let events = audit.by_user(caller.user, AuditEventKind::ShareDeleted);
    if !storage.shares().delete(caller.user, id, &events).await? {
        return Err(ApiError::NotFound("share"));
    }
    Ok(NoContent)
}

/// `X-Robots-Tag` of every response that a share link leads to.
pub const NO_ROBOTS: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-robots-tag"), HeaderValue::from_static("noindex, nofollow, noarchive"));

/// A chat as it was when it was shared.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SharedChat {
    title: String,
    shared_at: Timestamp,
    #[schemars(with = "Vec<SharedMessage>")]
    messages: Box<RawValue>,
}

/// A response to a viewer of a link.
#[derive(Debug)]
pub struct ShareResponse<T>(Result<T, ApiError>);

impl<T: IntoResponse> IntoResponse for ShareResponse<T> {
    fn into_response(self) -> Response {
        let mut response = self.0.into_response();
        // Not cached, so that the content is gone when the share is deleted.
        let headers = [NO_ROBOTS, (header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
        response.headers_mut().extend(headers.map(|(name, value)| (Some(name), value)));
        response
    }
}

impl<T: OperationOutput> OperationOutput for ShareResponse<T> {
    fn describe(operation: &mut Operation<'_>) {
        Result::<T, ApiError>::describe(operation);
        operation.add_response_header(StatusCode::OK, "X-Robots-Tag");
    }
}

/// Returns a snapshot (`GET /api/shared/{token}`).
pub async fn get_shared_chat(State(storage): State<Storage>, Named(token): Named) -> ShareResponse<Json<SharedChat>> {
    let shown = async {
        let snapshot = storage.shares().get_snapshot(&link::hash(&token)).await?.ok_or(ApiError::NotFound("share"))?;
        let messages = RawValue::from_string(snapshot.messages).map_err(|error| ApiError::Internal(error.into()))?;
        Ok(Json(SharedChat { title: snapshot.title, shared_at: snapshot.created_at, messages }))
    };
    ShareResponse(shown.await)
}

/// Returns a file of a snapshot (`GET /api/shared/{token}/files/{file}`).
pub async fn get_shared_file(
    State(downloads): State<DownloadLimiter>,
    State(storage): State<Storage>,
    NamedTwo(token, id): NamedTwo,
) -> ShareResponse<FileResponse> {
    let shown = async {
        let not_found = || ApiError::NotFound("file");
        let id: FileId = id.parse().map_err(|_| not_found())?;
        // Viewers of links have no account, so all of them together count as one user, the nil id, in the download
        // limit.
        let permit = downloads.acquire(UserId(Uuid::nil()))?;
        let found = storage.files().get_shared(&link::hash(&token), id).await?;
        found.map(|(file, bytes)| FileResponse(file_response(&file, bytes, permit))).ok_or_else(not_found)
    };
    ShareResponse(shown.await)
}
