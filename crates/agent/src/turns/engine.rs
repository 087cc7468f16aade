//! Execution of a turn: it prepares the request, runs the [agent loop](crate::agent_loop), and ends when that ends or something
//! else ends the turn.

use std::convert::Infallible;
use std::sync::Arc;

use domain::Timestamp;
use domain::file::FileRef;
use domain::message::{Role, files_of};
use domain::model::{CONTINUE_PROMPT, FinishReason, ModelMessage, ModelSettings, Request, SYSTEM_PROMPT};
use domain::tool::ToolCall;
use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use storage::chats::StoredMessage;
use storage::tool_tasks::ToolTask;

use super::TurnService;
use super::event::{NoticeData, StartMetadata, TitleData, TurnEvent};
use super::event_recorder::EventRecorder;
use super::event_sink::TurnEventSink;
use super::resumed_calls::{ElicitingCall, WaitingCall};
use super::title_proposal::FirstMessage;
use super::tool_call::ToolRunner;
use super::{Turn, finish, history, model_selection, turn_span};
use crate::agent_loop::{Agent, AgentError, AgentOutcome};
use crate::files::model_attachments::{AttachmentLoader, InputModalities, ModelInput};
use crate::models::{BUILT_IN, ModelId, advise};
use crate::push::TurnNews;
use crate::tool_selection::ToolSelection;
use platform::UserEvent;

/// Input of a turn: the model, the selected tools, and where to [resume](Resumed).
pub struct TurnInput {
    /// Model that answers.
    pub model: ModelId,
    /// Model settings of the chat, if [`TurnService::begin`] has just read them; otherwise they are read when
    /// needed.
    pub settings: Option<ModelSettings>,
    /// Tools that the model may use.
    pub selection: ToolSelection,
    /// Message of this turn, if it is the first of the chat. A resumed turn does not know it.
    pub first_message: Option<FirstMessage>,
    /// Start of the turn. A resumed turn keeps its original start.
    pub started_at: Timestamp,
    /// Whether the turn continues the incomplete answer before it.
    pub is_continuation: bool,
    /// Whether the turn was last reported to the user's clients as waiting for the user.
    pub is_waiting: bool,
    /// State to resume from, if the previous process stopped while the turn waited.
    pub resumed: Option<Resumed>,
}

/// State of a turn that continues after a restart.
pub struct Resumed {
    /// Number of model calls made so far.
    pub steps: usize,
    /// Tool calls that wait for an approval.
    pub approvals: Vec<WaitingCall>,
    /// Tool calls that run as tasks at their servers.
    pub tasks: Vec<(ToolTask, ToolCall)>,
    /// Tool calls that wait for an elicitation or for a sign-in.
    pub elicitations: Vec<ElicitingCall>,
}

/// Reason for which a turn ended before the model was done.
pub enum TurnError {
    /// The user stopped it.
    Stopped,
    /// The server shuts down.
    Interrupted,
    /// The model failed, or a limit of the turn was exceeded. The text is shown to the user.
    Failed(String),
}

/// Runs a turn to completion, and [finishes](finish::finish) it. Rare steps are boxed so that the future of a
/// streaming turn stays small.
pub async fn run_turn(turns: TurnService, turn: Arc<Turn>, input: TurnInput) {
    // However the turn ends, even by a panic, the usage so far is recorded.
    let _flush = turn.usage.flush_on_drop();
    let recorder = EventRecorder::new(&turns, Arc::clone(&turn));
    if input.resumed.is_none() {
        emit_start(&turn, &input, &recorder);
    }
    // `FuturesUnordered` polls this future only when it is woken, not for every token of the answer.
    let mut interruption = FuturesUnordered::from_iter([wait_for_interruption(&turns, &turn, input.is_waiting)]);
    let outcome = tokio::select! {
        biased;
        Some(event) = interruption.next() => match event {
            Interruption::Detached => return detach(&turns, &turn),
            Interruption::Ended(reason) => Err(reason),
        },
        outcome = run_loop(&turns, &turn, &input, &recorder) => match outcome {
            // Stop also ends the model's stream, and `select!` may see that end before the cancelled token.
            Ok(AgentOutcome { reason: FinishReason::Truncated, .. }) | Err(TurnError::Failed(_)) if turn.stop.is_cancelled() => {
                Err(TurnError::Stopped)
            }
            outcome => outcome,
        },
    };
    // It may be in the middle of a write, which nobody polls any more and which holds SQLite's only writer: `finish`
    // would wait for it forever.
    drop(interruption);
    Box::pin(finish::finish(&turns, &turn, &input, &recorder, outcome)).await;
}

/// Event outside the agent loop that ends a [turn](Turn) on this node.
enum Interruption {
    /// The turn continues on another node or after a restart; it is not closed here.
    Detached,
    Ended(TurnError),
}

/// Waits for an event that ends the turn from outside. Meanwhile it reports to the user's clients whether the turn
/// waits for them.
async fn wait_for_interruption(turns: &TurnService, turn: &Turn, is_waiting: bool) -> Interruption {
    tokio::select! {
        biased;
        () = turn.stop.cancelled() => Interruption::Ended(TurnError::Stopped),
        () = turn.ownership_lost.cancelled() => Interruption::Detached,
        () = turn.memory_exceeded.cancelled() => {
            let most = turns.limits().turn_bytes / (1024 * 1024);
            Interruption::Ended(TurnError::Failed(format!(
                "the answer, with what its tools gave back, came to more than {most} MiB and was stopped"
            )))
        }
        () = turns.tasks.shutdown_token().cancelled() => {
            if turn.storage.is_lasting() && (turn.transcript().awaits_user() || turn.calls.has_task()) {
                // The turn resumes after the restart. The journal has written, or writes before it closes, everything
                // up to here.
                Interruption::Detached
            } else {
                Interruption::Ended(TurnError::Interrupted)
            }
        }
        never = report_waiting(turns, turn, is_waiting) => match never {},
    }
}

/// Stores and publishes whether a turn waits for its user, each time that changes, and tells their browsers when it begins
/// to. Never returns.
async fn report_waiting(turns: &TurnService, turn: &Turn, mut is_waiting: bool) -> Infallible {
    loop {
        let waiting_for = turn.interactions.wait_for_change(is_waiting).await;
        is_waiting = waiting_for.is_some();
        // Stored before it is published: a client that connects between the two reads the stored value, and one that
        // is already connected gets the event.
        if turn.storage.is_lasting()
            && let Err(error) = Box::pin(turn.storage.turns().set_waiting(turn.owner, turn.id, is_waiting)).await
        {
            tracing::warn!(%error, turn_id = %turn.id, "the waiting state of a turn could not be stored");
        }
        let event = match &waiting_for {
            Some(interaction) => UserEvent::of_waiting(turn.chat, turn.id, Some(interaction.clone())),
            None => UserEvent::of_started(turn.chat, turn.id),
        };
        turns.events.publish(turn.owner, &event);
        if let Some(waiting_for) = waiting_for.filter(|_| turn.storage.is_lasting()) {
            turns.push.notify(turn.owner, turn.chat, turn.id, TurnNews::Waiting { waiting_for });
        }
    }
}

/// Detaches a turn that continues elsewhere or later. Its subscribers are disconnected without an end
/// ([`EventLog::disconnect`](super::EventLog::disconnect)) and reconnect.
pub fn detach(turns: &TurnService, turn: &Turn) {
    turn_span::record_detached();
    turns.deregister(turn);
    turn.event_log.disconnect();
}

/// Emits the first events of a turn: its metadata, and the chat's title if it is new.
fn emit_start(turn: &Turn, input: &TurnInput, recorder: &EventRecorder) {
    let (turn_id, session_id, created_at) = (turn.id, turn.chat, input.started_at);
    let message_metadata = StartMetadata { turn_id, session_id, created_at, model: input.model.to_string() };
    recorder.emit(&TurnEvent::Start { message_id: turn.message_id, message_metadata });
    if let Some(FirstMessage { title, .. }) = &input.first_message {
        recorder.emit(&TurnEvent::DataTitle { data: TitleData { title: title.clone() }, transient: true });
    }
}

/// Prepares the request and runs the [agent loop](Agent).
async fn run_loop(
    turns: &TurnService,
    turn: &Turn,
    input: &TurnInput,
    recorder: &EventRecorder,
) -> Result<AgentOutcome, TurnError> {
    // First, because a resumed tool call needs to know which files of its result the model accepts.
    let modalities = Box::pin(InputModalities::of_model(&turns.models, turn.owner, &input.model)).await;
    let runner = ToolRunner::new(turns, turn, recorder, &input.selection, modalities);
    let first_step = match &input.resumed {
        // The interrupted step is finished first: its tool calls get their results before the model is called again.
        Some(resumed) => {
            Box::pin(finish_interrupted_step(&runner, resumed)).await;
            recorder.emit(&TurnEvent::FinishStep);
            resumed.steps
        }
        None => 0,
    };
    let toolset = Box::pin(runner.toolset()).await;
    let stored = Box::pin(turn.storage.chats().list_messages(turn.owner, turn.chat, history::MAX_MESSAGES)).await;
    let stored = stored.map_err(|error| {
        tracing::error!(%error, turn_id = %turn.id, "the conversation could not be read");
        TurnError::Failed("the conversation could not be read from the database".to_owned())
    })?;
    let name_of = |call: &ToolCall| toolset.model_name(&call.server_name, &call.name);
    let parts = recorder.parts();
    // Newest first: if not all files fit into the request, the newest ones are kept.
    let newest_first = parts.iter().rev().chain(stored.iter().rev().flat_map(|message| message.parts.iter().rev()));
    Box::pin(runner.attachments.load(&turn.storage, turn.owner, newest_first)).await.map_err(|error| {
        tracing::error!(%error, turn_id = %turn.id, "the files of the conversation could not be read");
        TurnError::Failed("the files of the conversation could not be read from the database".to_owned())
    })?;
    // A resumed turn has already reported them.
    if input.resumed.is_none() {
        notify_unseen_files(&stored, &runner.attachments, &input.model, recorder);
    }
    let mut messages = history::conversation(&stored, name_of, &runner.attachments);
    // A long chat is megabytes of parts, which a turn that waits for its user would hold for days.
    drop(stored);
    if input.is_continuation {
        messages.push(ModelMessage::user(CONTINUE_PROMPT));
    }
    // Of a resumed turn, these are the steps before the restart; of a new one there are none.
    messages.extend(history::answer(&parts, &name_of, &runner.attachments));
    Box::pin(runner.presentation(&input.model, &messages)).await;
    let settings = match &input.settings {
        Some(settings) => settings.clone(),
        None => Box::pin(model_selection::chat_settings(turns, &turn.storage, turn.owner, turn.chat)).await.map_err(
            |error| {
                tracing::error!(%error, turn_id = %turn.id, "the settings of the chat could not be read");
                TurnError::Failed("the settings of the chat could not be read from the database".to_owned())
            },
        )?,
    };
    let (parameters, max_tokens) = (settings.parameters(), settings.max_tokens);
    let system = system_prompt(settings.system);
    let facts = (input.model.provider == BUILT_IN).then(|| toolset.facts(turns.clock.now()));
    let request = Request { system, messages, max_tokens, parameters, image_output: true, facts, ..Request::default() };
    let names = |name: &str| toolset.names(name);
    let mut sink = TurnEventSink::new(turns, turn, recorder, &names);
    let agent = Agent {
        models: &turns.models,
        model: &input.model,
        usage: &turn.usage,
        cancel: &turn.stop,
        trims_context: true,
    };
    agent.run(request, first_step, Some(&runner), &mut sink).await.map_err(|error| {
        TurnError::Failed(match error {
            AgentError::Model(error) => advise(&error, &input.model.provider),
            error => error.to_string(),
        })
    })
}

/// Emits a notice that names the files of the user's last message that the model does not receive according to
/// [`AttachmentLoader`], if there are any.
fn notify_unseen_files(
    stored: &[StoredMessage],
    attachments: &AttachmentLoader,
    model: &ModelId,
    recorder: &EventRecorder,
) {
    let Some(last) = stored.iter().rfind(|message| message.role == Role::User) else { return };
    let is_unseen =
        |file: &&FileRef| !file.is_text() && !matches!(attachments.to_model_input(file), ModelInput::File(_));
    let is_blind =
        files_of(&last.parts).any(|file| !file.is_text() && !attachments.modalities().accepts(&file.media_type));
    let unseen: Vec<&str> = files_of(&last.parts).filter(is_unseen).map(FileRef::title).collect();
    if unseen.is_empty() {
        return;
    }
    let names = unseen.join(", ");
    let text = if is_blind {
        format!(
            "The model {model} does not take all of these files, and was not shown: {names}. Choose another model to have \
             them read."
        )
    } else {
        format!("Not all files fit into one question, so that the model was not shown: {names}.")
    };
    recorder.emit(&TurnEvent::DataNotice { data: NoticeData { text } });
}

/// Returns the system prompt, followed by the user's own instructions if there are any.
fn system_prompt(instructions: Option<String>) -> String {
    let instructions = instructions.filter(|text| !text.trim().is_empty());
    instructions.map_or_else(|| SYSTEM_PROMPT.to_owned(), |text| format!("{SYSTEM_PROMPT}\n\n{}", text.trim()))
}

/// Completes the step in which the previous process stopped: waiting calls are made once they are allowed, tasks are
/// resumed, and other calls that were in progress get an unknown outcome.
async fn finish_interrupted_step(runner: &ToolRunner<'_>, resumed: &Resumed) {
    let Resumed { approvals, elicitations, .. } = resumed;
    // First, so that clients do not offer to answer what no server waits for any more.
    runner.withdraw_lost_elicitations();
    let mut unfinished = runner.turn.transcript().unfinished_calls();
    unfinished.retain(|call| elicitations.iter().all(|eliciting| eliciting.call.id != call.id));
    // Set before any of the calls begins: a client that asks in between must not conclude that all of them wait.
    runner.turn.interactions.start_step(approvals.len() + elicitations.len() + unfinished.len());
    for call in unfinished {
        if !resumed.tasks.iter().any(|(_, task)| task.id == call.id) {
            runner.mark_unknown(call).await;
        }
    }
    let approvals = approvals.iter().map(|waiting| runner.resume_waiting_call(waiting));
    let elicitations = elicitations.iter().map(|call| runner.resume_eliciting_call(call));
    let tasks = resumed.tasks.iter().map(|(task, call)| runner.resume_task_call(task, call.clone()));
    tokio::join!(join_all(approvals), join_all(elicitations), join_all(tasks));
}
