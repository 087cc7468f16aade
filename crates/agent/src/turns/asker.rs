//! Interactions that a tool call of a turn needs before it can continue: elicitations of its server, and sign-ins.
//!
//! Each one is stored as a row, published as an event, and then waited for.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use connections::permissions::{binding_url, definition_hash};
use connections::{BoundTool, InteractionHandler, SignInPrompt, elicitation_response};
use domain::elicitation::Action;
use domain::permission::AllowedBy;
use domain::tool::ToolCall;
use domain::{ElicitationId, ServerId};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp::{ElicitationForm, ElicitationHandler, ElicitationResponse, FormContent, SuspendedCall};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use storage::elicitations::{Answered, Elicitation};
use storage::tool_tasks::ToolTask;
use tokio_util::sync::CancellationToken;

use super::Run;
use super::TurnService;
use super::event::{ElicitationData, ElicitationState, RunEvent};
use super::questions::Asked;
use super::recorder::Recorder;
use platform::secret_sealing::SealError;

/// Fingerprint of a tool, stored with a call that waits as part of its [resume state](About). The call continues
/// after a restart only if the tool still matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// Connection of the tool.
    pub server: ServerId,
    /// Name of the tool.
    pub tool: String,
    /// Address of the server when the call was allowed.
    pub url: String,
    /// Definition that was allowed, as canonical JSON.
    pub definition: String,
    /// Instructions of the server at that time.
    pub instructions: String,
    /// Permission or decision that allowed the call.
    pub by: AllowedBy,
}

impl Bound {
    /// Creates the fingerprint of a call that runs as a task. It has no definition, because the call is already made
    /// and only its interactions are shown.
    pub fn of_task(task: &ToolTask, tool: &str) -> Self {
        let (tool, url) = (tool.to_owned(), task.url.clone());
        Self {
            server: task.server,
            tool,
            url,
            definition: String::new(),
            instructions: String::new(),
            by: task.allowed_by,
        }
    }

    /// Creates the fingerprint of a tool as it is now.
    pub fn of(tool: &BoundTool, by: AllowedBy) -> Self {
        Self {
            server: tool.server.id,
            tool: tool.definition.name.clone(),
            url: binding_url(tool).to_owned(),
            definition: definition_hash(&tool.definition).text,
            instructions: tool.instructions.to_string(),
            by,
        }
    }
}

/// State in which a call waits for the user's answer, in [`About`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Waits {
    /// The server holds the request open. The elicitation ends with the connection, so it does not survive a restart.
    InFlight,
    /// Only the user is waited for. The call can continue from here, also after a restart.
    Suspended {
        /// State of the call at its server.
        from: SuspendedCall,
        /// First elicitation of the same response of the server, which identifies the round.
        round: ElicitationId,
    },
    /// A sign-in to the server is needed; the call has not reached the tool.
    SignIn {
        /// Whether the user has to grant the server additional scopes.
        additional_scopes: bool,
    },
}

/// State to resume a call from, sealed and stored with each of its elicitations.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct About {
    /// Fingerprint of the call's tool.
    pub bound: Bound,
    /// State in which the call waits.
    pub waits: Waits,
}

impl About {
    /// Decrypts the state that is stored with an elicitation. Returns `None` if it cannot be read, for example after
    /// the key was changed.
    pub fn open(turns: &TurnService, asked: &Elicitation) -> Option<Self> {
        let plain = turns.secrets.open(&sealed_at("about", asked.id), asked.resume_state.as_deref()?).ok()?;
        serde_json::from_slice(&plain).ok()
    }
}

/// Encrypts the content of an answer for its row in the database; [`stored_answer`] decrypts it.
///
/// # Errors
///
/// Fails if the content cannot be encrypted.
pub fn seal_content(
    turns: &TurnService,
    id: ElicitationId,
    content: &Map<String, Value>,
) -> Result<Vec<u8>, SealError> {
    turns.secrets.seal(&sealed_at("content", id), Value::Object(content.clone()).to_string().as_bytes())
}

/// Decrypts a stored answer. One that no longer matches the form counts as cancelled.
pub fn stored_answer(
    turns: &TurnService,
    id: ElicitationId,
    answered: &Answered,
    form: Option<&ElicitationForm>,
) -> ElicitationResponse {
    let sealed = answered.content.as_deref();
    let plain = sealed.and_then(|sealed| turns.secrets.open(&sealed_at("content", id), sealed).ok());
    let content = plain.and_then(|plain| serde_json::from_slice(&plain).ok()).unwrap_or_default();
    elicitation_response(answered.action, content, form).unwrap_or(ElicitationResponse::Cancel)
}

/// Returns the context that a sealed column is bound to, so that its value is not accepted in another row.
fn sealed_at(column: &str, id: ElicitationId) -> String {
    format!("elicitations/{column}/{id}")
}

/// Handler ([`ElicitationHandler`] and [`InteractionHandler`]) of the elicitations and sign-ins of one tool call.
#[derive(Clone)]
pub struct CallAsker(Arc<Inner>);

struct Inner {
    turns: TurnService,
    recorder: Recorder,
    call: ToolCall,
    /// Fingerprint of the call's tool.
    bound: Bound,
    /// Elicitations that were shown before the restart, in order. When the server asks again, they are reused instead
    /// of duplicated.
    earlier: Mutex<VecDeque<Elicitation>>,
    /// Response of the server whose elicitations are being shown, with the first of them.
    round: Mutex<Option<(Arc<SuspendedCall>, ElicitationId)>>,
    /// Total time that the call waited for the user, in milliseconds.
    waited_ms: AtomicU64,
}

impl fmt::Debug for CallAsker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CallAsker").field(&self.0.call.id).finish()
    }
}

/// An interaction that is about to be shown.
struct Put {
    /// Content of the interaction, for clients.
    request: Value,
    /// Form that the answer is checked against.
    form: Option<ElicitationForm>,
    /// Cancelled when the interaction is completed elsewhere, for example by a finished sign-in.
    done: CancellationToken,
    waits: Wants,
}

/// Kind of waiting, before the first elicitation of a round has an id; it becomes [`Waits`].
enum Wants {
    InFlight,
    Suspended(Arc<SuspendedCall>),
    SignIn { additional_scopes: bool },
}

impl CallAsker {
    /// Creates a handler for a call. `earlier` are the elicitations of its last round, if it resumes after a restart.
    pub fn new(
        turns: &TurnService,
        recorder: &Recorder,
        call: &ToolCall,
        bound: Bound,
        earlier: Vec<Elicitation>,
    ) -> Self {
        Self(Arc::new(Inner {
            turns: turns.clone(),
            recorder: recorder.clone(),
            call: call.clone(),
            bound,
            earlier: Mutex::new(earlier.into()),
            round: Mutex::default(),
            waited_ms: AtomicU64::new(0),
        }))
    }

    /// Assigns the next elicitations to a round that began before the restart.
    pub fn go_on_with(&self, from: &Arc<SuspendedCall>, round: ElicitationId) {
        *self.0.round.lock().unwrap_or_else(PoisonError::into_inner) = Some((Arc::clone(from), round));
    }

    /// Returns the total time that the call waited for the user, in milliseconds.
    pub fn waited_ms(&self) -> u64 {
        self.0.waited_ms.load(Ordering::Relaxed)
    }

    /// Shows an interaction with [`open`](Self::open) and waits for the answer.
    async fn put(&self, put: Put) -> ElicitationResponse {
        let inner = &*self.0;
        let began = inner.turns.clock.now();
        let earlier = inner.earlier.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let id = match &earlier {
            // It was answered before the restart, or by another node meanwhile.
            Some(Elicitation { id, answered: Some(answered), .. }) => {
                let answer = stored_answer(&inner.turns, *id, answered, put.form.as_ref());
                inner.recorder.emit_surely(&self.event(*id, ElicitationState::of(&answer), None)).await;
                return answer;
            }
            Some(waiting) => waiting.id,
            None => match self.open(&put).await {
                Some(id) => id,
                None => return ElicitationResponse::Cancel,
            },
        };
        // From here on, also when this future is dropped, the guard withdraws the interaction.
        let mut open = Open { asker: self, id, answered: false };
        let in_flight = matches!(put.waits, Wants::InFlight);
        let asked = Asked {
            elicitation_id: id,
            tool_call_id: inner.call.id.clone(),
            name: inner.call.name.clone(),
            server_name: inner.call.server_name.clone(),
            request: put.request,
            form: put.form,
        };
        let answer = tokio::select! {
            answer = self.run().questions.reply(asked) => answer,
            // Completed elsewhere; the stored answer must say so, so that a restart does not show it again.
            () = put.done.cancelled() => {
                let answered = Answered { action: Action::Accept, content: None };
                let (storage, owner) = (&self.run().home, self.run().owner);
                if let Err(error) = storage.elicitations().answer(owner, id, &answered, inner.turns.clock.now()).await {
                    tracing::error!(%error, run = %self.run().id, "that a question is settled could not be written");
                }
                ElicitationResponse::Accept(FormContent::default())
            }
        };
        open.answered = true;
        let settled = self.event(id, ElicitationState::of(&answer), None);
        if in_flight {
            inner.recorder.emit(&settled);
        } else {
            // The call continues with this answer, and must not continue with it a second time after a crash.
            inner.recorder.emit_surely(&settled).await;
        }
        inner.waited_ms.fetch_add(inner.turns.clock.now().millis_since(began), Ordering::Relaxed);
        answer
    }

    /// Stores and publishes an interaction. Returns `None`, and the call continues as cancelled, if that fails.
    async fn open(&self, put: &Put) -> Option<ElicitationId> {
        let inner = &*self.0;
        let id = ElicitationId::fresh();
        let about = About { bound: inner.bound.clone(), waits: self.waits(id, &put.waits) };
        let sealed = inner.turns.secrets.seal(&sealed_at("about", id), &serde_json::to_vec(&about).ok()?).ok()?;
        let run = self.run();
        let tool_call = inner.call.id.clone();
        let row = Elicitation { id, run: run.id, tool_call, resume_state: Some(sealed), answered: None };
        if let Err(error) = run.home.elicitations().insert(run.owner, &row, inner.turns.clock.now()).await {
            tracing::error!(%error, run = %run.id, "the person could not be asked");
            return None;
        }
        let in_flight = matches!(put.waits, Wants::InFlight);
        let event = self.event(id, ElicitationState::Waiting { in_flight }, Some(put.request.clone()));
        inner.recorder.emit_durably(&event).await.then_some(id)
    }

    /// Returns the state to store with an elicitation, and remembers its round.
    fn waits(&self, id: ElicitationId, wants: &Wants) -> Waits {
        match wants {
            Wants::InFlight => Waits::InFlight,
            Wants::SignIn { additional_scopes } => Waits::SignIn { additional_scopes: *additional_scopes },
            Wants::Suspended(from) => {
                let mut known = self.0.round.lock().unwrap_or_else(PoisonError::into_inner);
                let round = match &*known {
                    Some((same, first)) if Arc::ptr_eq(same, from) => *first,
                    _ => id,
                };
                *known = Some((Arc::clone(from), round));
                Waits::Suspended { from: from.as_ref().clone(), round }
            }
        }
    }

    /// Creates the event for a new state of an elicitation.
    fn event(&self, id: ElicitationId, state: ElicitationState, request: Option<Value>) -> RunEvent {
        let call = &self.0.call;
        let (tool_call_id, server_name) = (call.id.clone(), call.server_name.clone());
        RunEvent::DataElicitation { id, data: ElicitationData { tool_call_id, server_name, state, request } }
    }

    /// Returns the turn of the call.
    fn run(&self) -> &Run {
        self.0.recorder.run()
    }
}

impl ElicitationHandler for CallAsker {
    fn elicit(
        &self,
        question: mcp::Elicitation,
        from: Option<Arc<SuspendedCall>>,
    ) -> BoxFuture<'_, ElicitationResponse> {
        let request = match serde_json::to_value(&question) {
            Ok(request) => request,
            Err(error) => {
                tracing::error!(%error, "a question of a server could not be encoded");
                return Box::pin(std::future::ready(ElicitationResponse::Cancel));
            }
        };
        let (form, done) = match question {
            mcp::Elicitation::Form(form) => (Some(form), CancellationToken::new()),
            mcp::Elicitation::Url(visit) => (None, visit.completed),
        };
        let waits = from.map_or(Wants::InFlight, Wants::Suspended);
        self.put(Put { request, form, done, waits }).boxed()
    }
}

impl InteractionHandler for CallAsker {
    fn sign_in(&self, prompt: SignInPrompt) -> BoxFuture<'_, bool> {
        let request = prompt.request();
        let waits = Wants::SignIn { additional_scopes: prompt.additional_scopes };
        let put = Put { request, form: None, done: prompt.done, waits };
        self.put(put).map(|answer| matches!(answer, ElicitationResponse::Accept(_))).boxed()
    }
}

/// An open interaction. If it is dropped without an answer, it is withdrawn: its call has ended, or its server needs
/// no answer any more.
struct Open<'a> {
    asker: &'a CallAsker,
    id: ElicitationId,
    answered: bool,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        // On shutdown the interaction stays open, to be resumed after the restart.
        if self.asker.0.turns.tasks.shutdown_token().is_cancelled() {
            return;
        }
        let run = self.asker.run();
        run.questions.close(self.id);
        // When the turn ends, its last event tells clients that nothing waits any more.
        if !self.answered && !run.stop.is_cancelled() && run.end.get().is_none() {
            self.asker.0.recorder.emit(&self.asker.event(self.id, ElicitationState::Withdrawn, None));
        }
    }
}
