//! What a call of a run asks its person before it goes on. Each question is a row, an event for the viewers, and then a
//! wait.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use domain::elicitation::Action;
use domain::permission::AllowedBy;
use domain::tool::ToolCall;
use domain::{ElicitationId, ServerId};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp::{ElicitationForm, ElicitationHandler, ElicitationResponse, FormContent, SuspendedCall};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::elicitations::{Answered, Elicitation};
use store::tool_tasks::ToolTask;
use tokio_util::sync::CancellationToken;

use super::Run;
use super::event::{ElicitationData, ElicitationState, RunEvent};
use super::questions::Asked;
use super::recorder::Recorder;
use crate::app::App;
use crate::tools::permission::{pin, place};
use crate::tools::{BoundTool, Inquirer, SignInWish, answer};
use platform::secret_sealing::SealError;

/// What has to be the same when a call goes on after a restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// The connection.
    pub server: ServerId,
    /// The tool.
    pub tool: String,
    /// Where the server was when the call was allowed.
    pub url: String,
    /// What was allowed, canonical JSON.
    pub definition: String,
    /// What the server said then about how it wants to be used.
    pub instructions: String,
    /// By whom.
    pub by: AllowedBy,
}

impl Bound {
    /// A tool whose server works on a call already: only its questions are put, and nothing is made again.
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

    /// A tool as it is now.
    pub fn of(tool: &BoundTool, by: AllowedBy) -> Self {
        Self {
            server: tool.server.id,
            tool: tool.definition.name.clone(),
            url: place(tool).to_owned(),
            definition: pin(&tool.definition).text,
            instructions: tool.instructions.to_string(),
            by,
        }
    }
}

/// What a call waits for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Waits {
    /// Its server, which holds the call open. It ends with the connection.
    InFlight,
    /// Nobody but the person: it can be gone on with from here.
    Suspended {
        /// Where it goes on.
        from: SuspendedCall,
        /// The first question of the same answer of the server.
        round: ElicitationId,
    },
    /// A sign-in; it has not reached the tool.
    SignIn {
        /// Whether the person has to allow the server more.
        more_rights: bool,
    },
}

/// Where a call goes on, as it is sealed with each of its questions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct About {
    /// The call.
    pub bound: Bound,
    /// What it waits for.
    pub waits: Waits,
}

impl About {
    /// What a question was sealed with; nothing when it cannot be read any more.
    pub fn open(app: &App, asked: &Elicitation) -> Option<Self> {
        let plain = app.secrets.open(&sealed_at("about", asked.id), asked.about.as_deref()?).ok()?;
        serde_json::from_slice(&plain).ok()
    }
}

/// Seals what was filled in.
pub fn seal_content(app: &App, id: ElicitationId, content: &Map<String, Value>) -> Result<Vec<u8>, SealError> {
    app.secrets.seal(&sealed_at("content", id), Value::Object(content.clone()).to_string().as_bytes())
}

/// An answer as it stands in the database.
pub fn stored_answer(
    app: &App,
    id: ElicitationId,
    answered: &Answered,
    form: Option<&ElicitationForm>,
) -> ElicitationResponse {
    let sealed = answered.content.as_deref();
    let plain = sealed.and_then(|sealed| app.secrets.open(&sealed_at("content", id), sealed).ok());
    let content = plain.and_then(|plain| serde_json::from_slice(&plain).ok()).unwrap_or_default();
    answer(answered.action, content, form).unwrap_or(ElicitationResponse::Cancel)
}

fn sealed_at(column: &str, id: ElicitationId) -> String {
    format!("elicitations/{column}/{id}")
}

/// Asks the person of a run what one of its calls needs.
#[derive(Clone)]
pub struct CallAsker(Arc<Inner>);

struct Inner {
    app: App,
    recorder: Recorder,
    call: ToolCall,
    bound: Bound,
    /// What was asked before the program was stopped, in order; asked again, it is the same question.
    earlier: Mutex<VecDeque<Elicitation>>,
    /// The answer of the server whose questions are put, and the first of them.
    round: Mutex<Option<(Arc<SuspendedCall>, ElicitationId)>>,
    waited_ms: AtomicU64,
}

impl fmt::Debug for CallAsker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CallAsker").field(&self.0.call.id).finish()
    }
}

/// A question on its way.
struct Put {
    request: Value,
    form: Option<ElicitationForm>,
    done: CancellationToken,
    waits: Wants,
}

/// What a question waits for.
enum Wants {
    InFlight,
    Suspended(Arc<SuspendedCall>),
    SignIn { more_rights: bool },
}

impl CallAsker {
    /// For a call. `earlier` are the questions of its last round, where it goes on after a restart.
    pub fn new(app: &App, recorder: &Recorder, call: &ToolCall, bound: Bound, earlier: Vec<Elicitation>) -> Self {
        Self(Arc::new(Inner {
            app: app.clone(),
            recorder: recorder.clone(),
            call: call.clone(),
            bound,
            earlier: Mutex::new(earlier.into()),
            round: Mutex::default(),
            waited_ms: AtomicU64::new(0),
        }))
    }

    /// Says that what is asked next belongs to a round that was begun before.
    pub fn go_on_with(&self, from: &Arc<SuspendedCall>, round: ElicitationId) {
        *self.0.round.lock().unwrap_or_else(PoisonError::into_inner) = Some((Arc::clone(from), round));
    }

    /// Milliseconds for which the person was waited for.
    pub fn waited_ms(&self) -> u64 {
        self.0.waited_ms.load(Ordering::Relaxed)
    }

    async fn put(&self, put: Put) -> ElicitationResponse {
        let inner = &*self.0;
        let began = inner.app.clock.now();
        let earlier = inner.earlier.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let id = match &earlier {
            Some(Elicitation { id, answered: Some(answered), .. }) => {
                let answer = stored_answer(&inner.app, *id, answered, put.form.as_ref());
                inner.recorder.emit_surely(&self.event(*id, ElicitationState::of(&answer), None)).await;
                return answer;
            }
            Some(waiting) => waiting.id,
            None => match self.open(&put).await {
                Some(id) => id,
                None => return ElicitationResponse::Cancel,
            },
        };
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
            () = put.done.cancelled() => {
                let answered = Answered { action: Action::Accept, content: None };
                let (store, owner) = (&self.run().home, self.run().owner);
                if let Err(error) = store.answer_elicitation(owner, id, &answered, inner.app.clock.now()).await {
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
            // The call goes on with it, and is not to be gone on with once more after a kill.
            inner.recorder.emit_surely(&settled).await;
        }
        inner.waited_ms.fetch_add(inner.app.clock.now().millis_since(began), Ordering::Relaxed);
        answer
    }

    /// Writes a question down and tells it to the viewers.
    async fn open(&self, put: &Put) -> Option<ElicitationId> {
        let inner = &*self.0;
        let id = ElicitationId::fresh();
        let about = About { bound: inner.bound.clone(), waits: self.waits(id, &put.waits) };
        let sealed = inner.app.secrets.seal(&sealed_at("about", id), &serde_json::to_vec(&about).ok()?).ok()?;
        let run = self.run();
        let tool_call = inner.call.id.clone();
        let row = Elicitation { id, run: run.id, tool_call, about: Some(sealed), answered: None };
        if let Err(error) = run.home.insert_elicitation(run.owner, &row, inner.app.clock.now()).await {
            tracing::error!(%error, run = %run.id, "the person could not be asked");
            return None;
        }
        let in_flight = matches!(put.waits, Wants::InFlight);
        let event = self.event(id, ElicitationState::Waiting { in_flight }, Some(put.request.clone()));
        inner.recorder.emit_durably(&event).await.then_some(id)
    }

    fn waits(&self, id: ElicitationId, wants: &Wants) -> Waits {
        match wants {
            Wants::InFlight => Waits::InFlight,
            Wants::SignIn { more_rights } => Waits::SignIn { more_rights: *more_rights },
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

    fn event(&self, id: ElicitationId, state: ElicitationState, request: Option<Value>) -> RunEvent {
        let call = &self.0.call;
        let (tool_call_id, server_name) = (call.id.clone(), call.server_name.clone());
        RunEvent::DataElicitation { id, data: ElicitationData { tool_call_id, server_name, state, request } }
    }

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

impl Inquirer for CallAsker {
    fn sign_in(&self, wish: SignInWish) -> BoxFuture<'_, bool> {
        let request = wish.request();
        let waits = Wants::SignIn { more_rights: wish.more_rights };
        let put = Put { request, form: None, done: wish.done, waits };
        self.put(put).map(|answer| matches!(answer, ElicitationResponse::Accept(_))).boxed()
    }
}

/// A question that is open. Let go of without an answer, it is withdrawn: its call has ended, or its server asks no more.
struct Open<'a> {
    asker: &'a CallAsker,
    id: ElicitationId,
    answered: bool,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        // When the program stops, the question stays open.
        if self.asker.0.app.tasks.shutdown_token().is_cancelled() {
            return;
        }
        let run = self.asker.run();
        run.questions.close(self.id);
        // When the run ends, there is nobody to tell.
        if !self.answered && !run.stop.is_cancelled() && run.end.get().is_none() {
            self.asker.0.recorder.emit(&self.asker.event(self.id, ElicitationState::Withdrawn, None));
        }
    }
}
