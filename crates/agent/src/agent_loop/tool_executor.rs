//! Execution of the tool calls of a step.

use connections::BoundTool;
use domain::json_shape::JsonShape;
use domain::model::{ModelCall, ModelMessage, ToolSpec};
use domain::tool::{Outcome, ToolCall, ToolResult};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::tool_search::ToolPresentation;
use crate::tool_selection::Toolset;

/// Executor of an answer's tool calls.
///
/// It checks the permission of each call. What it does when a call needs the user, for an approval, an elicitation or a
/// sign-in, is its own: a chat asks and waits, the OpenAI-compatible API refuses.
pub trait ToolExecutor: Sync {
    /// Returns the specifications of the tools that the model may call in its next step.
    fn specs(&self) -> Vec<ToolSpec>;

    /// Makes the calls of one step and returns a message with the result of each, in the same order. A call that failed
    /// is a result, too.
    ///
    /// # Errors
    ///
    /// See [`ToolExecutionError`].
    fn execute<'a>(&'a self, calls: &'a [ModelCall]) -> BoxFuture<'a, Result<Vec<ModelMessage>, ToolExecutionError>>;
}

/// Reason for which the calls of a step could not be made, so that the answer ends.
#[derive(Debug, thiserror::Error)]
pub enum ToolExecutionError {
    /// A tool needs the user's approval, which cannot be requested here.
    #[error(
        "The tool {tool} of {server} needs an approval, which this API cannot request. Allow or block it in the app, under \
         Tools."
    )]
    ApprovalNeeded {
        /// Name of the tool.
        tool: String,
        /// Name of the connection.
        server: String,
    },
    /// A server requested an elicitation during a call, which cannot be shown here.
    #[error(
        "The tool {tool} of {server} asked for input during its call, which this API cannot show. Use the tool in the app."
    )]
    InputNeeded {
        /// Name of the tool.
        tool: String,
        /// Name of the connection.
        server: String,
    },
}

/// Target of a model's call.
#[derive(Debug)]
pub enum ResolvedCall<'a> {
    /// A tool of a connection, and the arguments. Its permission is not checked yet.
    Tool(&'a BoundTool, Map<String, Value>),
    /// Result of the built-in tool search. It only reads the list of tools and needs no permission.
    Search(ToolResult),
    /// Nothing; the reason is for the model.
    Invalid(String),
}

/// Returns the record of a call that is not made yet, and what the call refers to among the tools of an answer. `presentation` is
/// how they were presented to the model.
pub fn resolve<'a>(
    toolset: &'a Toolset,
    presentation: Option<&ToolPresentation>,
    call: &ModelCall,
) -> (ToolCall, ResolvedCall<'a>) {
    let (name, server_name) = toolset.names(&call.name);
    let tool = toolset.get(&call.name);
    let mut record = ToolCall {
        id: call.id.clone(),
        name,
        server_name,
        // Shown as the model wrote them if they are not valid.
        arguments: Value::String(call.arguments.clone()),
        result: None,
        error: None,
        outcome: Outcome::Stopped,
        duration_ms: 0,
        app: tool.and_then(|tool| tool.definition.meta.app()).map(str::to_owned),
    };
    let arguments = match parse_arguments(&call.arguments) {
        Ok(arguments) => arguments,
        Err(reason) => {
            return (record, ResolvedCall::Invalid(format!("The arguments are not a JSON object: {reason}")));
        }
    };
    record.arguments = Value::Object(arguments.clone());
    let resolved = match tool {
        Some(tool) => ResolvedCall::Tool(tool, arguments),
        None => match presentation.and_then(|presentation| presentation.call(toolset, &call.name, arguments)) {
            Some(found) => ResolvedCall::Search(found),
            None => ResolvedCall::Invalid(format!("There is no tool called {}.", call.name)),
        },
    };
    (record, resolved)
}

/// Parses the arguments that a model wrote. An empty text is an empty object: some models send nothing for tools
/// without parameters.
///
/// # Errors
///
/// Returns the reason, for the model, if the text is not a JSON object or is too large or too deep.
fn parse_arguments(text: &str) -> Result<Map<String, Value>, String> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    if !JsonShape::measure(text).is_acceptable() {
        return Err("it has too many or too deeply nested values".to_owned());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err("it is another kind of value".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_an_object_or_nothing() {
        assert_eq!(parse_arguments("  ").unwrap(), Map::new());
        assert_eq!(parse_arguments("{\"a\":1}").unwrap()["a"], 1);
        assert!(parse_arguments("[1]").is_err());
        assert!(
            parse_arguments(&format!("{{\"a\":[{}1]}}", "{},".repeat(1_500_000))).unwrap_err().contains("too many")
        );
        assert!(parse_arguments("{\"a\":").is_err());
    }
}
