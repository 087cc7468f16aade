//! The functions that a program brings as its own tools, and which of them has to be called.

use domain::model::{ToolChoice, ToolSpec};
use serde::Deserialize;
use serde_json::Value;

use super::refusal::Refusal;

/// Tools that one question may name.
const MOST_TOOLS: usize = 512;

/// A function of the program's.
#[derive(Debug, Deserialize)]
pub struct Function {
    /// `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// What it does.
    pub description: Option<String>,
    /// JSON Schema of its arguments.
    #[serde(default)]
    pub parameters: Value,
}

/// What `tool_choice` says.
#[derive(Debug)]
pub enum Choice {
    /// `auto`, `none` or `required`.
    Word(String),
    /// A function.
    Named(String),
}

/// The tools of a question: the program's functions, `None` standing for a tool of another kind, and the choice among
/// them. With the person's tools (`with_tools`) the program has none of its own.
pub fn read(
    functions: Vec<Option<Function>>,
    choice: Option<Choice>,
    with_tools: bool,
) -> Result<(Vec<ToolSpec>, ToolChoice), Refusal> {
    if functions.len() > MOST_TOOLS {
        return Err(Refusal::bad("tools", format!("there are more than {MOST_TOOLS} tools")));
    }
    if with_tools && !functions.is_empty() {
        let message = "a model whose name ends with :tools uses the tools of your connections; it takes no others";
        return Err(Refusal::bad("tools", message));
    }
    let tools: Vec<ToolSpec> = functions.into_iter().map(spec).collect::<Result<_, _>>()?;
    match choice {
        None => Ok((tools, ToolChoice::Auto)),
        Some(Choice::Word(word)) => match word.as_str() {
            "auto" => Ok((tools, ToolChoice::Auto)),
            "required" => Ok((tools, ToolChoice::Required)),
            "none" => Ok((Vec::new(), ToolChoice::Auto)),
            _ => Err(Refusal::bad("tool_choice", "tool_choice is auto, none, required or a function")),
        },
        Some(Choice::Named(name)) if tools.iter().any(|tool| tool.name == name) => Ok((tools, ToolChoice::Named(name))),
        Some(Choice::Named(name)) => {
            Err(Refusal::bad("tool_choice", format!("tool_choice names {name}, which is not in tools")))
        }
    }
}

fn spec(function: Option<Function>) -> Result<ToolSpec, Refusal> {
    let Some(Function { name, description, parameters }) = function else {
        return Err(Refusal::bad("tools", "only tools of the type function are known"));
    };
    if !is_name(&name) {
        return Err(Refusal::bad("tools", "a function's name has 1 to 64 letters, digits, lines and underlines"));
    }
    Ok(ToolSpec { name, description: description.unwrap_or_default(), input_schema: parameters })
}

fn is_name(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    (1..=64).contains(&name.len()) && name.chars().all(is_plain)
}
