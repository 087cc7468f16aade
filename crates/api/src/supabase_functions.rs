//! The two functions of the specification, `ai-chat` and `mcp-proxy`, in the envelopes that it prescribes.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent::chats::temporary::TemporaryChats;
use agent::files;
use agent::models::{MAX_MODEL_NAME_CHARS, ModelService, with_advice};
use agent::tool_selection::{RequestedTool, SelectionError, ToolSelection};
use agent::turns::{BeginError, PendingSnapshot, Turn, TurnRequest, TurnService};
use axum::Json;
use axum::extract::{FromRef, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use connections::{ConnectionService, ProbeError};
use domain::message::{AppContext, MessageStatus, Part, text_of, tool_calls_of};
use domain::model::ModelError;
use domain::tool::{ToolCall, ToolDefinition};
use domain::{AttachmentId, ChatId, FileId, MessageId};
use http_server::error::ApiError;
use http_server::extract::{Address, UnreadJsonBody};
use http_server::openapi::{Operation, OperationOutput};
use http_server::response::Either;
use http_server::route::Access::{self, Owner};
use http_server::route::Section;
use http_server::routes;
use http_server::sse::EventStreamResponse;
use platform::client_address::subscriber_network;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use storage::branches::TurnPosition;

use super::models::find_known_model;
use super::turns::stream_of;
use crate::AppState;
use crate::limiters::{ProbeAddressLimiter, ProbeLimiter, StreamLimiter};
use crate::signed_in::SignedIn;
use crate::usage::quota_error;

/// Returns the routes below `/functions/v1`.
pub fn section() -> Section<AppState> {
    let routes = routes! {
        /// Stores a message in one of the caller's chats and runs the turn that answers it. Responds with the complete
        /// answer, or with a stream of events if the client accepts `text/event-stream`.
        post("/ai-chat", Owner, ai_chat),
        /// Lists the tools of an MCP server.
        post("/mcp-proxy", Access::SignedIn, mcp_proxy),
    };
    Section::new("/functions/v1", routes, |routes| {
        routes
            .fallback(async || FunctionsApiError(ApiError::NotFound("function")))
            .method_not_allowed_fallback(async || FunctionsApiError(ApiError::MethodNotAllowed))
    })
}

/// Maximum length of a message, in characters.
pub const MAX_MESSAGE_CHARS: usize = 200_000;
/// Maximum number of app contexts of a message.
const MAX_CONTEXTS: usize = 16;
/// Maximum total size of the app contexts of a message, in bytes.
const CONTEXT_BYTES: usize = 64 * 1024;
/// Maximum number of attachments of a message.
const MAX_ATTACHMENTS: usize = 16;
/// Maximum total size of the attachments of a message, in bytes: the web app loads them with every message.
const MAX_ATTACHMENT_BYTES: usize = 8 * 1024 * 1024;

/// A message that begins a turn, or the message that a turn continues.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AiChat {
    #[serde(default)]
    #[schemars(length(min = 1, max = MAX_MESSAGE_CHARS), regex(pattern = r"\S"))]
    message: Option<String>,
    session_id: ChatId,
    /// Id of the new message. A client that did not receive the response repeats the request with the same id, and
    /// the message is not stored twice.
    #[serde(default)]
    message_id: Option<MessageId>,
    /// The message that this turn replaces, on a new branch.
    #[serde(default)]
    replaces: Option<MessageId>,
    /// The assistant message that this turn continues.
    #[serde(default)]
    continues: Option<MessageId>,
    /// Model of this turn, as `provider/name`; the model of the chat if left out.
    #[serde(default)]
    #[schemars(length(max = MAX_MODEL_NAME_CHARS))]
    model: Option<String>,
    /// The tools that the model may call; all of the user's if left out.
    #[serde(default)]
    tools: Option<Vec<RequestedTool>>,
    /// State of MCP Apps, for the model to know.
    #[serde(default)]
    #[schemars(length(max = MAX_CONTEXTS))]
    contexts: Vec<AppContext>,
    /// Ids of uploaded files and of attachments.
    #[serde(default)]
    #[schemars(length(max = MAX_ATTACHMENTS))]
    attachments: Option<Vec<AttachmentId>>,
}

/// The answer of a turn, as far as it exists when the turn ends or waits for an interaction.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnResponse {
    content: String,
    message_id: MessageId,
    tool_calls: Vec<ToolCall>,
    status: TurnStatus,
    /// The pending interactions; only with the status `waiting`.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pending: Option<PendingSnapshot>,
}

/// State of a turn that did not fail.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum TurnStatus {
    /// The answer is complete.
    Done,
    /// The answer reached a limit on its length. It is stored, and can be continued.
    Length,
    /// The user stopped the turn.
    Stopped,
    /// Tool calls wait for an interaction of the user.
    Waiting,
}

/// Stores the message and starts the turn. Responds with the turn's event stream, or with JSON once the turn has
/// ended or waits for an interaction.
pub async fn ai_chat(
    State(requests): State<TurnRequests>,
    State(streams): State<StreamLimiter>,
    caller: Result<SignedIn, ApiError>,
    headers: HeaderMap,
    body: UnreadJsonBody<AiChat>,
) -> Result<Either<Json<TurnResponse>, EventStreamResponse>, FunctionsApiError> {
    let caller = caller?;
    // The permit comes first: a turn whose stream could not be followed is not started.
    let permit = if wants_stream(&headers) { Some(streams.acquire(caller.user)?) } else { None };
    let turn = requests.begin(&caller, body.read().await?).await?;
    if let Some(permit) = permit {
        return Ok(Either::B(EventStreamResponse(stream_of(turn, 0, permit))));
    }
    // A JSON client cannot answer an interaction while its request is pending, so the response must not wait for the
    // end then.
    let response = tokio::select! {
        () = turn.event_log.closed() => completed_response(&turn)?,
        pending = turn.wait_until_blocked() => waiting_response(&turn, pending),
    };
    Ok(Either::A(Json(response)))
}

/// Returns whether the client accepts server-sent events.
pub fn wants_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.into_iter().any(|value| value.to_ascii_lowercase().contains("text/event-stream"))
}

/// Reads requests for turns, and starts the turns.
#[derive(Debug, Clone)]
pub struct TurnRequests {
    turns: TurnService,
    connections: ConnectionService,
    models: Arc<ModelService>,
    temporary: TemporaryChats,
}

impl FromRef<AppState> for TurnRequests {
    fn from_ref(state: &AppState) -> Self {
        Self {
            turns: state.turns.clone(),
            connections: state.connections.clone(),
            models: Arc::clone(&state.models),
            temporary: state.temporary.clone(),
        }
    }
}

impl TurnRequests {
    /// Validates the request and starts the turn, which a [`Turn`] represents.
    async fn begin(&self, caller: &SignedIn, body: AiChat) -> Result<Arc<Turn>, ApiError> {
        let request = self.read(caller, body).await?;
        self.turns.begin(caller.user, request).await.map_err(|error| match error {
            BeginError::NoChat => ApiError::NotFound("session"),
            BeginError::NoMessage => ApiError::NotFound("message"),
            BeginError::MessageExists => message_exists(),
            BeginError::Busy => ApiError::Conflict { code: "turn_active", message: error.to_string() },
            BeginError::TooMany(_) => ApiError::TooMany { code: "too_many_turns", message: error.to_string() },
            BeginError::Overloaded => ApiError::Overloaded,
            BeginError::Model(error) => match error {
                ModelError::QuotaExceeded(ref exceeded) => quota_error(exceeded, with_advice(&error)),
                error => ApiError::Upstream { code: "model_unavailable", message: with_advice(&error) },
            },
            BeginError::Storage(error) => error.into(),
        })
    }

    /// Validates a request body and resolves its tools and attachments to a [`TurnRequest`].
    ///
    /// # Errors
    ///
    /// [`ApiError::BadRequest`] for bad values; [`ApiError::Conflict`] if the message is already stored;
    /// [`ApiError::Unprocessable`] for an unknown model, unknown tools or attachments.
    pub async fn read(&self, caller: &SignedIn, body: AiChat) -> Result<TurnRequest, ApiError> {
        let position = match (body.replaces, body.continues) {
            (None, None) => TurnPosition::End,
            (Some(id), None) => TurnPosition::Replace(id),
            (None, Some(id)) => TurnPosition::Continue(id),
            (Some(_), Some(_)) => {
                return Err(ApiError::BadRequest("replaces and continues are mutually exclusive".into()));
            }
        };
        // Checked first: the attachments of a repeated request were consumed by the first one and would be reported as
        // unknown.
        if let Some(id) = body.message_id
            && self
                .temporary
                .store_for(caller.user, body.session_id)
                .chats()
                .has_message(caller.user, body.session_id, id)
                .await?
        {
            return Err(message_exists());
        }
        // Regenerating and continuing an answer need no new text.
        if body.message.is_some() || position == TurnPosition::End {
            check_message(body.message.as_deref().unwrap_or_default())?;
        }
        let weight: usize = body.contexts.iter().map(|context| context.to_model_text().len()).sum();
        if body.contexts.len() > MAX_CONTEXTS || weight > CONTEXT_BYTES {
            let message =
                format!("contexts has more than {MAX_CONTEXTS} entries, or they are longer than {CONTEXT_BYTES} bytes");
            return Err(ApiError::BadRequest(message));
        }
        let wanted = body.tools.unwrap_or_default();
        let tools = if wanted.is_empty() {
            ToolSelection::default()
        } else {
            let servers = self.connections.list_servers(caller.user).await?;
            ToolSelection::resolve(&wanted, &servers, |server| self.connections.enabled_tool_names(server)).map_err(
                |error| {
                    let code = match error {
                        SelectionError::Ambiguous(_) => "ambiguous_tool",
                        SelectionError::Unknown(_) => "unknown_tool",
                    };
                    ApiError::Unprocessable { code, message: error.to_string() }
                },
            )?
        };
        let mut parts = self.attached(caller, body.session_id, &body.attachments.unwrap_or_default()).await?;
        parts.extend(body.contexts.into_iter().map(|context| Part::AppContext { context }));
        let model = match &body.model {
            Some(name) => Some(find_known_model(&self.models, caller, name).await?),
            None => None,
        };
        let (message, message_id) = (body.message, body.message_id);
        Ok(TurnRequest { chat: body.session_id, message, message_id, position, parts, tools, model, queued: None })
    }

    /// Resolves attachment ids to message parts: uploaded files, pending attachments, and attachments of an earlier
    /// message that is sent again.
    async fn attached(&self, caller: &SignedIn, chat: ChatId, ids: &[AttachmentId]) -> Result<Vec<Part>, ApiError> {
        if ids.len() > MAX_ATTACHMENTS {
            return Err(ApiError::BadRequest(format!("attachments has more than {MAX_ATTACHMENTS} entries")));
        }
        let home = self.temporary.store_for(caller.user, chat);
        // The attachments of earlier messages are loaded at most once, and only if an id is found nowhere else.
        let mut earlier = None;
        let mut parts = Vec::with_capacity(ids.len());
        let mut bytes = 0;
        for id in ids {
            if let Some(file) = files::for_message(&home, caller.user, chat, FileId(id.0)).await? {
                parts.push(Part::File(file));
                continue;
            }
            let found = if let Some(waiting) = home.attachments().get(caller.user, *id).await? {
                Some(waiting)
            } else {
                let earlier = match &mut earlier {
                    Some(earlier) => earlier,
                    none => none.insert(self.turns.attachments(caller.user, chat).await?),
                };
                earlier.iter().find(|attachment| attachment.id == *id).cloned()
            };
            let found = found.ok_or_else(|| ApiError::Unprocessable {
                code: "unknown_attachment",
                message: "the attachment is no longer stored; attach it again".to_owned(),
            })?;
            bytes += found.content.size();
            if bytes > MAX_ATTACHMENT_BYTES {
                let message =
                    format!("attachments are larger than {} MiB in total", MAX_ATTACHMENT_BYTES / (1024 * 1024));
                return Err(ApiError::Unprocessable { code: "too_large", message });
            }
            parts.push(Part::Attachment { attachment: Box::new(found) });
        }
        Ok(parts)
    }
}

/// Returns the error for a message id that is already stored.
fn message_exists() -> ApiError {
    ApiError::Conflict { code: "message_exists", message: BeginError::MessageExists.to_string() }
}

/// Rejects a message that is blank, or longer than 200,000 characters.
pub fn check_message(message: &str) -> Result<(), ApiError> {
    if message.trim().is_empty() {
        return Err(ApiError::BadRequest("message is blank".into()));
    }
    if message.chars().count() > MAX_MESSAGE_CHARS {
        return Err(ApiError::BadRequest(format!("message is longer than {MAX_MESSAGE_CHARS} characters")));
    }
    Ok(())
}

/// Returns the response for a turn that waits for an interaction.
fn waiting_response(turn: &Turn, pending: PendingSnapshot) -> TurnResponse {
    turn_response(turn, &turn.finished_parts(), TurnStatus::Waiting, Some(pending))
}

/// Returns the response for a turn that has ended.
///
/// # Errors
///
/// [`ApiError::Upstream`] for a failed turn.
fn completed_response(turn: &Turn) -> Result<TurnResponse, ApiError> {
    // The log is closed only after the end is set, so a missing end is an internal error.
    let end = turn.result.get().ok_or_else(|| anyhow::anyhow!("a turn closed without an end"))?;
    let status = match end.status {
        MessageStatus::Done => TurnStatus::Done,
        MessageStatus::Length => TurnStatus::Length,
        // A stopped turn is a success, since its user wanted it.
        MessageStatus::Stopped => TurnStatus::Stopped,
        MessageStatus::Failed | MessageStatus::Interrupted => {
            let message = end.error.clone().unwrap_or_default();
            return Err(ApiError::Upstream { code: "model_failed", message });
        }
    };
    Ok(turn_response(turn, &end.parts, status, None))
}

fn turn_response(turn: &Turn, parts: &[Part], status: TurnStatus, pending: Option<PendingSnapshot>) -> TurnResponse {
    let tool_calls = tool_calls_of(parts).into_iter().cloned().collect();
    TurnResponse { content: text_of(parts), message_id: turn.message_id, tool_calls, status, pending }
}

/// An error in the envelope of the functions.
#[derive(Debug)]
pub struct FunctionsApiError(ApiError);

impl From<ApiError> for FunctionsApiError {
    fn from(error: ApiError) -> Self {
        Self(error)
    }
}

impl IntoResponse for FunctionsApiError {
    fn into_response(self) -> Response {
        let Self(error) = self;
        error.log();
        let body = FunctionErrorBody { error: error.to_string(), code: error.code() };
        error.decorate((error.status(), Json(body)).into_response())
    }
}

impl OperationOutput for FunctionsApiError {
    fn describe(operation: &mut Operation<'_>) {
        operation.set_error::<FunctionErrorBody>();
    }
}

/// The request was rejected, or it failed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "FunctionError")]
struct FunctionErrorBody {
    /// Message, for users.
    error: String,
    /// Stable code, for programs.
    code: &'static str,
}

/// The MCP server whose tools are requested.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct McpProxy {
    url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

/// The tools of an MCP server; without success the reason and the fallback tools.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpProxyResponse {
    success: bool,
    data: Vec<ToolDefinition>,
    error: Option<String>,
    /// True if the server requires the caller to sign in to it; otherwise left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    needs_sign_in: bool,
}

/// Connects to an MCP server and lists its tools. A server without tools is not an HTTP error: `success` is false,
/// `error` has the reason, and `data` has the fallback tools.
pub async fn mcp_proxy(
    State(connections): State<ConnectionService>,
    State(probes): State<ProbeLimiter>,
    State(probes_by_address): State<ProbeAddressLimiter>,
    Address(address): Address,
    caller: Result<SignedIn, ApiError>,
    body: UnreadJsonBody<McpProxy>,
) -> Result<Json<McpProxyResponse>, McpProxyError> {
    let caller = caller?;
    let body = body.read().await?;
    let _permit = probes.acquire(caller.user)?;
    // Also limited per network address, since anyone with an account could make this server connect to others.
    let _address_permit = probes_by_address.acquire(subscriber_network(address))?;
    let headers: Vec<(String, String)> = body.headers.into_iter().collect();
    Ok(Json(match connections.probe(caller.user, &body.url, &headers).await {
        Ok(tools) => McpProxyResponse { success: true, data: tools, error: None, needs_sign_in: false },
        Err(error) => McpProxyResponse {
            success: false,
            data: connections.fallback_tools(),
            error: Some(error.to_string()),
            needs_sign_in: matches!(error, ProbeError::NeedsSignIn),
        },
    }))
}

/// An error of `mcp-proxy` before any MCP server was contacted, in the envelope of its response.
#[derive(Debug)]
pub struct McpProxyError(ApiError);

impl From<ApiError> for McpProxyError {
    fn from(error: ApiError) -> Self {
        Self(error)
    }
}

impl IntoResponse for McpProxyError {
    fn into_response(self) -> Response {
        let Self(error) = self;
        error.log();
        let message = Some(error.to_string());
        let body = McpProxyResponse { success: false, data: Vec::new(), error: message, needs_sign_in: false };
        error.decorate((error.status(), Json(body)).into_response())
    }
}

impl OperationOutput for McpProxyError {
    fn describe(operation: &mut Operation<'_>) {
        operation.set_error::<McpProxyResponse>();
    }
}
