//! Whether a result is what its tool announced.

use domain::text::cut_to;
use domain::tool::{ToolDefinition, ToolResult};

use super::schema;

/// Bytes of what is said of a result that is something else.
const WORDS: usize = 300;

/// The result with a note of what is not as the tool's output schema says. A result that tells of a failure may be anything.
pub fn checked(definition: &ToolDefinition, mut result: ToolResult) -> ToolResult {
    let Some(schema) = definition.output_schema.as_ref().filter(|_| !result.is_error) else { return result };
    result.schema_error = match &result.structured_content {
        None => Some("it has no structured content".to_owned()),
        Some(value) => schema::check(schema, value, "result").err(),
    };
    if let Some(wrong) = result.schema_error.as_mut().filter(|wrong| wrong.len() > WORDS) {
        *wrong = format!("{}…", cut_to(wrong, WORDS));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn said(structured: Option<Value>, is_error: bool) -> Option<String> {
        let choices: Vec<String> = (0..100).map(|number| format!("choice {number}")).collect();
        let schema = json!({ "properties": { "n": { "type": "number" }, "word": { "enum": choices } } });
        let tool = json!({ "name": "count", "outputSchema": schema });
        let result = ToolResult { structured_content: structured, is_error, ..ToolResult::text("1") };
        checked(&serde_json::from_value(tool).unwrap(), result).schema_error
    }

    #[test]
    fn a_result_that_was_not_announced_is_told() {
        assert_eq!(said(Some(json!({ "n": 1 })), false), None);
        assert_eq!(said(Some(json!({ "n": "1" })), false).as_deref(), Some("result.n: has to be of the type number"));
        assert_eq!(said(None, false).as_deref(), Some("it has no structured content"));
        assert_eq!(said(None, true), None);
        let long = said(Some(json!({ "word": "other" })), false).unwrap();
        assert!(long.len() < WORDS + 10 && long.ends_with('…'), "{long}");
    }
}
