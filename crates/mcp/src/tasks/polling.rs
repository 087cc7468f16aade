//! Polling of a task until it ends.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use domain::tool::ToolResult;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rmcp::model::{
    CancelTaskParams, CancelTaskRequest, ClientRequest, CustomRequest, ServerResult, UpdateTaskParams,
    UpdateTaskRequest,
};
use rmcp::service::PeerRequestOptions;
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::elicitation_routing::CallRegistration;
use crate::input_required::parse_input_requests;
use crate::library_errors::explain_request_error;
use crate::progress::ProgressReport;
use crate::session::{NOTICE_TIMEOUT, PendingRequest, Session};
use crate::tasks::notifications::TaskSubscription;
use crate::tasks::status::{TaskState, failed_task_error, fetch_task};
use crate::tasks::{MIN_POLL_INTERVAL, Task, TaskProtocol, TaskStatus};
use crate::tool_call::options::CallOptions;
use crate::{CallError, Error, tools};

/// Time limit for the result of a task that has ended.
const RESULT_TIMEOUT: Duration = Duration::from_mins(1);
/// Time beyond a task's time to live for which the server may be silent about it.
const EXPIRY_GRACE: Duration = Duration::from_mins(1);
/// Maximum number of elicitations of one task; no user would answer more.
const MAX_TASK_ELICITATIONS: usize = 100;
/// Maximum number of attempts to send responses to a server that is temporarily unreachable.
const MAX_SEND_ATTEMPTS: usize = 5;

/// Results of elicitations, by the server's keys.
type ElicitationResults = BTreeMap<String, Value>;

/// Task that was started before it is waited for.
pub(crate) struct StartedTask {
    pub(crate) task: Task,
    /// Task object that the call was answered with; `None` for a task that is resumed.
    pub(crate) state: Option<Value>,
    /// Time since the task was started.
    pub(crate) age: Duration,
}

/// Waits for the result of a task.
///
/// # Errors
///
/// [`CallError::Cancelled`] if the caller cancels; the task at the server is cancelled as well.
pub(crate) async fn wait_for_task(
    session: &Session,
    StartedTask { task, state, age }: StartedTask,
    progress: Option<mpsc::Receiver<ProgressReport>>,
    eliciting: Option<&CallRegistration>,
    options: &CallOptions,
) -> Result<ToolResult, CallError> {
    // So that elicitations that name the task are routed to this call.
    if let Some(eliciting) = eliciting {
        eliciting.set_task_id(&task.id);
    }
    let mut poller = TaskPoller {
        changes: session.routes.task_notifications.subscribe(&task.id),
        session,
        options,
        eliciting,
        task,
        age,
        started: Instant::now(),
        last_seen: Instant::now(),
        elicited: HashSet::new(),
        elicitations: None,
        result: None,
        on_drop: OnDrop::CancelIfUnwatched,
    };
    let outcome = poller.poll_until_end(state, progress).await;
    match &outcome {
        // `CancelIfUnwatched` cancels the task, because the caller's token is cancelled.
        Err(CallError::Cancelled) => {}
        // The server cannot be understood, or requests what is not offered: the result would never be read.
        Err(CallError::Unknown(Error::Protocol(_))) => poller.on_drop = OnDrop::Cancel,
        _ => poller.on_drop = OnDrop::Keep,
    }
    outcome
}

struct TaskPoller<'a> {
    session: &'a Session,
    options: &'a CallOptions,
    eliciting: Option<&'a CallRegistration>,
    changes: TaskSubscription,
    task: Task,
    /// Age of the task at `started`.
    age: Duration,
    started: Instant,
    /// Time of the last answer about the task.
    last_seen: Instant,
    /// Keys of the elicitations that the user has been asked.
    elicited: HashSet<String>,
    /// Open elicitations.
    elicitations: Option<BoxFuture<'a, ElicitationResults>>,
    /// Open request for the result (2025-11-25), which the server answers when there is one.
    result: Option<PendingRequest>,
    on_drop: OnDrop,
}

/// Fate of the task at the server when its poller is dropped.
enum OnDrop {
    /// Cancelled if the caller cancelled, or cannot resume it.
    CancelIfUnwatched,
    Cancel,
    Keep,
}

impl Drop for TaskPoller<'_> {
    fn drop(&mut self) {
        let cancels = match self.on_drop {
            OnDrop::CancelIfUnwatched => self.options.cancel.is_cancelled() || self.options.on_task.is_none(),
            OnDrop::Cancel => true,
            OnDrop::Keep => false,
        };
        if cancels {
            cancel_task(self.session, &self.task.id);
        }
    }
}

impl TaskPoller<'_> {
    async fn poll_until_end(
        &mut self,
        first_state: Option<Value>,
        mut progress: Option<mpsc::Receiver<ProgressReport>>,
    ) -> Result<ToolResult, CallError> {
        let mut next_poll = Instant::now();
        if let Some(state) = first_state {
            // The first task object need not hold the result of a task that has ended already: poll at once for it.
            match TaskState::parse(state, &mut self.task).map_err(CallError::Unknown)? {
                TaskState::Working | TaskState::InputRequired(_) => next_poll = self.next_poll(),
                TaskState::Completed(_) | TaskState::Failed(_) | TaskState::Cancelled => {}
            }
        }
        self.publish_task();
        loop {
            let deadline = self.started + self.remaining_time();
            tokio::select! {
                // In this order: a cancellation comes first, and a result that has arrived is never lost to the
                // deadline.
                biased;
                () = self.options.cancel.cancelled() => return Err(CallError::Cancelled),
                answer = response_of(self.session, &mut self.result) => {
                    self.result = None;
                    match parse_result(answer) {
                        // The task continues at the server, and polling notices when it is reachable again.
                        Err(CallError::Unknown(error)) if error.is_transient() => {}
                        outcome => return outcome,
                    }
                }
                results = results_of(&mut self.elicitations) => {
                    self.elicitations = None;
                    self.send_results(results).await?;
                }
                Some(report) = next_report(&mut progress) => {
                    if let Some(listener) = &self.options.on_progress {
                        let _ = listener.try_send(report);
                    }
                }
                // Not at once: a server could otherwise have itself polled without pause by sending notifications.
                () = self.changes.changed() => next_poll = next_poll.min(Instant::now() + MIN_POLL_INTERVAL),
                () = sleep_until(next_poll) => {
                    if let Some(outcome) = self.poll_once().await? {
                        return outcome;
                    }
                    self.publish_task();
                    next_poll = self.next_poll();
                }
                // A task that waits for the user is not subject to the deadline.
                () = sleep_until(deadline), if self.task.status == TaskStatus::Working => {
                    return Err(CallError::Unknown(Error::TaskExpired));
                }
            }
        }
    }

    /// Returns the remaining time, counted from `started`. The time to live counts from the last answer, not from the
    /// creation: some servers name a minute for work of hours and keep a task as long as they work on it.
    fn remaining_time(&self) -> Duration {
        let seen = self.last_seen - self.started;
        let kept = self.task.ttl.map_or(Duration::MAX, |ttl| seen.saturating_add(ttl).saturating_add(EXPIRY_GRACE));
        kept.min(self.options.task_timeout.saturating_sub(self.age))
    }

    fn next_poll(&self) -> Instant {
        // Jitter of up to 10 % spreads the polls of tasks that were started together.
        Instant::now() + self.task.poll_interval.mul_f64(1.0 + rand::random::<f64>() / 10.0)
    }

    /// Publishes the task to the caller, if it has changed.
    fn publish_task(&self) {
        if let Some(listener) = &self.options.on_task {
            listener.send_if_modified(|published| {
                let has_changed = published.as_ref() != Some(&self.task);
                if has_changed {
                    *published = Some(self.task.clone());
                }
                has_changed
            });
        }
    }

    /// Polls the task once. Returns `Some` if it has ended.
    async fn poll_once(&mut self) -> Result<Option<Result<ToolResult, CallError>>, CallError> {
        let (session, cancel) = (self.session, &self.options.cancel);
        let state = cancel.run_until_cancelled(fetch_task(session, &self.task.id)).await;
        let state = state.ok_or(CallError::Cancelled)?.map_err(CallError::Unknown)?;
        let state = TaskState::parse(state, &mut self.task).map_err(CallError::Unknown)?;
        self.last_seen = Instant::now();
        match state {
            TaskState::Working => self.task.status = TaskStatus::Working,
            TaskState::InputRequired(requests) => {
                self.task.status = TaskStatus::InputRequired;
                match self.task.protocol {
                    // A server of 2025-11-25 sends its elicitations while it answers `tasks/result`.
                    TaskProtocol::Core => self.request_result().await?,
                    TaskProtocol::Extension => self.begin_elicitations(requests)?,
                }
            }
            TaskState::Cancelled => {
                let reason = self.task.message.as_ref().map(|message| format!(": {message}")).unwrap_or_default();
                return Ok(Some(Err(CallError::Ended(Error::TaskCancelled(reason)))));
            }
            TaskState::Completed(_) | TaskState::Failed(_) if self.task.protocol == TaskProtocol::Core => {
                return Ok(Some(self.fetch_result().await));
            }
            TaskState::Completed(result) => {
                let result = result.and_then(|result| serde_json::from_value::<ServerResult>(result).ok());
                let unreadable = || CallError::Unknown(Error::Protocol("its result cannot be read".to_owned()));
                return Ok(Some(result.ok_or_else(unreadable).and_then(|result| Ok(tools::parse_result(result)?))));
            }
            TaskState::Failed(error) => return Ok(Some(Err(failed_task_error(error.as_ref())))),
        }
        Ok(None)
    }

    /// Begins to ask the user the elicitations that are new.
    fn begin_elicitations(&mut self, requests: Map<String, Value>) -> Result<(), CallError> {
        // The server repeats its open elicitations in every answer until it has the responses.
        let is_new = |key: &String| !self.elicited.contains(key);
        let requests: Map<String, Value> = requests.into_iter().filter(|(key, _)| is_new(key)).collect();
        // New elicitations that arrive meanwhile are repeated by the server, and asked when the open ones are answered.
        if requests.is_empty() || self.elicitations.is_some() {
            return Ok(());
        }
        if self.elicited.len() + requests.len() > MAX_TASK_ELICITATIONS {
            return Err(CallError::Unknown(Error::Protocol("it asks too many questions".to_owned())));
        }
        let Some(eliciting) = self.eliciting else {
            return Err(CallError::Unknown(Error::Protocol("it asked for input, which was not offered".to_owned())));
        };
        let elicitations = parse_input_requests(requests).map_err(CallError::Unknown)?;
        self.elicited.extend(elicitations.keys().cloned());
        self.elicitations = Some(
            async move {
                let mut results = ElicitationResults::new();
                for (key, params) in elicitations {
                    results.insert(key, eliciting.respond(&params).await);
                }
                results
            }
            .boxed(),
        );
        Ok(())
    }

    /// Sends the results of the elicitations (`tasks/update`).
    async fn send_results(&mut self, results: ElicitationResults) -> Result<(), CallError> {
        let params = UpdateTaskParams::new(&self.task.id, results);
        let mut attempts = 1;
        loop {
            let request = ClientRequest::UpdateTaskRequest(UpdateTaskRequest::new(params.clone()));
            let sent = self.options.cancel.run_until_cancelled(self.session.request(request)).await;
            match sent.ok_or(CallError::Cancelled)? {
                // If the server rejects them, the next poll shows what it wants instead.
                Ok(_) | Err(Error::Server { .. }) => return Ok(()),
                Err(error) if error.is_transient() && attempts < MAX_SEND_ATTEMPTS => attempts += 1,
                Err(error) => return Err(CallError::Unknown(error)),
            }
            sleep(self.task.poll_interval).await;
        }
    }

    /// Sends `tasks/result` (2025-11-25), unless it is open already.
    async fn request_result(&mut self) -> Result<(), CallError> {
        if self.result.is_none() {
            let params = json!({ "taskId": self.task.id });
            let request = ClientRequest::CustomRequest(CustomRequest::new("tasks/result", Some(params)));
            let handle = self.session.send_request(request, PeerRequestOptions::no_options()).await;
            self.result = Some(PendingRequest::new(self.session, handle.map_err(CallError::Unknown)?));
        }
        Ok(())
    }

    /// Returns the result of a task that has ended (2025-11-25).
    async fn fetch_result(&mut self) -> Result<ToolResult, CallError> {
        self.request_result().await?;
        let answer = timeout(RESULT_TIMEOUT, response_of(self.session, &mut self.result));
        let answer = self.options.cancel.run_until_cancelled(answer).await;
        let answer = answer.ok_or(CallError::Cancelled)?;
        parse_result(answer.map_err(|_| CallError::Unknown(Error::Timeout(RESULT_TIMEOUT)))?)
    }
}

/// Asks the server to cancel a task, in the background. The server need not comply.
fn cancel_task(session: &Session, id: &str) {
    // Called from `drop`, which may run outside of the runtime during shutdown.
    let Ok(runtime) = Handle::try_current() else { return };
    let request = ClientRequest::CancelTaskRequest(CancelTaskRequest::new(CancelTaskParams::new(id)));
    let peer = session.peer.clone();
    let notice = async move {
        let options = PeerRequestOptions::with_timeout(NOTICE_TIMEOUT);
        let sent = async { peer.send_request_with_option(request, options).await.ok()?.await_response().await.ok() };
        // The outer timeout covers the sending, which hangs on a dead connection.
        let _ = tokio::time::timeout(NOTICE_TIMEOUT, sent).await;
    };
    session.background.spawn_on(notice, &runtime);
}

fn parse_result(answer: Result<ServerResult, Error>) -> Result<ToolResult, CallError> {
    match answer {
        Ok(result) => Ok(tools::parse_result(result)?),
        Err(Error::Server { code, message }) => Err(CallError::Server { code, message }),
        Err(error) => Err(CallError::Unknown(error)),
    }
}

// The following functions wait forever if there is nothing to wait for, so that `select!` can contain them.

async fn response_of(session: &Session, pending: &mut Option<PendingRequest>) -> Result<ServerResult, Error> {
    match pending {
        Some(pending) => {
            let response = pending.response(session).await;
            response.map_err(|(error, transport_errors)| explain_request_error(&error, &transport_errors))
        }
        None => std::future::pending().await,
    }
}

async fn results_of(elicitations: &mut Option<BoxFuture<'_, ElicitationResults>>) -> ElicitationResults {
    match elicitations {
        Some(elicitations) => elicitations.await,
        None => std::future::pending().await,
    }
}

async fn next_report(progress: &mut Option<mpsc::Receiver<ProgressReport>>) -> Option<ProgressReport> {
    match progress {
        Some(progress) => progress.recv().await,
        // A closed or absent channel makes the branch of `select!` inactive instead of waiting.
        None => None,
    }
}
