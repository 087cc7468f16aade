//! The request.

use std::borrow::Cow;

use domain::model::{
    FileKind, ModelError, ModelFile, ModelMessage, Request, ResponseFormat, Thought, ToolChoice, ToolSpec,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::WIRE;
use crate::wire::files::{self, Aside};
use crate::wire::request::{arguments_object, effort, object_schema, result_text, stop_sequences};
use crate::wire::{Concessions, Encoded, Thoughts};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Content<'a>>,
    contents: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tools<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<Value>,
    generation_config: Generation<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Generation<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_modalities: Option<[&'static str; 2]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stop_sequences: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<&'a Value>,
}

/// Maximum number of stop texts of this API.
const MAX_STOP_SEQUENCES: usize = 5;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Thinking {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    include_thoughts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'static str>,
}

#[derive(Serialize)]
struct Content<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    role: &'static str,
    parts: Vec<Part<'a>>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inline_data: Option<Inline<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<Answer<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    name: Cow<'a, str>,
    args: Map<String, Value>,
}

#[derive(Serialize)]
struct Answer<'a> {
    id: &'a str,
    name: Cow<'a, str>,
    response: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Inline<'a> {
    mime_type: &'a str,
    data: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Function<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Function<'a> {
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters_json_schema: Cow<'a, Value>,
}

/// The request as this wire writes it.
pub fn encode(request: &Request, concessions: Concessions) -> Result<Encoded, ModelError> {
    let system = Some(request.system.as_str()).filter(|system| !system.trim().is_empty());
    let functions: Vec<Function<'_>> = request.tools.iter().map(function).collect();
    let shows_thoughts = concessions.thoughts == Thoughts::Newest;
    let takes_sampling = !concessions.without_sampling;
    let thinking_level = effort(request, concessions);
    let body = Body {
        system_instruction: system.map(|text| Content { role: "", parts: words(text).into_iter().collect() }),
        contents: contents(request, concessions),
        tools: if functions.is_empty() { Vec::new() } else { vec![Tools { function_declarations: functions }] },
        tool_config: tool_config(request),
        generation_config: Generation {
            max_output_tokens: request.max_tokens,
            thinking_config: (shows_thoughts || thinking_level.is_some())
                .then_some(Thinking { include_thoughts: shows_thoughts, thinking_level }),
            temperature: request.parameters.temperature.filter(|_| takes_sampling),
            top_p: request.parameters.top_p.filter(|_| takes_sampling),
            response_modalities: (request.draws && !concessions.without_drawing).then_some(["TEXT", "IMAGE"]),
            stop_sequences: stop_sequences(request, concessions, MAX_STOP_SEQUENCES, |_| true),
            response_mime_type: (request.response_format != ResponseFormat::Text).then_some("application/json"),
            response_json_schema: match &request.response_format {
                ResponseFormat::JsonSchema(output) => Some(&output.schema),
                ResponseFormat::Text | ResponseFormat::JsonObject => None,
            },
        },
    };
    // The list of models names them with the folder; people write either.
    let model = request.model.strip_prefix("models/").unwrap_or(&request.model);
    Encoded::new(format!("v1beta/models/{model}:streamGenerateContent?alt=sse"), &body)
}

fn tool_config(request: &Request) -> Option<Value> {
    let calling = match &request.tool_choice {
        _ if request.tools.is_empty() => return None,
        ToolChoice::Auto => return None,
        ToolChoice::Required => json!({ "mode": "ANY" }),
        ToolChoice::Named(tool) => json!({ "mode": "ANY", "allowedFunctionNames": [name(tool)] }),
    };
    Some(json!({ "functionCallingConfig": calling }))
}

/// What to write differently after a refusal in these words.
pub(crate) fn concede(refusal: &str, made: Concessions) -> Option<Concessions> {
    let refusal = refusal.to_ascii_lowercase();
    let names_thoughts = refusal.contains("thinking") || refusal.contains("include_thoughts");
    (names_thoughts && made.thoughts == Thoughts::Newest).then_some(Concessions { thoughts: Thoughts::Off, ..made })
}

/// The wire wants a name to begin with a letter or a line.
fn name(name: &str) -> Cow<'_, str> {
    match name.chars().next() {
        Some(first) if first.is_ascii_alphabetic() || first == '_' => Cow::Borrowed(name),
        _ => Cow::Owned(format!("_{name}")),
    }
}

fn function(spec: &ToolSpec) -> Function<'_> {
    Function {
        name: name(&spec.name),
        description: &spec.description,
        parameters_json_schema: object_schema(&spec.input_schema),
    }
}

/// The turns; what follows each other from one side is one turn, and the results of parallel calls stand together.
fn contents(request: &Request, concessions: Concessions) -> Vec<Content<'_>> {
    let mut turns = Turns::default();
    for message in &request.messages {
        match message {
            ModelMessage::User { text, files } => {
                turns.put_asides();
                turns.add("user", files.iter().map(part).chain(words(text)).collect());
            }
            ModelMessage::ToolResult { call_id, name: tool, text, is_error, files } => {
                let key = if *is_error { "error" } else { "output" };
                let response = json!({ key: result_text(text, false) });
                let parts = if concessions.plain_results {
                    turns.asides.extend(files::of_result(tool, call_id, files));
                    Vec::new()
                } else {
                    files.iter().map(part).collect()
                };
                let response = Answer { id: call_id, name: name(tool), response, parts };
                turns.add("user", vec![Part { function_response: Some(response), ..Part::default() }]);
            }
            ModelMessage::Assistant { thoughts, files, .. } => {
                turns.put_asides();
                let signatures = |file: &ModelFile| signature_of(file, thoughts, request);
                turns.add("model", said(message, request));
                // The model refuses pictures in its own turn that it has not signed.
                turns.asides.extend(files::of_model(files.iter().filter(|file| signatures(file).is_none())));
            }
        }
    }
    turns.put_asides();
    turns.contents
}

/// The turns so far.
#[derive(Default)]
struct Turns<'a> {
    contents: Vec<Content<'a>>,
    /// What stands in the person's next turn without being theirs.
    asides: Vec<Aside<'a>>,
}

impl<'a> Turns<'a> {
    fn add(&mut self, role: &'static str, parts: Vec<Part<'a>>) {
        match self.contents.last_mut() {
            _ if parts.is_empty() => {}
            Some(last) if last.role == role => last.parts.extend(parts),
            _ => self.contents.push(Content { role, parts }),
        }
    }

    fn put_asides(&mut self) {
        for Aside { about, files } in std::mem::take(&mut self.asides) {
            let about = Part { text: Some(Cow::Owned(about)), ..Part::default() };
            self.add("user", std::iter::once(about).chain(files.into_iter().map(part)).collect());
        }
    }
}

fn part(file: &ModelFile) -> Part<'_> {
    match file.kind() {
        FileKind::Picture | FileKind::Pdf => {
            let inline_data = Some(Inline { mime_type: &file.media_type, data: file.base64() });
            Part { inline_data, ..Part::default() }
        }
        FileKind::Other => Part { text: Some(Cow::Owned(file.in_words())), ..Part::default() },
    }
}

/// What the model has put on a picture of its own.
fn signature_of<'a>(file: &ModelFile, thoughts: &'a [Thought], request: &Request) -> Option<&'a str> {
    let mut ours = thoughts.iter().filter(|thought| thought.seal.is_for(WIRE, &request.model)).peekable();
    ours.peek()?;
    let mark = files::mark(&file.bytes);
    ours.find_map(|thought| {
        let data = &thought.seal.data;
        data.get("picture").filter(|marked| **marked == mark.as_str()).and(data.get("signature")?.as_str())
    })
}

fn said<'a>(message: &'a ModelMessage, request: &Request) -> Vec<Part<'a>> {
    let ModelMessage::Assistant { thoughts, text, calls, files } = message else { return Vec::new() };
    let ours: Vec<_> = thoughts.iter().filter(|thought| thought.seal.is_for(WIRE, &request.model)).collect();
    let signature = |place: usize, name: &str| {
        let here = ours.iter().filter(|thought| thought.calls_before == place);
        here.filter_map(|thought| thought.seal.data.get(name)?.as_str()).next_back()
    };
    let mut parts = Vec::new();
    match (words(text), signature(0, "text")) {
        (Some(words), signature) => parts.push(Part { thought_signature: signature, ..words }),
        (None, Some(signature)) => {
            parts.push(Part { text: Some(Cow::Borrowed("")), thought_signature: Some(signature), ..Part::default() });
        }
        (None, None) => {}
    }
    for file in files {
        if let Some(signature) = signature_of(file, thoughts, request) {
            parts.push(Part { thought_signature: Some(signature), ..part(file) });
        }
    }
    for (place, call) in calls.iter().enumerate() {
        parts.push(Part {
            function_call: Some(Call { id: &call.id, name: name(&call.name), args: arguments_object(&call.arguments) }),
            thought_signature: signature(place, "call"),
            ..Part::default()
        });
    }
    parts
}

fn words(text: &str) -> Option<Part<'_>> {
    (!text.is_empty()).then(|| Part { text: Some(Cow::Borrowed(text)), ..Part::default() })
}

#[cfg(test)]
mod tests;
