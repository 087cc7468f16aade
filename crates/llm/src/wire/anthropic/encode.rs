//! The request.

use std::borrow::Cow;

use domain::model::{FileKind, ModelError, ModelFile, ModelMessage, Request, ResponseFormat, ToolChoice, ToolSpec};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::WIRE;
use crate::wire::files::{self, Aside};
use crate::wire::request::{
    Sampling, arguments_object, effort, plain_id, plain_object_schema, result_text, stop_sequences,
};
use crate::wire::{Concessions, Encoded, Thoughts};

/// The tokens of an answer when nobody set a limit: what the current models can write. The wire has no "as much as you
/// can"; a model that can write less says so and gets that.
const OUTPUT_LIMIT: u32 = 32_000;
/// The share of the answer that older models may think.
const THINKING_SHARE: u32 = 4;
/// The least that the wire takes for it.
const LEAST_THINKING: u32 = 1_024;
/// How many of the last turns are marked, beside the tools and the instructions: the wire takes four marks in all.
/// The last but one finds what was kept of the turn before, the last keeps this one.
const MARKED_TURNS: usize = 2;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Marked<Block<'a>>>,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(flatten)]
    sampling: Sampling,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stop_sequences: Vec<&'a str>,
}

/// Maximum number of stop texts that are sent; the API names no limit.
const MAX_STOP_SEQUENCES: usize = 16;

/// The highest temperature of this wire.
const HOTTEST: f64 = 1.0;

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

/// The end of what is worth keeping for the next request.
#[derive(Serialize)]
struct CacheControl {
    r#type: &'static str,
}

const EPHEMERAL: CacheControl = CacheControl { r#type: "ephemeral" };

#[derive(Serialize)]
struct Marked<T> {
    #[serde(flatten)]
    what: T,
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
    content: Vec<Marked<Block<'a>>>,
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
        content: Output<'a>,
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
enum Output<'a> {
    /// What every server of this wire takes.
    Text(Cow<'a, str>),
    Blocks(Vec<Block<'a>>),
}

/// The request as this wire writes it.
pub fn encode(request: &Request, concessions: Concessions) -> Result<Encoded, ModelError> {
    let wanted = request.max_tokens.unwrap_or(OUTPUT_LIMIT);
    let max_tokens = concessions.output_limit.map_or(wanted, |limit| wanted.min(limit));
    let mut tools: Vec<Tool<'_>> = request.tools.iter().map(tool).collect();
    if let Some(last) = tools.last_mut() {
        last.cache_control = Some(EPHEMERAL);
    }
    let system = Some(request.system.as_str()).filter(|system| !system.trim().is_empty());
    let sampling = Sampling::of(request, concessions, HOTTEST);
    // A model that has to call does not think first, nor one whose words are chosen for it; the wire refuses both.
    let thinks = tool_choice(request).is_none() && !sampling.is_set();
    let body = Body {
        model: &request.model,
        max_tokens,
        stream: true,
        tools,
        tool_choice: tool_choice(request),
        system: system
            .map(|text| Marked { what: Block::Text { text: Cow::Borrowed(text) }, cache_control: Some(EPHEMERAL) })
            .into_iter()
            .collect(),
        messages: messages(request, concessions),
        thinking: thinks.then(|| thinking(concessions.thoughts, max_tokens)).flatten(),
        sampling,
        output_config: output_config(effort(request, concessions), output_format(&request.response_format)?),
        // The API refuses texts of white space alone.
        stop_sequences: stop_sequences(request, concessions, MAX_STOP_SEQUENCES, |text| !text.trim().is_empty()),
    };
    Encoded::new("v1/messages", &body)
}

fn output_config(effort: Option<&'static str>, format: Option<Value>) -> Option<OutputConfig> {
    (effort.is_some() || format.is_some()).then_some(OutputConfig { effort, format })
}

/// Returns the form of the answer in this API, which has JSON schemas and no other JSON mode.
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
            // These hold values, not schemas.
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

fn thinking(thoughts: Thoughts, max_tokens: u32) -> Option<Thinking> {
    let budget_tokens = max_tokens / THINKING_SHARE;
    match thoughts {
        Thoughts::Newest => Some(Thinking::Adaptive { display: "summarized" }),
        Thoughts::Older => (budget_tokens >= LEAST_THINKING).then_some(Thinking::Enabled { budget_tokens }),
        Thoughts::Off => None,
    }
}

/// What to write differently after a refusal in these words.
pub(crate) fn concede(refusal: &str, made: Concessions) -> Option<Concessions> {
    if made.output_limit.is_none() && refusal.contains("max_tokens") {
        // "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for …"
        let limit = refusal.split_once('>').and_then(|(_, rest)| {
            let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        });
        if let Some(limit) = limit {
            return Some(Concessions { output_limit: Some(limit), ..made });
        }
    }
    let thoughts = made.thoughts.less().filter(|_| refusal.contains("thinking"))?;
    Some(Concessions { thoughts, ..made })
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool {
        name: &spec.name,
        description: &spec.description,
        input_schema: plain_object_schema(&spec.input_schema),
        cache_control: None,
    }
}

/// The turns: this wire wants the two sides to take turns, and results first in the person's.
fn messages(request: &Request, concessions: Concessions) -> Vec<Message<'_>> {
    let mut turns = Turns::default();
    for message in &request.messages {
        match message {
            ModelMessage::User { text, files } => {
                turns.put_asides();
                turns.add("user", files.iter().map(block).chain(words(text)).collect());
            }
            ModelMessage::ToolResult { call_id, name, text, is_error, files } => {
                let content = if files.is_empty() || concessions.plain_results {
                    turns.asides.extend(files::of_result(name, call_id, files));
                    Output::Text(result_text(text, false))
                } else {
                    let text = Block::Text { text: result_text(text, false) };
                    Output::Blocks(std::iter::once(text).chain(files.iter().map(block)).collect())
                };
                let (tool_use_id, is_error) = (plain_id(call_id), *is_error);
                turns.add("user", vec![Block::ToolResult { tool_use_id, content, is_error }]);
            }
            ModelMessage::Assistant { files, .. } => {
                turns.put_asides();
                turns.add("assistant", said(message, request, concessions.thoughts != Thoughts::Off));
                turns.asides.extend(files::of_model(files));
            }
        }
    }
    turns.put_asides();
    let mut messages = turns.messages;
    let turns = messages.iter_mut().rev().filter(|message| message.role == "user").take(MARKED_TURNS);
    for last in turns.filter_map(|message| message.content.last_mut()) {
        last.cache_control = Some(EPHEMERAL);
    }
    messages
}

/// The turns so far.
#[derive(Default)]
struct Turns<'a> {
    messages: Vec<Message<'a>>,
    /// What stands in the person's next turn without being theirs.
    asides: Vec<Aside<'a>>,
}

impl<'a> Turns<'a> {
    fn add(&mut self, role: &'static str, blocks: Vec<Block<'a>>) {
        let blocks = blocks.into_iter().map(|what| Marked { what, cache_control: None });
        match self.messages.last_mut() {
            _ if blocks.len() == 0 => {}
            Some(last) if last.role == role => last.content.extend(blocks),
            _ => self.messages.push(Message { role, content: blocks.collect() }),
        }
    }

    fn put_asides(&mut self) {
        for Aside { about, files } in std::mem::take(&mut self.asides) {
            let about = Block::Text { text: Cow::Owned(about) };
            self.add("user", std::iter::once(about).chain(files.into_iter().map(block)).collect());
        }
    }
}

fn block(file: &ModelFile) -> Block<'_> {
    let source = || Source { r#type: "base64", media_type: &file.media_type, data: file.base64() };
    match file.kind() {
        FileKind::Picture => Block::Image { source: source() },
        FileKind::Pdf => Block::Document { source: source(), title: file.name.as_deref() },
        FileKind::Other => Block::Text { text: Cow::Owned(file.in_words()) },
    }
}

fn said<'a>(message: &'a ModelMessage, request: &Request, with_thoughts: bool) -> Vec<Block<'a>> {
    let ModelMessage::Assistant { thoughts, text, calls, .. } = message else { return Vec::new() };
    if text.trim().is_empty() && calls.is_empty() {
        // The wire refuses a turn of nothing but thoughts.
        return Vec::new();
    }
    let ours = thoughts.iter().filter(|thought| with_thoughts && thought.seal.is_for(WIRE, &request.model));
    let ours: Vec<_> = ours.collect();
    let thoughts_at = |place: usize| {
        let here = ours.iter().filter(move |thought| thought.calls_before == place);
        here.filter_map(|thought| {
            let field = |name: &str| thought.seal.data.get(name).and_then(Value::as_str);
            match (field("redacted"), field("signature")) {
                (Some(data), _) => Some(Block::RedactedThinking { data }),
                (None, Some(signature)) => Some(Block::Thinking { thinking: &thought.text, signature }),
                (None, None) => None,
            }
        })
    };
    let mut blocks: Vec<Block<'a>> = thoughts_at(0).collect();
    blocks.extend(words(text));
    for (place, call) in (1..).zip(calls) {
        blocks.push(Block::ToolUse {
            id: plain_id(&call.id),
            name: &call.name,
            input: arguments_object(&call.arguments),
        });
        if place < calls.len() {
            blocks.extend(thoughts_at(place));
        }
    }
    blocks
}

/// The wire refuses text of nothing but blanks.
fn words(text: &str) -> Option<Block<'_>> {
    (!text.trim().is_empty()).then_some(Block::Text { text: Cow::Borrowed(text) })
}

#[cfg(test)]
mod tests;
