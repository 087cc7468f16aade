//! `/api/sessions/{id}`: following and controlling the turn of a chat, its interactions and branches.

use std::sync::Arc;

use agent::turns::{self, AnswerError, BeginError, DecideError, EventLog, TurnService};
use axum::Json;
use axum::extract::State;
use axum::response::{NoContent, Response};
use domain::elicitation::Action;
use domain::permission::Decision;
use domain::{Clock, InteractionId, MessageId, TurnId, UserId};
use futures_util::stream;
use http_server::error::ApiError;
use http_server::extract::{JsonBody, LastEventId, Named, NamedTwo, Query};
use http_server::response::Either;
use http_server::sse::{self, EventStreamResponse};
use platform::{AuditLog, Permit, UserEvent, UserEventBus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use storage::Storage;
use storage::audit_events::AuditEventKind;
use storage::branches::Fork;
use storage::interactions::ApprovalDecision;

use crate::chat_lookup::ChatLookup;
use crate::limiters::StreamLimiter;
use crate::signed_in::SignedIn;

/// Query parameters of [`stream_turn`].
#[derive(Debug, Deserialize, JsonSchema)]
pub struct StreamPosition {
    /// Id of the last event that the client received. The header `Last-Event-ID` takes precedence.
    #[schemars(regex(pattern = "^[0-9]{1,18}$"))]
    after: Option<String>,
    /// The turn that the event belongs to. The chat may have another turn by now.
    turn: Option<TurnId>,
}

/// Streams the running turn of a chat, from its start or after the last event that the client received. Responds 204
/// if no turn runs, or another one than requested.
pub async fn stream_turn(
    State(chats): State<ChatLookup>,
    State(streams): State<StreamLimiter>,
    State(turns): State<TurnService>,
    caller: SignedIn,
    Named(chat): Named,
    Query(StreamPosition { after, turn: wanted }): Query<StreamPosition>,
    LastEventId(last): LastEventId,
) -> Result<Either<EventStreamResponse, NoContent>, ApiError> {
    // An `EventSource` sends the header by itself when it reconnects; the query is for other clients.
    let seen = last.or(after);
    let seen = match seen.as_deref().filter(|seen| !seen.is_empty()) {
        None => 0,
        Some(seen) => seen.parse().map_err(|_| ApiError::BadRequest("Last-Event-ID must be a number".into()))?,
    };
    // An empty id is what an EventSource sends before its first event, so it counts as none.
    let (chat, _) = chats.find(caller.user, &chat).await?;
    let permit = streams.acquire(caller.user)?;
    // A turn of this node: its event log is in memory.
    if let Some(run) = turns.find(caller.user, chat) {
        // A client that resumes another turn would misread the event ids of this one.
        let is_other = wanted.is_some_and(|wanted| wanted != run.id);
        return Ok(if is_other {
            Either::B(NoContent)
        } else {
            Either::A(EventStreamResponse(stream_of(run, seen, permit)))
        });
    }
    // No turn of this chat runs on this node; another node may run it and share its events through the database.
    match turns.follow_remote((caller.user, chat), wanted).await? {
        Some(replica) => Ok(Either::A(EventStreamResponse(stream_of(replica, seen, permit)))),
        None => Ok(Either::B(NoContent)),
    }
}

/// A message of the active branch that has alternatives.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Fork")]
struct ForkDto {
    /// All alternatives including the active message, oldest first.
    branches: Vec<MessageId>,
    /// The active message.
    message_id: MessageId,
}

impl From<Fork> for ForkDto {
    fn from(Fork { message, branches }: Fork) -> Self {
        Self { branches, message_id: message }
    }
}

/// The messages of the active branch that have alternatives, in order.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ForkList {
    forks: Vec<ForkDto>,
}

/// Lists the messages at which a chat has alternative branches.
pub async fn list_branches(
    State(chats): State<ChatLookup>,
    caller: SignedIn,
    Named(chat): Named,
) -> Result<Json<ForkList>, ApiError> {
    let (chat, home) = chats.find(caller.user, &chat).await?;
    let forks = home.branches().list_forks(caller.user, chat).await?;
    Ok(Json(ForkList { forks: forks.into_iter().map(ForkDto::from).collect() }))
}

/// The branch to switch to.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SwitchBranch {
    /// A message of the branch.
    message_id: MessageId,
}

/// Outcome of [`switch_branch`].
#[derive(Debug, Serialize, JsonSchema)]
pub struct SwitchOutcome {
    /// Whether another branch was active before.
    switched: bool,
}

/// Switches a chat to the branch that contains a message. Idempotent.
pub async fn switch_branch(
    State(chats): State<ChatLookup>,
    State(clock): State<Arc<dyn Clock>>,
    State(events): State<UserEventBus>,
    caller: SignedIn,
    Named(chat): Named,
    JsonBody(to): JsonBody<SwitchBranch>,
) -> Result<Json<SwitchOutcome>, ApiError> {
    let (chat, home) = chats.find(caller.user, &chat).await?;
    // Stored per chat, so every device of the user shows the same branch.
    let switched = home.branches().switch(caller.user, chat, to.message_id, clock.now()).await;
    let switched = switched.map_err(|error| match error {
        storage::Error::NotFound => ApiError::NotFound("message"),
        // The turn is writing to the current branch.
        storage::Error::Conflict(_) => {
            ApiError::Conflict { code: "turn_active", message: BeginError::Busy.to_string() }
        }
        other => other.into(),
    })?;
    if switched {
        events.publish(caller.user, &UserEvent::Branch { session_id: chat });
    }
    Ok(Json(SwitchOutcome { switched }))
}

/// Outcome of [`stop_turn`].
#[derive(Debug, Serialize, JsonSchema)]
pub struct StopOutcome {
    /// Whether a turn was running.
    stopped: bool,
}

/// Stops the running turn of a chat. What was generated so far is stored. Idempotent.
pub async fn stop_turn(
    State(chats): State<ChatLookup>,
    State(turns): State<TurnService>,
    caller: SignedIn,
    Named(chat): Named,
) -> Result<Json<StopOutcome>, ApiError> {
    let (chat, _) = chats.find(caller.user, &chat).await?;
    Ok(Json(StopOutcome { stopped: turns.stop(caller.user, chat).await? }))
}

/// Outcome of [`cancel_tool_call`].
#[derive(Debug, Serialize, JsonSchema)]
pub struct CancelOutcome {
    /// Whether the call was running.
    cancelled: bool,
}

/// Cancels one tool call of the running turn; the turn continues without its result. Idempotent.
pub async fn cancel_tool_call(
    State(chats): State<ChatLookup>,
    State(turns): State<TurnService>,
    caller: SignedIn,
    NamedTwo(chat, call): NamedTwo,
) -> Result<Json<CancelOutcome>, ApiError> {
    let (chat, _) = chats.find(caller.user, &chat).await?;
    Ok(Json(CancelOutcome { cancelled: turns.cancel_call(caller.user, chat, &call).await? }))
}

/// The user's decision on a tool call.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ApprovalDecisionRequest {
    decision: Decision,
    /// Arguments edited by the user, which replace the model's.
    #[serde(default)]
    arguments: Option<Map<String, Value>>,
}

/// Decides a pending approval. The first decision is final; later requests receive it in the response.
pub async fn decide_approval(
    State(chats): State<ChatLookup>,
    State(turns): State<TurnService>,
    State(storage): State<Storage>,
    State(audit): State<AuditLog>,
    caller: SignedIn,
    NamedTwo(chat, approval): NamedTwo,
    JsonBody(body): JsonBody<ApprovalDecisionRequest>,
) -> Result<Json<turns::AppliedDecision>, ApiError> {
    let (chat, _) = chats.find(caller.user, &chat).await?;
    let approval: InteractionId = approval.parse().map_err(|_| ApiError::NotFound("approval"))?;
    let decision = ApprovalDecision { decision: body.decision, arguments: body.arguments };
    let made = turns.decide_approval((caller.user, chat), approval, decision).await;
    if made.as_ref().is_ok_and(|made| made.first && made.decision == Decision::Always) {
        record_allowed_tool(&storage, &audit, caller.user).await;
    }
    made.map(Json).map_err(|error| match error {
        DecideError::NotFound => ApiError::NotFound("approval"),
        DecideError::BadArguments(message) => ApiError::Unprocessable { code: "bad_arguments", message },
        DecideError::Ended => ApiError::Conflict { code: "turn_ended", message: error.to_string() },
        DecideError::Storage(error) => error.into(),
    })
}

/// Records that a user has allowed a tool permanently. A failure is logged: the decision holds all the same.
async fn record_allowed_tool(storage: &Storage, audit: &AuditLog, user: UserId) {
    if let Err(error) = storage.audit_events().insert(&audit.by_user(user, AuditEventKind::ToolAllowed)).await {
        tracing::error!(%error, "could not record a permission in the audit log");
    }
}

/// Response of a user to an elicitation of a turn or of a manual tool call.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ElicitationResponse {
    /// What the user does.
    pub action: Action,
    /// Values of the form, for `accept`.
    #[serde(default)]
    pub content: Option<Map<String, Value>>,
}

/// Responds to a pending elicitation. The first response is final; later requests receive it.
pub async fn answer_elicitation(
    State(chats): State<ChatLookup>,
    State(turns): State<TurnService>,
    caller: SignedIn,
    NamedTwo(chat, id): NamedTwo,
    JsonBody(response): JsonBody<ElicitationResponse>,
) -> Result<Json<turns::AppliedAnswer>, ApiError> {
    let (chat, _) = chats.find(caller.user, &chat).await?;
    let id: InteractionId = id.parse().map_err(|_| ApiError::NotFound("elicitation"))?;
    let made =
        turns.answer_elicitation((caller.user, chat), id, response.action, response.content.unwrap_or_default()).await;
    made.map(Json).map_err(|error| match error {
        AnswerError::NotFound => ApiError::NotFound("elicitation"),
        AnswerError::BadContent(message) => ApiError::Unprocessable { code: "bad_content", message },
        AnswerError::Closed => ApiError::Conflict { code: "elicitation_closed", message: error.to_string() },
        AnswerError::Seal(error) => ApiError::Internal(error.into()),
        AnswerError::Storage(error) => error.into(),
    })
}

/// Responds with a turn's events as an AI SDK UI message stream, version 1, beginning after the event `after`.
pub fn stream_of<R: AsRef<EventLog> + Send + Sync + 'static>(turn: Arc<R>, after: u64, permit: Permit) -> Response {
    let cursor = turn.as_ref().as_ref().follow(after);
    let frames = stream::unfold((turn, cursor), |(turn, mut cursor)| async move {
        let piece = turn.as_ref().as_ref().next(&mut cursor).await?;
        Some((piece, (turn, cursor)))
    });
    // At shutdown the turn ends first and emits its last events, so the stream must not be cut before.
    let mut response = sse::response(frames, permit);
    response.headers_mut().insert("x-vercel-ai-ui-message-stream", axum::http::HeaderValue::from_static("v1"));
    response
}
