//! One request until its answer is over, with the retries before its first event.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::model::{ModelError, ModelEvent, ModelStatus, Request};
use reqwest::Response;
use reqwest::header::HeaderMap;
use tokio::time::{Instant, sleep};

use crate::client::backoff::Backoff;
use crate::client::beat::Beats;
use crate::client::http::{Failure, Http};
use crate::discretion::without_secrets;
use crate::provider::Provider;
use crate::wire::files::{self, Refused};
use crate::wire::{Concessions, Progress, Reader, is_reduced};

/// How many times the longest silence a stream may go on without saying anything: some gateways keep a connection alive
/// while they wait for the host behind them, and some never stop.
const BUSY_SILENCES: u32 = 5;
/// What is said when a model takes no tools.
const NO_TOOLS: &str = "This model takes no tools, so it answers without them.";
/// What is said when a model does not take what was set for it.
const NO_PARAMETERS: &str = "This model does not take all that is set for it (temperature, top-p or how much it thinks), so \
it answers without that.";

/// How long a model that is done may take to send its usage and the end mark.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Events that are read before any is handed on, when more have come.
const AT_HAND: usize = 256;

/// One request and its answer.
pub(super) struct Exchange {
    http: Arc<Http>,
    provider: Provider,
    request: Request,
    concessions: Concessions,
    backoff: Backoff,
    /// That tools are left out has been said.
    has_warned: bool,
    /// That parameters are left out has been said.
    has_told_reduced: bool,
    /// That files are left out has been said.
    has_told_files: bool,
    /// The model has said something, so that asking again would say it twice.
    has_begun: bool,
    /// Said and not yet handed on.
    said: VecDeque<ModelEvent>,
    state: State,
}

enum State {
    Ask,
    Wait(Duration),
    Read(Box<Answer>),
    Failed(ModelError),
    Over,
}

struct Answer {
    response: Response,
    reader: Reader,
    last_said: Instant,
    /// All that had come is read, so that there is nothing to look for before the next beat.
    is_drained: bool,
    beats: Beats,
}

impl Answer {
    fn new(response: Response, reader: Reader) -> Self {
        Self { response, reader, last_said: Instant::now(), is_drained: false, beats: Beats::begin() }
    }

    /// Reads a piece; whether the answer is over with it.
    fn take(&mut self, piece: Result<Option<Bytes>, Failure>, events: &mut Vec<ModelEvent>) -> Result<bool, Failure> {
        let piece = match piece {
            // The answer is whole, so that the way in which the connection ends no longer matters.
            Err(_) if self.reader.progress() == Progress::Answered => None,
            piece => piece?,
        };
        let read = match &piece {
            Some(piece) => self.reader.push(piece, events),
            None => self.reader.finish(events),
        };
        let is_over = match read {
            Ok(()) if piece.is_some() && self.reader.progress() == Progress::Closed => {
                self.reader.finish(events).map(|()| true)
            }
            read => read.map(|()| piece.is_none()),
        };
        is_over.map_err(|error| match error {
            // Some gateways begin every answer with 200 and tell a failure as its first event.
            error @ (ModelError::RateLimited { .. } | ModelError::Provider(_)) => Failure::transient(error),
            error => Failure::lasting(error),
        })
    }
}

impl Exchange {
    pub fn new(http: Arc<Http>, provider: Provider, request: Request) -> Self {
        let concessions = http.conceded(&provider, &request.model);
        Self {
            http,
            provider,
            request,
            concessions,
            backoff: Backoff::default(),
            has_warned: false,
            has_told_reduced: false,
            has_told_files: false,
            has_begun: false,
            said: VecDeque::new(),
            state: State::Ask,
        }
    }

    /// What the model says next; nothing when the answer is over.
    pub async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.said.pop_front() {
                return Some(Ok(event));
            }
            self.state = match std::mem::replace(&mut self.state, State::Over) {
                State::Ask => self.ask().await.unwrap_or_else(|failure| self.after(failure)),
                State::Wait(wait) => {
                    sleep(wait).await;
                    State::Ask
                }
                State::Read(answer) => self.read(answer).await.unwrap_or_else(|failure| self.after(failure)),
                State::Failed(error) => {
                    return Some(Err(without_secrets(error, self.provider.key.as_ref(), Some(&self.request))));
                }
                State::Over => return None,
            };
        }
    }

    async fn ask(&mut self) -> Result<State, Failure> {
        let wire = self.provider.wire;
        loop {
            let encoded = wire.encode(&self.request, self.concessions).map_err(Failure::lasting)?;
            match self.http.post(&self.provider, &encoded.path, encoded.body.into()).await {
                Ok(mut response) => {
                    // They hold the memory that the head was read into for as long as the answer goes on.
                    *response.headers_mut() = HeaderMap::new();
                    if self.concessions != self.http.conceded(&self.provider, &self.request.model) {
                        self.http.remember(&self.provider, &self.request.model, self.concessions);
                    }
                    if self.concessions.without_tools && !self.request.tools.is_empty() && !self.has_warned {
                        self.has_warned = true;
                        self.said.push_back(ModelEvent::Notice(NO_TOOLS.to_owned()));
                    }
                    if is_reduced(&self.request, self.concessions) && !self.has_told_reduced {
                        self.has_told_reduced = true;
                        self.said.push_back(ModelEvent::Notice(NO_PARAMETERS.to_owned()));
                    }
                    if let Some(text) =
                        files::left_out(&self.request, self.concessions).filter(|_| !self.has_told_files)
                    {
                        self.has_told_files = true;
                        self.said.push_back(ModelEvent::Notice(text.to_owned()));
                    }
                    let reader = Reader::new(wire, &self.request);
                    return Ok(State::Read(Box::new(Answer::new(response, reader))));
                }
                Err(failure) => {
                    // llama.cpp says with status 500 that a model takes no pictures.
                    let (ModelError::Refused(refusal) | ModelError::Provider(refusal)) = &failure.error else {
                        return Err(failure);
                    };
                    let is_refused = matches!(failure.error, ModelError::Refused(_));
                    match files::refused(refusal, self.concessions, &self.request) {
                        Some(Refused::Always(concessions)) => self.concessions = concessions,
                        Some(Refused::These) if is_refused => self.leave_files_out(failure.error),
                        _ => match wire.concede(refusal, self.concessions).filter(|_| is_refused) {
                            Some(concessions) => self.concessions = concessions,
                            None => return Err(failure),
                        },
                    }
                }
            }
        }
    }

    /// Asks without the files of this conversation, one of which the provider refused in these words: it would refuse
    /// every later message of the chat, too.
    fn leave_files_out(&mut self, refusal: ModelError) {
        let refusal = without_secrets(refusal, self.provider.key.as_ref(), Some(&self.request));
        let text =
            format!("A picture or document of this chat could not be used, so the model answers without: {refusal}");
        self.said.push_back(ModelEvent::Notice(text));
        self.request = files::without_files(&self.request);
    }

    /// Reads what has come of an answer, or the next piece of it.
    async fn read(&mut self, mut answer: Box<Answer>) -> Result<State, Failure> {
        if std::mem::take(&mut answer.is_drained) {
            answer.beats.next().await;
        }
        let idle = self.http.settings.idle;
        let is_answered = answer.reader.progress() == Progress::Answered;
        let patience = if is_answered { idle.min(LAST_WORDS) } else { idle };
        let mut piece = self.http.piece(&mut answer.response, patience).await;
        let mut events = Vec::new();
        let is_over = loop {
            let is_over = answer.take(piece, &mut events);
            if !matches!(is_over, Ok(false)) || events.len() >= AT_HAND || !answer.beats.hold() {
                break is_over;
            }
            let Some(next) = self.http.piece_at_hand(&mut answer.response).await else {
                answer.is_drained = true;
                break is_over;
            };
            piece = next;
        };
        let is_silent = events.is_empty() && answer.last_said.elapsed() > idle * BUSY_SILENCES;
        if !events.is_empty() {
            self.has_begun = true;
            answer.last_said = Instant::now();
        }
        // What was said before a failure is told before it.
        self.said.extend(events);
        match is_over? {
            true => Ok(State::Over),
            false if is_silent => Err(Failure::lasting(ModelError::Silent(answer.last_said.elapsed()))),
            false => Ok(State::Read(answer)),
        }
    }

    /// What to do after a failure.
    fn after(&mut self, failure: Failure) -> State {
        if self.has_begun || !failure.is_transient {
            return State::Failed(failure.error);
        }
        let Some(wait) = self.backoff.next(&self.http.settings, failure.retry_after) else {
            return State::Failed(failure.error);
        };
        let after_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        tracing::debug!(provider = self.provider.name, after_ms, "the model's provider failed and is asked again");
        self.said.push_back(ModelEvent::Status(ModelStatus::Retrying { after_ms }));
        State::Wait(wait)
    }
}
