//! The OpenAI-compatible API for other clients: a conversation that the client keeps is answered by the user's models
//! and, if the client asks for it, with the user's tools. Only the audit log of tool calls and the usage are stored.

mod answer_text;
mod completion_sink;
mod key_revocation;
mod request_limits;
mod stop_filter;
mod tool_calls;

use std::sync::Arc;

use connections::ConnectionService;
use domain::model::{ChatFacts, FinishReason, ModelError, Request, Usage, date_in_words};
use domain::{ApiKeyId, Clock, UserId};
use futures_util::Stream;
use platform::{BackgroundTasks, Permit};
use storage::Storage;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::agent_loop::{Agent, AgentError, MAX_STEPS, ToolExecutionError, ToolExecutor, last_user_text};
use crate::files::model_attachments::{AttachmentLoader, InputModalities};
use crate::models::{ModelId, ModelService};
use crate::tool_search::ToolPresentation;
use answer_text::AnswerText;
use completion_sink::CompletionSink;
use key_revocation::KeyRevocationWatch;
use request_limits::RequestLimits;
use tool_calls::ApiToolExecutor;

pub use request_limits::RequestLimitError;

/// Number of items that are buffered for a client. A client that does not read delays the model.
const MAX_BUFFERED_ITEMS: usize = 64;
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
    Reasoning(String),
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
    /// A tool call cannot be made in this API.
    #[error(transparent)]
    Tools(#[from] ToolExecutionError),
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
    clock: Arc<dyn Clock>,
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
        let limits = Arc::new(RequestLimits::new(has_rate_limit, &storage, clock));
        let keys = KeyRevocationWatch::new(storage, tasks.clone());
        Self { models, connections, tasks, limits, keys, clock: Arc::clone(clock) }
    }

    /// Counts a request of `user` with the key `key`, and returns a permit for its answer.
    ///
    /// # Errors
    ///
    /// [`RequestLimitError`] if a limit of the key or of the user is reached.
    pub async fn permit(&self, key: Uuid, user: UserId) -> Result<Permit, RequestLimitError> {
        self.limits.begin(key, user).await
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
            let end = tokio::select! {
                // The end of the client or of the server comes first, because a result would not be read then.
                biased;
                () = cancel.cancelled() => return,
                () = service.tasks.shutdown_token().cancelled() => Err(CompletionError::Stopping),
                () = service.revoked(request.user, request.key) => {
                    cancel.cancel();
                    Err(CompletionError::Revoked)
                }
                end = service.run(request, &sender, &cancel) => end,
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

    /// Runs the [agent loop](Agent) for a request, and sends the output.
    async fn run(
        &self,
        request: CompletionRequest,
        sender: &mpsc::Sender<StreamItem>,
        cancel: &CancellationToken,
    ) -> Result<(FinishReason, Usage), CompletionError> {
        let CompletionRequest { user, model, mut request, with_tools, .. } = request;
        let usage = self.models.usage.track_request(user);
        let agent = Agent { models: &self.models, model: &model, usage: &usage, cancel, trims_context: false };
        let tools = if with_tools { Some(self.tool_executor(user, &model, &request, cancel).await?) } else { None };
        // A client with instructions of its own decides who the assistant is.
        if request.system.trim().is_empty() {
            let now = self.clock.now();
            let servers = tools.as_ref().map_or_else(Vec::new, |tools| tools.toolset.facts(now).servers);
            request.facts = Some(ChatFacts { date: date_in_words(now), servers });
        }
        let mut sink =
            CompletionSink { usage: &usage, sender, text: AnswerText::new(&request), sends_calls: tools.is_none() };
        let tools = tools.as_ref().map(|tools| tools as &dyn ToolExecutor);
        let outcome = agent.run(request, 0, tools, &mut sink).await?;
        sink.finish().await;
        Ok((outcome.reason, outcome.usage))
    }

    /// Opens the user's tools and selects their presentation to the model.
    async fn tool_executor<'a>(
        &'a self,
        user: UserId,
        model: &ModelId,
        request: &Request,
        cancel: &'a CancellationToken,
    ) -> Result<ApiToolExecutor<'a>, CompletionError> {
        let attachments = AttachmentLoader::new(InputModalities::of_model(&self.models, user, model).await);
        let toolset = tool_calls::list_tools(self, user).await?;
        let capacity = self.models.tool_limits(user, model).await;
        let presentation =
            ToolPresentation::new(&toolset, capacity, last_user_text(&request.messages), &request.messages);
        Ok(ApiToolExecutor { service: self, user, toolset, presentation, attachments, cancel })
    }
}

impl From<AgentError> for CompletionError {
    fn from(error: AgentError) -> Self {
        match error {
            AgentError::Model(error) => Self::Model(error),
            AgentError::Tools(error) => Self::Tools(error),
            AgentError::TooManySteps => Self::TooManySteps,
        }
    }
}
