//! Encoder for requests to the responses API.

use std::borrow::Cow;

use domain::model::{FileKind, ModelError, ModelFile, ModelMessage, Request, ResponseFormat, ToolChoice, ToolSpec};
use serde::Serialize;
use serde_json::{Value, json};

use super::API_NAME;
use crate::providers::files::{self, DetachedFiles};
use crate::providers::request_encoding::{
    SamplingParameters, arguments_json, flat_object_schema, named_output_schema, reasoning_effort, sanitize_call_id,
    tool_result_text,
};
use crate::providers::{EncodedRequest, ReasoningMode, RequestAdjustments};

#[derive(Serialize)]
struct RequestBody<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    input: Vec<InputItem<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    stream: bool,
    /// Always false: the provider must not store the conversation.
    store: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    include: Vec<&'static str>,
    #[serde(flatten)]
    sampling: SamplingParameters,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Value>,
}

/// Highest temperature that this API accepts.
const MAX_TEMPERATURE: f64 = 2.0;

#[derive(Serialize)]
struct Reasoning {
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputItem<'a> {
    Message { role: &'static str, content: Vec<Content<'a>> },
    Reasoning { summary: Vec<Content<'a>>, encrypted_content: &'a str },
    FunctionCall { call_id: Cow<'a, str>, name: &'a str, arguments: Cow<'a, str> },
    FunctionCallOutput { call_id: Cow<'a, str>, output: CallOutput<'a> },
}

#[derive(Serialize)]
#[serde(untagged)]
enum CallOutput<'a> {
    /// The form that every server of this API accepts.
    Text(Cow<'a, str>),
    Parts(Vec<Content<'a>>),
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
    /// The provider's own tool for generating pictures.
    ImageGeneration {
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
    /// Always false: strict mode supports only a subset of JSON Schema, and MCP servers use all of it.
    strict: bool,
}

/// Encodes a request in the format of this API.
pub fn encode(request: &Request, adjustments: RequestAdjustments) -> Result<EncodedRequest, ModelError> {
    let reasoning = adjustments.reasoning;
    let summary = (reasoning == ReasoningMode::Current).then_some("auto");
    let effort = reasoning_effort(request, adjustments);
    let mut builder = InputBuilder { request, adjustments, input: Vec::new(), detached_files: Vec::new() };
    for message in &request.messages {
        builder.push_message(message);
    }
    builder.push_user_content("", &[]);
    let wants_pictures = request.image_output && !adjustments.omit_picture_output;
    let picture_tool = wants_pictures.then_some(Tool::ImageGeneration { r#type: "image_generation" });
    let body = RequestBody {
        model: &request.model,
        instructions: &request.system,
        input: builder.input,
        tools: request.tools.iter().map(encode_tool).chain(picture_tool).collect(),
        tool_choice: tool_choice(request),
        stream: true,
        store: false,
        max_output_tokens: request.max_tokens,
        reasoning: (summary.is_some() || effort.is_some()).then_some(Reasoning { summary, effort }),
        include: if reasoning == ReasoningMode::Off { Vec::new() } else { vec!["reasoning.encrypted_content"] },
        sampling: SamplingParameters::from_request(request, adjustments, MAX_TEMPERATURE),
        text: text_format(&request.response_format).map(|format| json!({ "format": format })),
    };
    EncodedRequest::new("responses", &body)
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

/// Returns the adjustments to retry with after a refusal: less reasoning. Summaries require a verified organization,
/// and models without reasoning refuse its parameters.
pub(crate) fn adjust_after_refusal(refusal: &str, current: RequestAdjustments) -> Option<RequestAdjustments> {
    let refusal = refusal.to_ascii_lowercase();
    let reasoning = current.reasoning.fallback()?;
    // Both other modes ask for the encrypted text.
    if refusal.contains("encrypted") {
        return Some(RequestAdjustments { reasoning: ReasoningMode::Off, ..current });
    }
    refusal.contains("reasoning").then_some(RequestAdjustments { reasoning, ..current })
}

fn encode_tool(spec: &ToolSpec) -> Tool<'_> {
    Tool::Function(Function {
        r#type: "function",
        name: &spec.name,
        description: &spec.description,
        parameters: flat_object_schema(&spec.input_schema),
        strict: false,
    })
}

/// Builder for the input items of a conversation.
struct InputBuilder<'a> {
    request: &'a Request,
    adjustments: RequestAdjustments,
    input: Vec<InputItem<'a>>,
    /// Files to send with the next user message.
    detached_files: Vec<DetachedFiles<'a>>,
}

impl<'a> InputBuilder<'a> {
    fn push_message(&mut self, message: &'a ModelMessage) {
        match message {
            ModelMessage::User { text, files } => self.push_user_content(text, files),
            ModelMessage::ToolResult { call_id: id, name, text, is_error, files } => {
                let (call_id, text) = (sanitize_call_id(id), tool_result_text(text, *is_error));
                let output = if files.is_empty() || self.adjustments.text_only_results {
                    self.detached_files.extend(DetachedFiles::from_tool_result(name, id, files));
                    CallOutput::Text(text)
                } else {
                    let text = Content::Input { text };
                    CallOutput::Parts(std::iter::once(text).chain(files.iter().map(file_content)).collect())
                };
                self.input.push(InputItem::FunctionCallOutput { call_id, output });
            }
            ModelMessage::Assistant { files, .. } => {
                self.push_user_content("", &[]);
                self.push_assistant_items(message);
                self.detached_files.extend(DetachedFiles::from_model(files));
            }
        }
    }

    /// Appends a user message with the detached files first; appends nothing when it would be empty.
    fn push_user_content(&mut self, text: &'a str, files: &'a [ModelFile]) {
        let mut content = Vec::new();
        for DetachedFiles { origin, files } in self.detached_files.drain(..) {
            content.push(Content::Input { text: Cow::Owned(origin) });
            content.extend(files.into_iter().map(file_content));
        }
        content.extend(files.iter().map(file_content));
        if !text.is_empty() {
            content.push(Content::Input { text: Cow::Borrowed(text) });
        }
        if !content.is_empty() {
            self.input.push(InputItem::Message { role: "user", content });
        }
    }

    /// Appends an assistant message: reasoning of this model first, then the text, then the calls with reasoning
    /// between them.
    fn push_assistant_items(&mut self, message: &'a ModelMessage) {
        let ModelMessage::Assistant { reasoning_blocks, text, calls, .. } = message else { return };
        if text.is_empty() && calls.is_empty() {
            // This API refuses reasoning that is not followed by an item. Pictures are sent with the next user message.
            return;
        }
        let with_reasoning = self.adjustments.reasoning != ReasoningMode::Off;
        let model = &self.request.model;
        let own_blocks =
            reasoning_blocks.iter().filter(|block| with_reasoning && block.signature.is_for(API_NAME, model));
        let own_blocks: Vec<_> = own_blocks.collect();
        let thoughts_before_call = |index: usize| {
            let reasoning_blocks = own_blocks.iter().filter(move |block| block.calls_before == index);
            reasoning_blocks.filter_map(|block| {
                let encrypted_content = block.signature.data.get("encrypted_content")?.as_str()?;
                let text = Some(block.text.as_str()).filter(|text| !text.is_empty());
                let summary = text.map(|text| Content::Summary { text }).into_iter().collect();
                Some(InputItem::Reasoning { summary, encrypted_content })
            })
        };
        let input = &mut self.input;
        input.extend(thoughts_before_call(0));
        if !text.is_empty() {
            input.push(InputItem::Message { role: "assistant", content: vec![Content::Output { text }] });
        }
        for (next, call) in (1..).zip(calls) {
            let (call_id, arguments) = (sanitize_call_id(&call.id), arguments_json(&call.arguments));
            input.push(InputItem::FunctionCall { call_id, name: &call.name, arguments });
            if next < calls.len() {
                // Never after the last call: this API refuses reasoning that is not followed by an item.
                input.extend(thoughts_before_call(next));
            }
        }
    }
}

fn file_content(file: &ModelFile) -> Content<'_> {
    match file.kind() {
        FileKind::Picture => Content::Picture { image_url: file.data_url(), detail: "auto" },
        FileKind::Pdf => {
            let filename = file.name.as_deref().unwrap_or(files::DEFAULT_DOCUMENT_NAME);
            Content::Document { filename, file_data: file.data_url() }
        }
        FileKind::Other => Content::Input { text: Cow::Owned(file.in_words()) },
    }
}

#[cfg(test)]
mod tests;
