//! `/api/sessions/{id}/queue`: messages that are sent when the current turn has ended.

use agent::models::with_advice;
use agent::turns::{QueueError, TurnService, model_selection};
use axum::Json;
use axum::extract::State;
use axum::response::NoContent;
use domain::attachment::Attached;
use domain::message::Part;
use domain::{ChatId, QueuedId};
use http_server::error::ApiError;
use http_server::extract::{JsonBody, Named, NamedTwo};
use http_server::response::Created;
use platform::{UserEvent, UserEventBus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use storage::Storage;
use storage::branches::TurnPosition;
use storage::queue::QueuedMessage;

use super::supabase_functions::{AiChat, MAX_MESSAGE_CHARS, TurnRequests, check_message};
use crate::chat_lookup::ChatLookup;
use crate::signed_in::SignedIn;

/// A message that is sent when the current turn has ended.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "QueuedMessage")]
struct QueuedMessageDto {
    /// Display names of its attachments.
    attached: Vec<String>,
    content: String,
    id: QueuedId,
}

/// The queued messages of a chat, the next one first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MessageQueue {
    /// Why the messages are not being sent; null if nothing hinders it.
    hindrance: Option<String>,
    messages: Vec<QueuedMessageDto>,
}

/// Lists the queued messages, and why they are not being sent, if so (`GET /api/sessions/{id}/queue`).
pub async fn list_queued(
    State(chats): State<ChatLookup>,
    State(turns): State<TurnService>,
    caller: SignedIn,
    Named(chat): Named,
) -> Result<Json<MessageQueue>, ApiError> {
    let (chat, home) = chats.find(caller.user, &chat).await?;
    let waiting = home.queued_messages().list(caller.user, chat).await?;
    // The reason needs further queries, and matters only if a message is queued.
    let hindrance = if waiting.is_empty() {
        None
    } else {
        model_selection::check_can_begin(&turns, &home, caller.user, chat).await?
    };
    let messages = waiting.into_iter().map(|message| {
        let attached = message.parts.iter().filter_map(display_name).collect();
        QueuedMessageDto { attached, content: message.content, id: message.id }
    });
    Ok(Json(MessageQueue { hindrance: hindrance.as_ref().map(with_advice), messages: messages.collect() }))
}

/// Returns the display name of an attachment; `None` for parts that the list does not show.
fn display_name(part: &Part) -> Option<String> {
    match part {
        Part::File(file) => Some(file.filename.clone().unwrap_or_else(|| file.media_type.clone())),
        Part::Attachment { attachment } => Some(match &attachment.content {
            Attached::Prompt { .. } => format!("/{}", attachment.name),
            Attached::Resource { .. } => attachment.title.clone().unwrap_or_else(|| attachment.name.clone()),
        }),
        _ => None,
    }
}

/// A message that was queued, or whose turn has begun.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AcceptedMessage {
    id: QueuedId,
}

/// Queues a message (`POST /api/sessions/{id}/queue`). The body is that of [`ai_chat`](super::supabase_functions::ai_chat).
pub async fn queue_message(
    State(chats): State<ChatLookup>,
    State(requests): State<TurnRequests>,
    State(turns): State<TurnService>,
    caller: SignedIn,
    Named(chat): Named,
    JsonBody(body): JsonBody<AiChat>,
) -> Result<Created<AcceptedMessage>, ApiError> {
    let (chat, _) = chats.find(caller.user, &chat).await?;
    // Validated when it is queued: nobody may be there to see an error when it is sent.
    let question = requests.read(&caller, body).await?;
    // A queued message is sent after the current turn, so it can only be appended.
    if question.chat != chat || question.position != TurnPosition::End {
        return Err(ApiError::BadRequest("queued messages are sent at the end of this chat".into()));
    }
    // The model of the chat can change until the message is sent, and the one of a turn would be stored nowhere.
    if question.model.is_some() {
        return Err(ApiError::BadRequest("queued messages are answered by the model of the chat".into()));
    }
    let message = question.message.ok_or_else(|| ApiError::BadRequest("message is blank".into()))?;
    let id = QueuedId::fresh();
    let queued = QueuedMessage { id, content: message, parts: question.parts, tools: question.tools.to_json() };
    turns.queue_message(caller.user, chat, queued).await.map_err(|error| match error {
        QueueError::NoChat => ApiError::NotFound("session"),
        QueueError::Full => ApiError::TooMany { code: "queue_full", message: error.to_string() },
        QueueError::Storage(error) => error.into(),
    })?;
    Ok(Created(AcceptedMessage { id }))
}

/// The new text of a queued message.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct QueuedMessageUpdate {
    #[schemars(length(min = 1, max = MAX_MESSAGE_CHARS), regex(pattern = r"\S"))]
    message: String,
}

/// Changes the text of a queued message (`PATCH /api/sessions/{id}/queue/{message}`).
pub async fn update_queued(
    State(chats): State<ChatLookup>,
    State(events): State<UserEventBus>,
    caller: SignedIn,
    NamedTwo(chat, id): NamedTwo,
    JsonBody(words): JsonBody<QueuedMessageUpdate>,
) -> Result<NoContent, ApiError> {
    let (chat, home, id) = find_queued(&chats, &caller, &chat, &id).await?;
    check_message(&words.message)?;
    respond_to_change(
        &events,
        &caller,
        chat,
        home.queued_messages().update(caller.user, chat, id, &words.message).await?,
    )
}

/// Removes a queued message (`DELETE /api/sessions/{id}/queue/{message}`).
pub async fn delete_queued(
    State(chats): State<ChatLookup>,
    State(events): State<UserEventBus>,
    caller: SignedIn,
    NamedTwo(chat, id): NamedTwo,
) -> Result<NoContent, ApiError> {
    let (chat, home, id) = find_queued(&chats, &caller, &chat, &id).await?;
    respond_to_change(&events, &caller, chat, home.queued_messages().delete(caller.user, chat, id).await?)
}

/// Interrupts the turn and sends a queued message now (`POST /api/sessions/{id}/queue/{message}/send`).
pub async fn send_queued_now(
    State(chats): State<ChatLookup>,
    State(events): State<UserEventBus>,
    State(turns): State<TurnService>,
    caller: SignedIn,
    NamedTwo(chat, id): NamedTwo,
) -> Result<NoContent, ApiError> {
    let (chat, _, id) = find_queued(&chats, &caller, &chat, &id).await?;
    respond_to_change(&events, &caller, chat, turns.send_now(caller.user, chat, id).await?)
}

/// Resolves chat and queued message of a path.
async fn find_queued(
    chats: &ChatLookup,
    caller: &SignedIn,
    chat: &str,
    id: &str,
) -> Result<(ChatId, Storage, QueuedId), ApiError> {
    let (chat, home) = chats.find(caller.user, chat).await?;
    Ok((chat, home, id.parse().map_err(|_| ApiError::NotFound("queued message"))?))
}

/// Responds to a change of a queued message and notifies the user's pages. The message may have been sent in the
/// meantime, which is reported as 404.
fn respond_to_change(
    events: &UserEventBus,
    caller: &SignedIn,
    chat: ChatId,
    waited: bool,
) -> Result<NoContent, ApiError> {
    if !waited {
        return Err(ApiError::NotFound("queued message"));
    }
    // Other tabs and devices show the queue, too.
    events.publish(caller.user, &UserEvent::Queue { session_id: chat });
    Ok(NoContent)
}
