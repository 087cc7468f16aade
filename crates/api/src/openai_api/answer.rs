//! Responses of chat completions, complete or streamed.

use agent::openai_api::StreamItem;
use bytes::Bytes;
use domain::Timestamp;
use domain::json::to_json;
use domain::model::{FinishReason, Usage};
use futures_util::stream::{self, Stream, StreamExt};
use http_server::sse::{self, EventStreamResponse};
use platform::Permit;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::refusal::OpenAiError;

/// Fields that all chunks of a completion share.
#[derive(Debug, Clone)]
pub struct Shape {
    id: String,
    model: String,
    created: i64,
}

impl Shape {
    /// Creates the fields for a completion by `model` that starts at `now`.
    pub fn new(model: String, now: Timestamp) -> Self {
        Self { id: format!("chatcmpl-{}", domain::ids::fresh().simple()), model, created: now.as_seconds() }
    }

    /// Builds an object of type `kind`.
    fn object(&self, kind: &str, choices: Value) -> Value {
        let Self { id, model, created } = self;
        json!({ "id": id, "object": kind, "created": created, "model": model, "choices": choices })
    }

    /// Builds a chunk with a delta and, at the end, the finish reason.
    fn chunk(&self, delta: &Value, finish: Option<&str>) -> Value {
        self.object("chat.completion.chunk", json!([{ "index": 0, "delta": delta, "finish_reason": finish }]))
    }
}

/// A chat completion, as OpenAI describes it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChatCompletion {
    id: String,
    #[schemars(extend("const" = "chat.completion"))]
    object: &'static str,
    created: i64,
    model: String,
    choices: [CompletionChoice; 1],
    usage: CompletionUsage,
}

/// The answer of a chat completion.
#[derive(Debug, Serialize, JsonSchema)]
struct CompletionChoice {
    index: u32,
    message: CompletionMessage,
    #[schemars(extend("enum" = ["stop", "length", "tool_calls", "content_filter"]))]
    finish_reason: &'static str,
    logprobs: (),
}

/// The message of a chat completion.
#[derive(Debug, Serialize, JsonSchema)]
struct CompletionMessage {
    #[schemars(extend("const" = "assistant"))]
    role: &'static str,
    /// Text of the answer; null for tool calls alone.
    content: Option<String>,
    refusal: (),
    /// Reasoning, if the model shows it. Not part of OpenAI's API; DeepSeek's field, which many clients read.
    #[serde(skip_serializing_if = "String::is_empty")]
    reasoning_content: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<CompletionToolCall>,
}

/// A call of one of the client's tools.
#[derive(Debug, Serialize, JsonSchema)]
struct CompletionToolCall {
    id: String,
    #[schemars(extend("const" = "function"))]
    r#type: &'static str,
    function: CompletionFunctionCall,
}

/// The called function and its arguments.
#[derive(Debug, Serialize, JsonSchema)]
struct CompletionFunctionCall {
    name: String,
    /// Arguments, as JSON text.
    arguments: String,
}

/// Token counts of a chat completion.
#[derive(Debug, Serialize, JsonSchema)]
struct CompletionUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    prompt_tokens_details: PromptTokensDetails,
}

/// The prompt tokens that the provider had cached.
#[derive(Debug, Serialize, JsonSchema)]
struct PromptTokensDetails {
    cached_tokens: u64,
}

impl From<Usage> for CompletionUsage {
    fn from(usage: Usage) -> Self {
        let Usage { input_tokens, output_tokens, cached_input_tokens } = usage;
        Self {
            prompt_tokens: input_tokens,
            completion_tokens: output_tokens,
            total_tokens: input_tokens.saturating_add(output_tokens),
            prompt_tokens_details: PromptTokensDetails { cached_tokens: cached_input_tokens },
        }
    }
}

/// Collects the stream to a complete chat completion.
///
/// # Errors
///
/// The failure in the stream, or a stream that ends early.
pub async fn whole(items: impl Stream<Item = StreamItem>, shape: Shape) -> Result<ChatCompletion, OpenAiError> {
    let mut items = Box::pin(items);
    let (mut text, mut reasoning_content, mut tool_calls) = (String::new(), String::new(), Vec::new());
    let (reason, usage) = loop {
        match items.next().await {
            Some(StreamItem::Text(more)) => text.push_str(&more),
            Some(StreamItem::Reasoning(more)) => reasoning_content.push_str(&more),
            Some(StreamItem::Call { id, name, .. }) => {
                let function = CompletionFunctionCall { name, arguments: String::new() };
                tool_calls.push(CompletionToolCall { id, r#type: "function", function });
            }
            Some(StreamItem::Arguments { index, text }) => {
                if let Some(call) = usize::try_from(index).ok().and_then(|index| tool_calls.get_mut(index)) {
                    call.function.arguments.push_str(&text);
                }
            }
            // A stream without its end is incomplete, and clients must not take it for a whole answer.
            Some(StreamItem::End(FinishReason::Truncated, _)) | None => return Err(broken_off()),
            Some(StreamItem::End(reason, usage)) => break (reason, usage),
            Some(StreamItem::Failed(failure)) => return Err(failure.into()),
        }
    };
    // OpenAI's clients expect `null` for an answer that consists of tool calls alone.
    let content = (!text.is_empty() || tool_calls.is_empty()).then_some(text);
    let message = CompletionMessage { role: "assistant", content, refusal: (), reasoning_content, tool_calls };
    let choice = CompletionChoice { index: 0, message, finish_reason: finish_word(&reason), logprobs: () };
    let Shape { id, model, created } = shape;
    Ok(ChatCompletion { id, object: "chat.completion", created, model, choices: [choice], usage: usage.into() })
}

/// Responds with the completion as a stream of chunks.
///
/// # Errors
///
/// A failure before the first output becomes an HTTP error; a later one is an event of the stream.
pub async fn stream(
    items: impl Stream<Item = StreamItem> + Send + 'static,
    shape: Shape,
    tells_usage: bool,
    stopping: CancellationToken,
    permit: Permit,
) -> Result<EventStreamResponse, OpenAiError> {
    let items = begun(items).await?;
    // As in OpenAI's API, the first chunk has the role and no text.
    let opening = frame(&shape.chunk(&json!({ "role": "assistant", "content": "" }), None));
    let rest = items.flat_map(move |item| stream::iter(frames(item, &shape, tells_usage)));
    Ok(EventStreamResponse(sse::response_until(stream::iter([opening]).chain(rest), stopping, permit)))
}

/// Waits for the first output of a completion, and returns the failure if that comes instead.
pub async fn begun(
    items: impl Stream<Item = StreamItem> + Send + 'static,
) -> Result<impl Stream<Item = StreamItem> + Send + 'static, OpenAiError> {
    let mut items = Box::pin(items);
    match items.next().await {
        Some(StreamItem::Failed(failure)) => Err(failure.into()),
        None => Err(broken_off()),
        Some(first) => Ok(stream::iter([first]).chain(items)),
    }
}

/// Returns the chunks of an item. `tells_usage` adds a last chunk with the usage.
fn frames(item: StreamItem, shape: &Shape, tells_usage: bool) -> Vec<Bytes> {
    let delta = |delta: &Value| vec![frame(&shape.chunk(delta, None))];
    match item {
        StreamItem::Text(text) => delta(&json!({ "content": text })),
        StreamItem::Reasoning(text) => delta(&json!({ "reasoning_content": text })),
        StreamItem::Call { index, id, name } => {
            let function = json!({ "name": name, "arguments": "" });
            delta(&json!({ "tool_calls": [{ "index": index, "id": id, "type": "function", "function": function }] }))
        }
        StreamItem::Arguments { index, text } => {
            delta(&json!({ "tool_calls": [{ "index": index, "function": { "arguments": text } }] }))
        }
        // The API has no finish reason for a truncated stream, and a client must not take it for a regular end.
        StreamItem::End(FinishReason::Truncated, _) => vec![frame(&broken_off().body())],
        StreamItem::Failed(failure) => vec![frame(&OpenAiError::from(failure).body())],
        StreamItem::End(reason, usage) => {
            let mut frames = vec![frame(&shape.chunk(&json!({}), Some(finish_word(&reason))))];
            if tells_usage {
                let mut last = shape.object("chat.completion.chunk", json!([]));
                last["usage"] = to_json(&CompletionUsage::from(usage));
                frames.push(frame(&last));
            }
            frames.push(Bytes::from_static(b"data: [DONE]\n\n"));
            frames
        }
    }
}

/// Formats an event of the stream.
fn frame(data: &Value) -> Bytes {
    format!("data: {data}\n\n").into()
}

/// Returns the error for a completion that ended early.
pub fn broken_off() -> OpenAiError {
    agent::openai_api::CompletionError::Model(domain::model::ModelError::Provider("its answer broke off".to_owned()))
        .into()
}

/// Returns OpenAI's name of a finish reason.
fn finish_word(reason: &FinishReason) -> &'static str {
    match reason {
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::Length => "length",
        FinishReason::ContentFilter => "content_filter",
        FinishReason::Stop | FinishReason::Truncated | FinishReason::Other(_) => "stop",
    }
}
