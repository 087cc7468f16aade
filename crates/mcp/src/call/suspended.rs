//! A call that waits for the person's answers and for nothing else.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use rmcp::model::CallToolRequestParams;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::unusable;
use crate::CallError;
use crate::asking::Listed;
use crate::elicitation::{Answer, Asker, Question, Visit};

/// A call that its server has answered with questions instead of a result. The server waits for nothing: who keeps this
/// can ask later, in another process, and then make the call again. What the server wants to be given back is in it, so
/// keep it as a secret.
#[derive(Clone, Serialize, Deserialize)]
pub struct Suspended {
    round: usize,
    needs: Needs,
}

/// What a server needs before a call can go on.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum Needs {
    /// Answers.
    Answers {
        /// The parameters of the questions, by the server's keys.
        questions: BTreeMap<String, Value>,
        /// What the server wants to be given back as it is.
        state: Option<String>,
    },
    /// Visits, as an error of 2025-11-25 says.
    Visits { visits: Vec<Value>, code: i64, message: String },
}

/// A call that can be made again, with the person's answers.
#[derive(Clone)]
pub struct Resumed {
    round: usize,
    answers: BTreeMap<String, Value>,
    state: Option<String>,
}

/// Who is asked.
enum To<'a> {
    /// A call in progress, which hears from its connection when a visit is done.
    Call(&'a Listed),
    /// Somebody without a connection.
    Alone(&'a dyn Asker),
}

impl fmt::Debug for Suspended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Suspended").field("round", &self.round).finish_non_exhaustive()
    }
}

impl fmt::Debug for Resumed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resumed").field("round", &self.round).finish_non_exhaustive()
    }
}

impl Suspended {
    /// The answer number `round` of the server, from 1.
    pub(super) fn new(round: usize, needs: Needs) -> Self {
        Self { round, needs }
    }

    /// Asks without a connection, one question after the other in the order in which they were asked before. Fails as the
    /// server did where a visit that it demands is refused.
    pub async fn ask(self: &Arc<Self>, asker: &dyn Asker) -> Result<Resumed, CallError> {
        self.put(&To::Alone(asker)).await
    }

    pub(super) async fn put_to(self: &Arc<Self>, listed: Option<&Listed>) -> Result<Resumed, CallError> {
        match (listed, &self.needs) {
            (Some(listed), _) => self.put(&To::Call(listed)).await,
            (None, Needs::Visits { .. }) => Err(self.refused()),
            (None, Needs::Answers { questions, state }) if questions.is_empty() => {
                Ok(Resumed { round: self.round, answers: BTreeMap::new(), state: state.clone() })
            }
            (None, Needs::Answers { .. }) => Err(unusable("it asked for input, which was not offered")),
        }
    }

    async fn put(self: &Arc<Self>, to: &To<'_>) -> Result<Resumed, CallError> {
        let mut answers = BTreeMap::new();
        let state = match &self.needs {
            Needs::Answers { questions, state } => {
                for (key, params) in questions {
                    answers.insert(key.clone(), self.answer(to, params).await);
                }
                state.clone()
            }
            Needs::Visits { visits, .. } => {
                for params in visits {
                    let Ok(visit) = Visit::read(params) else { return Err(self.refused()) };
                    if !matches!(self.visit(to, params, visit).await, Answer::Accept(_)) {
                        return Err(self.refused());
                    }
                }
                None
            }
        };
        Ok(Resumed { round: self.round, answers, state })
    }

    /// The answer to one question on the wire; `cancel` where it cannot be shown.
    async fn answer(self: &Arc<Self>, to: &To<'_>, params: &Value) -> Value {
        match Question::read(params) {
            Ok(Question::Url(visit)) => self.visit(to, params, visit).await.to_result(false),
            Ok(question) => to.put(question, None, self).await.to_result(true),
            Err(error) => {
                tracing::debug!(%error, "a question of a server was not put");
                Answer::Cancel.to_result(false)
            }
        }
    }

    async fn visit(self: &Arc<Self>, to: &To<'_>, params: &Value, visit: Visit) -> Answer {
        to.put(Question::Url(Visit { makes_call_again: true, ..visit }), Question::id(params), self).await
    }

    fn refused(&self) -> CallError {
        match &self.needs {
            Needs::Visits { code, message, .. } => CallError::Server { code: *code, message: message.clone() },
            Needs::Answers { .. } => CallError::Cancelled,
        }
    }
}

impl To<'_> {
    async fn put(&self, question: Question, id: Option<&str>, from: &Arc<Suspended>) -> Answer {
        match self {
            Self::Call(listed) => listed.ask(question, id, Arc::clone(from)).await,
            Self::Alone(asker) => asker.ask(question, Some(Arc::clone(from))).await,
        }
    }
}

impl Resumed {
    /// How often the server has answered the call with questions.
    pub(super) fn rounds(&self) -> usize {
        self.round
    }

    /// The call with the answers to the questions, to be made again.
    pub(super) fn call_again(&self, plain: CallToolRequestParams) -> CallToolRequestParams {
        let answers = self.answers.clone();
        let params = if answers.is_empty() { plain } else { plain.with_input_responses(answers) };
        match &self.state {
            Some(state) => params.with_request_state(state.clone()),
            None => params,
        }
    }
}
