//! Encoder for requests to the chat completions API.

use std::borrow::Cow;

use domain::model::{
    FileKind, ModelCall, ModelError, ModelFile, ModelMessage, Request, ResponseFormat, ToolChoice, ToolSpec,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::providers::files::{self, DetachedFiles};
use crate::providers::request_encoding::{
    SamplingParameters, arguments_json, named_output_schema, object_schema, reasoning_effort, stop_sequences,
    tool_result_text,
};
use crate::providers::{EncodedRequest, RequestAdjustments};

#[derive(Serialize)]
struct RequestBody<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(flatten)]
    sampling: SamplingParameters,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    /// OpenRouter's parameter for models that generate pictures.
    #[serde(skip_serializing_if = "Option::is_none")]
    modalities: Option<[&'static str; 2]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stop: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Value>,
}

/// Maximum number of stop sequences that this API accepts.
const MAX_STOP_SEQUENCES: usize = 4;

/// Highest temperature that this API accepts.
const MAX_TEMPERATURE: f64 = 2.0;

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Message<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    /// The form that every server of this API accepts.
    Text(&'a str),
    Parts(Vec<ContentPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentPart<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: PictureUrl },
    File { file: InlineFile<'a> },
}

#[derive(Serialize)]
struct PictureUrl {
    url: String,
}

#[derive(Serialize)]
struct InlineFile<'a> {
    filename: &'a str,
    file_data: String,
}

#[derive(Serialize)]
struct ToolCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    arguments: Cow<'a, str>,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters: Cow<'a, Value>,
}

/// Encodes a request in the format of this API.
pub fn encode(request: &Request, adjustments: RequestAdjustments) -> Result<EncodedRequest, ModelError> {
    let system = Some(request.system.as_str()).filter(|system| !system.is_empty());
    // The limit goes into one of two fields, depending on the model.
    let limit_if = |is_sent: bool| request.max_tokens.filter(|_| is_sent);
    let body = RequestBody {
        model: &request.model,
        messages: system
            .map(|content| Message::System { content })
            .into_iter()
            .chain(encode_messages(request))
            .collect(),
        tools: request.tools.iter().map(encode_tool).collect(),
        tool_choice: tool_choice(request),
        stream: true,
        stream_options: (!adjustments.omit_stream_options).then_some(StreamOptions { include_usage: true }),
        max_tokens: limit_if(!adjustments.max_completion_tokens),
        max_completion_tokens: limit_if(adjustments.max_completion_tokens),
        sampling: SamplingParameters::from_request(request, adjustments, MAX_TEMPERATURE),
        reasoning_effort: reasoning_effort(request, adjustments),
        modalities: (request.image_output && !adjustments.omit_picture_output).then_some(["image", "text"]),
        stop: stop_sequences(request, adjustments, MAX_STOP_SEQUENCES, |_| true),
        response_format: response_format(&request.response_format),
    };
    EncodedRequest::new("chat/completions", &body)
}

fn tool_choice(request: &Request) -> Option<Value> {
    match &request.tool_choice {
        _ if request.tools.is_empty() => None,
        ToolChoice::Auto => None,
        ToolChoice::Required => Some(json!("required")),
        ToolChoice::Named(name) => Some(json!({ "type": "function", "function": { "name": name } })),
    }
}

fn response_format(format: &ResponseFormat) -> Option<Value> {
    match format {
        ResponseFormat::Text => None,
        ResponseFormat::JsonObject => Some(json!({ "type": "json_object" })),
        ResponseFormat::JsonSchema(schema) => {
            Some(json!({ "type": "json_schema", "json_schema": named_output_schema(schema) }))
        }
    }
}

/// Returns the adjustments to retry with after a refusal that names a parameter of this API.
pub(crate) fn adjust_after_refusal(refusal: &str, current: RequestAdjustments) -> Option<RequestAdjustments> {
    let names = |field: &str| refusal.contains(field);
    if !current.omit_stream_options && (names("stream_options") || names("include_usage")) {
        Some(RequestAdjustments { omit_stream_options: true, ..current })
    } else if !current.max_completion_tokens && names("max_completion_tokens") {
        // OpenAI's refusal of `max_tokens` names the parameter to use instead.
        Some(RequestAdjustments { max_completion_tokens: true, ..current })
    } else {
        None
    }
}

/// Encodes the conversation. Only user messages can contain files, so files of tool results and pictures of the model
/// are sent with the next user message, after all results of the step.
fn encode_messages(request: &Request) -> Vec<Message<'_>> {
    let mut messages = Vec::new();
    let mut detached_files: Vec<DetachedFiles<'_>> = Vec::new();
    for message in &request.messages {
        match message {
            ModelMessage::User { text, files } => push_user_message(text, files, &mut detached_files, &mut messages),
            ModelMessage::ToolResult { call_id, name, text, is_error, files } => {
                let content = tool_result_text(text, *is_error);
                messages.push(Message::Tool { tool_call_id: call_id, content });
                detached_files.extend(DetachedFiles::from_tool_result(name, call_id, files));
            }
            ModelMessage::Assistant { text, calls, files, .. } => {
                // Before the assistant's message, because that is where the results end: no user message may stand
                // between them.
                if !detached_files.is_empty() {
                    push_user_message("", &[], &mut detached_files, &mut messages);
                }
                detached_files.extend(DetachedFiles::from_model(files));
                // A message of pictures alone is omitted; the text before the pictures mentions it.
                if files.is_empty() || !text.is_empty() || !calls.is_empty() {
                    // Null for calls without text, as OpenAI itself writes such a message.
                    let content = (calls.is_empty() || !text.is_empty()).then_some(text.as_str());
                    messages.push(Message::Assistant { content, tool_calls: calls.iter().map(encode_call).collect() });
                }
            }
        }
    }
    if !detached_files.is_empty() {
        push_user_message("", &[], &mut detached_files, &mut messages);
    }
    messages
}

/// Appends a user message, with the detached files first.
fn push_user_message<'a>(
    text: &'a str,
    files: &'a [ModelFile],
    detached_files: &mut Vec<DetachedFiles<'a>>,
    messages: &mut Vec<Message<'a>>,
) {
    if files.is_empty() && detached_files.is_empty() {
        messages.push(Message::User { content: Content::Text(text) });
        return;
    }
    let mut parts = Vec::new();
    for DetachedFiles { origin, files } in detached_files.drain(..) {
        parts.push(ContentPart::Text { text: Cow::Owned(origin) });
        parts.extend(files.into_iter().map(file_part));
    }
    parts.extend(files.iter().map(file_part));
    if !text.is_empty() {
        parts.push(ContentPart::Text { text: Cow::Borrowed(text) });
    }
    // Roles must alternate, also where an omitted message of pictures leaves two user messages in a row.
    match messages.last_mut() {
        Some(Message::User { content: Content::Parts(last) }) => last.extend(parts),
        Some(Message::User { content }) => {
            if let Content::Text(text) = content {
                parts.insert(0, ContentPart::Text { text: Cow::Borrowed(*text) });
            }
            *content = Content::Parts(parts);
        }
        _ => messages.push(Message::User { content: Content::Parts(parts) }),
    }
}

fn file_part(file: &ModelFile) -> ContentPart<'_> {
    match file.kind() {
        FileKind::Picture => ContentPart::ImageUrl { image_url: PictureUrl { url: file.data_url() } },
        FileKind::Pdf => {
            let filename = file.name.as_deref().unwrap_or(files::DEFAULT_DOCUMENT_NAME);
            ContentPart::File { file: InlineFile { filename, file_data: file.data_url() } }
        }
        FileKind::Other => ContentPart::Text { text: Cow::Owned(file.in_words()) },
    }
}

fn encode_call(call: &ModelCall) -> ToolCall<'_> {
    let function = CalledFunction { name: &call.name, arguments: arguments_json(&call.arguments) };
    ToolCall { id: &call.id, r#type: "function", function }
}

fn encode_tool(spec: &ToolSpec) -> Tool<'_> {
    let function =
        Function { name: &spec.name, description: &spec.description, parameters: object_schema(&spec.input_schema) };
    Tool { r#type: "function", function }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded_body(request: &Request, adjustments: RequestAdjustments) -> Value {
        let encoded = encode(request, adjustments).unwrap();
        assert_eq!(encoded.path, "chat/completions");
        serde_json::from_slice(&encoded.body).unwrap()
    }

    fn tool_call(id: &str, arguments: &str) -> ModelCall {
        ModelCall { id: id.to_owned(), name: "clock".to_owned(), arguments: arguments.to_owned() }
    }

    fn tool_result(id: &str, text: &str, is_error: bool) -> ModelMessage {
        let (call_id, name) = (id.to_owned(), "clock".to_owned());
        ModelMessage::ToolResult { call_id, name, text: text.to_owned(), is_error, files: Vec::new() }
    }

    #[test]
    fn encodes_conversation_with_tools() {
        let request = Request {
            model: "m".to_owned(),
            system: "Be brief.".to_owned(),
            messages: vec![
                ModelMessage::user("What time is it?"),
                ModelMessage::assistant(
                    "",
                    vec![tool_call("a", r#"{"zone":"UTC"}"#), tool_call("b", ""), tool_call("c", "{zone")],
                ),
                tool_result("a", "noon", false),
                tool_result("b", "no zone", true),
                tool_result("c", "", false),
                ModelMessage::assistant("Noon.", Vec::new()),
                ModelMessage::user("Thanks"),
            ],
            tools: vec![
                ToolSpec {
                    name: "clock".to_owned(),
                    description: "Tells the time.".to_owned(),
                    input_schema: json!({ "type": "object" }),
                },
                ToolSpec { name: "bell".to_owned(), description: String::new(), input_schema: Value::Null },
            ],
            max_tokens: Some(9),
            ..Request::default()
        };
        assert_eq!(
            encoded_body(&request, RequestAdjustments::default()),
            json!({
                "model": "m",
                "messages": [
                    { "role": "system", "content": "Be brief." },
                    { "role": "user", "content": "What time is it?" },
                    { "role": "assistant", "content": null, "tool_calls": [
                        { "id": "a", "type": "function", "function": { "name": "clock", "arguments": "{\"zone\":\"UTC\"}" } },
                        { "id": "b", "type": "function", "function": { "name": "clock", "arguments": "{}" } },
                        { "id": "c", "type": "function", "function": { "name": "clock", "arguments": "{\"invalid_json\":\"{zone\"}" } },
                    ] },
                    { "role": "tool", "tool_call_id": "a", "content": "noon" },
                    { "role": "tool", "tool_call_id": "b", "content": "Error: no zone" },
                    { "role": "tool", "tool_call_id": "c", "content": "(no output)" },
                    { "role": "assistant", "content": "Noon." },
                    { "role": "user", "content": "Thanks" },
                ],
                "tools": [
                    { "type": "function", "function": {
                        "name": "clock", "description": "Tells the time.",
                        "parameters": { "type": "object", "properties": {} },
                    } },
                    { "type": "function", "function": { "name": "bell", "parameters": { "type": "object", "properties": {} } } },
                ],
                "stream": true,
                "stream_options": { "include_usage": true },
                "max_tokens": 9,
            })
        );
    }

    #[test]
    fn encodes_tool_choice_only_with_tools() {
        let tool = ToolSpec { name: "clock".to_owned(), description: String::new(), input_schema: Value::Null };
        let encoded_choice = |tool_choice, tools: &[ToolSpec]| {
            let request = Request { tools: tools.to_vec(), tool_choice, ..Request::default() };
            encoded_body(&request, RequestAdjustments::default())["tool_choice"].clone()
        };
        let named = ToolChoice::Named("clock".to_owned());
        assert_eq!(encoded_choice(ToolChoice::Auto, std::slice::from_ref(&tool)), Value::Null);
        assert_eq!(encoded_choice(ToolChoice::Required, std::slice::from_ref(&tool)), "required");
        assert_eq!(encoded_choice(named.clone(), &[tool])["function"]["name"], "clock");
        assert_eq!(encoded_choice(named, &[]), Value::Null);
    }

    #[test]
    fn adjusts_each_refused_parameter_once() {
        let request = Request { model: "m".to_owned(), max_tokens: Some(9), ..Request::default() };
        let first = adjust_after_refusal("unknown field `stream_options`", RequestAdjustments::default()).unwrap();
        let second = adjust_after_refusal("Use 'max_completion_tokens' instead.", first).unwrap();
        assert_eq!(
            encoded_body(&request, second),
            json!({ "model": "m", "messages": [], "stream": true, "max_completion_tokens": 9 })
        );
        assert_eq!(adjust_after_refusal("stream_options, max_completion_tokens", second), None);
        assert_eq!(adjust_after_refusal("no such model", RequestAdjustments::default()), None);
    }
}
