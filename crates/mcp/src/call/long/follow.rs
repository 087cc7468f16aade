//! Following a task to its end.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use domain::tool::ToolResult;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rmcp::model::{ClientRequest, CustomRequest, ServerResult, UpdateTaskParams, UpdateTaskRequest};
use rmcp::service::{PeerRequestOptions, ServiceError};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::state::{self, Now};
use super::{Form, Heard, POLL_LEAST, Status, Task, give_up};
use crate::asking::Listed;
use crate::call::{CallOptions, Pending, Progress, rounds};
use crate::client::explain_request;
use crate::connection::Inner;
use crate::offers::ask;
use crate::transport::Fault;
use crate::{CallError, Error, tools};

/// For the result of a task that has ended.
const RESULT: Duration = Duration::from_mins(1);
/// How much longer than a server says that it keeps a task it may stay silent about it.
const GRACE: Duration = Duration::from_mins(1);
/// Questions of one task. More than these nobody would answer.
const QUESTIONS: usize = 100;
/// How often answers are sent to a server that cannot be reached for the moment.
const SENDS: usize = 5;

type Answers = BTreeMap<String, Value>;

/// Waits for a task that began `age` ago, of which `said` is what its server said about it at first.
pub(in crate::call) async fn follow(
    connection: &Inner,
    (task, said): (Task, Option<Value>),
    age: Duration,
    reports: Option<mpsc::Receiver<Progress>>,
    listed: Option<&Listed>,
    options: &CallOptions,
) -> Result<ToolResult, CallError> {
    if let Some(listed) = listed {
        listed.runs_as(&task.id);
    }
    let mut following = Following {
        heard: connection.told.listen(&task.id),
        connection,
        options,
        listed,
        task,
        age,
        began: Instant::now(),
        heard_at: Instant::now(),
        seen: HashSet::new(),
        asking: None,
        result: None,
        is_over: false,
        is_useless: false,
    };
    let end = following.run(said, reports).await;
    match &end {
        Err(CallError::Cancelled) => {}
        // A server that cannot be followed, or that asks what is not offered, works for nobody.
        Err(CallError::Unknown(Error::Protocol(_))) => following.is_useless = true,
        _ => following.is_over = true,
    }
    end
}

struct Following<'a> {
    connection: &'a Inner,
    options: &'a CallOptions,
    listed: Option<&'a Listed>,
    heard: Heard,
    task: Task,
    /// How old it was when it was followed from here.
    age: Duration,
    began: Instant,
    /// When the server last said that it goes on.
    heard_at: Instant,
    /// The questions that were put, by the server's keys.
    seen: HashSet<String>,
    /// The person is being asked.
    asking: Option<BoxFuture<'a, Answers>>,
    /// The request for the result, which stays open until there is one.
    result: Option<Pending>,
    /// It has ended, or is not to be followed from here any more.
    is_over: bool,
    /// The server works on it for nobody.
    is_useless: bool,
}

impl Drop for Following<'_> {
    /// Who stops the call stops the task. Who only does not wait any more may come back for it.
    fn drop(&mut self) {
        let nobody_returns = self.options.cancel.is_cancelled() || self.options.on_task.is_none();
        if self.is_useless || !self.is_over && nobody_returns {
            give_up(self.connection, &self.task.id);
        }
    }
}

impl Following<'_> {
    async fn run(
        &mut self,
        said: Option<Value>,
        mut reports: Option<mpsc::Receiver<Progress>>,
    ) -> Result<ToolResult, CallError> {
        let mut next = Instant::now();
        if let Some(said) = said {
            // The first word need not hold what an end would: it is asked for then.
            match Now::read(said, &mut self.task).map_err(CallError::Unknown)? {
                Now::Working | Now::InputRequired(_) => next = self.next_poll(),
                Now::Completed(_) | Now::Failed(_) | Now::Cancelled => {}
            }
        }
        self.tell();
        loop {
            let ends = self.began + self.remaining();
            tokio::select! {
                biased;
                () = self.options.cancel.cancelled() => return Err(CallError::Cancelled),
                answer = answer_of(&self.connection.fault, &mut self.result) => {
                    self.result = None;
                    match read_result(answer) {
                        Err(CallError::Unknown(error)) if error.is_passing() => {}
                        end => return end,
                    }
                }
                answers = answers_of(&mut self.asking) => {
                    self.asking = None;
                    self.send(answers).await?;
                }
                Some(report) = report_of(&mut reports) => {
                    if let Some(listener) = &self.options.on_progress {
                        listener.try_send(report).ok();
                    }
                }
                () = self.heard.changed.notified() => next = next.min(Instant::now() + POLL_LEAST),
                () = sleep_until(next) => {
                    if let Some(end) = self.poll().await? {
                        return end;
                    }
                    self.tell();
                    next = self.next_poll();
                }
                () = sleep_until(ends), if self.task.status == Status::Working => {
                    return Err(CallError::Unknown(Error::TaskExpired));
                }
            }
        }
    }

    /// How long it may still take, counted from when it was followed from here. A server that says that it works keeps
    /// the task, whatever time it named: some name a minute for work of hours.
    fn remaining(&self) -> Duration {
        let heard = self.heard_at - self.began;
        let kept = self.task.ttl.map_or(Duration::MAX, |ttl| heard.saturating_add(ttl).saturating_add(GRACE));
        kept.min(self.options.task_total.saturating_sub(self.age))
    }

    fn next_poll(&self) -> Instant {
        // Many tasks that began together are not asked about together.
        Instant::now() + self.task.poll.mul_f64(1.0 + rand::random::<f64>() / 10.0)
    }

    fn tell(&self) {
        if let Some(listener) = &self.options.on_task {
            listener.send_if_modified(|known| {
                let is_news = known.as_ref() != Some(&self.task);
                if is_news {
                    *known = Some(self.task.clone());
                }
                is_news
            });
        }
    }

    /// Asks where it stands. `Some` is its end.
    async fn poll(&mut self) -> Result<Option<Result<ToolResult, CallError>>, CallError> {
        let (connection, cancel) = (self.connection, &self.options.cancel);
        let said = cancel.run_until_cancelled(state::get(connection, &self.task.id)).await;
        let said = said.ok_or(CallError::Cancelled)?.map_err(CallError::Unknown)?;
        let now = Now::read(said, &mut self.task).map_err(CallError::Unknown)?;
        self.heard_at = Instant::now();
        match now {
            Now::Working => self.task.status = Status::Working,
            Now::InputRequired(requests) => {
                self.task.status = Status::InputRequired;
                match self.task.form {
                    Form::Core => self.open_result().await?,
                    Form::Extension => self.put(requests)?,
                }
            }
            Now::Cancelled => {
                let why = self.task.message.as_ref().map(|message| format!(": {message}")).unwrap_or_default();
                return Ok(Some(Err(CallError::Ended(Error::TaskCancelled(why)))));
            }
            Now::Completed(_) | Now::Failed(_) if self.task.form == Form::Core => {
                return Ok(Some(self.fetch_result().await));
            }
            Now::Completed(result) => {
                let result = result.and_then(|result| serde_json::from_value::<ServerResult>(result).ok());
                let unreadable = || CallError::Unknown(Error::Protocol("its result cannot be read".to_owned()));
                return Ok(Some(result.ok_or_else(unreadable).and_then(|result| Ok(tools::result(result)?))));
            }
            Now::Failed(error) => return Ok(Some(Err(state::failure(error.as_ref())))),
        }
        Ok(None)
    }

    /// Puts the questions that are new before the person.
    fn put(&mut self, requests: Map<String, Value>) -> Result<(), CallError> {
        let is_new = |key: &String| !self.seen.contains(key);
        let requests: Map<String, Value> = requests.into_iter().filter(|(key, _)| is_new(key)).collect();
        if requests.is_empty() || self.asking.is_some() {
            return Ok(());
        }
        if self.seen.len() + requests.len() > QUESTIONS {
            return Err(CallError::Unknown(Error::Protocol("it asks too many questions".to_owned())));
        }
        let Some(listed) = self.listed else {
            return Err(CallError::Unknown(Error::Protocol("it asked for input, which was not offered".to_owned())));
        };
        let questions = rounds::questions(requests).map_err(CallError::Unknown)?;
        self.seen.extend(questions.keys().cloned());
        self.asking = Some(
            async move {
                let mut answers = Answers::new();
                for (key, question) in questions {
                    answers.insert(key, listed.answer(&question).await);
                }
                answers
            }
            .boxed(),
        );
        Ok(())
    }

    /// Sends the person's answers.
    async fn send(&mut self, answers: Answers) -> Result<(), CallError> {
        let params = UpdateTaskParams::new(&self.task.id, answers);
        let mut sends = 1;
        loop {
            let request = ClientRequest::UpdateTaskRequest(UpdateTaskRequest::new(params.clone()));
            let sent = self.options.cancel.run_until_cancelled(ask::once(self.connection, request)).await;
            match sent.ok_or(CallError::Cancelled)? {
                // What the server made of them shows when it is asked about the task.
                Ok(_) | Err(Error::Server { .. }) => return Ok(()),
                Err(error) if error.is_passing() && sends < SENDS => sends += 1,
                Err(error) => return Err(CallError::Unknown(error)),
            }
            sleep(self.task.poll).await;
        }
    }

    async fn open_result(&mut self) -> Result<(), CallError> {
        if self.result.is_none() {
            let params = json!({ "taskId": self.task.id });
            let request = ClientRequest::CustomRequest(CustomRequest::new("tasks/result", Some(params)));
            let options = PeerRequestOptions::no_options();
            let handle = self.connection.peer.send_request_with_option(request, options).await;
            let explain = |error| CallError::Unknown(explain_request(&error, &self.connection.fault));
            self.result = Some(Pending::new(self.connection, handle.map_err(explain)?));
        }
        Ok(())
    }

    async fn fetch_result(&mut self) -> Result<ToolResult, CallError> {
        self.open_result().await?;
        let answer = timeout(RESULT, answer_of(&self.connection.fault, &mut self.result));
        let answer = self.options.cancel.run_until_cancelled(answer).await;
        let answer = answer.ok_or(CallError::Cancelled)?;
        read_result(answer.map_err(|_| CallError::Unknown(Error::Timeout(RESULT)))?)
    }
}

fn read_result(answer: Result<ServerResult, Error>) -> Result<ToolResult, CallError> {
    match answer {
        Ok(result) => Ok(tools::result(result)?),
        Err(Error::Server { code, message }) => Err(CallError::Server { code, message }),
        Err(error) => Err(CallError::Unknown(error)),
    }
}

/// The answer to a request, if there is one.
async fn answer_of(fault: &Fault, pending: &mut Option<Pending>) -> Result<ServerResult, Error> {
    match pending.as_mut().and_then(|pending| pending.handle.as_mut()) {
        Some(handle) => {
            let answer = (&mut handle.rx).await.unwrap_or(Err(ServiceError::TransportClosed));
            let answer = answer.map_err(|error| explain_request(&error, &fault.of(&handle.id)));
            if let Some(pending) = pending {
                pending.answered();
            }
            answer
        }
        None => std::future::pending().await,
    }
}

async fn answers_of(asking: &mut Option<BoxFuture<'_, Answers>>) -> Answers {
    match asking {
        Some(asking) => asking.await,
        None => std::future::pending().await,
    }
}

async fn report_of(reports: &mut Option<mpsc::Receiver<Progress>>) -> Option<Progress> {
    match reports {
        Some(reports) => reports.recv().await,
        None => None,
    }
}
