//! Following and steering the turn of a chat.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use domain::elicitation::Action;
use domain::permission::Decision;
use domain::{ApprovalId, ChatId, ElicitationId, MessageId, RunId};
use futures_util::stream;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use store::Store;
use store::approvals::Decided;

use super::error::ApiError;
use super::extract::{JsonBody, Named, NamedTwo, Query, SignedIn};
use super::sse;
use crate::app::App;
use crate::events::Event;
use crate::places::Place;
use crate::runs::{self, AnswerError, BeginError, DecideError, RunLog};

/// From where a stream is to be followed.
#[derive(Debug, Deserialize)]
pub struct After {
    after: Option<String>,
    /// The turn that the event belongs to: the chat may be at another one by now.
    run: Option<RunId>,
}

/// The running turn of a chat, from its start or from after the event that was seen last; 204 when nothing runs, or not
/// the one that is named.
pub async fn stream(
    State(app): State<App>,
    caller: SignedIn,
    Named(chat): Named,
    Query(After { after, run: wanted }): Query<After>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let seen = headers.get("last-event-id").and_then(|value| value.to_str().ok()).map(str::to_owned).or(after);
    let seen = match seen.as_deref().filter(|seen| !seen.is_empty()) {
        None => 0,
        Some(seen) => seen.parse().map_err(|_| ApiError::BadRequest("the last event id is not a number".into()))?,
    };
    let (chat, _) = own_home(&app, &caller, &chat).await?;
    let place = sse::place(&app, caller.user)?;
    if let Some(run) = app.runs.get(caller.user, chat) {
        let is_other = wanted.is_some_and(|wanted| wanted != run.id);
        return Ok(if is_other { StatusCode::NO_CONTENT.into_response() } else { stream_of(run, seen, place) });
    }
    match app.runs.replica(&app, (caller.user, chat), wanted).await? {
        Some(replica) => Ok(stream_of(replica, seen, place)),
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

/// Where the present branch of a chat has others beside it.
pub async fn branches(State(app): State<App>, caller: SignedIn, Named(chat): Named) -> Result<Json<Value>, ApiError> {
    let (chat, home) = own_home(&app, &caller, &chat).await?;
    let forks = home.list_forks(caller.user, chat).await?;
    let forks: Vec<Value> =
        forks.iter().map(|fork| json!({ "messageId": fork.message, "branches": fork.branches })).collect();
    Ok(Json(json!({ "forks": forks })))
}

/// The body.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Through {
    message_id: MessageId,
}

/// Makes the branch of a chat through a message the present one. Safe to repeat.
pub async fn switch_branch(
    State(app): State<App>,
    caller: SignedIn,
    Named(chat): Named,
    JsonBody(to): JsonBody<Through>,
) -> Result<Json<Value>, ApiError> {
    let (chat, home) = own_home(&app, &caller, &chat).await?;
    let switched = home.switch_branch(caller.user, chat, to.message_id, app.clock.now()).await;
    let switched = switched.map_err(|error| match error {
        store::Error::NotFound => ApiError::NotFound("message"),
        store::Error::Conflict(_) => ApiError::Conflict { code: "run_active", message: BeginError::Busy.to_string() },
        other => other.into(),
    })?;
    if switched {
        app.events.publish(caller.user, &Event::Branch { session_id: chat });
    }
    Ok(Json(json!({ "switched": switched })))
}

/// Ends the running turn of a chat and keeps what it has said. Safe to repeat.
pub async fn stop(State(app): State<App>, caller: SignedIn, Named(chat): Named) -> Result<Json<Value>, ApiError> {
    let (chat, _) = own_home(&app, &caller, &chat).await?;
    Ok(Json(json!({ "stopped": app.runs.stop_run(&app, caller.user, chat).await? })))
}

/// Stops one call of the running turn of a chat; the turn goes on without its result. Safe to repeat.
pub async fn cancel_call(
    State(app): State<App>,
    caller: SignedIn,
    NamedTwo(chat, call): NamedTwo,
) -> Result<Json<Value>, ApiError> {
    let (chat, _) = own_home(&app, &caller, &chat).await?;
    Ok(Json(json!({ "cancelled": app.runs.cancel_call(&app, caller.user, chat, &call).await? })))
}

/// The body.
#[derive(Debug, Deserialize)]
pub struct Answer {
    decision: Decision,
    /// In the place of the model's.
    #[serde(default)]
    arguments: Option<Map<String, Value>>,
}

/// Decides about a call that waits. The first decision holds; later ones are told it.
pub async fn decide(
    State(app): State<App>,
    caller: SignedIn,
    NamedTwo(chat, approval): NamedTwo,
    JsonBody(body): JsonBody<Answer>,
) -> Result<Json<runs::Decision>, ApiError> {
    let (chat, _) = own_home(&app, &caller, &chat).await?;
    let approval: ApprovalId = approval.parse().map_err(|_| ApiError::NotFound("approval"))?;
    let decided = Decided { decision: body.decision, arguments: body.arguments };
    let made = app.runs.decide(&app, (caller.user, chat), approval, decided).await;
    made.map(Json).map_err(|error| match error {
        DecideError::NotFound => ApiError::NotFound("approval"),
        DecideError::BadArguments(message) => ApiError::Unprocessable { code: "bad_arguments", message },
        DecideError::Ended => ApiError::Conflict { code: "run_ended", message: error.to_string() },
        DecideError::Store(error) => error.into(),
    })
}

/// What a person says to a question: the body, here and where a tool is run by hand.
#[derive(Debug, Deserialize)]
pub struct Said {
    /// In a word.
    pub action: Action,
    /// What was filled in.
    #[serde(default)]
    pub content: Option<Map<String, Value>>,
}

/// Answers a question that a call waits with. The first answer holds; later ones are told it.
pub async fn answer(
    State(app): State<App>,
    caller: SignedIn,
    NamedTwo(chat, id): NamedTwo,
    JsonBody(said): JsonBody<Said>,
) -> Result<Json<runs::Reply>, ApiError> {
    let (chat, _) = own_home(&app, &caller, &chat).await?;
    let id: ElicitationId = id.parse().map_err(|_| ApiError::NotFound("elicitation"))?;
    let made = app.runs.answer(&app, (caller.user, chat), id, said.action, said.content.unwrap_or_default()).await;
    made.map(Json).map_err(|error| match error {
        AnswerError::NotFound => ApiError::NotFound("elicitation"),
        AnswerError::BadContent(message) => ApiError::Unprocessable { code: "bad_content", message },
        AnswerError::Closed => ApiError::Conflict { code: "elicitation_closed", message: error.to_string() },
        AnswerError::Seal(error) => ApiError::Internal(error.into()),
        AnswerError::Store(error) => error.into(),
    })
}

/// The chat of that name, if it is the caller's, and where it is kept: a temporary chat has a home of its own.
pub(super) async fn own_home(app: &App, caller: &SignedIn, chat: &str) -> Result<(ChatId, Store), ApiError> {
    let id: ChatId = chat.parse().map_err(|_| ApiError::NotFound("session"))?;
    match app.temporary.home(app, caller.user, id) {
        Some(home) => Ok((id, home)),
        None => Ok((own_chat(app, caller, chat).await?, app.store.clone())),
    }
}

/// The chat of that name, if it is the caller's and stands in the database.
pub(super) async fn own_chat(app: &App, caller: &SignedIn, chat: &str) -> Result<ChatId, ApiError> {
    let chat: ChatId = chat.parse().map_err(|_| ApiError::NotFound("session"))?;
    let found = app.store.get_chat(caller.user, chat).await?;
    found.map(|chat| chat.id()).ok_or(ApiError::NotFound("session"))
}

/// A run as the UI message stream, version 1.
pub fn stream_of<R: AsRef<RunLog> + Send + Sync + 'static>(run: Arc<R>, after: u64, place: Place) -> Response {
    let cursor = run.as_ref().as_ref().follow(after);
    let frames = stream::unfold((run, cursor), |(run, mut cursor)| async move {
        let piece = run.as_ref().as_ref().next(&mut cursor).await?;
        Some((piece, (run, cursor)))
    });
    // At shutdown the run ends first and says so; the stream ends with it.
    let mut response = sse::response(frames, place);
    response.headers_mut().insert("x-vercel-ai-ui-message-stream", axum::http::HeaderValue::from_static("v1"));
    response
}
