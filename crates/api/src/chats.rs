//! `/api/search` and `/api/sessions`: searching chats, pinning and archiving them, and restoring deleted ones.

use std::sync::Arc;

use agent::chats::maintenance::UNDO_TTL_SECONDS;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::message::Role;
use domain::{ChatId, Clock, MessageId, Timestamp};
use platform::{UserEvent, UserEventBus};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use storage::Storage;
use storage::chat_settings::{ChatMarks, ChatMarksChange};
use storage::search::Marked;

use super::error::ApiError;
use super::extract::{JsonBody, Named, Query, SignedIn};
use crate::chat_lookup::ChatLookup;

/// Maximum length of a search query, in characters.
const MAX_QUERY_CHARS: usize = 200;

/// Query parameters of [`search_chats`]: the text, and the cursor of the next page.
#[derive(Debug, Deserialize)]
pub struct SearchQuery {
    q: String,
    #[serde(default)]
    before: Option<String>,
}

/// A text with highlighted ranges, in UTF-16 code units as JavaScript counts them.
#[derive(Debug, Serialize)]
struct Excerpt {
    text: String,
    marks: Vec<(usize, usize)>,
}

impl From<Marked> for Excerpt {
    fn from(marked: Marked) -> Self {
        Self { text: marked.text, marks: marked.marks }
    }
}

/// A chat whose title matches.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ChatHit {
    session_id: ChatId,
    title: Excerpt,
    updated_at: Timestamp,
}

/// A message that matches.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct MessageHit {
    session_id: ChatId,
    title: String,
    message_id: MessageId,
    role: Role,
    created_at: Timestamp,
    excerpt: Excerpt,
}

/// Searches the user's chats and messages (`GET /api/search?q=`).
pub async fn search_chats(
    State(storage): State<Storage>,
    caller: SignedIn,
    Query(search): Query<SearchQuery>,
) -> Result<Json<Value>, ApiError> {
    if search.q.chars().count() > MAX_QUERY_CHARS {
        return Err(ApiError::BadRequest(format!("q has at most {MAX_QUERY_CHARS} characters")));
    }
    let before = match search.before.as_deref() {
        None => None,
        Some(text) => Some(text.parse().map_err(|_| ApiError::BadRequest("before must be the value of next".into()))?),
    };
    let found = storage.search().query(caller.user, &search.q, before).await?;
    let chats: Vec<ChatHit> = found
        .titles
        .into_iter()
        .map(|hit| ChatHit { session_id: hit.chat, title: hit.title.into(), updated_at: hit.updated_at })
        .collect();
    let messages: Vec<MessageHit> = found
        .messages
        .into_iter()
        .map(|hit| MessageHit {
            session_id: hit.chat,
            title: hit.title,
            message_id: hit.message,
            role: hit.role,
            created_at: hit.created_at,
            excerpt: hit.snippet.into(),
        })
        .collect();
    let next = found.next.map(|next| next.to_string());
    Ok(Json(json!({ "chats": chats, "messages": messages, "next": next })))
}

/// Lists the pinned and the archived chats (`GET /api/sessions/marks`).
pub async fn list_marks(State(storage): State<Storage>, caller: SignedIn) -> Result<Json<Value>, ApiError> {
    let marked = storage.chat_settings().list(caller.user).await?;
    let with = |is: fn(&ChatMarks) -> bool| -> Vec<ChatId> {
        marked.iter().filter(|(_, marks)| is(marks)).map(|(chat, _)| *chat).collect()
    };
    Ok(Json(json!({ "pinned": with(|marks| marks.pinned), "archived": with(|marks| marks.archived) })))
}

/// Request body of [`set_marks`]. Fields that are left out do not change.
#[derive(Debug, Deserialize)]
pub struct MarksUpdate {
    #[serde(default)]
    pinned: Option<bool>,
    #[serde(default)]
    archived: Option<bool>,
}

/// Pins or archives a chat, or undoes it (`PUT /api/sessions/{id}/marks`).
pub async fn set_marks(
    State(chats): State<ChatLookup>,
    State(storage): State<Storage>,
    State(clock): State<Arc<dyn Clock>>,
    State(events): State<UserEventBus>,
    caller: SignedIn,
    Named(chat): Named,
    JsonBody(change): JsonBody<MarksUpdate>,
) -> Result<Json<ChatMarks>, ApiError> {
    // Temporary chats are in no list that the marks could change.
    let chat = chats.find_stored(caller.user, &chat).await?;
    let change = ChatMarksChange { pinned: change.pinned, archived: change.archived };
    let marks = storage.chat_settings().set(caller.user, chat, change, clock.now()).await.map_err(not_found_error)?;
    events.publish(caller.user, &UserEvent::Session { session_id: Some(chat), marks: Some(marks) });
    Ok(Json(marks))
}

/// Restores a chat that was deleted within the last [`UNDO_TTL_SECONDS`] seconds (`POST /api/sessions/{id}/restore`).
pub async fn restore_chat(
    State(storage): State<Storage>,
    State(clock): State<Arc<dyn Clock>>,
    State(events): State<UserEventBus>,
    caller: SignedIn,
    Named(chat): Named,
) -> Result<StatusCode, ApiError> {
    let id: ChatId = chat.parse().map_err(|_| ApiError::NotFound("session"))?;
    // A repeated request finds the chat restored already.
    if storage.chats().get(caller.user, id).await?.is_some() {
        return Ok(StatusCode::NO_CONTENT);
    }
    // Chats deleted earlier may be purged at any moment, so they are not restored half.
    let since = clock.now().plus_seconds(-UNDO_TTL_SECONDS);
    storage.chats().restore(caller.user, id, since).await.map_err(not_found_error)?;
    // The event carries the flags, because lists of chats need them. A failure to read them must not hide the
    // restored chat.
    let marks = storage.chat_settings().get(caller.user, id).await.ok();
    events.publish(caller.user, &UserEvent::Session { session_id: Some(id), marks });
    Ok(StatusCode::NO_CONTENT)
}

/// Maps a chat that no longer exists to 404.
fn not_found_error(error: storage::Error) -> ApiError {
    match error {
        storage::Error::NotFound => ApiError::NotFound("session"),
        other => other.into(),
    }
}
