//! `POST /v1/responses`. Responses are not stored, so each request contains the whole conversation.

pub mod answer;

use domain::model::{MAX_TEMPERATURE, ModelCall, Request};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::body::{self, MessageContent};
use super::conversation::Conversation;
use super::files::{RequestFile, RequestFiles};
use super::functions::{self, FunctionDefinition};
use super::parameters::{self, ChatFormat, StopSequences, TextFormat};
use super::refusal::OpenAiError;

/// A request for a response. Fields that are not listed are ignored.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ResponseRequest {
    /// `provider/name`, or `default`; with the suffix `:tools`, the tools of the caller's connections are used.
    pub model: String,
    /// Whether the response is streamed.
    pub stream: Option<bool>,
    input: ResponseInput,
    instructions: Option<String>,
    tools: Option<Vec<ResponseTool>>,
    tool_choice: Option<ResponseToolChoice>,
    max_output_tokens: Option<u32>,
    #[schemars(range(min = 0, max = MAX_TEMPERATURE))]
    temperature: Option<f64>,
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    top_p: Option<f64>,
    reasoning: Option<ReasoningOptions>,
    text: Option<TextOptions>,
    /// Stop sequences, which OpenAI supports in chat completions only; supporting them here costs nothing.
    stop: Option<StopSequences>,
    /// Not supported: the format is in `text.format`.
    #[schemars(with = "Option<()>")]
    response_format: Option<ChatFormat>,
    /// Not supported: the server stores no responses, so `input` contains the whole conversation.
    #[schemars(with = "Option<()>")]
    previous_response_id: Option<String>,
    /// Not supported, like `previous_response_id`.
    #[schemars(with = "Option<()>")]
    conversation: Option<Value>,
    #[schemars(extend("enum" = [false, null]))]
    background: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ReasoningOptions {
    #[schemars(extend("enum" = ["minimal", "low", "medium", "high", "xhigh", "max", null]))]
    effort: Option<String>,
}

/// Options of the answer's text.
#[derive(Debug, Deserialize, JsonSchema)]
struct TextOptions {
    format: Option<TextFormat>,
}

/// The conversation: the user's text alone, or a list of items.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum ResponseInput {
    Text(String),
    Items(Vec<InputItem>),
}

/// An item of the conversation. Messages may lack the `type`.
#[derive(Debug, Deserialize, JsonSchema)]
struct InputItem {
    #[schemars(extend("enum" = ["message", "function_call", "function_call_output", "reasoning", null]))]
    r#type: Option<String>,
    #[schemars(extend("enum" = ["system", "developer", "user", "assistant", null]))]
    role: Option<String>,
    content: Option<MessageContent>,
    call_id: Option<String>,
    name: Option<String>,
    arguments: Option<String>,
    output: Option<MessageContent>,
}

/// A tool of any type; only functions are supported.
#[derive(Debug, Deserialize, JsonSchema)]
struct ResponseTool {
    #[schemars(extend("const" = "function"))]
    r#type: String,
    name: Option<String>,
    description: Option<String>,
    #[serde(default)]
    #[schemars(with = "Map<String, Value>")]
    parameters: Value,
}

/// The tool choice: `auto`, `none`, `required` or a function.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum ResponseToolChoice {
    Word(String),
    Named { name: String },
}

impl ResponseRequest {
    /// Converts the body to a [`Request`] for the model. With the user's tools, the client cannot define its own.
    ///
    /// # Errors
    ///
    /// Fields that are unsupported or out of range, and references to stored responses.
    pub fn read(self, with_tools: bool) -> Result<(Request, RequestFiles), OpenAiError> {
        let kept = "nothing is kept here; send the whole conversation in input";
        if self.previous_response_id.is_some() {
            return Err(OpenAiError::bad("previous_response_id", kept));
        }
        if self.conversation.is_some() {
            return Err(OpenAiError::bad("conversation", kept));
        }
        if self.background == Some(true) {
            return Err(OpenAiError::bad("background", "an answer lasts as long as its request; leave background out"));
        }
        // A format that is ignored silently would break clients that parse the answer.
        if self.response_format.is_some() {
            return Err(OpenAiError::bad("response_format", "a response has its format in text.format"));
        }
        let stop = parameters::stop(self.stop)?;
        let response_format = parameters::text_format(self.text.and_then(|text| text.format))?;
        let effort = self.reasoning.and_then(|reasoning| reasoning.effort);
        let effort = parameters::effort("reasoning.effort", effort.as_deref())?;
        let parameters = parameters::read(self.temperature, self.top_p, effort)?;
        let own = self.tools.unwrap_or_default().into_iter().map(|tool| {
            let ResponseTool { r#type, name, description, parameters } = tool;
            name.filter(|_| r#type == "function").map(|name| FunctionDefinition { name, description, parameters })
        });
        let choice = self.tool_choice.map(|choice| match choice {
            ResponseToolChoice::Word(word) => functions::Choice::Word(word),
            ResponseToolChoice::Named { name } => functions::Choice::Named(name),
        });
        let (tools, tool_choice) = functions::read(own.collect(), choice, with_tools)?;
        let mut conversation = Conversation::new("input");
        if let Some(instructions) = self.instructions {
            conversation.add_system_text(instructions);
        }
        match self.input {
            ResponseInput::Text(text) => conversation.add_user_message(text, Vec::new()),
            ResponseInput::Items(items) => items.into_iter().try_for_each(|item| add_item(&mut conversation, item))?,
        }
        let unanswerable = "the last item must be the user's or the output of a function";
        let (request, files) = conversation.into_request(unanswerable)?;
        // Zero counts as no limit, as in chat completions.
        let max_tokens = self.max_output_tokens.filter(|most| *most > 0);
        let request = Request { tools, tool_choice, max_tokens, parameters, stop, response_format, ..request };
        Ok((request, files))
    }
}

/// Adds an item of the request to the conversation.
fn add_item(conversation: &mut Conversation, item: InputItem) -> Result<(), OpenAiError> {
    match item.r#type.as_deref() {
        None | Some("message") => {
            let (text, files) = text_and_files(item.content)?;
            let role = item.role.as_deref();
            if role != Some("user") {
                RequestFiles::none("input", &files)?;
            }
            match role {
                Some("system" | "developer") => conversation.add_system_text(text),
                Some("user") => conversation.add_user_message(text, files),
                Some("assistant") => conversation.extend_answer(text, None),
                _ => return Err(OpenAiError::bad("input", "a role is system, developer, user or assistant")),
            }
            Ok(())
        }
        Some("function_call") => {
            let (Some(id), Some(name)) = (item.call_id, item.name) else {
                return Err(OpenAiError::bad("input", "a function_call has a call_id and a name"));
            };
            let call = ModelCall { id, name, arguments: item.arguments.unwrap_or_default() };
            conversation.extend_answer(String::new(), Some(call));
            Ok(())
        }
        Some("function_call_output") => {
            let (text, files) = text_and_files(item.output)?;
            let unknown_call = "a function_call_output must name a function_call before it in call_id";
            conversation.add_result(item.call_id, text, files, unknown_call)
        }
        // Reasoning of an earlier answer is encrypted for its provider, and this request may go to another one.
        Some("reasoning") => Ok(()),
        Some("item_reference") => {
            Err(OpenAiError::bad("input", "nothing is kept here; send the item itself, not a reference to it"))
        }
        Some(_) => {
            let message = "an item is a message, a function_call, a function_call_output or a reasoning";
            Err(OpenAiError::bad("input", message))
        }
    }
}

/// Splits content into text and files. The text of a refusal counts as text.
fn text_and_files(content: Option<MessageContent>) -> Result<(String, Vec<RequestFile>), OpenAiError> {
    body::words(content, "input", |piece| if piece.is_refusal() { piece.refusal } else { piece.text() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::model::{Effort, ModelMessage, Parameters, ToolChoice};
    use serde_json::json;

    fn read(body: Value, with_tools: bool) -> Result<Request, Value> {
        let body: ResponseRequest = serde_json::from_value(body).unwrap();
        body.read(with_tools).map(|(request, _)| request).map_err(|refusal| refusal.body())
    }

    #[test]
    fn a_conversation_is_read_whatever_its_form() {
        let tool = json!({ "type": "function", "name": "clock", "parameters": { "type": "object" }, "strict": true });
        let request = read(
            json!({ "model": "a/b", "instructions": "Be brief.", "max_output_tokens": 9, "store": false,
                "temperature": 2, "top_p": 1, "reasoning": { "effort": "xhigh", "summary": "auto" },
                "text": { "format": { "type": "text" }, "verbosity": "low" }, "input": [
                { "role": "developer", "content": "In English." },
                { "role": "user", "content": [{ "type": "input_text", "text": "What time is it?" }] },
                { "type": "reasoning", "id": "rs_1", "summary": [] },
                { "type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
                  "content": [{ "type": "output_text", "text": "I will look.", "annotations": [] }] },
                { "type": "function_call", "id": "fc_1", "call_id": "a", "name": "clock", "arguments": "{}" },
                { "type": "function_call", "id": "fc_2", "call_id": "b", "name": "clock", "arguments": "{}" },
                { "type": "function_call_output", "call_id": "a", "output": "noon" },
                { "type": "function_call_output", "call_id": "b", "output": [{ "type": "input_text", "text": "one" }] },
            ], "tools": [tool], "tool_choice": { "type": "function", "name": "clock" } }),
            false,
        );
        let request = request.unwrap();
        assert_eq!((request.system.as_str(), request.max_tokens), ("Be brief.\n\nIn English.", Some(9)));
        let parameters = Parameters { temperature: Some(2.0), top_p: Some(1.0), effort: Some(Effort::High) };
        assert_eq!(request.parameters, parameters);
        assert_eq!(request.tool_choice, ToolChoice::Named("clock".into()));
        let call = |id: &str| ModelCall { id: id.into(), name: "clock".into(), arguments: "{}".into() };
        assert_eq!(request.messages[1], ModelMessage::assistant("I will look.", vec![call("a"), call("b")]));
        assert!(matches!(&request.messages[3], ModelMessage::ToolResult { text, .. } if text == "one"));
        assert_eq!(request.messages.len(), 4);

        let request = read(json!({ "model": "a/b", "input": "What time is it?" }), true).unwrap();
        assert_eq!(request.messages, [ModelMessage::user("What time is it?")]);
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_field() {
        let item = |item: Value| json!({ "input": [item] });
        for (more, field) in [
            (json!({ "previous_response_id": "resp_1" }), "previous_response_id"),
            (json!({ "conversation": "conv_1" }), "conversation"),
            (json!({ "background": true }), "background"),
            (json!({ "temperature": 3 }), "temperature"),
            (json!({ "top_p": 1.1 }), "top_p"),
            (json!({ "reasoning": { "effort": "utmost" } }), "reasoning.effort"),
            (json!({ "stop": [""] }), "stop"),
            (json!({ "response_format": { "type": "json_schema" } }), "response_format"),
            (json!({ "text": { "format": { "type": "json_schema", "schema": {} } } }), "text.format"),
            (json!({ "text": { "format": { "type": "grammar" } } }), "text.format"),
            (json!({ "input": [] }), "input"),
            (item(json!({ "role": "assistant", "content": "x" })), "input"),
            (item(json!({ "role": "robot", "content": "x" })), "input"),
            (item(json!({ "role": "user", "content": [{ "type": "input_image" }] })), "input"),
            (item(json!({ "type": "function_call", "name": "x" })), "input"),
            (item(json!({ "type": "function_call_output", "call_id": "c", "output": "x" })), "input"),
            (item(json!({ "type": "item_reference", "id": "msg_1" })), "input"),
            (item(json!({ "type": "computer_call" })), "input"),
            (json!({ "tools": [{ "type": "web_search" }] }), "tools"),
            (json!({ "tools": [{ "type": "function", "name": "a b" }] }), "tools"),
            (json!({ "tool_choice": "perhaps" }), "tool_choice"),
            (json!({ "tool_choice": { "type": "function", "name": "bell" } }), "tool_choice"),
        ] {
            let mut body = json!({ "model": "a/b", "input": "x" });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            assert_eq!(read(body.clone(), false).unwrap_err()["error"]["param"], field, "{body}");
        }
        let body = json!({ "model": "a/b", "input": "x", "tools": [{ "type": "function", "name": "clock" }] });
        assert!(read(body.clone(), false).is_ok());
        assert_eq!(read(body, true).unwrap_err()["error"]["param"], "tools");
    }
}
