//! Encoder for requests to Gemini's API.

use std::borrow::Cow;

use domain::model::{
    FileKind, ModelError, ModelFile, ModelMessage, ReasoningBlock, Request, ResponseFormat, ToolChoice, ToolSpec,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::API_NAME;
use crate::providers::files::{self, DetachedFiles};
use crate::providers::request_encoding::{
    arguments_object, object_schema, reasoning_effort, stop_sequences, tool_result_text,
};
use crate::providers::{EncodedRequest, ReasoningMode, RequestAdjustments};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RequestBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Content<'a>>,
    contents: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolGroup<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<Value>,
    generation_config: GenerationConfig<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
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

/// Maximum number of stop sequences that this API accepts.
const MAX_STOP_SEQUENCES: usize = 5;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ThinkingConfig {
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
    inline_data: Option<InlineData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<FunctionCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<FunctionResponse<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    id: &'a str,
    name: Cow<'a, str>,
    args: Map<String, Value>,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    id: &'a str,
    name: Cow<'a, str>,
    response: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InlineData<'a> {
    mime_type: &'a str,
    data: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolGroup<'a> {
    function_declarations: Vec<FunctionDeclaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionDeclaration<'a> {
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters_json_schema: Cow<'a, Value>,
}

/// Encodes a request in the format of this API.
pub fn encode(request: &Request, adjustments: RequestAdjustments) -> Result<EncodedRequest, ModelError> {
    let system = Some(request.system.as_str()).filter(|system| !system.trim().is_empty());
    let functions: Vec<FunctionDeclaration<'_>> = request.tools.iter().map(function_declaration).collect();
    let includes_thoughts = adjustments.reasoning == ReasoningMode::Current;
    let sends_sampling = !adjustments.omit_sampling;
    let thinking_level = reasoning_effort(request, adjustments);
    let body = RequestBody {
        system_instruction: system.map(|text| Content { role: "", parts: text_part(text).into_iter().collect() }),
        contents: encode_contents(request, adjustments),
        tools: if functions.is_empty() { Vec::new() } else { vec![ToolGroup { function_declarations: functions }] },
        tool_config: tool_config(request),
        generation_config: GenerationConfig {
            max_output_tokens: request.max_tokens,
            thinking_config: (includes_thoughts || thinking_level.is_some())
                .then_some(ThinkingConfig { include_thoughts: includes_thoughts, thinking_level }),
            temperature: request.parameters.temperature.filter(|_| sends_sampling),
            top_p: request.parameters.top_p.filter(|_| sends_sampling),
            response_modalities: (request.image_output && !adjustments.omit_picture_output)
                .then_some(["TEXT", "IMAGE"]),
            stop_sequences: stop_sequences(request, adjustments, MAX_STOP_SEQUENCES, |_| true),
            response_mime_type: (request.response_format != ResponseFormat::Text).then_some("application/json"),
            response_json_schema: match &request.response_format {
                ResponseFormat::JsonSchema(output) => Some(&output.schema),
                ResponseFormat::Text | ResponseFormat::JsonObject => None,
            },
        },
    };
    // The model list prefixes names with "models/"; users configure either form.
    let model = request.model.strip_prefix("models/").unwrap_or(&request.model);
    EncodedRequest::new(format!("v1beta/models/{model}:streamGenerateContent?alt=sse"), &body)
}

fn tool_config(request: &Request) -> Option<Value> {
    let calling = match &request.tool_choice {
        _ if request.tools.is_empty() => return None,
        ToolChoice::Auto => return None,
        ToolChoice::Required => json!({ "mode": "ANY" }),
        ToolChoice::Named(tool) => json!({ "mode": "ANY", "allowedFunctionNames": [function_name(tool)] }),
    };
    Some(json!({ "functionCallingConfig": calling }))
}

/// Returns the adjustments to retry with after a refusal: no reasoning.
pub(crate) fn adjust_after_refusal(refusal: &str, current: RequestAdjustments) -> Option<RequestAdjustments> {
    let refusal = refusal.to_ascii_lowercase();
    let names_reasoning = refusal.contains("thinking") || refusal.contains("include_thoughts");
    (names_reasoning && current.reasoning == ReasoningMode::Current)
        .then_some(RequestAdjustments { reasoning: ReasoningMode::Off, ..current })
}

/// Returns a function name that begins with a letter or an underscore, as this API requires.
fn function_name(name: &str) -> Cow<'_, str> {
    match name.chars().next() {
        Some(first) if first.is_ascii_alphabetic() || first == '_' => Cow::Borrowed(name),
        _ => Cow::Owned(format!("_{name}")),
    }
}

fn function_declaration(spec: &ToolSpec) -> FunctionDeclaration<'_> {
    FunctionDeclaration {
        name: function_name(&spec.name),
        description: &spec.description,
        parameters_json_schema: object_schema(&spec.input_schema),
    }
}

/// Encodes the conversation. Consecutive messages of one role are joined, so results of parallel calls are together.
fn encode_contents(request: &Request, adjustments: RequestAdjustments) -> Vec<Content<'_>> {
    let mut builder = ContentBuilder::default();
    for message in &request.messages {
        match message {
            ModelMessage::User { text, files } => {
                builder.flush_detached_files();
                builder.push_parts("user", files.iter().map(file_part).chain(text_part(text)).collect());
            }
            ModelMessage::ToolResult { call_id, name: tool, text, is_error, files } => {
                // The two keys that the API defines; without either the whole object would count as output.
                let field = if *is_error { "error" } else { "output" };
                let response = json!({ field: tool_result_text(text, false) });
                let parts = if adjustments.text_only_results {
                    builder.detached_files.extend(DetachedFiles::from_tool_result(tool, call_id, files));
                    Vec::new()
                } else {
                    files.iter().map(file_part).collect()
                };
                let response = FunctionResponse { id: call_id, name: function_name(tool), response, parts };
                builder.push_parts("user", vec![Part { function_response: Some(response), ..Part::default() }]);
            }
            ModelMessage::Assistant { reasoning_blocks, files, .. } => {
                builder.flush_detached_files();
                let is_unsigned = |file: &&ModelFile| picture_signature(file, reasoning_blocks, request).is_none();
                builder.push_parts("model", assistant_parts(message, request));
                // The model refuses unsigned pictures in its own messages.
                builder.detached_files.extend(DetachedFiles::from_model(files.iter().filter(is_unsigned)));
            }
        }
    }
    builder.flush_detached_files();
    builder.contents
}

/// Builder for contents with alternating roles; see [`encode_contents`].
#[derive(Default)]
struct ContentBuilder<'a> {
    contents: Vec<Content<'a>>,
    /// Files to send with the next user content.
    detached_files: Vec<DetachedFiles<'a>>,
}

impl<'a> ContentBuilder<'a> {
    /// Appends parts to the last content, if it has the same role, or else to a new one.
    fn push_parts(&mut self, role: &'static str, parts: Vec<Part<'a>>) {
        match self.contents.last_mut() {
            _ if parts.is_empty() => {}
            Some(last) if last.role == role => last.parts.extend(parts),
            _ => self.contents.push(Content { role, parts }),
        }
    }

    fn flush_detached_files(&mut self) {
        for DetachedFiles { origin, files } in std::mem::take(&mut self.detached_files) {
            let origin = Part { text: Some(Cow::Owned(origin)), ..Part::default() };
            self.push_parts("user", std::iter::once(origin).chain(files.into_iter().map(file_part)).collect());
        }
    }
}

fn file_part(file: &ModelFile) -> Part<'_> {
    match file.kind() {
        FileKind::Picture | FileKind::Pdf => {
            let inline_data = Some(InlineData { mime_type: &file.media_type, data: file.base64() });
            Part { inline_data, ..Part::default() }
        }
        FileKind::Other => Part { text: Some(Cow::Owned(file.in_words())), ..Part::default() },
    }
}

/// Returns the signature that this model gave to a picture; `None` for a picture of another origin.
fn picture_signature<'a>(
    file: &ModelFile,
    reasoning_blocks: &'a [ReasoningBlock],
    request: &Request,
) -> Option<&'a str> {
    let mut own_blocks =
        reasoning_blocks.iter().filter(|block| block.signature.is_for(API_NAME, &request.model)).peekable();
    // Hashing is skipped when this model has signed nothing.
    own_blocks.peek()?;
    let hash = files::content_hash(&file.bytes);
    own_blocks.find_map(|block| {
        let data = &block.signature.data;
        data.get("picture").filter(|picture| **picture == hash.as_str()).and(data.get("signature")?.as_str())
    })
}

/// Encodes an assistant message: text, then signed pictures, then calls, each with its signature from a [`ReasoningBlock`].
fn assistant_parts<'a>(message: &'a ModelMessage, request: &Request) -> Vec<Part<'a>> {
    let ModelMessage::Assistant { reasoning_blocks, text, calls, files } = message else { return Vec::new() };
    let own_blocks: Vec<_> =
        reasoning_blocks.iter().filter(|block| block.signature.is_for(API_NAME, &request.model)).collect();
    let signature = |index: usize, kind: &str| {
        let reasoning_blocks = own_blocks.iter().filter(|block| block.calls_before == index);
        reasoning_blocks.filter_map(|block| block.signature.data.get(kind)?.as_str()).next_back()
    };
    let mut parts = Vec::new();
    match (text_part(text), signature(0, "text")) {
        (Some(part), signature) => parts.push(Part { thought_signature: signature, ..part }),
        // The signature must be returned even without text, or the model loses its reasoning.
        (None, Some(signature)) => {
            parts.push(Part { text: Some(Cow::Borrowed("")), thought_signature: Some(signature), ..Part::default() });
        }
        (None, None) => {}
    }
    for file in files {
        if let Some(signature) = picture_signature(file, reasoning_blocks, request) {
            parts.push(Part { thought_signature: Some(signature), ..file_part(file) });
        }
    }
    for (index, call) in calls.iter().enumerate() {
        parts.push(Part {
            function_call: Some(FunctionCall {
                id: &call.id,
                name: function_name(&call.name),
                args: arguments_object(&call.arguments),
            }),
            thought_signature: signature(index, "call"),
            ..Part::default()
        });
    }
    parts
}

fn text_part(text: &str) -> Option<Part<'_>> {
    (!text.is_empty()).then(|| Part { text: Some(Cow::Borrowed(text)), ..Part::default() })
}

#[cfg(test)]
mod tests;
