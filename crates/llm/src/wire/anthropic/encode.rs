//! The request.

use std::borrow::Cow;

use domain::model::{ModelError, ModelMessage, Request, ToolChoice, ToolSpec};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::WIRE;
use crate::wire::request::{Sampling, arguments_object, effort, plain_id, plain_object_schema, result_text};
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
}

/// The highest temperature of this wire.
const HOTTEST: f64 = 1.0;

#[derive(Serialize)]
struct OutputConfig {
    effort: &'static str,
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
        text: &'a str,
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
        content: Cow<'a, str>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
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
            .map(|text| Marked { what: Block::Text { text }, cache_control: Some(EPHEMERAL) })
            .into_iter()
            .collect(),
        messages: messages(request, concessions.thoughts != Thoughts::Off),
        thinking: thinks.then(|| thinking(concessions.thoughts, max_tokens)).flatten(),
        sampling,
        output_config: effort(request, concessions).map(|effort| OutputConfig { effort }),
    };
    Encoded::new("v1/messages", &body)
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
fn messages(request: &Request, with_thoughts: bool) -> Vec<Message<'_>> {
    let mut messages: Vec<Message<'_>> = Vec::new();
    for message in &request.messages {
        let (role, blocks) = match message {
            ModelMessage::User { text, .. } => ("user", words(text).into_iter().collect()),
            ModelMessage::ToolResult { call_id, text, is_error, .. } => {
                let content = result_text(text, false);
                let (tool_use_id, is_error) = (plain_id(call_id), *is_error);
                ("user", vec![Block::ToolResult { tool_use_id, content, is_error }])
            }
            ModelMessage::Assistant { .. } => ("assistant", said(message, request, with_thoughts)),
        };
        let blocks = blocks.into_iter().map(|what| Marked { what, cache_control: None });
        match messages.last_mut() {
            Some(last) if last.role == role => last.content.extend(blocks),
            _ => messages.push(Message { role, content: blocks.collect() }),
        }
    }
    messages.retain(|message| !message.content.is_empty());
    let turns = messages.iter_mut().rev().filter(|message| message.role == "user").take(MARKED_TURNS);
    for last in turns.filter_map(|message| message.content.last_mut()) {
        last.cache_control = Some(EPHEMERAL);
    }
    messages
}

fn said<'a>(message: &'a ModelMessage, request: &Request, with_thoughts: bool) -> Vec<Block<'a>> {
    let ModelMessage::Assistant { thoughts, text, calls, .. } = message else { return Vec::new() };
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
    (!text.trim().is_empty()).then_some(Block::Text { text })
}

#[cfg(test)]
mod tests;
