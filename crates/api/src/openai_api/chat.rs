//! Request body of chat completions.

use domain::model::{MAX_TEMPERATURE, ModelCall, Request};
use schemars::JsonSchema;
use serde::Deserialize;

use super::body::{self, ContentPart, MessageContent};
use super::conversation::Conversation;
use super::files::RequestFiles;
use super::functions::{self, FunctionDefinition};
use super::parameters::{self, ChatFormat, StopSequences};
use super::refusal::OpenAiError;

/// A request for a chat completion. Fields that are not listed are ignored.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ChatCompletionRequest {
    /// `provider/name`, or `default`; with the suffix `:tools`, the tools of the caller's connections are used.
    pub model: String,
    #[schemars(length(min = 1))]
    messages: Vec<ChatMessage>,
    tools: Option<Vec<ChatTool>>,
    tool_choice: Option<ChatToolChoice>,
    #[serde(default)]
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    #[schemars(extend("enum" = [1, null]))]
    n: Option<u32>,
    #[schemars(range(min = 0, max = MAX_TEMPERATURE))]
    temperature: Option<f64>,
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    top_p: Option<f64>,
    #[schemars(extend("enum" = ["minimal", "low", "medium", "high", "xhigh", "max", null]))]
    reasoning_effort: Option<String>,
    stop: Option<StopSequences>,
    response_format: Option<ChatFormat>,
}

/// Form of the response.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// Whether the response is streamed.
    pub streams: bool,
    /// Whether the stream ends with the usage.
    pub tells_usage: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct StreamOptions {
    include_usage: Option<bool>,
}

/// A message of the conversation, of any role.
#[derive(Debug, Deserialize, JsonSchema)]
struct ChatMessage {
    #[schemars(extend("enum" = ["system", "developer", "user", "assistant", "tool"]))]
    role: String,
    content: Option<MessageContent>,
    tool_calls: Option<Vec<ChatToolCall>>,
    tool_call_id: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ChatToolCall {
    id: String,
    function: ChatFunctionCall,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ChatFunctionCall {
    name: String,
    arguments: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ChatTool {
    #[schemars(extend("const" = "function"))]
    r#type: String,
    function: Option<FunctionDefinition>,
}

/// The tool choice: `auto`, `none`, `required` or a function.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum ChatToolChoice {
    Word(String),
    Named { function: ChosenFunction },
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ChosenFunction {
    name: String,
}

impl ChatCompletionRequest {
    /// Converts the body to a [`Request`] for the model. With the user's tools, the client cannot define its own.
    ///
    /// # Errors
    ///
    /// Fields that are unsupported or out of range.
    pub fn read(self, with_tools: bool) -> Result<(Request, RequestFiles, Form), OpenAiError> {
        if self.n.is_some_and(|n| n != 1) {
            return Err(OpenAiError::bad("n", "there is one answer to a question; leave n out"));
        }
        let stop = parameters::stop(self.stop)?;
        let response_format = parameters::chat_format(self.response_format)?;
        let effort = parameters::effort("reasoning_effort", self.reasoning_effort.as_deref())?;
        let parameters = parameters::read(self.temperature, self.top_p, effort)?;
        let own = self.tools.unwrap_or_default().into_iter();
        let own = own.map(|ChatTool { r#type, function }| function.filter(|_| r#type == "function")).collect();
        let choice = self.tool_choice.map(|choice| match choice {
            ChatToolChoice::Word(word) => functions::Choice::Word(word),
            ChatToolChoice::Named { function } => functions::Choice::Named(function.name),
        });
        let (tools, tool_choice) = functions::read(own, choice, with_tools)?;
        let conversation = read_messages(self.messages)?;
        let (request, given) = conversation.into_request("the last message must be the user's or a tool's")?;
        // `max_tokens` is the deprecated name. Zero counts as no limit, since an answer without content would be useless.
        let max_tokens = self.max_completion_tokens.or(self.max_tokens).filter(|most| *most > 0);
        let form = Form {
            streams: self.stream.unwrap_or(false),
            tells_usage: self.stream_options.and_then(|options| options.include_usage).unwrap_or(false),
        };
        let request = Request { tools, tool_choice, max_tokens, parameters, stop, response_format, ..request };
        Ok((request, given, form))
    }
}

/// Converts messages. System messages are joined to one text wherever they are, and the others stay in order.
fn read_messages(messages: Vec<ChatMessage>) -> Result<Conversation, OpenAiError> {
    let mut conversation = Conversation::new("messages");
    for ChatMessage { role, content, tool_calls, tool_call_id } in messages {
        let (text, files) = body::words(content, "messages", ContentPart::text)?;
        // Providers accept files in messages of these roles only.
        if !matches!(role.as_str(), "user" | "tool") {
            RequestFiles::none("messages", &files)?;
        }
        match role.as_str() {
            "system" | "developer" => conversation.add_system_text(text),
            "user" => conversation.add_user_message(text, files),
            "assistant" => {
                let calls = tool_calls.unwrap_or_default().into_iter().map(|ChatToolCall { id, function }| ModelCall {
                    id,
                    name: function.name,
                    arguments: function.arguments,
                });
                conversation.add_answer(text, calls.collect());
            }
            "tool" => {
                let unknown_call = "a message of a tool must name a call before it in tool_call_id";
                conversation.add_result(tool_call_id, text, files, unknown_call)?;
            }
            _ => return Err(OpenAiError::bad("messages", "a role is system, developer, user, assistant or tool")),
        }
    }
    Ok(conversation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::model::{Effort, ModelMessage, OutputSchema, Parameters, ResponseFormat, ToolChoice};
    use serde_json::{Value, json};

    fn read(body: Value, with_tools: bool) -> Result<Request, Value> {
        let body: ChatCompletionRequest = serde_json::from_value(body).unwrap();
        body.read(with_tools).map(|(request, ..)| request).map_err(|refusal| refusal.body())
    }

    #[test]
    fn a_conversation_is_read_whatever_its_form() {
        let request = read(
            json!({ "model": "a/b", "max_tokens": 9, "temperature": 0.1, "top_p": 0.5, "reasoning_effort": "minimal",
                "stop": null, "response_format": { "type": "text" }, "messages": [
                { "role": "system", "content": "Be brief." },
                { "role": "user", "content": [{ "type": "text", "text": "What" }, { "type": "text", "text": "time?" }] },
                { "role": "assistant", "content": null, "tool_calls": [
                    { "id": "c", "type": "function", "function": { "name": "clock", "arguments": "{}" } }] },
                { "role": "tool", "tool_call_id": "c", "content": "noon" },
            ], "tools": [{ "type": "function", "function": { "name": "clock" } }], "tool_choice": "required" }),
            false,
        );
        let request = request.unwrap();
        assert_eq!((request.system.as_str(), request.max_tokens), ("Be brief.", Some(9)));
        let parameters = Parameters { temperature: Some(0.1), top_p: Some(0.5), effort: Some(Effort::Low) };
        assert_eq!(request.parameters, parameters);
        assert_eq!(request.tool_choice, ToolChoice::Required);
        assert_eq!(request.messages[0], ModelMessage::user("What\ntime?"));
        assert!(matches!(&request.messages[2], ModelMessage::ToolResult { name, .. } if name == "clock"));
    }

    fn schema_format(name: &str, schema: &Value) -> Value {
        json!({ "type": "json_schema", "json_schema": { "name": name, "schema": schema, "strict": true } })
    }

    #[test]
    fn reads_stop_texts_and_the_response_format() {
        let asked = |more: Value| {
            let mut body = json!({ "model": "a/b", "messages": [{ "role": "user", "content": "x" }] });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            read(body, false).unwrap()
        };
        assert_eq!(asked(json!({ "stop": "END" })).stop, ["END"]);
        assert_eq!(asked(json!({ "stop": ["END", "###"] })).stop, ["END", "###"]);
        assert!(asked(json!({ "stop": [] })).stop.is_empty());
        let object = asked(json!({ "response_format": { "type": "json_object" } }));
        assert_eq!(object.response_format, ResponseFormat::JsonObject);
        let schema = json!({ "type": "object" });
        let format = asked(json!({ "response_format": schema_format("answer", &schema) })).response_format;
        let (name, strict) = ("answer".to_owned(), Some(true));
        assert_eq!(format, ResponseFormat::JsonSchema(OutputSchema { name, description: None, schema, strict }));
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_field() {
        let user = json!([{ "role": "user", "content": "x" }]);
        let tools = json!([{ "type": "function", "function": { "name": "clock" } }]);
        for (more, field) in [
            (json!({ "n": 2 }), "n"),
            (json!({ "temperature": 2.1 }), "temperature"),
            (json!({ "temperature": -0.1 }), "temperature"),
            (json!({ "top_p": 0 }), "top_p"),
            (json!({ "reasoning_effort": "none" }), "reasoning_effort"),
            (json!({ "stop": "" }), "stop"),
            (json!({ "stop": ["a", "b", "c", "d", "e"] }), "stop"),
            (json!({ "stop": "x".repeat(257) }), "stop"),
            (json!({ "response_format": { "type": "grammar" } }), "response_format"),
            (json!({ "response_format": { "type": "json_schema" } }), "response_format"),
            (json!({ "response_format": schema_format("a b", &json!({})) }), "response_format"),
            (json!({ "response_format": schema_format("a", &json!([])) }), "response_format"),
            (
                json!({ "response_format": schema_format("a", &json!({ "enum": ["x".repeat(65_536)] })) }),
                "response_format",
            ),
            (json!({ "messages": [] }), "messages"),
            (json!({ "messages": [{ "role": "robot", "content": "x" }] }), "messages"),
            (json!({ "messages": [{ "role": "tool", "tool_call_id": "c", "content": "x" }] }), "messages"),
            (json!({ "messages": [{ "role": "user", "content": [{ "type": "image_url" }] }] }), "messages"),
            (json!({ "tools": [{ "type": "web_search" }] }), "tools"),
            (json!({ "tools": [{ "type": "function", "function": { "name": "a b" } }] }), "tools"),
            (json!({ "tool_choice": "perhaps" }), "tool_choice"),
            (json!({ "tool_choice": { "type": "function", "function": { "name": "bell" } } }), "tool_choice"),
        ] {
            let mut body = json!({ "model": "a/b", "messages": user });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            assert_eq!(read(body.clone(), false).unwrap_err()["error"]["param"], field, "{body}");
        }
        let body = json!({ "model": "a/b", "messages": user, "tools": tools });
        assert!(read(body.clone(), false).is_ok());
        assert_eq!(read(body, true).unwrap_err()["error"]["param"], "tools");
    }
}
