//! Assignment of a server's elicitations to the calls that they belong to.
//!
//! Up to 2025-11-25 an elicitation is a request of its own that does not name its call. It goes to the call whose task
//! it names, else to the most recent call that has a handler. While an elicitation is open, no call on the connection
//! runs into a deadline, because any of them may be the one that waits. If the chosen call ends before the user
//! responds, the elicitation was another call's and goes to the next.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::elicitation::{Elicitation, ElicitationHandler, ElicitationResponse, UnsupportedElicitation};
use crate::suspended_call::SuspendedCall;

/// Maximum number of open elicitations per connection; a user could not tell more apart.
const MAX_OPEN_ELICITATIONS: usize = 16;

/// Calls in progress on a connection that can elicit input, and the visits that are not completed. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct ElicitationRouter {
    state: Arc<Mutex<RouterState>>,
    /// Number of open elicitations that may belong to any call.
    open: Arc<watch::Sender<usize>>,
}

#[derive(Debug, Default)]
struct RouterState {
    /// In the order in which they began.
    calls: Vec<RegisteredCall>,
    /// Completion tokens by elicitation id.
    visits: HashMap<String, CancellationToken>,
    last_number: u64,
}

#[derive(Debug, Clone)]
struct RegisteredCall {
    number: u64,
    handler: Arc<dyn ElicitationHandler>,
    ended: CancellationToken,
    /// Id of the server task that the call runs as.
    task_id: Option<String>,
}

/// Registration of a call that can elicit input. Dropping it removes the call and withdraws its open elicitations.
#[derive(Debug)]
pub(crate) struct CallRegistration {
    router: ElicitationRouter,
    call: RegisteredCall,
}

impl ElicitationRouter {
    /// Registers a call.
    pub(crate) fn register(&self, handler: Arc<dyn ElicitationHandler>) -> CallRegistration {
        self.with_state(|state| {
            state.last_number += 1;
            let number = state.last_number;
            let call = RegisteredCall { number, handler, ended: CancellationToken::new(), task_id: None };
            state.calls.push(call.clone());
            CallRegistration { router: self.clone(), call }
        })
    }

    /// Returns the `ElicitResult` for a request of the server, which may name the task that it belongs to; `cancel` if
    /// there is no call to ask or the elicitation cannot be shown.
    pub(crate) async fn respond(&self, params: &Value, task_id: Option<&str>) -> Value {
        let elicitation = match Elicitation::parse(params) {
            Ok(elicitation) => elicitation,
            Err(error) => return cancel_unsupported(&error),
        };
        // Rejected instead of queued: the server would otherwise fill the memory with requests.
        if *self.open.borrow() >= MAX_OPEN_ELICITATIONS {
            return ElicitationResponse::Cancel.to_result(false);
        }
        self.open.send_modify(|open| *open += 1);
        // A guard, because this future is dropped when the server withdraws its request.
        let _open = OpenElicitation(&self.open);
        let is_form = matches!(elicitation, Elicitation::Form(_));
        let names_task = |call: &&RegisteredCall| task_id.is_some() && call.task_id.as_deref() == task_id;
        let find_call = |state: &mut RouterState| state.calls.iter().find(names_task).or(state.calls.last()).cloned();
        // Repeated, because the chosen call may end before the user responds.
        while let Some(call) = self.with_state(find_call) {
            let id = Elicitation::id_of(params);
            if let Some(response) = self.elicit_for(&call, elicitation.clone(), id, None).await {
                return response.to_result(is_form);
            }
        }
        ElicitationResponse::Cancel.to_result(is_form)
    }

    /// Returns the number of open elicitations that may belong to any call.
    pub(crate) fn subscribe_open(&self) -> watch::Receiver<usize> {
        self.open.subscribe()
    }

    /// Completes the visit with this elicitation id (`notifications/elicitation/complete`).
    pub(crate) fn complete_visit(&self, id: &str) {
        if let Some(completed) = self.with_state(|state| state.visits.remove(id)) {
            completed.cancel();
        }
    }

    /// Returns the user's response; `None` if the call ended before.
    async fn elicit_for(
        &self,
        call: &RegisteredCall,
        elicitation: Elicitation,
        id: Option<&str>,
        suspended: Option<Arc<SuspendedCall>>,
    ) -> Option<ElicitationResponse> {
        if let (Elicitation::Url(visit), Some(id)) = (&elicitation, id) {
            self.with_state(|state| state.visits.insert(id.to_owned(), visit.completed.clone()));
        }
        let _visit = OpenVisit { router: self, id };
        call.ended.run_until_cancelled(call.handler.elicit(elicitation, suspended)).await
    }

    fn with_state<T>(&self, change: impl FnOnce(&mut RouterState) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl CallRegistration {
    /// Records the id of the server task that the call runs as.
    pub(crate) fn set_task_id(&self, task_id: &str) {
        self.router.with_state(|state| {
            if let Some(call) = state.calls.iter_mut().find(|call| call.number == self.call.number) {
                call.task_id = Some(task_id.to_owned());
            }
        });
    }

    /// Returns the `ElicitResult` for an elicitation that belongs to this call; `cancel` if it cannot be shown.
    pub(crate) async fn respond(&self, params: &Value) -> Value {
        let elicitation = match Elicitation::parse(params) {
            Ok(elicitation) => elicitation,
            Err(error) => return cancel_unsupported(&error),
        };
        let is_form = matches!(elicitation, Elicitation::Form(_));
        let response = self.router.elicit_for(&self.call, elicitation, Elicitation::id_of(params), None).await;
        response.unwrap_or(ElicitationResponse::Cancel).to_result(is_form)
    }

    /// Returns the user's response to an elicitation of a [`SuspendedCall`], for which the server keeps nothing open.
    pub(crate) async fn elicit(
        &self,
        elicitation: Elicitation,
        id: Option<&str>,
        suspended: Arc<SuspendedCall>,
    ) -> ElicitationResponse {
        let response = self.router.elicit_for(&self.call, elicitation, id, Some(suspended)).await;
        response.unwrap_or(ElicitationResponse::Cancel)
    }
}

fn cancel_unsupported(error: &UnsupportedElicitation) -> Value {
    tracing::debug!(%error, "elicitation cannot be shown");
    ElicitationResponse::Cancel.to_result(false)
}

impl Drop for CallRegistration {
    fn drop(&mut self) {
        // First leave the list, then cancel: an elicitation that loses its call looks there for the next one.
        self.router.with_state(|state| state.calls.retain(|call| call.number != self.call.number));
        self.call.ended.cancel();
    }
}

/// Counts an elicitation as open until it is dropped.
struct OpenElicitation<'a>(&'a watch::Sender<usize>);

impl Drop for OpenElicitation<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}

/// Keeps the completion token of a visit registered until it is dropped.
struct OpenVisit<'a> {
    router: &'a ElicitationRouter,
    id: Option<&'a str>,
}

impl Drop for OpenVisit<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.router.with_state(|state| state.visits.remove(id));
        }
    }
}
