//! `/api/search` and `/api/sessions`: searching chats, pinning and archiving them, and restoring deleted ones.

use std::sync::Arc;

use agent::chats::maintenance::UNDO_TTL_SECONDS;
use axum::Json;
use axum::extract::State;
use axum::response::NoContent;
use domain::message::Role;
use domain::{ChatId, Clock, MessageId, Timestamp};
use http_server::error::ApiError;
use http_server::extract::{JsonBody, Named, Query};
use platform::{UserEvent, UserEventBus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use storage::Storage;
use storage::chat_settings::{ChatMarks, ChatMarksChange};
use storage::search::Marked;

use crate::chat_lookup::ChatLookup;
use crate::signed_in::SignedIn;

/// Maximum length of a search query, in characters.
const MAX_QUERY_CHARS: usize = 200;

/// Query parameters of [`search_chats`].
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SearchQuery {
    /// The text to find.
    #[schemars(length(max = MAX_QUERY_CHARS))]
    q: String,
    /// `next` of the page before.
    #[serde(default)]
    #[schemars(regex(pattern = "^[0-9]{1,18}$"))]
    before: Option<String>,
}

/// A text with highlighted ranges, in UTF-16 code units as JavaScript counts them.
#[derive(Debug, Serialize, JsonSchema)]
struct Excerpt {
    text: String,
    /// Beginning and end of each range.
    marks: Vec<(usize, usize)>,
}

impl From<Marked> for Excerpt {
    fn from(marked: Marked) -> Self {
        Self { text: marked.text, marks: marked.marks }
    }
}

/// A chat whose title matches.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ChatHit {
    session_id: ChatId,
    title: Excerpt,
    updated_at: Timestamp,
}

/// A message that matches.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MessageHit {
    session_id: ChatId,
    /// Title of the chat.
    title: String,
    message_id: MessageId,
    role: Role,
    created_at: Timestamp,
    excerpt: Excerpt,
}

/// A page of search results, the newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SearchResults {
    chats: Vec<ChatHit>,
    messages: Vec<MessageHit>,
    /// `before` of the next page; null on the last one.
    next: Option<String>,
}

/// Searches the user's chats and messages (`GET /api/search?q=`).
pub async fn search_chats(
    State(storage): State<Storage>,
    caller: SignedIn,
    Query(search): Query<SearchQuery>,
) -> Result<Json<SearchResults>, ApiError> {
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
    Ok(Json(SearchResults { chats, messages, next }))
}

/// Ids of the chats that have marks.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MarkedChats {
    archived: Vec<ChatId>,
    pinned: Vec<ChatId>,
}

/// Lists the pinned and the archived chats (`GET /api/sessions/marks`).
pub async fn list_marks(State(storage): State<Storage>, caller: SignedIn) -> Result<Json<MarkedChats>, ApiError> {
    let marked = storage.chat_settings().list(caller.user).await?;
    let with = |is: fn(&ChatMarks) -> bool| -> Vec<ChatId> {
        marked.iter().filter(|(_, marks)| is(marks)).map(|(chat, _)| *chat).collect()
    };
    Ok(Json(MarkedChats { archived: with(|marks| marks.archived), pinned: with(|marks| marks.pinned) }))
}

/// Changes of a chat's marks. Fields that are left out do not change.
#[derive(Debug, Deserialize, JsonSchema)]
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
) -> Result<NoContent, ApiError> {
    let id: ChatId = chat.parse().map_err(|_| ApiError::NotFound("session"))?;
    // A repeated request finds the chat restored already.
    if storage.chats().get(caller.user, id).await?.is_some() {
        return Ok(NoContent);
    }
    // Chats deleted earlier may be purged at any moment, so they are not restored half.
    let since = clock.now().plus_seconds(-UNDO_TTL_SECONDS);
    storage.chats().restore(caller.user, id, since).await.map_err(not_found_error)?;
    // The event carries the flags, because lists of chats need them. A failure to read them must not hide the
    // restored chat.
    let marks = storage.chat_settings().get(caller.user, id).await.ok();
    events.publish(caller.user, &UserEvent::Session { session_id: Some(id), marks });
    Ok(NoContent)
}

/// Maps a chat that no longer exists to 404.
fn not_found_error(error: storage::Error) -> ApiError {
    match error {
        storage::Error::NotFound => ApiError::NotFound("session"),
        other => other.into(),
    }
}
