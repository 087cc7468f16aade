//! One call of the model: its stream becomes events for the viewers, and what it wants done comes back.

use std::sync::Arc;
use std::time::Duration;

use domain::model::{FinishReason, ModelCall, ModelError, ModelEvent, ModelFile, PartKind, Seal, Thought, Usage};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use tokio::time::{Instant, sleep_until};

use super::event::{NoticeData, ProviderMetadata, RunEvent, ToolMetadata};
use super::recorder::Recorder;
use crate::files::kind::Kind;
use crate::files::results::Keeper;

/// Words that come sooner than this after the last that went out wait for the next ones, so that viewers, the database
/// and the network have a piece where they had several. The first ones of a part go out at once.
const COALESCE: Duration = Duration::from_millis(30);
/// They go out by then even when none follow. Later than [`COALESCE`], so that for as long as words come steadily they
/// take the others along, and no timer has to end.
const PATIENCE: Duration = Duration::from_millis(50);
/// Bytes that a model may say in one call, more than any model writes: one that never stops is ended.
const MOST: usize = 4 * 1024 * 1024;
/// More bytes than this go out at once.
const PIECE: usize = 1024;

/// What is said of pictures that cannot be kept, and of such that are none.
const NO_ROOM: &str =
    "The model made a picture, and there was no room to keep it. Delete chats that have files, and ask again.";
const NO_DATABASE: &str = "The model made a picture, and the database did not answer to keep it.";
const NO_PICTURE: &str = "The model made a file that is no picture which could be shown.";

/// What a model said in one call.
#[derive(Debug, Default)]
pub struct Reply {
    /// The thoughts that its provider wants back, in order.
    pub thoughts: Vec<Thought>,
    /// The calls it wants made, in order.
    pub calls: Vec<ModelCall>,
    /// Its words.
    pub text: String,
    /// The pictures that it made.
    pub files: Vec<ModelFile>,
    /// Why it stopped.
    pub finish: Option<FinishReason>,
    /// What it cost, as far as the provider told.
    pub usage: Usage,
}

/// Why there is no reply.
#[derive(Debug)]
pub struct Broken {
    /// In the model's words.
    pub error: ModelError,
    /// It had said something before, which has gone out.
    pub has_begun: bool,
}

/// A part that is open: what it is, and what of it has not gone out.
struct Open {
    number: u32,
    kind: PartKind,
    id: String,
    pending: String,
    /// All of a call's arguments or of a thought.
    gathered: String,
    seal: Option<Seal>,
}

/// Follows one stream.
pub struct Reader<'a> {
    keeper: Keeper<'a>,
    recorder: &'a Recorder,
    round: usize,
    server_of: &'a (dyn Fn(&str) -> (String, String) + Sync),
    open: Vec<Open>,
    reply: Reply,
    bytes: usize,
    due: Option<Instant>,
    last_sent: Option<Instant>,
}

impl<'a> Reader<'a> {
    /// For the call number `round` of a run. `server_of` tells a tool's own name and its server's from the name that
    /// the model uses.
    pub fn new(
        keeper: Keeper<'a>,
        recorder: &'a Recorder,
        round: usize,
        server_of: &'a (dyn Fn(&str) -> (String, String) + Sync),
    ) -> Self {
        Self {
            keeper,
            recorder,
            round,
            server_of,
            open: Vec::new(),
            reply: Reply::default(),
            bytes: 0,
            due: None,
            last_sent: None,
        }
    }

    /// Reads to the end. What was said before an error has gone out and stays in the answer.
    pub async fn read(
        mut self,
        mut events: BoxStream<'static, Result<ModelEvent, ModelError>>,
    ) -> Result<Reply, Broken> {
        let mut has_begun = false;
        let mut timer = std::pin::pin!(sleep_until(Instant::now()));
        loop {
            // Moving a timer on costs next to nothing; making one, or letting it end for nothing, costs more than a word.
            let end = self.due.or(self.last_sent.map(|sent| sent + PATIENCE));
            if let Some(end) = end.filter(|end| *end != timer.deadline()) {
                timer.as_mut().reset(end);
            }
            tokio::select! {
                biased;
                event = events.next() => match event {
                    Some(Ok(ModelEvent::Finish(reason))) => {
                        self.reply.finish = Some(reason);
                        break;
                    }
                    Some(Ok(ModelEvent::File { bytes, .. })) => {
                        has_begun = true;
                        self.picture(bytes).await;
                    }
                    Some(Ok(event)) => {
                        has_begun |= matches!(event, ModelEvent::PartStart { .. });
                        self.take(event);
                        if self.bytes > MOST {
                            self.close_all();
                            let error = ModelError::Malformed(format!("it did not stop after {MOST} bytes"));
                            return Err(Broken { error, has_begun });
                        }
                    }
                    Some(Err(error)) => {
                        self.close_all();
                        return Err(Broken { error, has_begun });
                    }
                    None => break,
                },
                () = &mut timer, if self.due.is_some() => self.send_all(),
            }
        }
        self.close_all();
        Ok(self.reply)
    }

    fn take(&mut self, event: ModelEvent) {
        match event {
            ModelEvent::Status(data) => self.recorder.emit(&RunEvent::DataModelStatus { data, transient: true }),
            ModelEvent::Notice(text) => self.recorder.emit(&RunEvent::DataNotice { data: NoticeData { text } }),
            ModelEvent::PartStart { part, kind } => self.start(part, kind),
            ModelEvent::Delta { part, text } => self.grow(part, &text),
            ModelEvent::PartEnd { part } => {
                if let Some(index) = self.open.iter().position(|open| open.number == part) {
                    let open = self.open.remove(index);
                    self.end(open);
                }
            }
            ModelEvent::Seal { part, seal } => {
                if let Some(open) = self.open.iter_mut().find(|open| open.number == part) {
                    open.seal = Some(seal);
                }
            }
            ModelEvent::Usage(usage) => self.reply.usage = usage,
            ModelEvent::File { .. } | ModelEvent::Finish(_) => {}
        }
    }

    /// Keeps a picture that the model made, and shows it. What it is, is told by its bytes.
    async fn picture(&mut self, bytes: Arc<[u8]>) {
        self.send_all();
        let kind = Kind::of(&bytes).filter(|kind| kind.is_picture()).map(|kind| kind.media_type(None));
        let notice = match kind {
            Some(kind) => match self.keeper.keep(kind, None, &bytes).await {
                Ok(Some(file)) => {
                    self.recorder.emit(&RunEvent::File(file));
                    self.reply.files.push(ModelFile { name: None, media_type: kind.to_owned(), bytes });
                    return;
                }
                Ok(None) => NO_ROOM,
                Err(_) => NO_DATABASE,
            },
            None => NO_PICTURE,
        };
        self.recorder.emit(&RunEvent::DataNotice { data: NoticeData { text: notice.to_owned() } });
    }

    fn start(&mut self, number: u32, kind: PartKind) {
        let id = match &kind {
            PartKind::ToolCall { id, .. } => id.clone(),
            // A model numbers its parts anew in each call; the round keeps them apart within the answer.
            PartKind::Text | PartKind::Reasoning => format!("{}-{number}", self.round),
        };
        match &kind {
            PartKind::Text => self.recorder.emit(&RunEvent::TextStart { id: id.clone() }),
            PartKind::Reasoning => self.recorder.emit(&RunEvent::ReasoningStart { id: id.clone() }),
            PartKind::ToolCall { name, .. } => {
                let (tool_name, server_name) = (self.server_of)(name);
                self.recorder.emit(&RunEvent::ToolInputStart {
                    tool_call_id: id.clone(),
                    tool_name,
                    dynamic: true,
                    tool_metadata: ToolMetadata { server_name, app: None },
                });
            }
        }
        self.open.push(Open { number, kind, id, pending: String::new(), gathered: String::new(), seal: None });
        self.last_sent = None;
    }

    fn grow(&mut self, number: u32, text: &str) {
        let Some(open) = self.open.iter_mut().find(|open| open.number == number) else { return };
        open.pending.push_str(text);
        self.bytes += text.len();
        let quiet = self.last_sent.is_none_or(|sent| sent.elapsed() >= COALESCE);
        if quiet || open.pending.len() >= PIECE {
            self.send_all();
        } else if self.due.is_none() {
            self.due = self.last_sent.map(|sent| sent + PATIENCE);
        }
    }

    fn send_all(&mut self) {
        self.due = None;
        self.last_sent = Some(Instant::now());
        for open in &mut self.open {
            send(self.recorder, &mut self.reply.text, open);
        }
    }

    fn end(&mut self, mut open: Open) {
        send(self.recorder, &mut self.reply.text, &mut open);
        match open.kind {
            PartKind::Text => self.recorder.emit(&RunEvent::TextEnd { id: open.id }),
            PartKind::Reasoning => {
                let provider_metadata = open.seal.clone().map(|provider| ProviderMetadata { provider });
                self.recorder.emit(&RunEvent::ReasoningEnd { id: open.id, provider_metadata });
                self.reply.thoughts.extend(open.seal.map(|seal| Thought {
                    calls_before: self.reply.calls.len(),
                    text: open.gathered,
                    seal,
                }));
            }
            PartKind::ToolCall { name, .. } => {
                self.reply.calls.push(ModelCall { id: open.id, name, arguments: open.gathered });
            }
        }
    }

    fn close_all(&mut self) {
        for open in std::mem::take(&mut self.open) {
            self.end(open);
        }
    }
}

/// Sends what has gathered in a part.
fn send(recorder: &Recorder, text: &mut String, open: &mut Open) {
    if open.pending.is_empty() {
        return;
    }
    let delta = std::mem::take(&mut open.pending);
    let id = open.id.clone();
    match open.kind {
        PartKind::Text => {
            text.push_str(&delta);
            recorder.emit(&RunEvent::TextDelta { id, delta });
        }
        PartKind::Reasoning => {
            open.gathered.push_str(&delta);
            recorder.emit(&RunEvent::ReasoningDelta { id, delta });
        }
        PartKind::ToolCall { .. } => {
            open.gathered.push_str(&delta);
            recorder.emit(&RunEvent::ToolInputDelta { tool_call_id: id, input_text_delta: delta });
        }
    }
}
