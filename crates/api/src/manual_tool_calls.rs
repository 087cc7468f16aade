//! `/api/tools/run`: manual tool calls, made by a user from a form.

use std::sync::Arc;

use agent::tool_selection::{RequestedTool, ToolSelection, Toolset};
use agent::turns::AppliedAnswer;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use bytes::Bytes;
use connections::permissions::PermissionCheck;
use connections::{
    AuditedCall, BoundTool, CallContext, CallOutcome, ConnectionService, InteractionHandler, InteractionUpdate,
    NonInteractive,
};
use domain::json::to_json;
use domain::permission::AllowedBy;
use domain::tool::{Outcome, ToolResult};
use domain::{Clock, InteractionId, UserId};
use futures_util::{StreamExt, stream};
use http_server::error::ApiError;
use http_server::extract::{JsonBody, Named};
use http_server::response::Either;
use http_server::sse::{self, EventStreamResponse};
use platform::BackgroundTasks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::supabase_functions::wants_stream;
use super::turns::ElicitationResponse;
use crate::limiters::StreamLimiter;
use crate::signed_in::SignedIn;

/// A tool call that a user makes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManualToolCall {
    /// Name of the connection.
    server_name: String,
    /// Name of the tool.
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

/// The result of a tool call.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallResult {
    /// Duration of the call, in milliseconds.
    pub duration_ms: u64,
    /// Result of the tool.
    pub result: ToolResult,
}

/// Calls the tool and returns its result. As an event stream, the response also contains the tool's elicitations.
pub async fn call_tool(
    State(connections): State<ConnectionService>,
    State(streams): State<StreamLimiter>,
    State(tasks): State<BackgroundTasks>,
    State(clock): State<Arc<dyn Clock>>,
    caller: SignedIn,
    headers: HeaderMap,
    JsonBody(body): JsonBody<ManualToolCall>,
) -> Result<Either<Json<ToolCallResult>, EventStreamResponse>, ApiError> {
    let tool = find_allowed_tool(&connections, caller.user, &body).await?;
    // If the client disconnects, axum drops this future, and the tool call is cancelled with it.
    if !wants_stream(&headers) {
        // A JSON client has no way to respond to an elicitation, so the call ends at the first one.
        let interactions = Arc::new(NonInteractive::default());
        let ran = call_and_audit(&connections, &*clock, caller.user, &tool, body, interactions.clone()).await;
        if interactions.was_asked() {
            let message = "the tool asks something in the middle of the call; ask for text/event-stream to answer it";
            return Err(ApiError::Unprocessable { code: "tool_needs_input", message: message.to_owned() });
        }
        return ran.map(|ran| Either::A(Json(ran)));
    }
    let permit = streams.acquire(caller.user)?;
    let (handler, updates) = connections.manual_runs().handler(caller.user);
    let updates =
        stream::unfold(updates, |mut updates| async move { Some((interaction_event(updates.recv().await?), updates)) });
    // In a task of its own: a stream is not polled while its client does not read, and a call that nobody polls could
    // hold SQLite's only writer.
    let (sender, result) = oneshot::channel();
    let cancel = tasks.shutdown_token().child_token();
    let cancel_on_drop = cancel.clone().drop_guard();
    tasks.spawn("manual tool call", async move {
        let called = call_and_audit(&connections, &*clock, caller.user, &tool, body, Arc::new(handler));
        tokio::select! {
            () = cancel.cancelled() => {}
            called = called => drop(sender.send(called)),
        }
    });
    let called = stream::once(async move {
        let _cancel_on_drop = cancel_on_drop;
        match result.await {
            Ok(Ok(ran)) => {
                let mut event = to_json(&ran);
                event["type"] = "result".into();
                event
            }
            // The status has been sent already, so an error becomes an event.
            Ok(Err(error)) => error_event(&error),
            Err(_) => error_event(&ApiError::Internal(anyhow::anyhow!("the task of a tool call has panicked"))),
        }
    });
    // Ends with the call: its handler, the only sender of updates, is dropped with it.
    let frames = stream::select(updates, called).map(|event| Bytes::from(format!("data: {event}\n\n")));
    Ok(Either::B(EventStreamResponse(sse::response_until(frames, tasks.shutdown_token().clone(), permit))))
}

/// Responds to an elicitation of a manual tool call.
pub async fn answer_elicitation(
    State(connections): State<ConnectionService>,
    caller: SignedIn,
    Named(id): Named,
    JsonBody(response): JsonBody<ElicitationResponse>,
) -> Result<Json<AppliedAnswer>, ApiError> {
    let not_found = || ApiError::NotFound("elicitation");
    let id: InteractionId = id.parse().map_err(|_| not_found())?;
    let runs = connections.manual_runs();
    let replied = runs.answer(caller.user, id, response.action, response.content.unwrap_or_default());
    replied
        .ok_or_else(not_found)?
        .map_err(|error| ApiError::Unprocessable { code: "bad_content", message: error.to_string() })?;
    Ok(Json(AppliedAnswer { action: response.action, first: true }))
}

/// Logs an error, and returns it as an event.
fn error_event(error: &ApiError) -> Value {
    error.log();
    json!({ "type": "error", "code": error.code(), "message": error.to_string() })
}

/// Returns an elicitation's state as an event.
fn interaction_event(update: InteractionUpdate) -> Value {
    match update {
        InteractionUpdate::Opened(id, request) => {
            json!({ "type": "elicitation", "id": id, "state": "waiting", "request": request })
        }
        InteractionUpdate::Closed(id) => json!({ "type": "elicitation", "id": id, "state": "settled" }),
    }
}

/// Resolves the requested [`BoundTool`], and rejects one that the user has denied.
async fn find_allowed_tool(
    connections: &ConnectionService,
    user: UserId,
    body: &ManualToolCall,
) -> Result<BoundTool, ApiError> {
    let servers = connections.list_servers(user).await?;
    let wanted = [RequestedTool { name: body.name.clone(), server_name: Some(body.server_name.clone()) }];
    let selection = ToolSelection::resolve(&wanted, &servers, |server| connections.enabled_tool_names(server))
        .map_err(|_| ApiError::NotFound("connection"))?;
    let toolset = Toolset::open_manually(connections, user, &selection).await;
    let Some(tool) = toolset.find(&body.server_name, &body.name) else {
        return Err(match toolset.unavailable {
            Some(message) => ApiError::Upstream { code: "tool_failed", message },
            None => ApiError::Unprocessable { code: "unknown_tool", message: toolset.notices.join(" ") },
        });
    };
    // Pressing Run approves this call, whatever the permission for the assistant is; only `never` takes precedence.
    if connections.check_permission(user, tool).await? == PermissionCheck::Denied {
        let audited = AuditedCall::new(connections, user, &body.server_name, &body.name, AllowedBy::Nobody);
        audited.finish(Outcome::Denied);
        let message = "you do not allow this tool; change its permission first".to_owned();
        return Err(ApiError::Unprocessable { code: "tool_not_allowed", message });
    }
    Ok(tool.clone())
}

/// Calls the tool and records the call in the audit log.
async fn call_and_audit(
    connections: &ConnectionService,
    clock: &dyn Clock,
    user: UserId,
    tool: &BoundTool,
    body: ManualToolCall,
    interactions: Arc<dyn InteractionHandler>,
) -> Result<ToolCallResult, ApiError> {
    let audited = AuditedCall::new(connections, user, &body.server_name, &body.name, AllowedBy::Form);
    let began = clock.now();
    // Nothing cancels a manual call except dropping its future.
    let context = CallContext { interactions: Some(interactions), ..CallContext::new(CancellationToken::new()) };
    let outcome = connections.call_tool(user, tool, body.arguments, context).await;
    audited.finish(outcome.outcome());
    match outcome {
        CallOutcome::Result(result) => Ok(ToolCallResult { duration_ms: clock.now().millis_since(began), result }),
        CallOutcome::Failed { reason, .. } => Err(ApiError::Upstream { code: "tool_failed", message: reason }),
    }
}
