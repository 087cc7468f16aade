//! Turns of the assistant: a user's message and everything until its answer is complete.
//!
//! A turn belongs to the server, not to the request that began it. Subscribers of its event log come and go; only
//! Stop, the end of the answer or an error ends it.
//!
//! - Course of a turn: this module begins it, `engine` runs it, `finish` ends it, and `message_queue` begins the next.
//!   `turn_commands` stops it from any node.
//! - Model: `model_selection` chooses it, `history` makes its input, and `event_sink` reads its output.
//! - Events: `event_recorder` puts each [event](event::TurnEvent) into the `transcript`, the `event_log` and the
//!   `journal`; `remote_log` follows the journal of another node.
//! - Tool calls: `tool_call`, with `background_calls` for cancellation and tasks.
//! - Title: `title_proposal` asks the model for one after the first answer.
//! - Interactions: `elicitation_handler` shows what a server asks, `pending_interactions` waits, and `approval_decision`
//!   and `elicitation_answer` take the user's responses.
//! - Traces: `turn_span` is the root of what a turn does.
//! - Restart: `recovery`, with `resumed_calls` for calls that waited.

pub mod event;

mod approval_decision;
mod background_calls;
mod begin_error;
mod elicitation_answer;
mod elicitation_handler;
mod engine;
mod event_log;
mod event_recorder;
mod event_sink;
mod finish;
mod history;
mod journal;
mod journal_codec;
mod message_queue;
pub mod model_selection;
mod pending_interactions;
pub mod prewarm;
mod recovery;
mod remote_log;
mod resumed_calls;
mod temporary;
mod title_proposal;
mod tool_call;
mod transcript;
mod turn_commands;
mod turn_span;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use domain::attachment::Attachment;
use domain::message::{MessageStatus, Part};
use domain::{ChatId, Clock, MessageId, NodeId, QueuedId, TurnId, UserId};
use storage::Storage;
use storage::branches::TurnPosition;
use storage::chats::NewTurn;
use storage::turns::{RunningTurn, UnfinishedTurn};
use storage::usage::OfAnswer;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::chats::temporary::TemporaryChats;
use crate::files::FileService;
use crate::files::result_offload::FileSaver;
use crate::models::usage_recording::UsageTracker;
use crate::models::{ModelId, ModelService};
use crate::push::PushService;
use crate::tool_selection::ToolSelection;
use connections::ConnectionService;
use platform::UserEvent;
use platform::config::Limits;
use platform::{BackgroundTasks, ClusterBus, SecretSealer, UserEventBus};

use background_calls::ActiveCalls;
use pending_interactions::PendingInteractions;
use remote_log::RemoteLogs;
use title_proposal::FirstMessage;
use transcript::Transcript;

pub use approval_decision::{AppliedDecision, DecideError};
pub use begin_error::BeginError;
pub use elicitation_answer::{AnswerError, AppliedAnswer};
pub use event_log::{Cursor, EventLog};
pub use history::tool_result;
pub use journal::Journal;
pub use journal_codec::is_readable_entry;
pub use message_queue::QueueError;
pub use pending_interactions::PendingSnapshot;
pub use recovery::INTERRUPTED_MESSAGE;
pub use recovery::SuspendedTurn;
pub use tool_call::TOOL_DENIED;

/// Longest wait of an account deletion for the user's turns to end.
const MAX_STOP_WAIT: Duration = Duration::from_secs(5);

/// A turn in progress, or one that has just ended.
#[derive(Debug)]
pub struct Turn {
    /// Id of the turn.
    pub id: TurnId,
    /// Chat that the turn belongs to.
    pub chat: ChatId,
    /// User who owns the chat.
    pub owner: UserId,
    /// Store of the chat: the database, or the memory of a temporary chat.
    pub storage: Storage,
    /// Id of the assistant's message that the turn writes.
    pub message_id: MessageId,
    /// Event log, for subscribers on this node.
    pub event_log: EventLog,
    /// Events so far, folded into the parts of the answer.
    transcript: Mutex<Transcript>,
    /// Approvals and elicitations that wait for the user.
    interactions: PendingInteractions,
    /// Tool calls in progress.
    calls: ActiveCalls,
    /// Usage of the turn's model calls.
    usage: UsageTracker,
    /// Cancelled when the user stops the turn.
    pub stop: CancellationToken,
    /// Whether the turn was stopped to send the first queued message instead.
    is_preempted: AtomicBool,
    /// Cancelled when the event log exceeds the memory limit of one turn.
    memory_exceeded: CancellationToken,
    /// Cancelled when another node has taken over the turn.
    pub ownership_lost: CancellationToken,
    /// Outcome, set once when the turn has ended.
    pub result: OnceLock<TurnResult>,
}

impl Turn {
    /// Waits until every tool call in progress waits for the user, and returns what they wait for.
    pub async fn wait_until_blocked(&self) -> PendingSnapshot {
        self.interactions.wait_until_blocked().await
    }

    /// Returns the parts of the answer so far, without tool calls that have not ended.
    pub fn finished_parts(&self) -> Vec<Part> {
        self.transcript().finished_parts()
    }

    /// Returns the storage for files of the turn's answer.
    fn file_saver<'a>(&'a self, files: &'a FileService) -> FileSaver<'a> {
        FileSaver { files, storage: &self.storage, owner: self.owner, chat: self.chat, answer: self.message_id }
    }

    /// Stops the turn so that the first queued message can be sent.
    fn preempt(&self) {
        self.is_preempted.store(true, Ordering::Release);
        self.stop.cancel();
    }

    fn transcript(&self) -> MutexGuard<'_, Transcript> {
        self.transcript.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsRef<EventLog> for Turn {
    fn as_ref(&self) -> &EventLog {
        &self.event_log
    }
}

/// Outcome of a [turn](Turn) that has ended.
#[derive(Debug, Clone)]
pub struct TurnResult {
    /// Status that the assistant's message was stored with.
    pub status: MessageStatus,
    /// Error text for the user, if the turn failed or was interrupted.
    pub error: Option<String>,
    /// Parts of the complete answer.
    pub parts: Vec<Part>,
}

/// Turns of all chats: begins, follows, stops and recovers them. Cheap to clone; all clones share the turns in progress
/// on this node.
#[derive(Debug, Clone)]
pub struct TurnService(Arc<Inner>);

/// Services of the layers below that turns use.
#[derive(Debug)]
pub struct TurnDependencies {
    /// Database.
    pub storage: Storage,
    /// Clock.
    pub clock: Arc<dyn Clock>,
    /// Background tasks, in which turns run.
    pub tasks: BackgroundTasks,
    /// Encryption of what a waiting call is resumed from.
    pub secrets: Arc<SecretSealer>,
    /// Events for users' clients.
    pub events: UserEventBus,
    /// Messages to other nodes.
    pub cluster: ClusterBus,
    /// Connections to MCP servers.
    pub connections: ConnectionService,
    /// Models.
    pub models: Arc<ModelService>,
    /// Files of answers.
    pub files: FileService,
    /// Temporary chats.
    pub temporary: TemporaryChats,
    /// Messages to users' browsers.
    pub push: PushService,
    /// Limits of turns and of queued messages.
    pub limits: Limits,
}

/// State that all clones of a [`TurnService`] share.
#[derive(Debug)]
pub struct Inner {
    storage: Storage,
    clock: Arc<dyn Clock>,
    tasks: BackgroundTasks,
    secrets: Arc<SecretSealer>,
    events: UserEventBus,
    cluster: ClusterBus,
    connections: ConnectionService,
    models: Arc<ModelService>,
    files: FileService,
    temporary: TemporaryChats,
    push: PushService,
    limits: Limits,
    /// Turns by user and chat. With the user in the key, a request for another user's chat cannot block its owner's
    /// turn before the database rejects it.
    active: Mutex<HashMap<(UserId, ChatId), Arc<Turn>>>,
    journal: Journal,
    /// Bytes in the event logs of all turns, shared with each [`EventLog`].
    log_bytes: Arc<AtomicUsize>,
    /// Copies of the logs of turns that run on other nodes, for subscribers here.
    remote_logs: RemoteLogs,
}

impl std::ops::Deref for TurnService {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl TurnService {
    /// Recovers the turns that a previous process left unfinished, and starts the journal.
    ///
    /// Returns the turns that wait for their user or for a task at a server, for [`TurnService::resume`]; all others
    /// are closed as interrupted. `previous` is the id of a node that is known to be dead, usually the previous
    /// process on this data folder; its turns are recovered too.
    ///
    /// # Errors
    ///
    /// Fails if the database is unreachable.
    pub async fn start(
        dependencies: TurnDependencies,
        previous: Option<NodeId>,
    ) -> anyhow::Result<(Self, Vec<SuspendedTurn>)> {
        let TurnDependencies {
            storage,
            clock,
            tasks,
            secrets,
            events,
            cluster,
            connections,
            models,
            files,
            temporary,
            push,
            limits,
        } = dependencies;
        // Registered before turns are claimed: a claim names this node as the new owner.
        storage.nodes().register().await?;
        if let Some(previous) = previous {
            storage.nodes().remove(previous).await?;
        }
        // Before the journal runs and any request arrives, so that no new turn can begin in a chat whose last one is
        // still open.
        let suspended =
            recovery::close_unfinished(&storage, &storage.nodes().claim_turns().await?, clock.now()).await?;
        let (journal, writer) = Journal::new(storage.clone(), tasks.shutdown_token().clone());
        tasks.spawn("journal", writer);
        let inner = Inner {
            storage,
            clock,
            tasks,
            secrets,
            events,
            cluster,
            connections,
            models,
            files,
            temporary,
            push,
            limits,
            active: Mutex::default(),
            journal,
            log_bytes: Arc::default(),
            remote_logs: RemoteLogs::default(),
        };
        Ok((Self(Arc::new(inner)), suspended))
    }

    /// Resumes turns that waited for their user or for a task when the previous process stopped.
    pub fn resume(&self, suspended: Vec<SuspendedTurn>) {
        for turn in suspended {
            recovery::resume_turn(self, turn);
        }
    }

    /// Takes over a turn of a dead node: resumes it if it waits for its user or for a task, and closes it as
    /// interrupted otherwise.
    ///
    /// # Errors
    ///
    /// Fails if the database is unreachable.
    pub async fn take_over(&self, turn: &UnfinishedTurn) -> Result<(), storage::Error> {
        let suspended = recovery::close_unfinished(&self.storage, std::slice::from_ref(turn), self.clock.now()).await?;
        // A closed turn has ended for its user's clients; a resumed one is still in progress.
        if suspended.is_empty() {
            let ended = UserEvent::of_ended(turn.chat, turn.id, MessageStatus::Interrupted);
            self.events.publish(turn.owner, &ended);
            self.events.publish(turn.owner, &UserEvent::of_chat(turn.chat));
        }
        self.resume(suspended);
        Ok(())
    }

    /// Stores the user's message and begins the turn that answers it, also if the caller is dropped meanwhile: a turn that
    /// is registered and never runs would block its chat.
    ///
    /// # Errors
    ///
    /// See [`BeginError`]. Nothing is stored in that case.
    pub async fn begin(&self, owner: UserId, request: TurnRequest) -> Result<Arc<Turn>, BeginError> {
        let turns = self.clone();
        let work = async move { turns.begin_now(owner, request).await };
        self.tasks.spawn_and_wait("begin turn", work).await.unwrap_or(Err(BeginError::Overloaded))
    }

    async fn begin_now(&self, owner: UserId, request: TurnRequest) -> Result<Arc<Turn>, BeginError> {
        let storage = self.temporary.store_for(owner, request.chat);
        let (model, settings) =
            match model_selection::select_model(self, &storage, owner, request.chat, request.model.clone()).await {
                Ok(chosen) => chosen,
                // A missing chat is reported before a missing model, so that the error does not reveal whether another
                // user's chat exists.
                Err(BeginError::Model(error)) => {
                    let chat = storage.chats().get(owner, request.chat).await.map_err(BeginError::Storage)?;
                    return Err(if chat.is_some() { error.into() } else { BeginError::NoChat });
                }
                Err(error) => return Err(error),
            };
        let message_id = MessageId::fresh();
        let turn = Arc::new(Turn {
            id: TurnId::fresh(),
            chat: request.chat,
            owner,
            storage,
            message_id,
            event_log: EventLog::with_total(&self.log_bytes),
            transcript: Mutex::default(),
            interactions: PendingInteractions::default(),
            calls: ActiveCalls::default(),
            usage: self.models.usage.track_answer(owner, OfAnswer { chat: request.chat, message: message_id }),
            stop: CancellationToken::new(),
            is_preempted: AtomicBool::new(false),
            memory_exceeded: CancellationToken::new(),
            ownership_lost: CancellationToken::new(),
            result: OnceLock::new(),
        });
        // Registered before the message is stored: the limits are checked first, and a second request for the same
        // chat is rejected here instead of racing in the database.
        self.register(&turn)?;
        let counted = match self.models.quotas.count_turn(owner).await {
            Ok(counted) => counted,
            Err(error) => {
                self.withdraw(&turn);
                return Err(error.into());
            }
        };
        let new_turn = NewTurn {
            owner,
            chat: request.chat,
            id: turn.id,
            user_message: request.message_id.unwrap_or_else(MessageId::fresh),
            answer: turn.message_id,
            content: request.message.clone(),
            place: request.position,
            queued: request.queued,
            parts: request.parts,
            model: model.to_string(),
            tools: request.tools.to_json(),
            now: self.clock.now(),
        };
        let title = domain::text::title_of(request.message.as_deref().unwrap_or_default().trim());
        let inserted = match turn.storage.chats().insert_turn(&new_turn, &title).await {
            Ok(named) => named.ok_or(BeginError::NoMessage),
            Err(storage::Error::NotFound) => Err(BeginError::NoChat),
            // The violated constraint (on SQLite its columns) tells the two apart: the primary key of the messages, or the index
            // that allows one running turn per chat.
            Err(storage::Error::Conflict(rule)) if rule.contains("ai_chat_messages") => Err(BeginError::MessageExists),
            Err(storage::Error::Conflict(_)) => Err(BeginError::Busy),
            Err(other) => Err(BeginError::Storage(other)),
        };
        let named = match inserted {
            Ok(named) => named,
            Err(error) => {
                self.withdraw(&turn);
                self.models.quotas.uncount_turn(owner, counted).await;
                return Err(error);
            }
        };
        // Clients have to reload the chat: its messages are those of another branch now.
        if matches!(new_turn.place, TurnPosition::Replace(_)) {
            self.events.publish(owner, &UserEvent::Branch { session_id: turn.chat });
        }
        // Published after the turn is registered and stored: a client that reacts at once finds it.
        self.events.publish(owner, &UserEvent::of_started(turn.chat, turn.id));
        self.events.publish(owner, &UserEvent::of_chat(turn.chat));
        let input = engine::TurnInput {
            model,
            settings: Some(settings),
            selection: request.tools,
            first_message: named.then(|| FirstMessage { title, text: request.message.unwrap_or_default() }),
            started_at: new_turn.now,
            is_continuation: matches!(new_turn.place, TurnPosition::Continue(_)),
            is_waiting: false,
            resumed: None,
        };
        let span = turn_span::begin(&turn, false);
        self.tasks.spawn("turn", engine::run_turn(self.clone(), Arc::clone(&turn), input).instrument(span));
        Ok(turn)
    }

    /// Returns the attachments of the newest messages of a chat, newest first.
    pub async fn attachments(&self, owner: UserId, chat: ChatId) -> Result<Vec<Attachment>, storage::Error> {
        let messages =
            self.temporary.store_for(owner, chat).chats().list_messages(owner, chat, history::MAX_MESSAGES).await?;
        // Newest first: of an attachment that was sent several times, the latest copy is the one that is meant.
        let parts = messages.into_iter().rev().flat_map(|message| message.parts);
        Ok(parts
            .filter_map(|part| match part {
                Part::Attachment { attachment } => Some(*attachment),
                _ => None,
            })
            .collect())
    }

    /// Returns the user's turn in progress in a chat, if it runs on this node; [`follow_remote`](Self::follow_remote) finds it on
    /// another one.
    pub fn find(&self, owner: UserId, chat: ChatId) -> Option<Arc<Turn>> {
        self.active().get(&(owner, chat)).cloned()
    }

    /// Returns an event for each turn of a user that is in progress, on any node.
    pub async fn list_running(&self, owner: UserId) -> Result<Vec<UserEvent>, storage::Error> {
        let stored = self.storage.turns().list_running(owner).await?;
        let event_of = |turn: RunningTurn| {
            if turn.is_waiting {
                UserEvent::of_waiting(turn.chat, turn.id, turn.waiting_for)
            } else {
                UserEvent::of_started(turn.chat, turn.id)
            }
        };
        let mut events: Vec<UserEvent> = stored.into_iter().map(event_of).collect();
        // Turns of temporary chats are in memory only.
        let active = self.active();
        let temporary = active.values().filter(|turn| turn.owner == owner && !turn.storage.is_lasting());
        events.extend(temporary.map(|turn| match turn.interactions.oldest() {
            Some(oldest) => UserEvent::of_waiting(turn.chat, turn.id, Some(oldest)),
            None => UserEvent::of_started(turn.chat, turn.id),
        }));
        Ok(events)
    }

    fn find_by_id(&self, owner: UserId, id: TurnId) -> Option<Arc<Turn>> {
        self.active().values().find(|turn| turn.owner == owner && turn.id == id).cloned()
    }

    /// Stops all turns of a user on every node, and waits at most five seconds for those of this node to end.
    pub async fn stop_all(&self, owner: UserId) {
        self.stop_on_other_nodes(owner).await;
        let turns: Vec<Arc<Turn>> = self.active().values().filter(|turn| turn.owner == owner).cloned().collect();
        for turn in &turns {
            turn.stop.cancel();
        }
        // Turns of other nodes are not waited for: they end within a heartbeat, and their rows are deleted with the
        // account.
        let ended = futures_util::future::join_all(turns.iter().map(|turn| turn.event_log.closed()));
        drop(tokio::time::timeout(MAX_STOP_WAIT, ended).await);
    }

    /// Returns the configured limits.
    fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the journal that writes the events of turns to the database.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Returns the number of turns in progress on this node.
    pub fn count_running(&self) -> usize {
        self.active().len()
    }

    /// Registers a turn, unless its chat has one already or a limit is reached.
    fn register(&self, turn: &Arc<Turn>) -> Result<(), BeginError> {
        let mut active = self.active();
        if active.contains_key(&(turn.owner, turn.chat)) {
            return Err(BeginError::Busy);
        }
        let Limits { turns, turns_bytes, .. } = self.limits;
        // The user's own limit first: its message says what the user can do, and the other one is about the server.
        let own = active.keys().filter(|(owner, _)| *owner == turn.owner).count();
        if own >= turns.per_user {
            return Err(BeginError::TooMany(turns.per_user));
        }
        if active.len() >= turns.total || self.log_bytes.load(Ordering::Relaxed) >= turns_bytes {
            return Err(BeginError::Overloaded);
        }
        active.insert((turn.owner, turn.chat), Arc::clone(turn));
        Ok(())
    }

    /// Deregisters a turn that was not stored. Clients may have found it meanwhile: their streams end without an event.
    fn withdraw(&self, turn: &Turn) {
        self.deregister(turn);
        turn.event_log.disconnect();
    }

    /// Deregisters a turn that has ended or continues elsewhere.
    fn deregister(&self, turn: &Turn) {
        // The journal remembers only turns that have lost events, so this usually removes nothing.
        self.journal.forget(turn.id);
        self.active().remove(&(turn.owner, turn.chat));
    }

    fn active(&self) -> MutexGuard<'_, HashMap<(UserId, ChatId), Arc<Turn>>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Request to [begin](TurnService::begin) a turn.
#[derive(Debug, Clone)]
pub struct TurnRequest {
    /// Chat to answer in.
    pub chat: ChatId,
    /// Text of the message; `None` when an answer is to be replaced or continued.
    pub message: Option<String>,
    /// Id that the client chose for the message, so that a repeated request is recognized.
    pub message_id: Option<MessageId>,
    /// Position of the turn in the chat: at the end, in place of another message, or as continuation.
    pub position: TurnPosition,
    /// Attachments of the message, and context that MCP apps add for the model.
    pub parts: Vec<Part>,
    /// Tools that the model may use.
    pub tools: ToolSelection,
    /// Model that answers this turn; `None` for the model of the chat.
    pub model: Option<ModelId>,
    /// Queued message that this turn sends. It is removed from the queue in the same transaction.
    pub queued: Option<QueuedId>,
}
