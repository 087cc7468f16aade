//! Functions that a client defines as tools, and its tool choice.

use domain::model::{ToolChoice, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::refusal::OpenAiError;

/// Maximum number of tools in a request.
const MOST_TOOLS: usize = 512;

/// A function that the client defines and runs itself.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct FunctionDefinition {
    /// Name, which matches `[A-Za-z0-9_-]{1,64}`.
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]{1,64}$"))]
    pub name: String,
    /// Description for the model.
    pub description: Option<String>,
    /// JSON Schema of the arguments.
    #[serde(default)]
    #[schemars(with = "Map<String, Value>")]
    pub parameters: Value,
}

/// Value of `tool_choice` in either API.
#[derive(Debug)]
pub enum Choice {
    /// `auto`, `none` or `required`.
    Word(String),
    /// The name of a function.
    Named(String),
}

/// Converts functions and tool choice. `None` in `functions` is a tool of an unsupported type. `with_tools` says that
/// the user's tools are used, and then the client may not define any.
pub fn read(
    functions: Vec<Option<FunctionDefinition>>,
    choice: Option<Choice>,
    with_tools: bool,
) -> Result<(Vec<ToolSpec>, ToolChoice), OpenAiError> {
    if functions.len() > MOST_TOOLS {
        return Err(OpenAiError::bad("tools", format!("there are more than {MOST_TOOLS} tools")));
    }
    // Otherwise the calls of both would be mixed in one answer: some to run here, some at the client.
    if with_tools && !functions.is_empty() {
        let message = "a model whose name ends with :tools uses the tools of your connections; it takes no others";
        return Err(OpenAiError::bad("tools", message));
    }
    let tools: Vec<ToolSpec> = functions.into_iter().map(spec).collect::<Result<_, _>>()?;
    match choice {
        None => Ok((tools, ToolChoice::Auto)),
        Some(Choice::Word(word)) => match word.as_str() {
            "auto" => Ok((tools, ToolChoice::Auto)),
            "required" => Ok((tools, ToolChoice::Required)),
            // Not offering any tool is the only way that all providers obey.
            "none" => Ok((Vec::new(), ToolChoice::Auto)),
            _ => Err(OpenAiError::bad("tool_choice", "tool_choice is auto, none, required or a function")),
        },
        Some(Choice::Named(name)) if tools.iter().any(|tool| tool.name == name) => Ok((tools, ToolChoice::Named(name))),
        Some(Choice::Named(name)) => {
            Err(OpenAiError::bad("tool_choice", format!("tool_choice names {name}, which is not in tools")))
        }
    }
}

/// Converts a function to a [`ToolSpec`].
fn spec(function: Option<FunctionDefinition>) -> Result<ToolSpec, OpenAiError> {
    let Some(FunctionDefinition { name, description, parameters }) = function else {
        return Err(OpenAiError::bad("tools", "only tools of the type function are known"));
    };
    if !is_name(&name) {
        return Err(OpenAiError::bad("tools", "a function's name has 1 to 64 letters, digits, lines and underlines"));
    }
    Ok(ToolSpec { name, description: description.unwrap_or_default(), input_schema: parameters })
}

/// Returns whether a name is valid for all providers.
fn is_name(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    (1..=64).contains(&name.len()) && name.chars().all(is_plain)
}
