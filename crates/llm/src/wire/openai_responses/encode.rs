//! The request.

use std::borrow::Cow;

use domain::model::{ModelError, ModelMessage, Request, ToolChoice, ToolSpec};
use serde::Serialize;
use serde_json::{Value, json};

use super::WIRE;
use crate::wire::request::{Sampling, arguments, effort, plain_id, plain_object_schema, result_text};
use crate::wire::{Concessions, Encoded, Thoughts};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    input: Vec<Item<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    stream: bool,
    /// The conversation is ours: the provider keeps nothing.
    store: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    include: Vec<&'static str>,
    #[serde(flatten)]
    sampling: Sampling,
}

/// The highest temperature of this wire.
const HOTTEST: f64 = 2.0;

#[derive(Serialize)]
struct Reasoning {
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message { role: &'static str, content: [Content<'a>; 1] },
    Reasoning { summary: Vec<Content<'a>>, encrypted_content: &'a str },
    FunctionCall { call_id: Cow<'a, str>, name: &'a str, arguments: Cow<'a, str> },
    FunctionCallOutput { call_id: Cow<'a, str>, output: Cow<'a, str> },
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum Content<'a> {
    #[serde(rename = "input_text")]
    Input { text: &'a str },
    #[serde(rename = "output_text")]
    Output { text: &'a str },
    #[serde(rename = "summary_text")]
    Summary { text: &'a str },
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters: Cow<'a, Value>,
    /// The strict form takes only a part of JSON Schema, and tools come from anywhere.
    strict: bool,
}

/// The request as this wire writes it.
pub fn encode(request: &Request, concessions: Concessions) -> Result<Encoded, ModelError> {
    let thoughts = concessions.thoughts;
    let summary = (thoughts == Thoughts::Newest).then_some("auto");
    let effort = effort(request, concessions);
    let mut input = Vec::new();
    for message in &request.messages {
        write(message, request, thoughts != Thoughts::Off, &mut input);
    }
    let body = Body {
        model: &request.model,
        instructions: &request.system,
        input,
        tools: request.tools.iter().map(tool).collect(),
        tool_choice: tool_choice(request),
        stream: true,
        store: false,
        max_output_tokens: request.max_tokens,
        reasoning: (summary.is_some() || effort.is_some()).then_some(Reasoning { summary, effort }),
        include: if thoughts == Thoughts::Off { Vec::new() } else { vec!["reasoning.encrypted_content"] },
        sampling: Sampling::of(request, concessions, HOTTEST),
    };
    Encoded::new("responses", &body)
}

fn tool_choice(request: &Request) -> Option<Value> {
    match &request.tool_choice {
        _ if request.tools.is_empty() => None,
        ToolChoice::Auto => None,
        ToolChoice::Required => Some(json!("required")),
        ToolChoice::Named(name) => Some(json!({ "type": "function", "name": name })),
    }
}

/// What to write differently after a refusal in these words: summaries want a verified organisation, and models that do
/// not think refuse to be asked for thoughts.
pub(crate) fn concede(refusal: &str, made: Concessions) -> Option<Concessions> {
    let refusal = refusal.to_ascii_lowercase();
    let thoughts = made.thoughts.less()?;
    if refusal.contains("encrypted") {
        return Some(Concessions { thoughts: Thoughts::Off, ..made });
    }
    refusal.contains("reasoning").then_some(Concessions { thoughts, ..made })
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool {
        r#type: "function",
        name: &spec.name,
        description: &spec.description,
        parameters: plain_object_schema(&spec.input_schema),
        strict: false,
    }
}

fn write<'a>(message: &'a ModelMessage, request: &Request, with_thoughts: bool, input: &mut Vec<Item<'a>>) {
    match message {
        ModelMessage::User { text, .. } => {
            input.push(Item::Message { role: "user", content: [Content::Input { text }] });
        }
        ModelMessage::ToolResult { call_id, text, is_error, .. } => {
            input.push(Item::FunctionCallOutput { call_id: plain_id(call_id), output: result_text(text, *is_error) });
        }
        ModelMessage::Assistant { thoughts, text, calls, .. } => {
            let ours = thoughts.iter().filter(|thought| with_thoughts && thought.seal.is_for(WIRE, &request.model));
            let ours: Vec<_> = ours.collect();
            let thoughts_at = |place: usize| {
                let here = ours.iter().filter(move |thought| thought.calls_before == place);
                here.filter_map(|thought| {
                    let encrypted_content = thought.seal.data.get("encrypted_content")?.as_str()?;
                    let text = Some(thought.text.as_str()).filter(|text| !text.is_empty());
                    let summary = text.map(|text| Content::Summary { text }).into_iter().collect();
                    Some(Item::Reasoning { summary, encrypted_content })
                })
            };
            input.extend(thoughts_at(0));
            if !text.is_empty() {
                input.push(Item::Message { role: "assistant", content: [Content::Output { text }] });
            }
            for (place, call) in (1..).zip(calls) {
                let (call_id, arguments) = (plain_id(&call.id), arguments(&call.arguments));
                input.push(Item::FunctionCall { call_id, name: &call.name, arguments });
                if place < calls.len() {
                    input.extend(thoughts_at(place));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
