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
use domain::json::{to_json, to_json_text};
use domain::permission::AllowedBy;
use domain::tool::ToolCall;
use domain::{InteractionId, ServerId};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp::{ElicitationForm, ElicitationHandler, ElicitationResponse, FormContent, SuspendedCall};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use storage::interactions::{Interaction, InteractionRequest, SealedAnswer, StoredResponse};
use storage::tool_tasks::ToolTask;
use tokio_util::sync::CancellationToken;

use super::Turn;
use super::TurnService;
use super::event::{ElicitationData, ElicitationState, TurnEvent};
use super::event_recorder::EventRecorder;
use super::pending_interactions::PendingElicitation;
use platform::secret_sealing::SealError;

/// Fingerprint of a tool, stored with a call that waits as part of its [resume state](ResumeState). The call continues
/// after a restart only if the tool still matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolFingerprint {
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

impl ToolFingerprint {
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

/// State in which a call waits for the user's answer, in [`ResumeState`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum WaitState {
    /// The server holds the request open. The elicitation ends with the connection, so it does not survive a restart.
    InFlight,
    /// Only the user is waited for. The call can continue from here, also after a restart.
    Suspended {
        /// State of the call at its server.
        from: SuspendedCall,
        /// First elicitation of the same response of the server, which identifies the round.
        round: InteractionId,
    },
    /// A sign-in to the server is needed; the call has not reached the tool.
    SignIn {
        /// Whether the user has to grant the server additional scopes.
        additional_scopes: bool,
    },
}

/// State to resume a call from, sealed and stored with each of its elicitations.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ResumeState {
    /// Fingerprint of the call's tool.
    #[serde(alias = "bound")]
    pub fingerprint: ToolFingerprint,
    /// State in which the call waits.
    pub waits: WaitState,
}

impl ResumeState {
    /// Decrypts the state that is stored with an elicitation. Returns `None` if it cannot be read, for example after
    /// the key was changed.
    pub fn open(turns: &TurnService, row: &Interaction) -> Option<Self> {
        // `about` is an earlier name of the column. Stored values are bound to it, so that it cannot change.
        let plain = turns.secrets.open(&seal_context("about", row.id), row.resume_state()?).ok()?;
        serde_json::from_slice(&plain).ok()
    }
}

/// Encrypts the content of an answer for its row in the database; [`open_stored_answer`] decrypts it.
///
/// # Errors
///
/// Fails if the content cannot be encrypted.
pub fn seal_answer(turns: &TurnService, id: InteractionId, content: &Map<String, Value>) -> Result<Vec<u8>, SealError> {
    turns.secrets.seal(&seal_context("content", id), Value::Object(content.clone()).to_string().as_bytes())
}

/// Decrypts a stored answer. One that cannot be decrypted or no longer matches the form counts as cancelled.
pub fn open_stored_answer(
    turns: &TurnService,
    id: InteractionId,
    answer: &SealedAnswer,
    form: Option<&ElicitationForm>,
) -> ElicitationResponse {
    let content = match &answer.content {
        Some(sealed) => open_content(turns, id, sealed),
        None => Some(Map::new()),
    };
    let response = content.and_then(|content| elicitation_response(answer.action, content, form).ok());
    response.unwrap_or(ElicitationResponse::Cancel)
}

/// Decrypts the content of an answer; `None` if that fails.
fn open_content(turns: &TurnService, id: InteractionId, sealed: &[u8]) -> Option<Map<String, Value>> {
    let plain = turns.secrets.open(&seal_context("content", id), sealed).ok()?;
    serde_json::from_slice(&plain).ok()
}

/// Returns the context that a sealed column is bound to, so that its value is not accepted in another row.
fn seal_context(column: &str, id: InteractionId) -> String {
    format!("interactions/{column}/{id}")
}

/// Handler ([`ElicitationHandler`] and [`InteractionHandler`]) of the elicitations and sign-ins of one tool call.
#[derive(Clone)]
pub struct TurnInteractionHandler(Arc<Inner>);

struct Inner {
    turns: TurnService,
    recorder: EventRecorder,
    call: ToolCall,
    /// Fingerprint of the call's tool.
    fingerprint: ToolFingerprint,
    /// Elicitations that were shown before the restart, in order. When the server asks again, they are reused instead
    /// of duplicated.
    earlier: Mutex<VecDeque<Interaction>>,
    /// Response of the server whose elicitations are being shown, with the first of them.
    round: Mutex<Option<(Arc<SuspendedCall>, InteractionId)>>,
    /// Total time that the call waited for the user, in milliseconds.
    waited_ms: AtomicU64,
}

impl fmt::Debug for TurnInteractionHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TurnInteractionHandler").field(&self.0.call.id).finish()
    }
}

/// An interaction that is about to be shown.
struct NewInteraction {
    /// Content of the interaction, for clients.
    request: Value,
    /// Form that the answer is checked against.
    form: Option<ElicitationForm>,
    /// Cancelled when the interaction is completed elsewhere, for example by a finished sign-in.
    done: CancellationToken,
    waits: WaitKind,
}

/// Kind of waiting, before the first elicitation of a round has an id; it becomes [`WaitState`].
enum WaitKind {
    InFlight,
    Suspended(Arc<SuspendedCall>),
    SignIn { additional_scopes: bool },
}

impl TurnInteractionHandler {
    /// Creates a handler for a call. `earlier` are the elicitations of its last round, if it resumes after a restart.
    pub fn new(
        turns: &TurnService,
        recorder: &EventRecorder,
        call: &ToolCall,
        fingerprint: ToolFingerprint,
        earlier: Vec<Interaction>,
    ) -> Self {
        Self(Arc::new(Inner {
            turns: turns.clone(),
            recorder: recorder.clone(),
            call: call.clone(),
            fingerprint,
            earlier: Mutex::new(earlier.into()),
            round: Mutex::default(),
            waited_ms: AtomicU64::new(0),
        }))
    }

    /// Assigns the next elicitations to a round that began before the restart.
    pub fn continue_round(&self, from: &Arc<SuspendedCall>, round: InteractionId) {
        *self.0.round.lock().unwrap_or_else(PoisonError::into_inner) = Some((Arc::clone(from), round));
    }

    /// Returns the total time that the call waited for the user, in milliseconds.
    pub fn waited_ms(&self) -> u64 {
        self.0.waited_ms.load(Ordering::Relaxed)
    }

    /// Shows an interaction with [`publish`](Self::publish) and waits for the answer.
    async fn show_and_wait(&self, interaction: NewInteraction) -> ElicitationResponse {
        let inner = &*self.0;
        let began = inner.turns.clock.now();
        // In order: a suspended call asks its elicitations again in the order in which they were stored.
        let earlier = inner.earlier.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let id = match &earlier {
            // It was answered before the restart, or by another node meanwhile.
            Some(Interaction { id, response: Some(StoredResponse::Answer(answer)), .. }) => {
                let answer = open_stored_answer(&inner.turns, *id, answer, interaction.form.as_ref());
                inner.recorder.emit_with_retry(&self.state_event(*id, ElicitationState::of(&answer), None)).await;
                return answer;
            }
            Some(waiting) => waiting.id,
            None => match self.publish(&interaction).await {
                Some(id) => id,
                None => return ElicitationResponse::Cancel,
            },
        };
        // From here on, also when this future is dropped, the guard withdraws the interaction.
        let mut open = OpenInteraction { handler: self, id, is_answered: false };
        let in_flight = matches!(interaction.waits, WaitKind::InFlight);
        let pending = PendingElicitation {
            elicitation_id: id,
            tool_call_id: inner.call.id.clone(),
            name: inner.call.name.clone(),
            server_name: inner.call.server_name.clone(),
            request: interaction.request,
            form: interaction.form,
        };
        let answer = tokio::select! {
            answer = self.turn().interactions.wait_for_answer(pending) => answer,
            // Completed elsewhere; the stored answer must say so, so that a restart does not show it again.
            () = interaction.done.cancelled() => {
                let response = StoredResponse::Answer(SealedAnswer { action: Action::Accept, content: None });
                let (interactions, owner) = (self.turn().storage.interactions(), self.turn().owner);
                if let Err(error) = interactions.respond(owner, id, &response, None, inner.turns.clock.now()).await {
                    tracing::error!(%error, turn_id = %self.turn().id, "a completed interaction could not be stored");
                }
                ElicitationResponse::Accept(FormContent::default())
            }
        };
        open.is_answered = true;
        let settled = self.state_event(id, ElicitationState::of(&answer), None);
        if in_flight {
            inner.recorder.emit(&settled);
        } else {
            // The call continues with this answer, and must not continue with it a second time after a crash.
            inner.recorder.emit_with_retry(&settled).await;
        }
        inner.waited_ms.fetch_add(inner.turns.clock.now().millis_since(began), Ordering::Relaxed);
        answer
    }

    /// Stores and publishes an interaction. Returns `None`, and the call continues as cancelled, if that fails.
    async fn publish(&self, interaction: &NewInteraction) -> Option<InteractionId> {
        let inner = &*self.0;
        let id = InteractionId::fresh();
        let state =
            ResumeState { fingerprint: inner.fingerprint.clone(), waits: self.wait_state(id, &interaction.waits) };
        let sealed = inner.turns.secrets.seal(&seal_context("about", id), to_json_text(&state).as_bytes()).ok()?;
        let turn = self.turn();
        let tool_call = inner.call.id.clone();
        let request = match interaction.waits {
            WaitKind::SignIn { .. } => InteractionRequest::SignIn(Some(sealed)),
            WaitKind::InFlight | WaitKind::Suspended(_) => InteractionRequest::Elicitation(Some(sealed)),
        };
        let row = Interaction { id, turn: turn.id, tool_call, request, response: None };
        let now = inner.turns.clock.now();
        if let Err(error) = turn.storage.interactions().insert(turn.owner, &row, &inner.call.name, now).await {
            tracing::error!(%error, turn_id = %turn.id, "an interaction could not be stored");
            return None;
        }
        let in_flight = matches!(interaction.waits, WaitKind::InFlight);
        let event = self.state_event(id, ElicitationState::Waiting { in_flight }, Some(interaction.request.clone()));
        inner.recorder.emit_synced(&event).await.then_some(id)
    }

    /// Returns the state to store with an elicitation, and remembers its round.
    fn wait_state(&self, id: InteractionId, kind: &WaitKind) -> WaitState {
        match kind {
            WaitKind::InFlight => WaitState::InFlight,
            WaitKind::SignIn { additional_scopes } => WaitState::SignIn { additional_scopes: *additional_scopes },
            WaitKind::Suspended(from) => {
                let mut known = self.0.round.lock().unwrap_or_else(PoisonError::into_inner);
                let round = match &*known {
                    // All elicitations of one response of the server share its `Arc`, so the pointer identifies the
                    // response.
                    Some((same, first)) if Arc::ptr_eq(same, from) => *first,
                    _ => id,
                };
                *known = Some((Arc::clone(from), round));
                WaitState::Suspended { from: from.as_ref().clone(), round }
            }
        }
    }

    /// Creates the event for a new state of an elicitation.
    fn state_event(&self, id: InteractionId, state: ElicitationState, request: Option<Value>) -> TurnEvent {
        let call = &self.0.call;
        let (tool_call_id, server_name) = (call.id.clone(), call.server_name.clone());
        TurnEvent::DataElicitation { id, data: ElicitationData { tool_call_id, server_name, state, request } }
    }

    /// Returns the turn of the call.
    fn turn(&self) -> &Turn {
        self.0.recorder.turn()
    }
}

impl ElicitationHandler for TurnInteractionHandler {
    fn elicit(
        &self,
        elicitation: mcp::Elicitation,
        from: Option<Arc<SuspendedCall>>,
    ) -> BoxFuture<'_, ElicitationResponse> {
        let request = to_json(&elicitation);
        let (form, done) = match elicitation {
            mcp::Elicitation::Form(form) => (Some(form), CancellationToken::new()),
            mcp::Elicitation::Url(visit) => (None, visit.completed),
        };
        let waits = from.map_or(WaitKind::InFlight, WaitKind::Suspended);
        self.show_and_wait(NewInteraction { request, form, done, waits }).boxed()
    }
}

impl InteractionHandler for TurnInteractionHandler {
    fn sign_in(&self, prompt: SignInPrompt) -> BoxFuture<'_, bool> {
        let request = prompt.request();
        let waits = WaitKind::SignIn { additional_scopes: prompt.additional_scopes };
        let interaction = NewInteraction { request, form: None, done: prompt.done, waits };
        self.show_and_wait(interaction).map(|answer| matches!(answer, ElicitationResponse::Accept(_))).boxed()
    }
}

/// An open interaction. If it is dropped without an answer, it is withdrawn: its call has ended, or its server needs
/// no answer any more.
struct OpenInteraction<'a> {
    handler: &'a TurnInteractionHandler,
    id: InteractionId,
    is_answered: bool,
}

impl Drop for OpenInteraction<'_> {
    fn drop(&mut self) {
        // On shutdown the interaction stays open, to be resumed after the restart.
        if self.handler.0.turns.tasks.shutdown_token().is_cancelled() {
            return;
        }
        let turn = self.handler.turn();
        turn.interactions.remove(self.id);
        // When the turn ends, its last event tells clients that nothing waits any more.
        if !self.is_answered && !turn.stop.is_cancelled() && turn.result.get().is_none() {
            self.handler.0.recorder.emit(&self.handler.state_event(self.id, ElicitationState::Withdrawn, None));
        }
    }
}
