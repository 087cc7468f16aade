//! The door for other programs: a conversation that they keep themselves, answered by the person's models and, where the
//! program asks for it, with the person's tools. Nothing of it is stored but the list of calls.

mod answer_text;
mod key_watch;
mod limits;
mod stop_filter;
mod tools;

use std::time::Duration;

use domain::model::{FinishReason, ModelError, ModelEvent, ModelMessage, ModelStatus, PartKind, Request, Usage};
use domain::{ApiKeyId, UserId};
use futures_util::{Stream, StreamExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::files::sight::{Sight, Takes};
use crate::models::ModelId;
use crate::models::meter::{self, Bill};
use crate::tools::Toolset;
use crate::tools::discovery::Offer;

use answer_text::AnswerText;
pub use key_watch::KeyWatch;
pub use limits::{Limits, Refused, Turn};

/// How often the model may be asked in one answer.
const ROUNDS: usize = 25;
/// Pieces on their way to the program; a program that does not read holds the model up.
const AHEAD: usize = 64;
/// How long a provider that wants a pause is waited for before the first word. A program can wait itself, and knows then
/// what for.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a program asks.
#[derive(Debug)]
pub struct Question {
    /// In whose name.
    pub user: UserId,
    /// With which of their keys, if with one. The answer ends with it.
    pub key: Option<ApiKeyId>,
    /// Whom.
    pub model: ModelId,
    /// The conversation, and the program's own tools.
    pub request: Request,
    /// Whether the person's tools are used here. The program has none of its own then.
    pub with_tools: bool,
}

/// What the program is told, in order. Nothing follows an end.
#[derive(Debug)]
pub enum Said {
    /// Words.
    Text(String),
    /// Words of a thought.
    Thought(String),
    /// A call of one of the program's tools begins.
    Call {
        /// Which of the answer's calls it is, from 0.
        index: u32,
        /// Its id.
        id: String,
        /// The tool.
        name: String,
    },
    /// A call's arguments grow.
    Arguments {
        /// Which of the answer's calls it is.
        index: u32,
        /// A piece of their JSON text.
        text: String,
    },
    /// The end, and what it cost.
    End(FinishReason, Usage),
    /// There is no answer, or not a whole one.
    Failed(Failure),
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The model's fault.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A tool asks its person first, and there is nobody to ask.
    #[error(
        "the tool {tool} of {server} asks its person before it runs, and nobody can answer here; allow it for good in the \
         app, under Tools, or forbid it"
    )]
    NobodyToAsk {
        /// The tool.
        tool: String,
        /// Its connection.
        server: String,
    },
    /// A tool's server asked its person something in the middle of the call, and there is nobody to ask.
    #[error(
        "the tool {tool} of {server} asked its person something in the middle of its call, and nobody can answer here; use \
         it in the app"
    )]
    NobodyToAnswer {
        /// The tool.
        tool: String,
        /// Its connection.
        server: String,
    },
    /// The model called tools without end.
    #[error("the assistant called tools {ROUNDS} times in a row and was stopped")]
    Endless,
    /// The server stops.
    #[error("the server is being restarted; try again in a moment")]
    Stopping,
    /// The key was ended in the middle of the answer.
    #[error("this key was ended")]
    Revoked,
    /// A fault of ours. The words stay in the log.
    #[error("something went wrong on the server")]
    Internal(#[from] anyhow::Error),
}

/// Answers. Dropping the stream ends the answer at the model, and the calls of tools.
pub fn answer(app: &App, question: Question, turn: Turn) -> impl Stream<Item = Said> + Send + 'static + use<> {
    let (tell, told) = mpsc::channel(AHEAD);
    let cancel = CancellationToken::new();
    let guard = cancel.clone().drop_guard();
    let inner = app.clone();
    app.tasks.spawn("door", async move {
        let talk = Talk { app: &inner, tell: &tell, cancel: cancel.clone() };
        let end = tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            () = inner.tasks.shutdown_token().cancelled() => Err(Failure::Stopping),
            () = revoked(&inner, question.user, question.key) => {
                cancel.cancel();
                Err(Failure::Revoked)
            }
            end = talk.hold(question) => end,
        };
        let last = end.map_or_else(Said::Failed, |(reason, usage)| Said::End(reason, usage));
        // A program that has gone away is told nothing.
        drop(tell.send(last).await);
        drop(turn);
    });
    futures_util::stream::unfold((told, guard), |(mut told, guard)| async move {
        let said = told.recv().await?;
        Some((said, (told, guard)))
    })
}

/// Waits until the key of a question has ended. A question without one never ends so.
async fn revoked(app: &App, user: UserId, key: Option<ApiKeyId>) {
    match key {
        Some(key) => KeyWatch::ended(app, user, key).await,
        None => std::future::pending().await,
    }
}

/// One conversation with the model.
struct Talk<'a> {
    app: &'a App,
    tell: &'a mpsc::Sender<Said>,
    cancel: CancellationToken,
}

/// What a model said in one call.
#[derive(Default)]
struct Reply {
    text: String,
    thoughts: Vec<domain::model::Thought>,
    calls: Vec<domain::model::ModelCall>,
    finish: Option<FinishReason>,
    usage: Usage,
}

impl Talk<'_> {
    async fn hold(&self, question: Question) -> Result<(FinishReason, Usage), Failure> {
        let Question { user, model, mut request, with_tools, .. } = question;
        let sight = Sight::new(Takes::of(self.app, user, &model).await);
        let offered = if with_tools { Some(self.offer(user, &model, &request).await?) } else { None };
        let mut usage = Usage::default();
        let mut text = AnswerText::new(&request);
        for round in 0..ROUNDS {
            if let Some((toolset, offer)) = &offered {
                request.tools = offer.specs(toolset);
            }
            // Once tools have run, to begin anew would run them twice.
            let patience = if round == 0 { PATIENCE } else { Duration::MAX };
            let reply = self.ask(&model, &request, user, offered.is_none(), patience, &mut text).await?;
            usage += reply.usage;
            let Some((toolset, offer)) = offered.as_ref().filter(|_| !reply.calls.is_empty()) else {
                self.say(text.finish()).await;
                return Ok((reply.finish.unwrap_or(FinishReason::Truncated), usage));
            };
            self.say(text.end_step()).await;
            let results = tools::call(self.app, user, (toolset, offer), &reply.calls, &sight, &self.cancel).await?;
            let Reply { text, thoughts, calls, .. } = reply;
            request.messages.push(ModelMessage::Assistant { thoughts, text, calls, files: Vec::new() });
            request.messages.extend(results);
        }
        Err(Failure::Endless)
    }

    /// The person's tools, and what the model gets to read of them.
    async fn offer(&self, user: UserId, model: &ModelId, request: &Request) -> Result<(Toolset, Offer), Failure> {
        let toolset = tools::all(self.app, user).await?;
        let capacity = self.app.models.capacity(user, model).await;
        let words = request.messages.iter().rev().find_map(|message| match message {
            ModelMessage::User { text, .. } => Some(text.as_str()),
            _ => None,
        });
        let offer = Offer::new(&toolset, capacity, words.unwrap_or_default(), &request.messages);
        Ok((toolset, offer))
    }

    /// Asks once. The program is told the calls only when the tools are its own.
    async fn ask(
        &self,
        model: &ModelId,
        request: &Request,
        user: UserId,
        tells_calls: bool,
        patience: Duration,
        text_out: &mut AnswerText,
    ) -> Result<Reply, Failure> {
        let bill = Bill::of_question(user);
        let mut events = meter::ask(self.app, &bill, model, request.clone(), self.cancel.child_token());
        let mut reply = Reply::default();
        let mut open: Vec<Open> = Vec::new();
        let mut waited = Duration::ZERO;
        while let Some(event) = events.next().await {
            let said = match event? {
                ModelEvent::PartStart { part, kind } => {
                    let index = u32::try_from(open.iter().filter(|open| open.is_call()).count()).unwrap_or(u32::MAX);
                    let said = match &kind {
                        PartKind::ToolCall { id, name } if tells_calls => {
                            // Text before a call is complete.
                            self.say(text_out.flush()).await;
                            Some(Said::Call { index, id: id.clone(), name: name.clone() })
                        }
                        _ => None,
                    };
                    open.push(Open { part, kind, index, gathered: String::new(), seal: None });
                    said
                }
                ModelEvent::Delta { part, text } => {
                    let Some(open) = open.iter_mut().find(|open| open.part == part) else { continue };
                    open.gathered.push_str(&text);
                    match open.kind {
                        PartKind::Text => {
                            self.say(text_out.push(&text)).await;
                            if text_out.is_stopped() {
                                return Ok(stopped_reply(request, &open.gathered, reply.usage));
                            }
                            None
                        }
                        PartKind::Reasoning => Some(Said::Thought(text)),
                        PartKind::ToolCall { .. } => tells_calls.then_some(Said::Arguments { index: open.index, text }),
                    }
                }
                ModelEvent::Seal { part, seal } => {
                    if let Some(open) = open.iter_mut().find(|open| open.part == part) {
                        open.seal = Some(seal);
                    }
                    None
                }
                ModelEvent::Usage(usage) => {
                    reply.usage = usage;
                    None
                }
                ModelEvent::Finish(reason) => {
                    reply.finish = Some(reason);
                    None
                }
                ModelEvent::Status(ModelStatus::Retrying { after_ms }) => {
                    let wait = Duration::from_millis(after_ms);
                    waited += wait;
                    if waited > patience {
                        let message = "it asks for a pause".to_owned();
                        return Err(ModelError::RateLimited { message, retry_after: Some(wait) }.into());
                    }
                    None
                }
                ModelEvent::Status(_)
                | ModelEvent::Notice(_)
                | ModelEvent::File { .. }
                | ModelEvent::PartEnd { .. } => None,
            };
            if let Some(said) = said {
                self.tell(said).await;
            }
        }
        drop(events);
        bill.settled().await;
        for open in open {
            open.close(&mut reply);
        }
        Ok(reply)
    }

    /// Sends text, if there is any.
    async fn say(&self, text: String) {
        if !text.is_empty() {
            self.tell(Said::Text(text)).await;
        }
    }

    /// Sends an item of the answer. A client that has gone away cancels this by itself.
    async fn tell(&self, said: Said) {
        drop(self.tell.send(said).await);
    }
}

/// Returns the end of an answer that was cut at a stop text after `written`. A model that is cut off reports no usage, so
/// that it is estimated.
fn stopped_reply(request: &Request, written: &str, reported: Usage) -> Reply {
    let usage = meter::estimate(request, written.len() as u64, reported);
    Reply { finish: Some(FinishReason::Stop), usage, ..Reply::default() }
}

/// A part of an answer.
struct Open {
    part: u32,
    kind: PartKind,
    /// Among the calls.
    index: u32,
    gathered: String,
    seal: Option<domain::model::Seal>,
}

impl Open {
    fn is_call(&self) -> bool {
        matches!(self.kind, PartKind::ToolCall { .. })
    }

    fn close(self, reply: &mut Reply) {
        match self.kind {
            PartKind::Text => reply.text.push_str(&self.gathered),
            PartKind::Reasoning => reply.thoughts.extend(self.seal.map(|seal| domain::model::Thought {
                calls_before: reply.calls.len(),
                text: self.gathered,
                seal,
            })),
            PartKind::ToolCall { id, name } => {
                reply.calls.push(domain::model::ModelCall { id, name, arguments: self.gathered });
            }
        }
    }
}
