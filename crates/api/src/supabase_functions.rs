//! The two functions of the specification, `ai-chat` and `mcp-proxy`, in the envelopes that it prescribes.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent::chats::temporary::TemporaryChats;
use agent::files;
use agent::models::with_advice;
use agent::tool_selection::{RequestedTool, SelectionError, ToolSelection};
use agent::turns::{BeginError, PendingSnapshot, Turn, TurnRequest, TurnService};
use axum::Json;
use axum::extract::{FromRef, FromRequest, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use connections::{ConnectionService, ProbeError};
use domain::message::{AppContext, MessageStatus, Part, text_of, tool_calls_of};
use domain::model::ModelError;
use domain::tool::ToolDefinition;
use domain::{AttachmentId, ChatId, FileId, MessageId};
use platform::client_address::subscriber_network;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use storage::branches::TurnPosition;

use super::auth::Address;
use super::error::ApiError;
use super::extract::{JsonBody, SignedIn};
use super::route::Access::{self, Owner};
use super::route::{Section, post};
use super::turns::stream_of;
use crate::AppState;
use crate::limiters::{ProbeAddressLimiter, ProbeLimiter, StreamLimiter};

/// Returns the routes below `/functions/v1`.
pub fn section() -> Section {
    let routes = [post("/ai-chat", Owner, ai_chat), post("/mcp-proxy", Access::SignedIn, mcp_proxy)];
    Section::new("/functions/v1", routes, |routes| {
        routes
            .fallback(async || refusal(&ApiError::NotFound("function")))
            .method_not_allowed_fallback(async || refusal(&ApiError::MethodNotAllowed))
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

/// Stores the message and starts the turn. Responds with the turn's event stream, or with JSON once the turn has
/// ended or waits for an interaction.
pub async fn ai_chat(
    State(requests): State<TurnRequests>,
    State(streams): State<StreamLimiter>,
    caller: Result<SignedIn, ApiError>,
    request: Request,
) -> Response {
    let begun = async {
        let caller = caller?;
        // The permit comes first: a turn whose stream could not be followed is not started.
        let permit = if wants_stream(request.headers()) { Some(streams.acquire(caller.user)?) } else { None };
        let JsonBody(body) = JsonBody::from_request(request, &()).await?;
        Ok((requests.begin(&caller, body).await?, permit))
    };
    let turn = match begun.await {
        Ok((turn, Some(permit))) => return stream_of(turn, 0, permit),
        Ok((turn, None)) => turn,
        Err(error) => return refusal(&error),
    };
    // A JSON client cannot answer an interaction while its request is pending, so the response must not wait for the
    // end then.
    tokio::select! {
        () = turn.event_log.closed() => whole(&turn),
        waiting = turn.wait_until_blocked() => waits(&turn, &waiting),
    }
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
    temporary: TemporaryChats,
}

impl FromRef<AppState> for TurnRequests {
    fn from_ref(state: &AppState) -> Self {
        Self { turns: state.turns.clone(), connections: state.connections.clone(), temporary: state.temporary.clone() }
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
                ModelError::SpentForToday { retry_after, .. } => {
                    ApiError::Spent { message: with_advice(&error), retry_after: retry_after.as_secs().max(1) }
                }
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
    /// [`ApiError::Unprocessable`] for unknown tools or attachments.
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
        let (message, message_id) = (body.message, body.message_id);
        Ok(TurnRequest { chat: body.session_id, message, message_id, position, parts, tools, queued: None })
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

/// Responds with a turn that waits for an interaction, as JSON.
fn waits(turn: &Turn, waiting: &PendingSnapshot) -> Response {
    let parts = turn.finished_parts();
    Json(json!({
        "content": text_of(&parts),
        "messageId": turn.message_id,
        "toolCalls": tool_calls_of(&parts),
        "status": "waiting",
        "approvals": waiting.approvals,
        "elicitations": waiting.elicitations,
    }))
    .into_response()
}

/// Responds with a completed turn as JSON, or with the error of a failed one.
fn whole(turn: &Turn) -> Response {
    // The log is closed only after the end is set, so a missing end is an internal error.
    let Some(end) = turn.result.get() else {
        return refusal(&ApiError::Internal(anyhow::anyhow!("a turn closed without an end")));
    };
    // A stopped turn is a success, since its user wanted it.
    if matches!(end.status, MessageStatus::Failed | MessageStatus::Interrupted) {
        let message = end.error.clone().unwrap_or_default();
        return refusal(&ApiError::Upstream { code: "model_failed", message });
    }
    Json(json!({
        "content": text_of(&end.parts),
        "messageId": turn.message_id,
        "toolCalls": tool_calls_of(&end.parts),
        "status": end.status,
    }))
    .into_response()
}

/// Responds with an error in the envelope of the functions: `{error, code}`.
fn refusal(error: &ApiError) -> Response {
    error.log();
    let body = Json(json!({ "error": error.to_string(), "code": error.code() }));
    error.decorate((error.status(), body).into_response())
}

/// Request body of [`mcp_proxy`].
#[derive(Debug, Deserialize)]
pub struct McpProxy {
    url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

/// Connects to an MCP server and lists its tools. A server without tools is not an HTTP error: `success` is false,
/// `error` has the reason, and `data` has the fallback tools.
pub async fn mcp_proxy(
    State(connections): State<ConnectionService>,
    State(probes): State<ProbeLimiter>,
    State(probes_by_address): State<ProbeAddressLimiter>,
    Address(address): Address,
    caller: Result<SignedIn, ApiError>,
    request: Request,
) -> Response {
    let read = async {
        let caller = caller?;
        let JsonBody(body) = JsonBody::<McpProxy>::from_request(request, &()).await?;
        let own = probes.acquire(caller.user)?;
        // Also limited per network address, since anyone with an account could make this server connect to others.
        let of_address = probes_by_address.acquire(subscriber_network(address))?;
        Ok((caller, body, (own, of_address)))
    };
    let (caller, body, _permits) = match read.await {
        Ok(read) => read,
        Err(error) => return no_tools(&error),
    };
    let headers: Vec<(String, String)> = body.headers.into_iter().collect();
    match connections.probe(caller.user, &body.url, &headers).await {
        Ok(tools) => answer(StatusCode::OK, true, tools, None, false),
        Err(error) => {
            let needs_sign_in = matches!(error, ProbeError::NeedsSignIn);
            answer(StatusCode::OK, false, connections.fallback_tools(), Some(error.to_string()), needs_sign_in)
        }
    }
}

/// Responds to a request that was rejected before any MCP server was contacted.
fn no_tools(error: &ApiError) -> Response {
    error.log();
    error.decorate(answer(error.status(), false, Vec::new(), Some(error.to_string()), false))
}

/// Builds the envelope of `mcp-proxy`.
fn answer(
    status: StatusCode,
    success: bool,
    data: Vec<ToolDefinition>,
    error: Option<String>,
    needs_sign_in: bool,
) -> Response {
    let mut body = json!({ "success": success, "data": data, "error": error });
    if needs_sign_in {
        body["needsSignIn"] = true.into();
    }
    (status, Json(body)).into_response()
}
