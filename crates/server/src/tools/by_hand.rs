//! Questions of calls that a person makes by hand. They live as long as the request that makes the call.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::elicitation::Action;
use domain::{ElicitationId, UserId};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp::{Elicitation, ElicitationForm, ElicitationHandler, ElicitationResponse, FormContent, SuspendedCall};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{Inquirer, SignInWish, answer};
use crate::app::App;

/// The questions that are open.
#[derive(Debug, Default)]
pub struct ByHand(Mutex<HashMap<ElicitationId, Open>>);

#[derive(Debug)]
struct Open {
    owner: UserId,
    form: Option<ElicitationForm>,
    reply: oneshot::Sender<ElicitationResponse>,
}

/// What the person is told about a question.
#[derive(Debug, Clone)]
pub enum Told {
    /// It waits.
    Asked(ElicitationId, Value),
    /// It is settled: with an answer, or withdrawn.
    Settled(ElicitationId),
}

impl ByHand {
    /// Answers a question; `None` when nobody waits for it. The error says what is wrong with the answer.
    pub fn reply(
        &self,
        owner: UserId,
        id: ElicitationId,
        action: Action,
        content: Map<String, Value>,
    ) -> Option<Result<(), String>> {
        let mut open = self.open();
        let question = open.get(&id).filter(|open| open.owner == owner)?;
        match answer(action, content, question.form.as_ref()) {
            // Whoever waited may be gone by now.
            Ok(said) => open.remove(&id)?.reply.send(said).ok().map(Ok),
            Err(problem) => Some(Err(problem)),
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<ElicitationId, Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks a person who runs a tool by hand.
#[derive(Clone)]
pub struct HandAsker {
    app: App,
    owner: UserId,
    told: mpsc::UnboundedSender<Told>,
}

impl fmt::Debug for HandAsker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HandAsker")
    }
}

impl HandAsker {
    /// Asks `owner`; what is asked comes out of the receiver.
    pub fn new(app: &App, owner: UserId) -> (Self, mpsc::UnboundedReceiver<Told>) {
        let (told, asked) = mpsc::unbounded_channel();
        (Self { app: app.clone(), owner, told }, asked)
    }

    async fn put(&self, request: Value, form: Option<ElicitationForm>, done: CancellationToken) -> ElicitationResponse {
        let id = ElicitationId::fresh();
        let (reply, answered) = oneshot::channel();
        self.app.tools.by_hand.open().insert(id, Open { owner: self.owner, form, reply });
        let _settled = Settled { asker: self, id };
        if self.told.send(Told::Asked(id, request)).is_err() {
            return ElicitationResponse::Cancel;
        }
        tokio::select! {
            answer = answered => answer.unwrap_or(ElicitationResponse::Cancel),
            () = done.cancelled() => ElicitationResponse::Accept(FormContent::default()),
        }
    }
}

impl ElicitationHandler for HandAsker {
    fn elicit(&self, question: Elicitation, _: Option<Arc<SuspendedCall>>) -> BoxFuture<'_, ElicitationResponse> {
        let request = serde_json::to_value(&question).unwrap_or_default();
        match question {
            Elicitation::Form(form) => self.put(request, Some(form), CancellationToken::new()).boxed(),
            Elicitation::Url(visit) => self.put(request, None, visit.completed).boxed(),
        }
    }
}

impl Inquirer for HandAsker {
    fn sign_in(&self, wish: SignInWish) -> BoxFuture<'_, bool> {
        let request = wish.request();
        self.put(request, None, wish.done).map(|answer| matches!(answer, ElicitationResponse::Accept(_))).boxed()
    }
}

/// A question that is answered, or that nobody waits with any more.
struct Settled<'a> {
    asker: &'a HandAsker,
    id: ElicitationId,
}

impl Drop for Settled<'_> {
    fn drop(&mut self) {
        self.asker.app.tools.by_hand.open().remove(&self.id);
        // Nobody listens any more when the person has gone away.
        drop(self.asker.told.send(Told::Settled(self.id)));
    }
}
