//! Reader of a model's stream: publishes its events and collects the result of the step.

use std::sync::Arc;
use std::time::Duration;

use domain::model::{FinishReason, ModelCall, ModelError, ModelEvent, ModelFile, PartKind, Seal, Thought, Usage};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use tokio::time::{Instant, sleep_until};

use super::event::{NoticeData, ProviderMetadata, ToolMetadata, TurnEvent};
use super::event_recorder::EventRecorder;
use crate::files::file_type::FileType;
use crate::files::result_offload::FileSaver;

/// Time after an emitted delta in which further text is collected, so that subscribers, the database and the network
/// handle one larger delta instead of several. The first text of a part is emitted at once.
const BATCH_WINDOW: Duration = Duration::from_millis(30);
/// Longest time that collected text waits. It is longer than [`BATCH_WINDOW`], so that under a steady stream the next
/// text flushes the collected one and no timer has to fire.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(50);
/// Maximum size of a model's output in one step, in bytes. It is above what any model writes and ends a stream that
/// never stops.
const MAX_STEP_BYTES: usize = 4 * 1024 * 1024;
/// Size in bytes from which collected text is emitted at once.
const FLUSH_BYTES: usize = 1024;

/// Notices about images that could not be stored or are not valid.
const QUOTA_FULL_NOTICE: &str =
    "The model made a picture, and there was no room to keep it. Delete chats that have files, and ask again.";
const DATABASE_DOWN_NOTICE: &str = "The model made a picture, and the database did not answer to keep it.";
const INVALID_IMAGE_NOTICE: &str = "The model made a file that is no picture which could be shown.";

/// Complete result of one model call.
#[derive(Debug, Default)]
pub struct StepOutput {
    /// Reasoning that the provider expects back, in order.
    pub thoughts: Vec<Thought>,
    /// Requested tool calls, in order.
    pub calls: Vec<ModelCall>,
    /// Text.
    pub text: String,
    /// Generated images.
    pub files: Vec<ModelFile>,
    /// Reason for the end; `None` if the stream ended without one.
    pub finish: Option<FinishReason>,
    /// Tokens, as far as the provider reported them.
    pub usage: Usage,
}

/// Failure of a model call, returned by [`ModelStreamReader::read`].
#[derive(Debug)]
pub struct StreamError {
    /// Error of the provider.
    pub error: ModelError,
    /// Whether output had been published before, so that the call cannot be repeated unnoticed.
    pub has_begun: bool,
}

/// An unfinished part, with the text that is not yet published.
struct OpenPart {
    number: u32,
    kind: PartKind,
    id: String,
    pending: String,
    /// Complete text of a tool call's arguments or of reasoning.
    text: String,
    seal: Option<Seal>,
}

/// ModelStreamReader of one model stream.
pub struct ModelStreamReader<'a> {
    keeper: FileSaver<'a>,
    recorder: &'a EventRecorder,
    /// Number of the step within the turn.
    step: usize,
    /// Maps the name that the model uses to the tool's own name and its connection's.
    server_of: &'a (dyn Fn(&str) -> (String, String) + Sync),
    open: Vec<OpenPart>,
    reply: StepOutput,
    /// Size of the output so far, in bytes.
    bytes: usize,
    /// Time at which collected text is emitted at the latest.
    due: Option<Instant>,
    /// Time of the last emitted delta; `None` at the start of a part.
    last_sent: Option<Instant>,
}

impl<'a> ModelStreamReader<'a> {
    /// Creates a reader for step number `step` of a turn. `server_of` maps the name that the model uses to the
    /// tool's own name and its connection's.
    pub fn new(
        keeper: FileSaver<'a>,
        recorder: &'a EventRecorder,
        step: usize,
        server_of: &'a (dyn Fn(&str) -> (String, String) + Sync),
    ) -> Self {
        Self {
            keeper,
            recorder,
            step,
            server_of,
            open: Vec::new(),
            reply: StepOutput::default(),
            bytes: 0,
            due: None,
            last_sent: None,
        }
    }

    /// Reads the stream to its end. What was published before an error stays in the answer.
    pub async fn read(
        mut self,
        mut events: BoxStream<'static, Result<ModelEvent, ModelError>>,
    ) -> Result<StepOutput, StreamError> {
        let mut has_begun = false;
        let mut timer = std::pin::pin!(sleep_until(Instant::now()));
        loop {
            // Resetting a timer is almost free, while creating one for each token, or letting it fire in vain, is
            // measurable.
            let end = self.due.or(self.last_sent.map(|sent| sent + FLUSH_TIMEOUT));
            if let Some(end) = end.filter(|end| *end != timer.deadline()) {
                timer.as_mut().reset(end);
            }
            tokio::select! {
                // Events first: the timer only flushes text that no event has flushed.
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
                        if self.bytes > MAX_STEP_BYTES {
                            self.close_all();
                            let error = ModelError::Malformed(format!("it did not stop after {MAX_STEP_BYTES} bytes"));
                            return Err(StreamError { error, has_begun });
                        }
                    }
                    Some(Err(error)) => {
                        self.close_all();
                        return Err(StreamError { error, has_begun });
                    }
                    None => break,
                },
                () = &mut timer, if self.due.is_some() => self.send_all(),
            }
        }
        self.close_all();
        Ok(self.reply)
    }

    /// Handles one event of the model.
    fn take(&mut self, event: ModelEvent) {
        match event {
            ModelEvent::Status(data) => self.recorder.emit(&TurnEvent::DataModelStatus { data, transient: true }),
            ModelEvent::Notice(text) => self.recorder.emit(&TurnEvent::DataNotice { data: NoticeData { text } }),
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

    /// Stores and publishes a generated image. Its type is [detected](FileType::of) from its bytes; the provider's claim
    /// is ignored.
    async fn picture(&mut self, bytes: Arc<[u8]>) {
        self.send_all();
        let kind = FileType::of(&bytes).filter(|kind| kind.is_picture()).map(|kind| kind.media_type(None));
        let notice = match kind {
            Some(kind) => match self.keeper.store_file(kind, None, &bytes).await {
                Ok(Some(file)) => {
                    self.recorder.emit(&TurnEvent::File(file));
                    self.reply.files.push(ModelFile { name: None, media_type: kind.to_owned(), bytes });
                    return;
                }
                Ok(None) => QUOTA_FULL_NOTICE,
                Err(_) => DATABASE_DOWN_NOTICE,
            },
            None => INVALID_IMAGE_NOTICE,
        };
        self.recorder.emit(&TurnEvent::DataNotice { data: NoticeData { text: notice.to_owned() } });
    }

    /// Opens a part and publishes its start.
    fn start(&mut self, number: u32, kind: PartKind) {
        let id = match &kind {
            PartKind::ToolCall { id, .. } => id.clone(),
            // A model numbers its parts from 0 in each call; the step's number makes the id unique within the answer.
            PartKind::Text | PartKind::Reasoning => format!("{}-{number}", self.step),
        };
        match &kind {
            PartKind::Text => self.recorder.emit(&TurnEvent::TextStart { id: id.clone() }),
            PartKind::Reasoning => self.recorder.emit(&TurnEvent::ReasoningStart { id: id.clone() }),
            PartKind::ToolCall { name, .. } => {
                let (tool_name, server_name) = (self.server_of)(name);
                self.recorder.emit(&TurnEvent::ToolInputStart {
                    tool_call_id: id.clone(),
                    tool_name,
                    dynamic: true,
                    tool_metadata: ToolMetadata { server_name, app: None },
                });
            }
        }
        self.open.push(OpenPart { number, kind, id, pending: String::new(), text: String::new(), seal: None });
        self.last_sent = None;
    }

    /// Adds text to a part, and publishes it now or collects it.
    fn grow(&mut self, number: u32, text: &str) {
        let Some(open) = self.open.iter_mut().find(|open| open.number == number) else { return };
        open.pending.push_str(text);
        self.bytes += text.len();
        let quiet = self.last_sent.is_none_or(|sent| sent.elapsed() >= BATCH_WINDOW);
        if quiet || open.pending.len() >= FLUSH_BYTES {
            self.send_all();
        } else if self.due.is_none() {
            self.due = self.last_sent.map(|sent| sent + FLUSH_TIMEOUT);
        }
    }

    /// Publishes the collected text of all parts.
    fn send_all(&mut self) {
        self.due = None;
        self.last_sent = Some(Instant::now());
        for open in &mut self.open {
            send(self.recorder, &mut self.reply.text, open);
        }
    }

    /// Publishes the rest of a part and ends it.
    fn end(&mut self, mut open: OpenPart) {
        send(self.recorder, &mut self.reply.text, &mut open);
        match open.kind {
            PartKind::Text => self.recorder.emit(&TurnEvent::TextEnd { id: open.id }),
            PartKind::Reasoning => {
                let provider_metadata = open.seal.clone().map(|provider| ProviderMetadata { provider });
                self.recorder.emit(&TurnEvent::ReasoningEnd { id: open.id, provider_metadata });
                self.reply.thoughts.extend(open.seal.map(|seal| Thought {
                    calls_before: self.reply.calls.len(),
                    text: open.text,
                    seal,
                }));
            }
            PartKind::ToolCall { name, .. } => {
                self.reply.calls.push(ModelCall { id: open.id, name, arguments: open.text });
            }
        }
    }

    /// Ends all parts that are open.
    fn close_all(&mut self) {
        for open in std::mem::take(&mut self.open) {
            self.end(open);
        }
    }
}

/// Publishes the collected text of a part.
fn send(recorder: &EventRecorder, text: &mut String, open: &mut OpenPart) {
    if open.pending.is_empty() {
        return;
    }
    let delta = std::mem::take(&mut open.pending);
    let id = open.id.clone();
    match open.kind {
        PartKind::Text => {
            text.push_str(&delta);
            recorder.emit(&TurnEvent::TextDelta { id, delta });
        }
        PartKind::Reasoning => {
            open.text.push_str(&delta);
            recorder.emit(&TurnEvent::ReasoningDelta { id, delta });
        }
        PartKind::ToolCall { .. } => {
            open.text.push_str(&delta);
            recorder.emit(&TurnEvent::ToolInputDelta { tool_call_id: id, input_text_delta: delta });
        }
    }
}
