//! Responses of the responses API: items are added, grow and complete, and every event has a sequence number.

use agent::openai_api::StreamItem;
use bytes::Bytes;
use domain::Timestamp;
use domain::model::{FinishReason, OutputSchema, ResponseFormat, Usage};
use futures_util::stream::{self, Stream, StreamExt};
use http_server::sse::{self, EventStreamResponse};
use platform::Permit;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::openai_api::answer::{begun, broken_off};
use crate::openai_api::refusal::OpenAiError;

/// A response of the model.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Response")]
pub struct ResponseBody {
    id: String,
    #[schemars(extend("const" = "response"))]
    object: &'static str,
    created_at: i64,
    #[schemars(extend("enum" = ["in_progress", "completed", "incomplete", "failed"]))]
    status: &'static str,
    model: String,
    output: Vec<OutputItem>,
    usage: Option<ResponseUsage>,
    error: Option<ResponseError>,
    incomplete_details: Option<IncompleteDetails>,
    // Fields that this server does not support have OpenAI's defaults, since clients validate their presence.
    instructions: (),
    metadata: Map<String, Value>,
    parallel_tool_calls: bool,
    previous_response_id: (),
    store: bool,
    temperature: (),
    top_p: (),
    tool_choice: &'static str,
    tools: [(); 0],
    text: ResponseText,
    truncation: &'static str,
}

/// A message, reasoning or a tool call.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum OutputItem {
    Message { id: String, role: &'static str, status: &'static str, content: Vec<OutputPart> },
    Reasoning { id: String, summary: Vec<OutputPart> },
    FunctionCall { id: String, call_id: String, name: String, arguments: String, status: &'static str },
}

/// Text of an item.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum OutputPart {
    OutputText { text: String, annotations: [(); 0], logprobs: [(); 0] },
    SummaryText { text: String },
}

/// The reason for which a response failed.
#[derive(Debug, Serialize, JsonSchema)]
struct ResponseError {
    code: &'static str,
    message: String,
}

/// The limit that ended a response.
#[derive(Debug, Serialize, JsonSchema)]
struct IncompleteDetails {
    #[schemars(extend("enum" = ["max_output_tokens", "content_filter"]))]
    reason: &'static str,
}

/// Options of a response's text.
#[derive(Debug, Serialize, JsonSchema)]
struct ResponseText {
    /// The requested format.
    #[schemars(with = "Map<String, Value>")]
    format: Value,
}

/// Token counts of a response.
#[derive(Debug, Serialize, JsonSchema)]
struct ResponseUsage {
    input_tokens: u64,
    input_tokens_details: InputTokensDetails,
    output_tokens: u64,
    output_tokens_details: OutputTokensDetails,
    total_tokens: u64,
}

/// The input tokens that the provider had cached.
#[derive(Debug, Serialize, JsonSchema)]
struct InputTokensDetails {
    cached_tokens: u64,
}

/// The output tokens of reasoning, which are not counted separately: always 0.
#[derive(Debug, Serialize, JsonSchema)]
struct OutputTokensDetails {
    reasoning_tokens: u64,
}

impl From<Usage> for ResponseUsage {
    fn from(usage: Usage) -> Self {
        let Usage { input_tokens, output_tokens, cached_input_tokens } = usage;
        Self {
            input_tokens,
            input_tokens_details: InputTokensDetails { cached_tokens: cached_input_tokens },
            output_tokens,
            output_tokens_details: OutputTokensDetails { reasoning_tokens: 0 },
            total_tokens: input_tokens.saturating_add(output_tokens),
        }
    }
}

/// A response as it is generated.
#[derive(Debug)]
pub struct Answer {
    id: String,
    model: String,
    created: i64,
    /// Text format that the client requested, repeated in the response.
    text_format: Value,
    items: Vec<Item>,
    /// Sequence number of the next event.
    next: u64,
}

/// An output item of a response.
#[derive(Debug)]
struct Item {
    id: String,
    kind: Kind,
    /// Text, reasoning or arguments, depending on the kind.
    text: String,
    is_open: bool,
}

/// Kind of an output item.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Message,
    Reasoning,
    Call { id: String, name: String },
}

// OpenAI's ids tell the kind of an object by their prefix.
impl Item {
    fn new(kind: Kind) -> Self {
        let prefix = match kind {
            Kind::Message => "msg",
            Kind::Reasoning => "rs",
            Kind::Call { .. } => "fc",
        };
        Self { id: format!("{prefix}_{}", domain::ids::fresh().simple()), kind, text: String::new(), is_open: true }
    }

    /// Returns the only content part of a message or a reasoning item; `None` for calls.
    fn part(&self) -> Option<OutputPart> {
        let text = self.text.clone();
        match self.kind {
            Kind::Message => Some(OutputPart::OutputText { text, annotations: [], logprobs: [] }),
            Kind::Reasoning => Some(OutputPart::SummaryText { text }),
            Kind::Call { .. } => None,
        }
    }

    /// Returns the item as it is sent. `is_whole` includes the parts, which the first event of an item lacks.
    fn view(&self, is_whole: bool) -> OutputItem {
        let id = self.id.clone();
        let status = if self.is_open { "in_progress" } else { "completed" };
        let parts = self.part().filter(|_| is_whole).into_iter().collect();
        match &self.kind {
            Kind::Message => OutputItem::Message { id, role: "assistant", status, content: parts },
            Kind::Reasoning => OutputItem::Reasoning { id, summary: parts },
            Kind::Call { id: call_id, name } => {
                let (call_id, name, arguments) = (call_id.clone(), name.clone(), self.text.clone());
                OutputItem::FunctionCall { id, call_id, name, arguments, status }
            }
        }
    }

    /// Returns the names of the events of its part.
    fn names(&self) -> &'static Names {
        if self.kind == Kind::Message { &OF_WORDS } else { &OF_THOUGHTS }
    }
}

/// Names of the events by which a part is added, grows and completes, and of the field with the part's index.
struct Names {
    added: &'static str,
    delta: &'static str,
    done: &'static str,
    closed: &'static str,
    number: &'static str,
}

/// Events of a message's text.
const OF_WORDS: Names = Names {
    added: "response.content_part.added",
    delta: "response.output_text.delta",
    done: "response.output_text.done",
    closed: "response.content_part.done",
    number: "content_index",
};

/// Events of a reasoning summary.
const OF_THOUGHTS: Names = Names {
    added: "response.reasoning_summary_part.added",
    delta: "response.reasoning_summary_text.delta",
    done: "response.reasoning_summary_text.done",
    closed: "response.reasoning_summary_part.done",
    number: "summary_index",
};

impl Answer {
    /// Creates an empty response by `model` that starts at `now`.
    pub fn new(model: String, now: Timestamp, format: &ResponseFormat) -> Self {
        let id = format!("resp_{}", domain::ids::fresh().simple());
        let text_format = match format {
            ResponseFormat::Text => json!({ "type": "text" }),
            ResponseFormat::JsonObject => json!({ "type": "json_object" }),
            ResponseFormat::JsonSchema(OutputSchema { name, description, schema, strict }) => json!({
                "type": "json_schema", "name": name, "description": description, "schema": schema, "strict": strict,
            }),
        };
        Self { id, model, created: now.as_seconds(), text_format, items: Vec::new(), next: 0 }
    }

    /// Returns the whole response as it is sent.
    fn view(&self, status: &'static str, usage: Option<Usage>) -> ResponseBody {
        ResponseBody {
            id: self.id.clone(),
            object: "response",
            created_at: self.created,
            status,
            model: self.model.clone(),
            output: self.items.iter().map(|item| item.view(true)).collect(),
            usage: usage.map(ResponseUsage::from),
            error: None,
            incomplete_details: None,
            instructions: (),
            metadata: Map::new(),
            parallel_tool_calls: true,
            previous_response_id: (),
            store: false,
            temperature: (),
            top_p: (),
            tool_choice: "auto",
            tools: [],
            text: ResponseText { format: self.text_format.clone() },
            truncation: "auto",
        }
    }

    /// Returns the last event. A length limit or content filter leaves an incomplete response, which is not an error.
    fn ended(&self, reason: &FinishReason, usage: Usage) -> (&'static str, ResponseBody) {
        let reason = match reason {
            FinishReason::Length => "max_output_tokens",
            FinishReason::ContentFilter => "content_filter",
            _ => return ("response.completed", self.view("completed", Some(usage))),
        };
        let incomplete_details = Some(IncompleteDetails { reason });
        ("response.incomplete", ResponseBody { incomplete_details, ..self.view("incomplete", Some(usage)) })
    }

    /// Formats an event with the next sequence number.
    fn event(&mut self, kind: &str, mut data: Value) -> Bytes {
        data["type"] = kind.into();
        data["sequence_number"] = self.next.into();
        self.next += 1;
        format!("event: {kind}\ndata: {data}\n\n").into()
    }

    /// Returns the two events that begin every stream.
    fn opening(&mut self) -> Vec<Bytes> {
        ["response.created", "response.in_progress"]
            .map(|kind| {
                let view = self.view("in_progress", None);
                self.event(kind, json!({ "response": view }))
            })
            .into()
    }

    /// Applies an item of the completion and returns the resulting events.
    fn take(&mut self, item: StreamItem) -> Vec<Bytes> {
        match item {
            StreamItem::Text(text) => self.grow(&Kind::Message, &text),
            StreamItem::Reasoning(text) => self.grow(&Kind::Reasoning, &text),
            StreamItem::Call { id, name, .. } => {
                let mut events = self.close_words();
                events.extend(self.open(Kind::Call { id, name }));
                events
            }
            StreamItem::Arguments { index, text } => self.argue(index, &text),
            StreamItem::End(FinishReason::Truncated, _) => self.fail(&broken_off()),
            StreamItem::Failed(failure) => self.fail(&failure.into()),
            StreamItem::End(reason, usage) => {
                // Tool calls are still open, and text may be.
                let open: Vec<usize> = (0..self.items.len()).filter(|at| self.items[*at].is_open).collect();
                let mut events: Vec<Bytes> = open.into_iter().flat_map(|at| self.close(at)).collect();
                let (kind, view) = self.ended(&reason, usage);
                events.push(self.event(kind, json!({ "response": view })));
                events
            }
        }
    }

    /// Returns the event of a failed response.
    fn fail(&mut self, refusal: &OpenAiError) -> Vec<Bytes> {
        let error = Some(ResponseError { code: refusal.code(), message: refusal.message().to_owned() });
        let view = ResponseBody { error, ..self.view("failed", None) };
        vec![self.event("response.failed", json!({ "response": view }))]
    }

    /// Appends to the open item of this kind, or opens a new one.
    fn grow(&mut self, kind: &Kind, text: &str) -> Vec<Bytes> {
        let mut events = Vec::new();
        if !self.items.last().is_some_and(|item| item.is_open && item.kind == *kind) {
            events.extend(self.close_words());
            events.extend(self.open(kind.clone()));
        }
        let at = self.items.len() - 1;
        self.items[at].text.push_str(text);
        let Names { delta, number, .. } = self.items[at].names();
        let mut data = json!({ "item_id": self.items[at].id, "output_index": at, *number: 0, "delta": text });
        if *kind == Kind::Message {
            data["logprobs"] = json!([]);
        }
        events.push(self.event(delta, data));
        events
    }

    /// Appends arguments to the call with this index. Calls may be streamed in parallel.
    fn argue(&mut self, index: u32, text: &str) -> Vec<Bytes> {
        // The index counts calls only, not all items.
        let is_call = |item: &Item| matches!(item.kind, Kind::Call { .. });
        let mut calls = (0..self.items.len()).filter(|at| is_call(&self.items[*at]));
        let Some(at) = usize::try_from(index).ok().and_then(|index| calls.nth(index)) else { return Vec::new() };
        self.items[at].text.push_str(text);
        let data = json!({ "item_id": self.items[at].id, "output_index": at, "delta": text });
        vec![self.event("response.function_call_arguments.delta", data)]
    }

    /// Opens an [`Item`] of this kind.
    fn open(&mut self, kind: Kind) -> Vec<Bytes> {
        let item = Item::new(kind);
        let at = self.items.len();
        // The first event has no parts; they follow in events of their own.
        let added = json!({ "output_index": at, "item": item.view(false) });
        let mut events = vec![self.event("response.output_item.added", added)];
        if let Some(part) = item.part() {
            let Names { added, number, .. } = item.names();
            events.push(self.event(added, json!({ "item_id": item.id, "output_index": at, *number: 0, "part": part })));
        }
        self.items.push(item);
        events
    }

    /// Closes the open message or reasoning item. Calls stay open until the end, since their arguments may be
    /// interleaved.
    fn close_words(&mut self) -> Vec<Bytes> {
        let is_words = |item: &Item| item.is_open && !matches!(item.kind, Kind::Call { .. });
        self.items.iter().rposition(is_words).map(|at| self.close(at)).unwrap_or_default()
    }

    /// Closes an item: its final text, its part and the item itself.
    fn close(&mut self, at: usize) -> Vec<Bytes> {
        self.items[at].is_open = false;
        let item = &self.items[at];
        let whole = json!({ "output_index": at, "item": item.view(true) });
        let place = json!({ "item_id": item.id, "output_index": at });
        let told = |more: Value| {
            let mut data = place.clone();
            data.as_object_mut()
                .into_iter()
                .for_each(|data| data.extend(more.as_object().cloned().unwrap_or_default()));
            data
        };
        let mut events = Vec::new();
        match (item.part(), &item.kind) {
            (Some(part), _) => {
                let Names { done, closed, number, .. } = item.names();
                let mut data = json!({ *number: 0, "text": item.text });
                if item.kind == Kind::Message {
                    data["logprobs"] = json!([]);
                }
                events.push((*done, told(data)));
                events.push((*closed, told(json!({ *number: 0, "part": part }))));
            }
            (None, Kind::Call { name, .. }) => {
                let data = json!({ "name": name, "arguments": item.text });
                events.push(("response.function_call_arguments.done", told(data)));
            }
            (None, _) => {}
        }
        events.push(("response.output_item.done", whole));
        events.into_iter().map(|(kind, data)| self.event(kind, data)).collect()
    }
}

/// Collects the stream to the complete response.
pub async fn whole(items: impl Stream<Item = StreamItem>, mut answer: Answer) -> Result<ResponseBody, OpenAiError> {
    let mut items = Box::pin(items);
    loop {
        match items.next().await {
            Some(StreamItem::End(FinishReason::Truncated, _)) | None => return Err(broken_off()),
            Some(StreamItem::Failed(failure)) => return Err(failure.into()),
            Some(StreamItem::End(reason, usage)) => {
                // Closed without events, which this response does not have.
                answer.items.iter_mut().for_each(|item| item.is_open = false);
                return Ok(answer.ended(&reason, usage).1);
            }
            // Only the state is needed here, not the events.
            Some(more) => drop(answer.take(more)),
        }
    }
}

/// Responds with the response as a stream of events.
///
/// # Errors
///
/// A failure before the first output becomes an HTTP error; a later one is an event of the stream.
pub async fn stream(
    items: impl Stream<Item = StreamItem> + Send + 'static,
    mut answer: Answer,
    stopping: CancellationToken,
    permit: Permit,
) -> Result<EventStreamResponse, OpenAiError> {
    let items = begun(items).await?;
    let opening = answer.opening();
    let rest = items.flat_map(move |item| stream::iter(answer.take(item)));
    Ok(EventStreamResponse(sse::response_until(stream::iter(opening).chain(rest), stopping, permit)))
}
