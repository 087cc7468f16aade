//! Tool lists in prompts.

use std::fmt::Write as _;

use domain::model::ToolSpec;
use domain::text::cut_to;
use serde_json::{Map, Value, json};

/// Maximum size of a tool definition in bytes (about 1,000 tokens); a longer one is replaced by its summary.
const MAX_DEFINITION_BYTES: usize = 4_000;

/// Maximum number of bytes of a description in a summary.
const MAX_SUMMARY_DESCRIPTION_BYTES: usize = 120;

/// Text before every tool list, up to the end of a line, so that the following text does not change its tokens.
///
/// It differs from the training data only in the order: there the list comes before the instructions for calls, which
/// would have to be read again with each list.
pub(crate) const BEFORE_LIST: &str = "# Tools\n\nYou may call one or more functions to assist with the user query.\n\nFor each function call, return a json \
     object with function name and arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": \
     <function-name>, \"arguments\": <args-json-object>}\n</tool_call>\n\nYou are provided with function signatures \
     within <tools></tools> XML tags:\n<tools>\n";

/// Text after every tool list.
pub(crate) const AFTER_LIST: &str = "</tools>";

/// Returns a tool's line in the tool list.
pub(crate) fn tool_definition(tool: &ToolSpec) -> String {
    let function = json!({
        "name": tool.name,
        "description": tool.description,
        "parameters": strip_schema_noise(&tool.input_schema),
    });
    let mut line = String::new();
    write_spaced(&json!({ "type": "function", "function": function }), &mut line);
    if line.len() > MAX_DEFINITION_BYTES { tool_summaries(&[tool]) } else { line + "\n" }
}

/// Returns a line for each tool with its name, its arguments and the first line of its description.
pub(crate) fn tool_summaries(tools: &[&ToolSpec]) -> String {
    let mut list = String::new();
    for tool in tools {
        let first_line = tool.description.lines().next().unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(
            list,
            "{}({}): {}",
            tool.name,
            argument_names(tool),
            cut_to(first_line.trim(), MAX_SUMMARY_DESCRIPTION_BYTES)
        );
    }
    list
}

/// Returns the names of a tool's arguments, separated by commas.
pub(crate) fn argument_names(tool: &ToolSpec) -> String {
    let properties = tool.input_schema.get("properties").and_then(Value::as_object);
    let names: Vec<&str> = properties.into_iter().flat_map(Map::keys).map(String::as_str).collect();
    names.join(", ")
}

/// Returns the names of the arguments that a tool's schema requires.
pub(crate) fn required_arguments(schema: &Value) -> Vec<&str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Removes from a schema what does not help the model: its dialect, and titles generated from field names.
fn strip_schema_noise(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            // `title` is kept if it is an object, because then it is a property of that name.
            let is_noise = |name: &str, value: &Value| name == "$schema" || (name == "title" && value.is_string());
            let kept = fields.iter().filter(|(name, value)| !is_noise(name, value));
            Value::Object(kept.map(|(name, value)| (name.clone(), strip_schema_noise(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(strip_schema_noise).collect()),
        other => other.clone(),
    }
}

/// Writes JSON with a space after each comma and colon, as in the model's training data.
pub(crate) fn write_spaced(value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            out.push('{');
            for (index, (name, value)) in fields.iter().enumerate() {
                let comma = if index == 0 { "" } else { ", " };
                let _ = write!(out, "{comma}{}: ", Value::from(name.as_str()));
                write_spaced(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write_spaced(item, out);
            }
            out.push(']');
        }
        other => {
            let _ = write!(out, "{other}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str) -> ToolSpec {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "addArguments",
            "type": "object",
            "properties": { "title": { "type": "string", "title": "Title" }, "b": { "enum": [1, 2] } },
        });
        ToolSpec { name: name.to_owned(), description: "Adds.\nSlowly.".to_owned(), input_schema: schema }
    }

    #[test]
    fn definition_omits_schema_noise() {
        let line = r#"{"type": "function", "function": {"name": "add", "description": "Adds.\nSlowly.", "parameters": {"type": "object", "properties": {"title": {"type": "string"}, "b": {"enum": [1, 2]}}}}}
"#;
        assert_eq!(tool_definition(&tool("add")), line);
    }

    #[test]
    fn summarizes_tool_with_huge_schema() {
        let huge = ToolSpec { description: "long ".repeat(MAX_DEFINITION_BYTES), ..tool("huge") };
        let line = tool_definition(&huge);
        assert!(line.starts_with("huge(title, b): long long") && line.ends_with('\n'), "{line}");
        assert!(line.len() < 1_000);
    }
}
