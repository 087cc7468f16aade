//! Validation of tool results against the output schema of the tool.

use domain::text::cut_to;
use domain::tool::{ToolDefinition, ToolResult};

use super::json_schema;

/// Maximum length of the description of a violation, in bytes.
const MAX_DESCRIPTION_BYTES: usize = 300;

/// Adds a note to a result that violates the output schema of its tool. Results of failed calls are not validated.
pub fn validate_output(definition: &ToolDefinition, mut result: ToolResult) -> ToolResult {
    // A note and no error: the tool has run, and what it returned may still be of use.
    let Some(schema) = definition.output_schema.as_ref().filter(|_| !result.is_error) else { return result };
    result.schema_error = match &result.structured_content {
        None => Some("it has no structured content".to_owned()),
        Some(value) => json_schema::validate(schema, value, "result").err().map(|violation| violation.to_string()),
    };
    if let Some(problem) = result.schema_error.as_mut().filter(|problem| problem.len() > MAX_DESCRIPTION_BYTES) {
        *problem = format!("{}…", cut_to(problem, MAX_DESCRIPTION_BYTES));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// Returns the note on a result of a tool with a number and one of many words.
    fn schema_error(structured: Option<Value>, is_error: bool) -> Option<String> {
        let choices: Vec<String> = (0..100).map(|number| format!("choice {number}")).collect();
        let schema = json!({ "properties": { "n": { "type": "number" }, "word": { "enum": choices } } });
        let tool = json!({ "name": "count", "outputSchema": schema });
        let result = ToolResult { structured_content: structured, is_error, ..ToolResult::text("1") };
        validate_output(&serde_json::from_value(tool).unwrap(), result).schema_error
    }

    #[test]
    fn notes_results_that_violate_the_schema() {
        assert_eq!(schema_error(Some(json!({ "n": 1 })), false), None);
        let wrong = schema_error(Some(json!({ "n": "1" })), false);
        assert_eq!(wrong.as_deref(), Some("result.n: must be of type number"));
        assert_eq!(schema_error(None, false).as_deref(), Some("it has no structured content"));
        assert_eq!(schema_error(None, true), None);
        let long = schema_error(Some(json!({ "word": "other" })), false).unwrap();
        assert!(long.len() < MAX_DESCRIPTION_BYTES + 10 && long.ends_with('…'), "{long}");
    }
}
