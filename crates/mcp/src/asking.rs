//! Who answers a server's question: the call that is in progress.
//!
//! Up to 2025-11-25 a question comes as a request of its own, and nothing in it tells which call it belongs to. It
//! goes to the call that was begun last of those that can ask, unless it names the task of another, and no call on the
//! connection is hurried meanwhile. When the last call ends before the answer, it was another's.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::call::Suspended;
use crate::elicitation::{Answer, Asker, Question, Unreadable};

/// Questions at a time. More than these nobody could keep apart.
const OPEN: usize = 16;

/// The calls in progress on a connection that can ask somebody, and the visits that are not done.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asking {
    known: Arc<Mutex<Known>>,
    /// Questions of any call that are open. While there are some, nobody waits for the server.
    open: Arc<watch::Sender<usize>>,
}

#[derive(Debug, Default)]
struct Known {
    calls: Vec<Call>,
    visits: HashMap<String, CancellationToken>,
    number: u64,
}

#[derive(Debug, Clone)]
struct Call {
    number: u64,
    asker: Arc<dyn Asker>,
    ended: CancellationToken,
    /// The task at the server that it runs as.
    task: Option<String>,
}

/// A call that can ask. It leaves the list when this is dropped, and its open questions go away with it.
#[derive(Debug)]
pub(crate) struct Listed {
    asking: Asking,
    call: Call,
}

impl Asking {
    /// Lists a call.
    pub(crate) fn list(&self, asker: Arc<dyn Asker>) -> Listed {
        self.with(|known| {
            known.number += 1;
            let call = Call { number: known.number, asker, ended: CancellationToken::new(), task: None };
            known.calls.push(call.clone());
            Listed { asking: self.clone(), call }
        })
    }

    /// The answer to a request of a server, which may say to which task it belongs; `Cancel` when there is nobody to ask
    /// or the question cannot be shown.
    pub(crate) async fn answer(&self, params: &Value, task: Option<&str>) -> Value {
        let question = match Question::read(params) {
            Ok(question) => question,
            Err(error) => return unreadable(&error),
        };
        if *self.open.borrow() >= OPEN {
            return Answer::Cancel.to_result(false);
        }
        self.open.send_modify(|open| *open += 1);
        let _closed = Closed(&self.open);
        let of_form = matches!(question, Question::Form(_));
        let of_task = |call: &&Call| task.is_some() && call.task.as_deref() == task;
        let find = |known: &mut Known| known.calls.iter().find(of_task).or(known.calls.last()).cloned();
        while let Some(call) = self.with(find) {
            if let Some(answer) = self.put(&call, question.clone(), Question::id(params), None).await {
                return answer.to_result(of_form);
            }
        }
        Answer::Cancel.to_result(of_form)
    }

    /// How many questions are open that may belong to any call.
    pub(crate) fn open(&self) -> watch::Receiver<usize> {
        self.open.subscribe()
    }

    /// A visit is done, as the server says.
    pub(crate) fn done(&self, id: &str) {
        if let Some(done) = self.with(|known| known.visits.remove(id)) {
            done.cancel();
        }
    }

    /// The person's answer; `None` when the call has ended before it.
    async fn put(
        &self,
        call: &Call,
        question: Question,
        id: Option<&str>,
        from: Option<Arc<Suspended>>,
    ) -> Option<Answer> {
        if let (Question::Url(visit), Some(id)) = (&question, id) {
            self.with(|known| known.visits.insert(id.to_owned(), visit.done.clone()));
        }
        let _forgotten = Forgotten { asking: self, id };
        call.ended.run_until_cancelled(call.asker.ask(question, from)).await
    }

    fn with<T>(&self, change: impl FnOnce(&mut Known) -> T) -> T {
        change(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Listed {
    /// Says which task at the server the call runs as.
    pub(crate) fn runs_as(&self, task: &str) {
        self.asking.with(|known| {
            if let Some(call) = known.calls.iter_mut().find(|call| call.number == self.call.number) {
                call.task = Some(task.to_owned());
            }
        });
    }

    /// The answer on the wire to a question that belongs to this very call; `cancel` where it cannot be shown.
    pub(crate) async fn answer(&self, params: &Value) -> Value {
        let question = match Question::read(params) {
            Ok(question) => question,
            Err(error) => return unreadable(&error),
        };
        let of_form = matches!(question, Question::Form(_));
        let answer = self.asking.put(&self.call, question, Question::id(params), None).await;
        answer.unwrap_or(Answer::Cancel).to_result(of_form)
    }

    /// The answer to a question that came as the answer to this very call, so that the server waits for nothing.
    pub(crate) async fn ask(&self, question: Question, id: Option<&str>, from: Arc<Suspended>) -> Answer {
        self.asking.put(&self.call, question, id, Some(from)).await.unwrap_or(Answer::Cancel)
    }
}

fn unreadable(error: &Unreadable) -> Value {
    tracing::debug!(%error, "a question of a server was not put");
    Answer::Cancel.to_result(false)
}

impl Drop for Listed {
    fn drop(&mut self) {
        // First the list: a question that loses its call looks there for the next.
        self.asking.with(|known| known.calls.retain(|call| call.number != self.call.number));
        self.call.ended.cancel();
    }
}

/// A question that is answered, or that nobody waits for any more.
struct Closed<'a>(&'a watch::Sender<usize>);

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}

/// A visit whose end is of no interest any more.
struct Forgotten<'a> {
    asking: &'a Asking,
    id: Option<&'a str>,
}

impl Drop for Forgotten<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.asking.with(|known| known.visits.remove(id));
        }
    }
}
