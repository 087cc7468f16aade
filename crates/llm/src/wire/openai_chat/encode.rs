//! The request.

use std::borrow::Cow;

use domain::model::{ModelCall, ModelError, ModelMessage, Request, ToolChoice, ToolSpec};
use serde::Serialize;
use serde_json::{Value, json};

use crate::wire::request::{Sampling, arguments, effort, object_schema, result_text};
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
}

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
        content: &'a str,
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
        messages: system
            .map(|content| Message::System { content })
            .into_iter()
            .chain(request.messages.iter().map(message))
            .collect(),
        tools: request.tools.iter().map(tool).collect(),
        tool_choice: tool_choice(request),
        stream: true,
        stream_options: (!concessions.without_stream_options).then_some(StreamOptions { include_usage: true }),
        max_tokens: limit(!concessions.max_completion_tokens),
        max_completion_tokens: limit(concessions.max_completion_tokens),
        sampling: Sampling::of(request, concessions, HOTTEST),
        reasoning_effort: effort(request, concessions),
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

fn message(message: &ModelMessage) -> Message<'_> {
    match message {
        ModelMessage::User { text: content, .. } => Message::User { content },
        ModelMessage::Assistant { text, calls, .. } => Message::Assistant {
            content: (calls.is_empty() || !text.is_empty()).then_some(text),
            tool_calls: calls.iter().map(call).collect(),
        },
        ModelMessage::ToolResult { call_id, text, is_error, .. } => {
            Message::Tool { tool_call_id: call_id, content: result_text(text, *is_error) }
        }
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
