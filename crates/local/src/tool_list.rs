//! The list of tools as the model reads it.

use std::fmt::Write as _;

use domain::model::ToolSpec;
use domain::text::cut_to;
use serde_json::{Map, Value, json};

/// An entry that is longer than this (in bytes, about 1,000 tokens) is shortened.
const LONGEST_IN_FULL: usize = 4_000;

/// Bytes of a description in the short list.
const SHORT_DESCRIPTION: usize = 120;

/// What stands before every list, up to the end of a line, so that what follows does not change its tokens. It is what
/// the model was trained on, but for the order: there the list stands before how to call, which would be read anew with
/// each list.
pub(crate) const BEFORE_LIST: &str = "# Tools\n\nYou may call one or more functions to assist with the user query.\n\nFor each function call, return a json \
     object with function name and arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": \
     <function-name>, \"arguments\": <args-json-object>}\n</tool_call>\n\nYou are provided with function signatures \
     within <tools></tools> XML tags:\n<tools>\n";

/// What stands behind every list.
pub(crate) const AFTER_LIST: &str = "</tools>";

/// A tool's line in the list of those that can be called.
pub(crate) fn entry(tool: &ToolSpec) -> String {
    let function = json!({
        "name": tool.name,
        "description": tool.description,
        "parameters": without_noise(&tool.input_schema),
    });
    let mut line = String::new();
    write_spaced(&json!({ "type": "function", "function": function }), &mut line);
    if line.len() > LONGEST_IN_FULL { in_short(&[tool]) } else { line + "\n" }
}

/// Names, arguments and first lines of tools, a line for each.
pub(crate) fn in_short(tools: &[&ToolSpec]) -> String {
    let mut list = String::new();
    for tool in tools {
        let first_line = tool.description.lines().next().unwrap_or_default();
        // Writing to a string cannot fail.
        let _ =
            writeln!(list, "{}({}): {}", tool.name, argument_names(tool), cut_to(first_line.trim(), SHORT_DESCRIPTION));
    }
    list
}

/// The names of a tool's arguments, with commas.
pub(crate) fn argument_names(tool: &ToolSpec) -> String {
    let properties = tool.input_schema.get("properties").and_then(Value::as_object);
    let names: Vec<&str> = properties.into_iter().flat_map(Map::keys).map(String::as_str).collect();
    names.join(", ")
}

/// A schema without what only tells tools of programmers something: its dialect, and titles made from field names.
fn without_noise(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let is_noise = |name: &str, value: &Value| name == "$schema" || (name == "title" && value.is_string());
            let kept = fields.iter().filter(|(name, value)| !is_noise(name, value));
            Value::Object(kept.map(|(name, value)| (name.clone(), without_noise(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_noise).collect()),
        other => other.clone(),
    }
}

/// Writes JSON with a space behind each comma and colon, as the model's training data has it.
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
    fn a_tool_is_read_with_its_schema_but_without_noise() {
        let line = r#"{"type": "function", "function": {"name": "add", "description": "Adds.\nSlowly.", "parameters": {"type": "object", "properties": {"title": {"type": "string"}, "b": {"enum": [1, 2]}}}}}
"#;
        assert_eq!(entry(&tool("add")), line);
    }

    #[test]
    fn a_tool_with_a_huge_schema_is_read_by_name_and_arguments() {
        let huge = ToolSpec { description: "long ".repeat(LONGEST_IN_FULL), ..tool("huge") };
        let line = entry(&huge);
        assert!(line.starts_with("huge(title, b): long long") && line.ends_with('\n'), "{line}");
        assert!(line.len() < 1_000);
    }
}
