//! Encoder for requests to the messages API.

use std::borrow::Cow;

use domain::model::{FileKind, ModelError, ModelFile, ModelMessage, Request, ResponseFormat, ToolChoice, ToolSpec};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::API_NAME;
use crate::providers::files::DetachedFiles;
use crate::providers::request_encoding::{
    SamplingParameters, arguments_object, flat_object_schema, reasoning_effort, sanitize_call_id, stop_sequences,
    tool_result_text,
};
use crate::providers::{EncodedRequest, ReasoningMode, RequestAdjustments};

/// Output limit when the request sets none, in tokens: what the current models support. This API requires a limit; a
/// model that supports less refuses it, and [`adjust_after_refusal`] lowers it.
const DEFAULT_MAX_TOKENS: u32 = 32_000;

/// Divisor of the output limit that yields the thinking budget of older models.
const THINKING_BUDGET_DIVISOR: u32 = 4;

/// Minimum thinking budget that this API accepts, in tokens.
const MIN_THINKING_BUDGET_TOKENS: u32 = 1_024;

/// Number of user messages with a cache breakpoint, beside the tools and the instructions: this API accepts four in
/// all. The last but one finds the cache entry of the previous request, the last one writes that of this request.
const CACHED_USER_MESSAGES: usize = 2;

#[derive(Serialize)]
struct RequestBody<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Cacheable<Block<'a>>>,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(flatten)]
    sampling: SamplingParameters,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stop_sequences: Vec<&'a str>,
}

/// Maximum number of stop sequences sent; this API documents no limit.
const MAX_STOP_SEQUENCES: usize = 16;

/// Highest temperature that this API accepts.
const MAX_TEMPERATURE: f64 = 1.0;

#[derive(Serialize)]
struct OutputConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Value>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Thinking {
    Adaptive { display: &'static str },
    Enabled { budget_tokens: u32 },
}

/// Cache breakpoint: the provider caches the request up to this block.
#[derive(Serialize)]
struct CacheControl {
    r#type: &'static str,
}

const EPHEMERAL: CacheControl = CacheControl { r#type: "ephemeral" };

#[derive(Serialize)]
struct Cacheable<T> {
    #[serde(flatten)]
    block: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: Cow<'a, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Vec<Cacheable<Block<'a>>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        source: Source<'a>,
    },
    Document {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: &'a str,
        input: Map<String, Value>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: ResultContent<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
struct Source<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: String,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ResultContent<'a> {
    /// The form that every server of this API accepts.
    Text(Cow<'a, str>),
    Blocks(Vec<Block<'a>>),
}

/// Encodes a request in the format of this API.
pub fn encode(request: &Request, adjustments: RequestAdjustments) -> Result<EncodedRequest, ModelError> {
    let requested = request.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS);
    let max_tokens = adjustments.output_limit.map_or(requested, |limit| requested.min(limit));
    let mut tools: Vec<Tool<'_>> = request.tools.iter().map(encode_tool).collect();
    // The breakpoint at the last tool covers all of them.
    if let Some(last) = tools.last_mut() {
        last.cache_control = Some(EPHEMERAL);
    }
    let system = Some(request.system.as_str()).filter(|system| !system.trim().is_empty());
    let sampling = SamplingParameters::from_request(request, adjustments, MAX_TEMPERATURE);
    // This API refuses thinking together with a forced tool call or with sampling parameters.
    let can_think = tool_choice(request).is_none() && !sampling.is_set();
    let body = RequestBody {
        model: &request.model,
        max_tokens,
        stream: true,
        tools,
        tool_choice: tool_choice(request),
        system: system
            .map(|text| Cacheable { block: Block::Text { text: Cow::Borrowed(text) }, cache_control: Some(EPHEMERAL) })
            .into_iter()
            .collect(),
        messages: encode_messages(request, adjustments),
        thinking: can_think.then(|| thinking(adjustments.reasoning, max_tokens)).flatten(),
        sampling,
        output_config: output_config(reasoning_effort(request, adjustments), output_format(&request.response_format)?),
        // This API refuses sequences of white space alone.
        stop_sequences: stop_sequences(request, adjustments, MAX_STOP_SEQUENCES, |text| !text.trim().is_empty()),
    };
    EncodedRequest::new("v1/messages", &body)
}

fn output_config(effort: Option<&'static str>, format: Option<Value>) -> Option<OutputConfig> {
    (effort.is_some() || format.is_some()).then_some(OutputConfig { effort, format })
}

/// Returns the response format in this API, which supports JSON schemas but no other JSON mode.
fn output_format(format: &ResponseFormat) -> Result<Option<Value>, ModelError> {
    match format {
        ResponseFormat::Text => Ok(None),
        ResponseFormat::JsonObject => Err(ModelError::Refused(
            "Anthropic has no JSON mode without a schema. Use the response format json_schema.".to_owned(),
        )),
        ResponseFormat::JsonSchema(output) => {
            let mut schema = output.schema.clone();
            close_objects(&mut schema);
            Ok(Some(json!({ "type": "json_schema", "schema": schema })))
        }
    }
}

/// Forbids properties that an object schema does not name, which this API requires. What fits the closed schema fits
/// the open one as well.
fn close_objects(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            // The values of these keywords are not schemas.
            let schemas = fields.iter_mut().filter(|(name, _)| !matches!(name.as_str(), "const" | "default" | "enum"));
            schemas.for_each(|(_, schema)| close_objects(schema));
            if fields.get("type").is_some_and(|kind| kind == "object") {
                fields.entry("additionalProperties").or_insert(json!(false));
            }
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(close_objects),
        _ => {}
    }
}

fn tool_choice(request: &Request) -> Option<Value> {
    match &request.tool_choice {
        _ if request.tools.is_empty() => None,
        ToolChoice::Auto => None,
        ToolChoice::Required => Some(json!({ "type": "any" })),
        ToolChoice::Named(name) => Some(json!({ "type": "tool", "name": name })),
    }
}

fn thinking(reasoning: ReasoningMode, max_tokens: u32) -> Option<Thinking> {
    let budget_tokens = max_tokens / THINKING_BUDGET_DIVISOR;
    match reasoning {
        // Without `display` the newest models send their reasoning without its text.
        ReasoningMode::Current => Some(Thinking::Adaptive { display: "summarized" }),
        ReasoningMode::Legacy => {
            (budget_tokens >= MIN_THINKING_BUDGET_TOKENS).then_some(Thinking::Enabled { budget_tokens })
        }
        ReasoningMode::Off => None,
    }
}

/// Returns the adjustments to retry with after a refusal: a lower output limit, or less reasoning.
pub(crate) fn adjust_after_refusal(refusal: &str, current: RequestAdjustments) -> Option<RequestAdjustments> {
    if current.output_limit.is_none() && refusal.contains("max_tokens") {
        // Example: "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for …"
        let limit = refusal.split_once('>').and_then(|(_, rest)| {
            let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        });
        if let Some(limit) = limit {
            return Some(RequestAdjustments { output_limit: Some(limit), ..current });
        }
    }
    let reasoning = current.reasoning.fallback().filter(|_| refusal.contains("thinking"))?;
    Some(RequestAdjustments { reasoning, ..current })
}

fn encode_tool(spec: &ToolSpec) -> Tool<'_> {
    Tool {
        name: &spec.name,
        description: &spec.description,
        input_schema: flat_object_schema(&spec.input_schema),
        cache_control: None,
    }
}

/// Encodes the conversation. This API requires alternating roles, and tool results first in a user message.
fn encode_messages(request: &Request, adjustments: RequestAdjustments) -> Vec<Message<'_>> {
    let mut builder = MessageBuilder::default();
    for message in &request.messages {
        match message {
            ModelMessage::User { text, files } => {
                builder.flush_detached_files();
                // Files before the text, as the provider recommends for pictures and documents.
                builder.push_blocks("user", files.iter().map(file_block).chain(text_block(text)).collect());
            }
            ModelMessage::ToolResult { call_id, name, text, is_error, files } => {
                // Some imitators accept only text in tool results; their files follow in a user message.
                let content = if files.is_empty() || adjustments.text_only_results {
                    builder.detached_files.extend(DetachedFiles::from_tool_result(name, call_id, files));
                    ResultContent::Text(tool_result_text(text, false))
                } else {
                    let text = Block::Text { text: tool_result_text(text, false) };
                    ResultContent::Blocks(std::iter::once(text).chain(files.iter().map(file_block)).collect())
                };
                let (tool_use_id, is_error) = (sanitize_call_id(call_id), *is_error);
                builder.push_blocks("user", vec![Block::ToolResult { tool_use_id, content, is_error }]);
            }
            ModelMessage::Assistant { files, .. } => {
                builder.flush_detached_files();
                builder.push_blocks(
                    "assistant",
                    assistant_blocks(message, request, adjustments.reasoning != ReasoningMode::Off),
                );
                builder.detached_files.extend(DetachedFiles::from_model(files));
            }
        }
    }
    builder.flush_detached_files();
    let mut messages = builder.messages;
    // Newest first, because only the last breakpoints are useful.
    let turns = messages.iter_mut().rev().filter(|message| message.role == "user").take(CACHED_USER_MESSAGES);
    for last in turns.filter_map(|message| message.content.last_mut()) {
        last.cache_control = Some(EPHEMERAL);
    }
    messages
}

/// Builder for messages with alternating roles; see [`encode_messages`].
#[derive(Default)]
struct MessageBuilder<'a> {
    messages: Vec<Message<'a>>,
    /// Files to send with the next user message.
    detached_files: Vec<DetachedFiles<'a>>,
}

impl<'a> MessageBuilder<'a> {
    /// Appends blocks to the last message, if it has the same role, or else to a new one.
    fn push_blocks(&mut self, role: &'static str, blocks: Vec<Block<'a>>) {
        let blocks = blocks.into_iter().map(|block| Cacheable { block, cache_control: None });
        match self.messages.last_mut() {
            // An empty message is refused, and one in between would break the alternation of roles.
            _ if blocks.len() == 0 => {}
            Some(last) if last.role == role => last.content.extend(blocks),
            _ => self.messages.push(Message { role, content: blocks.collect() }),
        }
    }

    fn flush_detached_files(&mut self) {
        for DetachedFiles { origin, files } in std::mem::take(&mut self.detached_files) {
            let origin = Block::Text { text: Cow::Owned(origin) };
            self.push_blocks("user", std::iter::once(origin).chain(files.into_iter().map(file_block)).collect());
        }
    }
}

fn file_block(file: &ModelFile) -> Block<'_> {
    let source = || Source { r#type: "base64", media_type: &file.media_type, data: file.base64() };
    match file.kind() {
        FileKind::Picture => Block::Image { source: source() },
        FileKind::Pdf => Block::Document { source: source(), title: file.name.as_deref() },
        FileKind::Other => Block::Text { text: Cow::Owned(file.in_words()) },
    }
}

/// Encodes an assistant message: reasoning of this model first, then the text, then the calls with reasoning between
/// them.
fn assistant_blocks<'a>(message: &'a ModelMessage, request: &Request, with_reasoning: bool) -> Vec<Block<'a>> {
    let ModelMessage::Assistant { reasoning_blocks, text, calls, .. } = message else { return Vec::new() };
    if text.trim().is_empty() && calls.is_empty() {
        // This API refuses a message of reasoning alone.
        return Vec::new();
    }
    let own_blocks =
        reasoning_blocks.iter().filter(|block| with_reasoning && block.signature.is_for(API_NAME, &request.model));
    let own_blocks: Vec<_> = own_blocks.collect();
    let thoughts_before_call = |index: usize| {
        let reasoning_blocks = own_blocks.iter().filter(move |block| block.calls_before == index);
        reasoning_blocks.filter_map(|block| {
            let field = |name: &str| block.signature.data.get(name).and_then(Value::as_str);
            match (field("redacted"), field("signature")) {
                (Some(data), _) => Some(Block::RedactedThinking { data }),
                (None, Some(signature)) => Some(Block::Thinking { thinking: &block.text, signature }),
                (None, None) => None,
            }
        })
    };
    let mut blocks: Vec<Block<'a>> = thoughts_before_call(0).collect();
    blocks.extend(text_block(text));
    for (next, call) in (1..).zip(calls) {
        blocks.push(Block::ToolUse {
            id: sanitize_call_id(&call.id),
            name: &call.name,
            input: arguments_object(&call.arguments),
        });
        // Reasoning after the last call would end the message, which this API refuses.
        if next < calls.len() {
            blocks.extend(thoughts_before_call(next));
        }
    }
    blocks
}

/// Returns a text block; `None` for blank text, which this API refuses.
fn text_block(text: &str) -> Option<Block<'_>> {
    (!text.trim().is_empty()).then_some(Block::Text { text: Cow::Borrowed(text) })
}

#[cfg(test)]
mod tests;
