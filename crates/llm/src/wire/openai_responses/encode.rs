//! The request.

use std::borrow::Cow;

use domain::model::{FileKind, ModelError, ModelFile, ModelMessage, Request, ResponseFormat, ToolChoice, ToolSpec};
use serde::Serialize;
use serde_json::{Value, json};

use super::WIRE;
use crate::wire::files::{self, Aside};
use crate::wire::request::{
    Sampling, arguments, effort, named_output_schema, plain_id, plain_object_schema, result_text,
};
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
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Value>,
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
    Message { role: &'static str, content: Vec<Content<'a>> },
    Reasoning { summary: Vec<Content<'a>>, encrypted_content: &'a str },
    FunctionCall { call_id: Cow<'a, str>, name: &'a str, arguments: Cow<'a, str> },
    FunctionCallOutput { call_id: Cow<'a, str>, output: Output<'a> },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Output<'a> {
    /// What every server of this wire takes.
    Text(Cow<'a, str>),
    Pieces(Vec<Content<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum Content<'a> {
    #[serde(rename = "input_text")]
    Input { text: Cow<'a, str> },
    #[serde(rename = "input_image")]
    Picture { image_url: String, detail: &'static str },
    #[serde(rename = "input_file")]
    Document { filename: &'a str, file_data: String },
    #[serde(rename = "output_text")]
    Output { text: &'a str },
    #[serde(rename = "summary_text")]
    Summary { text: &'a str },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Tool<'a> {
    Function(Function<'a>),
    /// The provider's own: the model draws with it.
    Drawing {
        r#type: &'static str,
    },
}

#[derive(Serialize)]
struct Function<'a> {
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
    let mut writer = Writer { request, concessions, input: Vec::new(), asides: Vec::new() };
    for message in &request.messages {
        writer.write(message);
    }
    writer.say("", &[]);
    let draws = request.draws && !concessions.without_drawing;
    let drawing = draws.then_some(Tool::Drawing { r#type: "image_generation" });
    let body = Body {
        model: &request.model,
        instructions: &request.system,
        input: writer.input,
        tools: request.tools.iter().map(tool).chain(drawing).collect(),
        tool_choice: tool_choice(request),
        stream: true,
        store: false,
        max_output_tokens: request.max_tokens,
        reasoning: (summary.is_some() || effort.is_some()).then_some(Reasoning { summary, effort }),
        include: if thoughts == Thoughts::Off { Vec::new() } else { vec!["reasoning.encrypted_content"] },
        sampling: Sampling::of(request, concessions, HOTTEST),
        text: text_format(&request.response_format).map(|format| json!({ "format": format })),
    };
    Encoded::new("responses", &body)
}

fn text_format(format: &ResponseFormat) -> Option<Value> {
    match format {
        ResponseFormat::Text => None,
        ResponseFormat::JsonObject => Some(json!({ "type": "json_object" })),
        ResponseFormat::JsonSchema(schema) => {
            let mut format = named_output_schema(schema);
            format.insert("type".to_owned(), json!("json_schema"));
            Some(Value::Object(format))
        }
    }
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
    Tool::Function(Function {
        r#type: "function",
        name: &spec.name,
        description: &spec.description,
        parameters: plain_object_schema(&spec.input_schema),
        strict: false,
    })
}

/// Writes the conversation.
struct Writer<'a> {
    request: &'a Request,
    concessions: Concessions,
    input: Vec<Item<'a>>,
    /// What stands in the person's next message without being theirs.
    asides: Vec<Aside<'a>>,
}

impl<'a> Writer<'a> {
    fn write(&mut self, message: &'a ModelMessage) {
        match message {
            ModelMessage::User { text, files } => self.say(text, files),
            ModelMessage::ToolResult { call_id: id, name, text, is_error, files } => {
                let (call_id, text) = (plain_id(id), result_text(text, *is_error));
                let output = if files.is_empty() || self.concessions.plain_results {
                    self.asides.extend(files::of_result(name, id, files));
                    Output::Text(text)
                } else {
                    let words = Content::Input { text };
                    Output::Pieces(std::iter::once(words).chain(files.iter().map(content)).collect())
                };
                self.input.push(Item::FunctionCallOutput { call_id, output });
            }
            ModelMessage::Assistant { files, .. } => {
                self.say("", &[]);
                self.answer(message);
                self.asides.extend(files::of_model(files));
            }
        }
    }

    /// What the person says, after what stands in their message without being theirs; nothing when there is neither.
    fn say(&mut self, text: &'a str, files: &'a [ModelFile]) {
        let mut said = Vec::new();
        for Aside { about, files } in self.asides.drain(..) {
            said.push(Content::Input { text: Cow::Owned(about) });
            said.extend(files.into_iter().map(content));
        }
        said.extend(files.iter().map(content));
        if !text.is_empty() {
            said.push(Content::Input { text: Cow::Borrowed(text) });
        }
        if !said.is_empty() {
            self.input.push(Item::Message { role: "user", content: said });
        }
    }

    fn answer(&mut self, message: &'a ModelMessage) {
        let ModelMessage::Assistant { thoughts, text, calls, .. } = message else { return };
        if text.is_empty() && calls.is_empty() {
            // The wire refuses a thought that led to nothing, and the pictures that it led to stand elsewhere.
            return;
        }
        let with_thoughts = self.concessions.thoughts != Thoughts::Off;
        let model = &self.request.model;
        let ours = thoughts.iter().filter(|thought| with_thoughts && thought.seal.is_for(WIRE, model));
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
        let input = &mut self.input;
        input.extend(thoughts_at(0));
        if !text.is_empty() {
            input.push(Item::Message { role: "assistant", content: vec![Content::Output { text }] });
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

fn content(file: &ModelFile) -> Content<'_> {
    match file.kind() {
        FileKind::Picture => Content::Picture { image_url: file.data_url(), detail: "auto" },
        FileKind::Pdf => {
            let filename = file.name.as_deref().unwrap_or(files::NAMELESS);
            Content::Document { filename, file_data: file.data_url() }
        }
        FileKind::Other => Content::Input { text: Cow::Owned(file.in_words()) },
    }
}

#[cfg(test)]
mod tests;
