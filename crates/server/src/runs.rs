//! Turns of the assistant. A run belongs to the server, not to the request that began it: viewers come and go, Stop ends
//! it, and what it says is stored.

pub mod event;

mod answer;
mod asker;
mod call;
pub mod choice;
mod chunks;
mod decision;
mod engine;
mod finish;
mod history;
mod journal;
mod log;
mod long_calls;
mod orders;
mod overflow;
mod questions;
mod queue;
pub mod readiness;
mod recorder;
mod recovery;
mod replica;
mod reply;
mod resuming;
mod transcript;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use domain::attachment::Attachment;
use domain::message::{MessageStatus, Part};
use domain::model::ModelError;
use domain::{ChatId, Clock, MessageId, NodeId, QueuedId, RunId, UserId};
use store::Store;
use store::branches::Place;
use store::chats::NewTurn;
use store::runs::UnfinishedRun;
use store::usage::OfAnswer;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::config::Limits;
use crate::events::{Event, RunState};
use crate::models::meter::Bill;
use crate::tools::Selection;
use platform::BackgroundTasks;

use long_calls::LiveCalls;
use questions::Questions;
use replica::Replicas;
use transcript::Transcript;

pub use answer::{AnswerError, Reply};
pub use call::{NEVER, parse_arguments};
pub use decision::{DecideError, Outcome as Decision};
pub use history::tool_result;
pub use journal::Journal;
pub use log::{Cursor, RunLog};
pub use questions::AllWaiting;
pub use queue::QueueError;
pub use recovery::Suspended;

/// How long the turns of an account wait for their ends when it is deleted.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A turn that goes on, or has just ended.
#[derive(Debug)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// Its chat.
    pub chat: ChatId,
    /// Whose chat it is.
    pub owner: UserId,
    /// Where the chat is kept.
    pub home: Store,
    /// The answer to be.
    pub answer: MessageId,
    /// What it says.
    pub log: RunLog,
    /// The answer as far as it has come.
    said: Mutex<Transcript>,
    /// The calls that wait for the person.
    questions: Questions,
    /// The calls that go on.
    calls: LiveCalls,
    /// What it costs.
    bill: Bill,
    /// Cancelled by Stop.
    pub stop: CancellationToken,
    /// It was stopped for the message that waits first.
    gives_way: AtomicBool,
    /// Cancelled when it has said more than one turn may.
    overfull: CancellationToken,
    /// Cancelled when another node drives it.
    pub lost: CancellationToken,
    /// How it ended, once it has.
    pub end: OnceLock<End>,
}

impl Run {
    /// Waits until the run only waits for its person, and tells for what.
    pub async fn waits(&self) -> AllWaiting {
        self.questions.only_waiting().await
    }

    /// What it has said so far, without the calls that have no end yet.
    pub fn settled_parts(&self) -> Vec<Part> {
        self.transcript().settled_parts()
    }

    /// Ends it for the message that waits first.
    fn give_way(&self) {
        self.gives_way.store(true, Ordering::Release);
        self.stop.cancel();
    }

    fn transcript(&self) -> MutexGuard<'_, Transcript> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsRef<RunLog> for Run {
    fn as_ref(&self) -> &RunLog {
        &self.log
    }
}

/// How a run ended.
#[derive(Debug, Clone)]
pub struct End {
    /// In a word.
    pub status: MessageStatus,
    /// What went wrong, for people.
    pub error: Option<String>,
    /// What it said.
    pub parts: Vec<Part>,
}

/// Why a turn could not begin.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    /// The chat is not there, or not the caller's.
    #[error("session not found")]
    NoChat,
    /// No such message, or it is not what the turn takes it for.
    #[error("message not found")]
    NoMessage,
    /// A message with the id that the client chose is stored already.
    #[error("this message has arrived already")]
    MessageExists,
    /// The chat's last turn still goes on.
    #[error("the assistant is still answering in this chat")]
    Busy,
    /// The caller has too many turns going on.
    #[error("as many of your answers are being written as may be at once ({0}); wait until one has ended")]
    TooMany(usize),
    /// Everybody together has, or they say more than can be held.
    #[error("the server writes as many answers as it can; try again soon")]
    Overloaded,
    /// No model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The database.
    #[error(transparent)]
    Store(store::Error),
}

/// All turns that go on.
#[derive(Debug)]
pub struct Runs {
    /// By owner and chat: whoever asks in somebody else's chat stands in nobody's way until the store refuses.
    active: Mutex<HashMap<(UserId, ChatId), Arc<Run>>>,
    journal: Journal,
    limits: Limits,
    /// Bytes of the logs of all turns.
    held: Arc<AtomicUsize>,
    /// Those that other nodes drive and that are followed here.
    replicas: Replicas,
}

impl Runs {
    /// Closes the runs that a previous process left open, and starts the journal. Gives those that wait for their person,
    /// for [`Runs::resume`]. `former` is a node that is known to be gone.
    pub async fn start(
        store: &Store,
        tasks: &BackgroundTasks,
        clock: &dyn Clock,
        former: Option<NodeId>,
        limits: Limits,
    ) -> anyhow::Result<(Self, Vec<Suspended>)> {
        store.enter_nodes().await?;
        if let Some(former) = former {
            store.remove_node(former).await?;
        }
        let suspended = recovery::close_unfinished(store, &store.claim_runs().await?, clock.now()).await?;
        let (journal, writer) = Journal::new(store.clone(), tasks.shutdown_token().clone());
        tasks.spawn("journal", writer);
        let held = Arc::default();
        Ok((Self { active: Mutex::default(), journal, limits, held, replicas: Replicas::default() }, suspended))
    }

    /// Lets turns wait again that waited when the program was stopped.
    pub fn resume(app: &App, suspended: Vec<Suspended>) {
        for turn in suspended {
            recovery::resume(app, turn);
        }
    }

    /// Goes on with a run whose node is gone: it waits here, or is closed with what had been written.
    pub async fn take_over(app: &App, run: &UnfinishedRun) -> Result<(), store::Error> {
        let suspended = recovery::close_unfinished(&app.store, std::slice::from_ref(run), app.clock.now()).await?;
        if suspended.is_empty() {
            let ended = Event::Run { session_id: run.chat, run_id: run.id, state: RunState::Ended };
            app.events.publish(run.owner, &ended);
            app.events.publish(run.owner, &Event::of_chat(run.chat));
        }
        Self::resume(app, suspended);
        Ok(())
    }

    /// Stores the person's message and begins the turn that answers it.
    pub async fn begin(&self, app: &App, owner: UserId, question: Question) -> Result<Arc<Run>, BeginError> {
        let home = app.home(owner, question.chat);
        let (model, settings) = match choice::model_of(app, &home, owner, question.chat).await {
            Ok(chosen) => chosen,
            // Whose chat it is comes before what is wrong with it.
            Err(BeginError::Model(error)) => {
                let chat = home.get_chat(owner, question.chat).await.map_err(BeginError::Store)?;
                return Err(if chat.is_some() { error.into() } else { BeginError::NoChat });
            }
            Err(error) => return Err(error),
        };
        let answer = MessageId::fresh();
        let run = Arc::new(Run {
            id: RunId::fresh(),
            chat: question.chat,
            owner,
            home,
            answer,
            log: RunLog::counted(&self.held),
            said: Mutex::default(),
            questions: Questions::default(),
            calls: LiveCalls::default(),
            bill: Bill::of_answer(owner, OfAnswer { chat: question.chat, message: answer }),
            stop: CancellationToken::new(),
            gives_way: AtomicBool::new(false),
            overfull: CancellationToken::new(),
            lost: CancellationToken::new(),
            end: OnceLock::new(),
        });
        self.enter(&run)?;
        let turn = NewTurn {
            owner,
            chat: question.chat,
            run: run.id,
            user_message: question.message_id.unwrap_or_else(MessageId::fresh),
            answer: run.answer,
            content: question.message.clone(),
            place: question.place,
            queued: question.queued,
            parts: question.parts,
            model: model.to_string(),
            tools: question.tools.stored(),
            now: app.clock.now(),
        };
        let title = domain::text::title_of(question.message.as_deref().unwrap_or_default().trim());
        let named = match run.home.insert_turn(&turn, &title).await {
            Ok(Some(named)) => named,
            Ok(None) => {
                self.leave(&run);
                return Err(BeginError::NoMessage);
            }
            Err(error) => {
                self.leave(&run);
                return Err(match error {
                    store::Error::NotFound => BeginError::NoChat,
                    store::Error::Conflict(rule) if rule.contains("ai_chat_messages") => BeginError::MessageExists,
                    store::Error::Conflict(_) => BeginError::Busy,
                    other => BeginError::Store(other),
                });
            }
        };
        if matches!(turn.place, Place::Instead(_)) {
            app.events.publish(owner, &Event::Branch { session_id: run.chat });
        }
        app.events.publish(owner, &Event::Run { session_id: run.chat, run_id: run.id, state: RunState::Started });
        app.events.publish(owner, &Event::of_chat(run.chat));
        let turn = engine::Turn {
            model,
            settings: Some(settings),
            selection: question.tools,
            title: named.then_some(title),
            began: turn.now,
            goes_on: matches!(turn.place, Place::GoesOn(_)),
            is_waiting: false,
            resumed: None,
        };
        app.tasks.spawn("run", engine::drive(app.clone(), Arc::clone(&run), turn));
        Ok(run)
    }

    /// Returns what was attached to the newest messages of a chat, the newest first.
    pub async fn attachments(&self, app: &App, owner: UserId, chat: ChatId) -> Result<Vec<Attachment>, store::Error> {
        let messages = app.home(owner, chat).list_messages(owner, chat, history::MESSAGES).await?;
        let parts = messages.into_iter().rev().flat_map(|message| message.parts);
        Ok(parts
            .filter_map(|part| match part {
                Part::Attachment { attachment } => Some(*attachment),
                _ => None,
            })
            .collect())
    }

    /// The turn that goes on in a chat, if it is the caller's.
    pub fn get(&self, owner: UserId, chat: ChatId) -> Option<Arc<Run>> {
        self.active().get(&(owner, chat)).cloned()
    }

    /// Returns an event for each turn of a user that goes on, whichever node drives it.
    pub async fn list_running(&self, app: &App, owner: UserId) -> Result<Vec<Event>, store::Error> {
        let stored = app.store.list_running(owner).await?;
        let mut events: Vec<Event> =
            stored.iter().map(|turn| Event::of_running(turn.chat, turn.run, turn.is_waiting)).collect();
        // Those of temporary chats are nowhere but here.
        let active = self.active();
        let temporary = active.values().filter(|run| run.owner == owner && !run.home.is_lasting());
        events.extend(temporary.map(|run| Event::of_running(run.chat, run.id, run.questions.are_open())));
        Ok(events)
    }

    fn get_by_id(&self, owner: UserId, id: RunId) -> Option<Arc<Run>> {
        self.active().values().find(|run| run.owner == owner && run.id == id).cloned()
    }

    /// Ends every turn of a person, and waits a little until it has ended.
    pub async fn stop_all(&self, app: &App, owner: UserId) {
        self.stop_elsewhere(app, owner).await;
        let runs: Vec<Arc<Run>> = self.active().values().filter(|run| run.owner == owner).cloned().collect();
        for run in &runs {
            run.stop.cancel();
        }
        let ended = futures_util::future::join_all(runs.iter().map(|run| run.log.closed()));
        drop(tokio::time::timeout(LAST_WORDS, ended).await);
    }

    /// How much there may be at a time.
    fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Where events go on their way to the database.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    fn enter(&self, run: &Arc<Run>) -> Result<(), BeginError> {
        let mut active = self.active();
        if active.contains_key(&(run.owner, run.chat)) {
            return Err(BeginError::Busy);
        }
        let Limits { runs, turns_bytes, .. } = self.limits;
        let own = active.keys().filter(|(owner, _)| *owner == run.owner).count();
        if own >= runs.each {
            return Err(BeginError::TooMany(runs.each));
        }
        if active.len() >= runs.all || self.held.load(Ordering::Relaxed) >= turns_bytes {
            return Err(BeginError::Overloaded);
        }
        active.insert((run.owner, run.chat), Arc::clone(run));
        Ok(())
    }

    fn leave(&self, run: &Run) {
        self.journal.forget(run.id);
        self.active().remove(&(run.owner, run.chat));
    }

    fn active(&self) -> MutexGuard<'_, HashMap<(UserId, ChatId), Arc<Run>>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a person asks.
#[derive(Debug, Clone)]
pub struct Question {
    /// In which chat.
    pub chat: ChatId,
    /// The words; none when an answer is wanted anew, or goes on.
    pub message: Option<String>,
    /// The id of the message, if the client has chosen one.
    pub message_id: Option<MessageId>,
    /// Where in the chat.
    pub place: Place,
    /// What the person attached to them, and what apps want the model to know.
    pub parts: Vec<Part>,
    /// With which tools.
    pub tools: Selection,
    /// Where the words have waited.
    pub queued: Option<QueuedId>,
}
