//! Publication of a turn's answer: the model's output becomes events of the turn, in batches.

use std::sync::Arc;
use std::time::Duration;

use domain::model::{ModelError, ModelEvent, ModelFile, PartKind, Request};
use futures_util::StreamExt;
use futures_util::future::{BoxFuture, ready};
use tokio::time::{Instant, sleep_until};

use super::event::{NoticeData, ProviderMetadata, ReplyOptionsData, ToolMetadata, TurnEvent};
use super::event_recorder::EventRecorder;
use super::{Turn, TurnService};
use crate::agent_loop::{EventSink, ModelStream, OpenPart, StepCollector, StepOutput, StreamError};
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

/// Publisher of a turn's answer: the [`EventSink`] of a chat.
pub struct TurnEventSink<'a> {
    turns: &'a TurnService,
    turn: &'a Turn,
    recorder: &'a EventRecorder,
    /// Maps the name that the model uses to the tool's own name and its connection's.
    names: &'a (dyn Fn(&str) -> (String, String) + Sync),
}

impl<'a> TurnEventSink<'a> {
    /// Creates the sink of a turn. `names` maps the name that the model uses to the tool's own name and its
    /// connection's.
    pub fn new(
        turns: &'a TurnService,
        turn: &'a Turn,
        recorder: &'a EventRecorder,
        names: &'a (dyn Fn(&str) -> (String, String) + Sync),
    ) -> Self {
        Self { turns, turn, recorder, names }
    }
}

impl EventSink for TurnEventSink<'_> {
    fn start_step(&mut self) {
        self.recorder.emit(&TurnEvent::StartStep);
    }

    fn read<'a>(
        &'a mut self,
        step: usize,
        _: &'a Request,
        events: ModelStream,
    ) -> BoxFuture<'a, Result<StepOutput, StreamError>> {
        let reader = ModelStreamReader {
            files: self.turn.file_saver(&self.turns.files),
            recorder: self.recorder,
            step,
            names: self.names,
            collector: StepCollector::default(),
            bytes: 0,
            due: None,
            last_sent: None,
        };
        Box::pin(reader.read(events))
    }

    fn notify(&mut self, text: String) {
        self.recorder.emit(&TurnEvent::DataNotice { data: NoticeData { text } });
    }

    fn start_calls(&mut self, count: usize) -> BoxFuture<'_, ()> {
        // The usage so far is recorded now: the tool calls may take long, and the turn may not reach its end.
        self.turn.usage.flush();
        self.turn.interactions.start_step(count);
        Box::pin(ready(()))
    }

    fn finish_step(&mut self) {
        self.recorder.emit(&TurnEvent::FinishStep);
    }
}

/// Content of an incomplete part that a reader keeps back.
struct Unpublished {
    /// Id of the part in the stream of the turn.
    id: String,
    /// Text that is not yet published.
    text: String,
}

/// An incomplete part, with its text that is not yet published.
type UnpublishedPart = OpenPart<Unpublished>;

/// Reader of the output of one model call.
struct ModelStreamReader<'a> {
    files: FileSaver<'a>,
    recorder: &'a EventRecorder,
    /// Number of the step within the turn.
    step: usize,
    /// Maps the name that the model uses to the tool's own name and its connection's.
    names: &'a (dyn Fn(&str) -> (String, String) + Sync),
    collector: StepCollector<Unpublished>,
    /// Size of the output so far, in bytes.
    bytes: usize,
    /// Time at which collected text is emitted at the latest.
    due: Option<Instant>,
    /// Time of the last emitted delta; `None` at the start of a part.
    last_sent: Option<Instant>,
}

impl ModelStreamReader<'_> {
    /// Reads the stream to its end. What was published before an error stays in the answer.
    async fn read(mut self, mut events: ModelStream) -> Result<StepOutput, StreamError> {
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
                    // Nothing is read after it: the step is complete, whatever a provider still sends.
                    Some(Ok(ModelEvent::Finish(reason))) => {
                        self.collector.output.finish = Some(reason);
                        break;
                    }
                    Some(Ok(ModelEvent::File { bytes, .. })) => {
                        has_begun = true;
                        self.store_picture(bytes).await;
                    }
                    Some(Ok(event)) => {
                        // Status, notices and usage are not part of the answer, so a call that sent only those can
                        // still be repeated.
                        has_begun |= matches!(event, ModelEvent::PartStart { .. });
                        self.handle(event);
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
        Ok(self.collector.output)
    }

    /// Handles one event of the model.
    fn handle(&mut self, event: ModelEvent) {
        match event {
            ModelEvent::Status(data) => self.recorder.emit(&TurnEvent::DataModelStatus { data, transient: true }),
            ModelEvent::Notice(text) => self.recorder.emit(&TurnEvent::DataNotice { data: NoticeData { text } }),
            ModelEvent::ReplyOptions(options) => {
                // After the text that they reply to.
                self.send_all();
                self.recorder.emit(&TurnEvent::DataReplyOptions { data: ReplyOptionsData { options } });
            }
            ModelEvent::PartStart { part, kind } => self.start(part, kind),
            ModelEvent::Delta { part, text } => self.grow(part, &text),
            ModelEvent::PartEnd { part } => {
                if let Some(open) = self.collector.take(part) {
                    self.end(open);
                }
            }
            ModelEvent::Signature { part, signature } => self.collector.signature(part, signature),
            ModelEvent::Usage(usage) => self.collector.output.usage = usage,
            ModelEvent::File { .. } | ModelEvent::Finish(_) => {}
        }
    }

    /// Stores and publishes a generated image. Its type is [detected](FileType::of) from its bytes; the provider's claim
    /// is ignored.
    async fn store_picture(&mut self, bytes: Arc<[u8]>) {
        // Text that was written before the image is published before it.
        self.send_all();
        let kind = FileType::of(&bytes).filter(|kind| kind.is_picture()).map(|kind| kind.media_type(None));
        let notice = match kind {
            Some(kind) => match self.files.store_file(kind, None, &bytes).await {
                Ok(Some(file)) => {
                    self.recorder.emit(&TurnEvent::File(file));
                    let file = ModelFile { name: None, media_type: kind.to_owned(), bytes };
                    self.collector.output.files.push(file);
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
                let (tool_name, server_name) = (self.names)(name);
                self.recorder.emit(&TurnEvent::ToolInputStart {
                    tool_call_id: id.clone(),
                    tool_name,
                    dynamic: true,
                    tool_metadata: ToolMetadata { server_name, app: None },
                });
            }
        }
        // Without a last time, the first delta of the part is not delayed.
        self.collector.start(number, kind, Unpublished { id, text: String::new() });
        self.last_sent = None;
    }

    /// Adds text to a part, and publishes it now or collects it.
    fn grow(&mut self, number: u32, text: &str) {
        let Some(open) = self.collector.part(number) else { return };
        open.state.text.push_str(text);
        self.bytes += text.len();
        let quiet = self.last_sent.is_none_or(|sent| sent.elapsed() >= BATCH_WINDOW);
        if quiet || open.state.text.len() >= FLUSH_BYTES {
            self.send_all();
        } else if self.due.is_none() {
            self.due = self.last_sent.map(|sent| sent + FLUSH_TIMEOUT);
        }
    }

    /// Publishes the collected text of all parts.
    fn send_all(&mut self) {
        self.due = None;
        self.last_sent = Some(Instant::now());
        // All parts, because some providers write several tool calls at the same time.
        for open in &mut self.collector.open {
            send(self.recorder, open);
        }
    }

    /// Publishes the rest of a part and ends it.
    fn end(&mut self, mut open: UnpublishedPart) {
        send(self.recorder, &mut open);
        let id = open.state.id.clone();
        match open.kind {
            PartKind::Text => self.recorder.emit(&TurnEvent::TextEnd { id }),
            PartKind::Reasoning => {
                let provider_metadata = open.signature.clone().map(|provider| ProviderMetadata { provider });
                self.recorder.emit(&TurnEvent::ReasoningEnd { id, provider_metadata });
            }
            // A tool call ends with its complete arguments, when it is executed.
            PartKind::ToolCall { .. } => {}
        }
        self.collector.finish(open);
    }

    /// Ends all parts that are open.
    fn close_all(&mut self) {
        for open in std::mem::take(&mut self.collector.open) {
            self.end(open);
        }
    }
}

/// Publishes the collected text of a part.
fn send(recorder: &EventRecorder, open: &mut UnpublishedPart) {
    if open.state.text.is_empty() {
        return;
    }
    let delta = std::mem::take(&mut open.state.text);
    open.text.push_str(&delta);
    let id = open.state.id.clone();
    recorder.emit(&match open.kind {
        PartKind::Text => TurnEvent::TextDelta { id, delta },
        PartKind::Reasoning => TurnEvent::ReasoningDelta { id, delta },
        PartKind::ToolCall { .. } => TurnEvent::ToolInputDelta { tool_call_id: id, input_text_delta: delta },
    });
}
