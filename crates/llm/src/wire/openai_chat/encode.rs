//! The request.

use std::borrow::Cow;

use domain::model::{
    FileKind, ModelCall, ModelError, ModelFile, ModelMessage, Request, ResponseFormat, ToolChoice, ToolSpec,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::wire::files::{self, Aside};
use crate::wire::request::{
    Sampling, arguments, effort, named_output_schema, object_schema, result_text, stop_sequences,
};
use crate::wire::{Concessions, Encoded};

#[derive(Serialize)]
struct Body<'a> {
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
    sampling: Sampling,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    /// As OpenRouter wants it of a model that draws.
    #[serde(skip_serializing_if = "Option::is_none")]
    modalities: Option<[&'static str; 2]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stop: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Value>,
}

/// Maximum number of stop texts of this API.
const MAX_STOP_SEQUENCES: usize = 4;

/// The highest temperature of this wire.
const HOTTEST: f64 = 2.0;

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
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    /// What every server of this wire takes.
    Text(&'a str),
    Pieces(Vec<Piece<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: Address },
    File { file: Document<'a> },
}

#[derive(Serialize)]
struct Address {
    url: String,
}

#[derive(Serialize)]
struct Document<'a> {
    filename: &'a str,
    file_data: String,
}

#[derive(Serialize)]
struct Call<'a> {
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

/// The request as this wire writes it.
pub fn encode(request: &Request, concessions: Concessions) -> Result<Encoded, ModelError> {
    let system = Some(request.system.as_str()).filter(|system| !system.is_empty());
    let limit = |wanted: bool| request.max_tokens.filter(|_| wanted);
    let body = Body {
        model: &request.model,
        messages: system.map(|content| Message::System { content }).into_iter().chain(messages(request)).collect(),
        tools: request.tools.iter().map(tool).collect(),
        tool_choice: tool_choice(request),
        stream: true,
        stream_options: (!concessions.without_stream_options).then_some(StreamOptions { include_usage: true }),
        max_tokens: limit(!concessions.max_completion_tokens),
        max_completion_tokens: limit(concessions.max_completion_tokens),
        sampling: Sampling::of(request, concessions, HOTTEST),
        reasoning_effort: effort(request, concessions),
        modalities: (request.draws && !concessions.without_drawing).then_some(["image", "text"]),
        stop: stop_sequences(request, concessions, MAX_STOP_SEQUENCES, |_| true),
        response_format: response_format(&request.response_format),
    };
    Encoded::new("chat/completions", &body)
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

/// What to write differently after a refusal in these words.
pub(crate) fn concede(refusal: &str, made: Concessions) -> Option<Concessions> {
    let names = |field: &str| refusal.contains(field);
    if !made.without_stream_options && (names("stream_options") || names("include_usage")) {
        Some(Concessions { without_stream_options: true, ..made })
    } else if !made.max_completion_tokens && names("max_completion_tokens") {
        Some(Concessions { max_completion_tokens: true, ..made })
    } else {
        None
    }
}

/// The messages. Only the person's can hold files: those of a tool, which follow when all results of the round are
/// there, and those that the model made, stand in the person's next one.
fn messages(request: &Request) -> Vec<Message<'_>> {
    let mut messages = Vec::new();
    let mut asides: Vec<Aside<'_>> = Vec::new();
    for message in &request.messages {
        match message {
            ModelMessage::User { text, files } => say(text, files, &mut asides, &mut messages),
            ModelMessage::ToolResult { call_id, name, text, is_error, files } => {
                let content = result_text(text, *is_error);
                messages.push(Message::Tool { tool_call_id: call_id, content });
                asides.extend(files::of_result(name, call_id, files));
            }
            ModelMessage::Assistant { text, calls, files, .. } => {
                if !asides.is_empty() {
                    say("", &[], &mut asides, &mut messages);
                }
                asides.extend(files::of_model(files));
                // What said nothing but a picture is told of where the picture stands.
                if files.is_empty() || !text.is_empty() || !calls.is_empty() {
                    let content = (calls.is_empty() || !text.is_empty()).then_some(text.as_str());
                    messages.push(Message::Assistant { content, tool_calls: calls.iter().map(call).collect() });
                }
            }
        }
    }
    if !asides.is_empty() {
        say("", &[], &mut asides, &mut messages);
    }
    messages
}

/// What the person says, after what stands in their message without being theirs.
fn say<'a>(text: &'a str, files: &'a [ModelFile], asides: &mut Vec<Aside<'a>>, messages: &mut Vec<Message<'a>>) {
    if files.is_empty() && asides.is_empty() {
        messages.push(Message::User { content: Content::Text(text) });
        return;
    }
    let mut pieces = Vec::new();
    for Aside { about, files } in asides.drain(..) {
        pieces.push(Piece::Text { text: Cow::Owned(about) });
        pieces.extend(files.into_iter().map(piece));
    }
    pieces.extend(files.iter().map(piece));
    if !text.is_empty() {
        pieces.push(Piece::Text { text: Cow::Borrowed(text) });
    }
    // The sides take turns, also where an answer of pictures alone is left out between two messages.
    match messages.last_mut() {
        Some(Message::User { content: Content::Pieces(last) }) => last.extend(pieces),
        Some(Message::User { content }) => {
            if let Content::Text(text) = content {
                pieces.insert(0, Piece::Text { text: Cow::Borrowed(*text) });
            }
            *content = Content::Pieces(pieces);
        }
        _ => messages.push(Message::User { content: Content::Pieces(pieces) }),
    }
}

fn piece(file: &ModelFile) -> Piece<'_> {
    match file.kind() {
        FileKind::Picture => Piece::ImageUrl { image_url: Address { url: file.data_url() } },
        FileKind::Pdf => {
            let filename = file.name.as_deref().unwrap_or(files::NAMELESS);
            Piece::File { file: Document { filename, file_data: file.data_url() } }
        }
        FileKind::Other => Piece::Text { text: Cow::Owned(file.in_words()) },
    }
}

fn call(call: &ModelCall) -> Call<'_> {
    let function = CalledFunction { name: &call.name, arguments: arguments(&call.arguments) };
    Call { id: &call.id, r#type: "function", function }
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    let function =
        Function { name: &spec.name, description: &spec.description, parameters: object_schema(&spec.input_schema) };
    Tool { r#type: "function", function }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body_of(request: &Request, concessions: Concessions) -> Value {
        let encoded = encode(request, concessions).unwrap();
        assert_eq!(encoded.path, "chat/completions");
        serde_json::from_slice(&encoded.body).unwrap()
    }

    fn called(id: &str, arguments: &str) -> ModelCall {
        ModelCall { id: id.to_owned(), name: "clock".to_owned(), arguments: arguments.to_owned() }
    }

    fn answered(id: &str, text: &str, is_error: bool) -> ModelMessage {
        let (call_id, name) = (id.to_owned(), "clock".to_owned());
        ModelMessage::ToolResult { call_id, name, text: text.to_owned(), is_error, files: Vec::new() }
    }

    #[test]
    fn a_round_with_tools_is_written_as_the_wire_wants_it() {
        let request = Request {
            model: "m".to_owned(),
            system: "Be brief.".to_owned(),
            messages: vec![
                ModelMessage::user("What time is it?"),
                ModelMessage::assistant(
                    "",
                    vec![called("a", r#"{"zone":"UTC"}"#), called("b", ""), called("c", "{zone")],
                ),
                answered("a", "noon", false),
                answered("b", "no zone", true),
                answered("c", "", false),
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
            body_of(&request, Concessions::default()),
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
    fn a_choice_of_tool_is_written_where_there_are_tools() {
        let tool = ToolSpec { name: "clock".to_owned(), description: String::new(), input_schema: Value::Null };
        let written = |tool_choice, tools: &[ToolSpec]| {
            let request = Request { tools: tools.to_vec(), tool_choice, ..Request::default() };
            body_of(&request, Concessions::default())["tool_choice"].clone()
        };
        let named = ToolChoice::Named("clock".to_owned());
        assert_eq!(written(ToolChoice::Auto, std::slice::from_ref(&tool)), Value::Null);
        assert_eq!(written(ToolChoice::Required, std::slice::from_ref(&tool)), "required");
        assert_eq!(written(named.clone(), &[tool])["function"]["name"], "clock");
        assert_eq!(written(named, &[]), Value::Null);
    }

    #[test]
    fn what_a_server_refuses_is_written_another_way_once() {
        let request = Request { model: "m".to_owned(), max_tokens: Some(9), ..Request::default() };
        let first = concede("unknown field `stream_options`", Concessions::default()).unwrap();
        let second = concede("Use 'max_completion_tokens' instead.", first).unwrap();
        assert_eq!(
            body_of(&request, second),
            json!({ "model": "m", "messages": [], "stream": true, "max_completion_tokens": 9 })
        );
        assert_eq!(concede("stream_options, max_completion_tokens", second), None);
        assert_eq!(concede("no such model", Concessions::default()), None);
    }
}
