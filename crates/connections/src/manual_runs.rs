//! Interactions of manual tool calls. They live as long as the request that makes the call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::elicitation::Action;
use domain::json::to_json;
use domain::{InteractionId, UserId};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp::{Elicitation, ElicitationForm, ElicitationHandler, ElicitationResponse, FormContent, SuspendedCall};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{InteractionHandler, InvalidForm, SignInPrompt, elicitation_response};

/// The open interactions of all manual tool calls. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct ManualRuns(Arc<Mutex<HashMap<InteractionId, OpenInteraction>>>);

#[derive(Debug)]
struct OpenInteraction {
    owner: UserId,
    form: Option<ElicitationForm>,
    reply: oneshot::Sender<ElicitationResponse>,
}

/// A change of an interaction, for the client that makes the call.
#[derive(Debug, Clone)]
pub enum InteractionUpdate {
    /// The interaction waits for an answer to this request.
    Opened(InteractionId, Value),
    /// The interaction was answered or withdrawn.
    Closed(InteractionId),
}

impl ManualRuns {
    /// Returns a handler for the interactions of a call of `owner`, and the receiver of their changes.
    pub fn handler(&self, owner: UserId) -> (ManualHandler, mpsc::UnboundedReceiver<InteractionUpdate>) {
        let (updates, receiver) = mpsc::unbounded_channel();
        (ManualHandler { runs: self.clone(), owner, updates }, receiver)
    }

    /// Answers an interaction. Returns `None` if nothing waits for the answer.
    pub fn answer(
        &self,
        owner: UserId,
        id: InteractionId,
        action: Action,
        content: Map<String, Value>,
    ) -> Option<Result<(), InvalidForm>> {
        let mut open = self.lock();
        let interaction = open.get(&id).filter(|open| open.owner == owner)?;
        match elicitation_response(action, content, interaction.form.as_ref()) {
            // The call may have ended meanwhile.
            // Removed with the answer, so that a second answer finds nothing that waits.
            Ok(response) => open.remove(&id)?.reply.send(response).ok().map(Ok),
            Err(problem) => Some(Err(problem)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<InteractionId, OpenInteraction>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The [`InteractionHandler`] of a manual tool call.
#[derive(Debug, Clone)]
pub struct ManualHandler {
    runs: ManualRuns,
    owner: UserId,
    updates: mpsc::UnboundedSender<InteractionUpdate>,
}

impl ManualHandler {
    /// Opens an interaction and waits until it is answered, or until `done` is cancelled.
    async fn ask(&self, request: Value, form: Option<ElicitationForm>, done: CancellationToken) -> ElicitationResponse {
        let id = InteractionId::fresh();
        let (reply, answered) = oneshot::channel();
        self.runs.lock().insert(id, OpenInteraction { owner: self.owner, form, reply });
        // From here on the guard closes the interaction, also if this future is dropped with the client's request.
        let _closing = ClosingGuard { handler: self, id };
        if self.updates.send(InteractionUpdate::Opened(id, request)).is_err() {
            return ElicitationResponse::Cancel;
        }
        tokio::select! {
            answer = answered => answer.unwrap_or(ElicitationResponse::Cancel),
            () = done.cancelled() => ElicitationResponse::Accept(FormContent::default()),
        }
    }
}

impl ElicitationHandler for ManualHandler {
    fn elicit(&self, elicitation: Elicitation, _: Option<Arc<SuspendedCall>>) -> BoxFuture<'_, ElicitationResponse> {
        let request = to_json(&elicitation);
        match elicitation {
            Elicitation::Form(form) => self.ask(request, Some(form), CancellationToken::new()).boxed(),
            Elicitation::Url(visit) => self.ask(request, None, visit.completed).boxed(),
        }
    }
}

impl InteractionHandler for ManualHandler {
    fn sign_in(&self, prompt: SignInPrompt) -> BoxFuture<'_, bool> {
        let request = prompt.request();
        self.ask(request, None, prompt.done).map(|answer| matches!(answer, ElicitationResponse::Accept(_))).boxed()
    }
}

/// Closes an interaction when it is dropped: after an answer, or when its call has ended.
struct ClosingGuard<'a> {
    handler: &'a ManualHandler,
    id: InteractionId,
}

impl Drop for ClosingGuard<'_> {
    fn drop(&mut self) {
        self.handler.runs.lock().remove(&self.id);
        // Fails if the client has disconnected.
        drop(self.handler.updates.send(InteractionUpdate::Closed(self.id)));
    }
}
