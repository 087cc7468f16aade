//! The OpenAI-compatible API for other clients: a conversation that the client keeps is answered by the user's models
//! and, if the client asks for it, with the user's tools. Only the audit log of tool calls and the usage are stored.

mod answer_text;
mod key_revocation;
mod request_limits;
mod stop_filter;
mod tool_calls;

use std::sync::Arc;
use std::time::Duration;

use domain::model::{FinishReason, ModelError, ModelEvent, ModelMessage, ModelStatus, PartKind, Request, Usage};
use domain::{ApiKeyId, Clock, UserId};
use futures_util::{Stream, StreamExt};
use platform::{BackgroundTasks, Permit};
use storage::Storage;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::files::model_attachments::{AttachmentLoader, InputModalities};
use crate::models::usage_recording::estimate_usage;
use crate::models::{ModelId, ModelService};
use connections::ConnectionService;

use crate::tool_search::Offer;
use crate::tool_selection::Toolset;

use answer_text::AnswerText;
use key_revocation::KeyRevocationWatch;
use request_limits::RequestLimits;

pub use request_limits::RequestLimitError;

/// Maximum number of model calls in one answer.
const MAX_STEPS: usize = 25;
/// Number of items that are buffered for a client. A client that does not read delays the model.
const MAX_BUFFERED_ITEMS: usize = 64;
/// Longest wait for a provider that is overloaded, before the first output. A client can wait itself, and then knows
/// the reason.
const MAX_FIRST_RETRY_WAIT: Duration = Duration::from_secs(5);

/// A request of an API client, answered by [`CompletionService::answer`].
#[derive(Debug)]
pub struct CompletionRequest {
    /// User on behalf of whom it is answered.
    pub user: UserId,
    /// API key of the request, if any. The answer is aborted when the key is revoked.
    pub key: Option<ApiKeyId>,
    /// Model that answers.
    pub model: ModelId,
    /// Conversation, and the client's own tools.
    pub request: Request,
    /// Whether the user's tools are executed on the server. The request has no tools of the client then.
    pub with_tools: bool,
}

/// Item of the stream that [`CompletionService::answer`] returns. Nothing follows `End` or `Failed`.
#[derive(Debug)]
pub enum StreamItem {
    /// Text.
    Text(String),
    /// Text of the model's reasoning.
    Thought(String),
    /// Start of a call of one of the client's tools.
    Call {
        /// Position among the answer's calls, from 0.
        index: u32,
        /// Id of the call.
        id: String,
        /// Name of the tool.
        name: String,
    },
    /// Part of a call's arguments.
    Arguments {
        /// Position among the answer's calls, from 0.
        index: u32,
        /// Fragment of their JSON text.
        text: String,
    },
    /// Regular end, with the reason and the usage.
    End(FinishReason, Usage),
    /// The answer failed, before or after its first items.
    Failed(CompletionError),
}

/// Reason for which a completion failed.
#[derive(Debug, thiserror::Error)]
pub enum CompletionError {
    /// The model failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A tool needs the user's approval, which this API cannot request.
    #[error(
        "The tool {tool} of {server} needs an approval, which this API cannot request. Allow or block it in the app, under \
         Tools."
    )]
    ApprovalNeeded {
        /// Name of the tool.
        tool: String,
        /// Name of the connection.
        server: String,
    },
    /// A server requested an elicitation during a call, which this API cannot show.
    #[error(
        "The tool {tool} of {server} asked for input during its call, which this API cannot show. Use the tool in the app."
    )]
    InputNeeded {
        /// Name of the tool.
        tool: String,
        /// Name of the connection.
        server: String,
    },
    /// The model kept calling tools up to the limit.
    #[error("The assistant called tools {MAX_STEPS} times in a row and was stopped.")]
    TooManySteps,
    /// The server is shutting down.
    #[error("The server is restarting. Try again in a moment.")]
    Stopping,
    /// The API key was revoked during the answer.
    #[error("This API key was revoked.")]
    Revoked,
    /// Internal error; its text is only logged.
    #[error("Something went wrong on the server.")]
    Internal(#[from] anyhow::Error),
}

/// Answers requests of the OpenAI-compatible API. Cheap to clone.
#[derive(Debug, Clone)]
pub struct CompletionService {
    models: Arc<ModelService>,
    connections: ConnectionService,
    tasks: BackgroundTasks,
    limits: Arc<RequestLimits>,
    keys: KeyRevocationWatch,
}

impl CompletionService {
    /// Creates the service. Without `has_rate_limit`, only the number of concurrent answers per user is limited.
    pub fn new(
        storage: Storage,
        clock: &Arc<dyn Clock>,
        tasks: BackgroundTasks,
        models: Arc<ModelService>,
        connections: ConnectionService,
        has_rate_limit: bool,
    ) -> Self {
        let limits = Arc::new(RequestLimits::new(has_rate_limit, clock));
        let keys = KeyRevocationWatch::new(storage, tasks.clone());
        Self { models, connections, tasks, limits, keys }
    }

    /// Counts a request of `user` with the key `key`, and returns a permit for its answer.
    ///
    /// # Errors
    ///
    /// [`RequestLimitError`] if a limit of the key or of the user is reached.
    pub fn permit(&self, key: Uuid, user: UserId) -> Result<Permit, RequestLimitError> {
        self.limits.begin(key, user)
    }

    /// Starts an answer and returns its stream. The answer holds `permit` until it ends. Dropping the stream cancels
    /// the model call and the tool calls.
    pub fn answer(
        &self,
        request: CompletionRequest,
        permit: Permit,
    ) -> impl Stream<Item = StreamItem> + Send + 'static + use<> {
        // Bounded: a slow client delays the model instead of filling the memory.
        let (sender, receiver) = mpsc::channel(MAX_BUFFERED_ITEMS);
        let cancel = CancellationToken::new();
        let guard = cancel.clone().drop_guard();
        let service = self.clone();
        self.tasks.spawn("completion", async move {
            let completion = Completion { service: &service, sender: &sender, cancel: cancel.clone() };
            let end = tokio::select! {
                // The end of the client or of the server comes first, because a result would not be read then.
                biased;
                () = cancel.cancelled() => return,
                () = service.tasks.shutdown_token().cancelled() => Err(CompletionError::Stopping),
                () = service.revoked(request.user, request.key) => {
                    cancel.cancel();
                    Err(CompletionError::Revoked)
                }
                end = completion.run(request) => end,
            };
            let last = end.map_or_else(StreamItem::Failed, |(reason, usage)| StreamItem::End(reason, usage));
            // A client that has disconnected gets nothing.
            drop(sender.send(last).await);
            // The permit is released only after the last item is handed over.
            drop(permit);
        });
        futures_util::stream::unfold((receiver, guard), |(mut receiver, guard)| async move {
            let item = receiver.recv().await?;
            Some((item, (receiver, guard)))
        })
    }

    /// Waits until the API key of a request is revoked. Without a key it never returns.
    async fn revoked(&self, user: UserId, key: Option<ApiKeyId>) {
        match key {
            Some(key) => self.keys.revoked(user, key).await,
            None => std::future::pending().await,
        }
    }
}

/// One answer in progress.
struct Completion<'a> {
    service: &'a CompletionService,
    sender: &'a mpsc::Sender<StreamItem>,
    cancel: CancellationToken,
}

/// Output of one step.
#[derive(Default)]
struct Reply {
    text: String,
    thoughts: Vec<domain::model::Thought>,
    calls: Vec<domain::model::ModelCall>,
    finish: Option<FinishReason>,
    usage: Usage,
}

impl Completion<'_> {
    /// Runs the loop of model and tool calls.
    async fn run(&self, request: CompletionRequest) -> Result<(FinishReason, Usage), CompletionError> {
        let CompletionRequest { user, model, mut request, with_tools, .. } = request;
        let attachments = AttachmentLoader::new(InputModalities::of_model(&self.service.models, user, &model).await);
        let offered = if with_tools { Some(self.offer(user, &model, &request).await?) } else { None };
        let mut usage = Usage::default();
        let mut text = AnswerText::new(&request);
        for round in 0..MAX_STEPS {
            if let Some((toolset, offer)) = &offered {
                request.tools = offer.specs(toolset);
            }
            // After tools have run, a client must not repeat the request, because that would run them twice. So every
            // wait is accepted.
            let patience = if round == 0 { MAX_FIRST_RETRY_WAIT } else { Duration::MAX };
            let reply = self.ask(&model, &request, user, offered.is_none(), patience, &mut text).await?;
            usage += reply.usage;
            let Some((toolset, offer)) = offered.as_ref().filter(|_| !reply.calls.is_empty()) else {
                self.send_text(text.finish()).await;
                return Ok((reply.finish.unwrap_or(FinishReason::Truncated), usage));
            };
            self.send_text(text.end_step()).await;
            let results =
                tool_calls::run(self.service, user, (toolset, offer), &reply.calls, &attachments, &self.cancel).await?;
            let Reply { text, thoughts, calls, .. } = reply;
            request.messages.push(ModelMessage::Assistant { thoughts, text, calls, files: Vec::new() });
            request.messages.extend(results);
        }
        Err(CompletionError::TooManySteps)
    }

    /// Returns the user's tools and their presentation to the model.
    async fn offer(
        &self,
        user: UserId,
        model: &ModelId,
        request: &Request,
    ) -> Result<(Toolset, Offer), CompletionError> {
        let toolset = tool_calls::list_tools(self.service, user).await?;
        let capacity = self.service.models.tool_limits(user, model).await;
        let words = request.messages.iter().rev().find_map(|message| match message {
            ModelMessage::User { text, .. } => Some(text.as_str()),
            _ => None,
        });
        let offer = Offer::new(&toolset, capacity, words.unwrap_or_default(), &request.messages);
        Ok((toolset, offer))
    }

    /// Runs one model call and sends its output. Tool calls are sent only if the tools are the client's own.
    async fn ask(
        &self,
        model: &ModelId,
        request: &Request,
        user: UserId,
        tells_calls: bool,
        patience: Duration,
        text_out: &mut AnswerText,
    ) -> Result<Reply, CompletionError> {
        let usage = self.service.models.usage.track_request(user);
        let mut events = self.service.models.stream_recorded(&usage, model, request.clone(), self.cancel.child_token());
        let mut reply = Reply::default();
        let mut open: Vec<Open> = Vec::new();
        let mut waited = Duration::ZERO;
        while let Some(event) = events.next().await {
            let said = match event? {
                ModelEvent::PartStart { part, kind } => {
                    let index = u32::try_from(open.iter().filter(|open| open.is_call()).count()).unwrap_or(u32::MAX);
                    let said = match &kind {
                        PartKind::ToolCall { id, name } if tells_calls => {
                            // The text before a tool call is complete.
                            self.send_text(text_out.flush()).await;
                            Some(StreamItem::Call { index, id: id.clone(), name: name.clone() })
                        }
                        _ => None,
                    };
                    open.push(Open { part, kind, index, gathered: String::new(), seal: None });
                    said
                }
                ModelEvent::Delta { part, text } => {
                    let Some(open) = open.iter_mut().find(|open| open.part == part) else { continue };
                    open.gathered.push_str(&text);
                    match open.kind {
                        PartKind::Text => {
                            self.send_text(text_out.push(&text)).await;
                            if text_out.is_stopped() {
                                return Ok(stopped_reply(request, &open.gathered, reply.usage));
                            }
                            None
                        }
                        PartKind::Reasoning => Some(StreamItem::Thought(text)),
                        PartKind::ToolCall { .. } => {
                            tells_calls.then_some(StreamItem::Arguments { index: open.index, text })
                        }
                    }
                }
                ModelEvent::Seal { part, seal } => {
                    if let Some(open) = open.iter_mut().find(|open| open.part == part) {
                        open.seal = Some(seal);
                    }
                    None
                }
                ModelEvent::Usage(usage) => {
                    reply.usage = usage;
                    None
                }
                ModelEvent::Finish(reason) => {
                    reply.finish = Some(reason);
                    None
                }
                ModelEvent::Status(ModelStatus::Retrying { after_ms }) => {
                    let wait = Duration::from_millis(after_ms);
                    waited += wait;
                    // A client that is told to wait can decide itself, and may use another model.
                    if waited > patience {
                        let message = "it asks for a pause".to_owned();
                        return Err(ModelError::RateLimited { message, retry_after: Some(wait) }.into());
                    }
                    None
                }
                ModelEvent::Status(_)
                | ModelEvent::Notice(_)
                | ModelEvent::File { .. }
                | ModelEvent::PartEnd { .. } => None,
            };
            if let Some(said) = said {
                self.send(said).await;
            }
        }
        drop(events);
        // Recorded before the next step or the end, so that the quota of the client's next request includes it.
        usage.flushed().await;
        for open in open {
            open.close(&mut reply);
        }
        Ok(reply)
    }

    /// Sends text, if there is any.
    async fn send_text(&self, text: String) {
        if !text.is_empty() {
            self.send(StreamItem::Text(text)).await;
        }
    }

    /// Sends an item of the answer. If the client has disconnected, the answer is cancelled elsewhere.
    async fn send(&self, item: StreamItem) {
        drop(self.sender.send(item).await);
    }
}

/// Returns the end of an answer that was cut at a stop sequence after `written`. The usage is estimated, because an
/// aborted stream reports none.
fn stopped_reply(request: &Request, written: &str, reported: Usage) -> Reply {
    let usage = estimate_usage(request, written.len() as u64, reported);
    Reply { finish: Some(FinishReason::Stop), usage, ..Reply::default() }
}

/// An unfinished part of an answer.
struct Open {
    part: u32,
    kind: PartKind,
    /// Position among the tool calls.
    index: u32,
    gathered: String,
    seal: Option<domain::model::Seal>,
}

impl Open {
    /// Returns whether the part is a tool call.
    fn is_call(&self) -> bool {
        matches!(self.kind, PartKind::ToolCall { .. })
    }

    /// Adds the finished part to the step's output.
    fn close(self, reply: &mut Reply) {
        match self.kind {
            PartKind::Text => reply.text.push_str(&self.gathered),
            PartKind::Reasoning => reply.thoughts.extend(self.seal.map(|seal| domain::model::Thought {
                calls_before: reply.calls.len(),
                text: self.gathered,
                seal,
            })),
            PartKind::ToolCall { id, name } => {
                reply.calls.push(domain::model::ModelCall { id, name, arguments: self.gathered });
            }
        }
    }
}
