//! The toolbox: small tools without side effects that need no account. Users can connect to it at once.

mod calculator;
mod dates;
mod number;
mod statistics;
mod suggestions;
mod time_zones;
mod units;

use domain::Timestamp;
use domain::tool::{ToolAnnotations, ToolDefinition, ToolMeta, ToolResult};
use domain::tool_arguments::{self, ArgumentsError};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Returns the tools in the order in which they are listed.
pub fn definitions() -> Vec<ToolDefinition> {
    vec![
        definition(
            "current_time",
            "Current time",
            "Tells the current date, time and day of the week in a time zone.",
            json!({
                "timezone": {
                    "type": "string",
                    "description": "An IANA name such as Europe/Berlin, or a large city such as Tokyo.",
                    "default": "UTC",
                },
            }),
            &[],
            json!({
                "time": { "type": "string", "format": "date-time" },
                "weekday": { "type": "string" },
                "timezone": { "type": "string", "description": "The IANA name." },
            }),
        ),
        definition(
            "calculate",
            "Calculator",
            "Computes an arithmetic expression, such as (12.5 + 7) * 3 or sqrt(2) ^ 3. Knows + - * / ^, % (remainder), \
             parentheses, pi, e, sqrt, abs, round, floor, ceil, min, max, sin, cos, tan (radians), ln, log10, exp.",
            json!({ "expression": { "type": "string", "description": "The expression.", "maxLength": calculator::MAX_CHARS } }),
            &["expression"],
            json!({
                "value": { "type": "number", "description": "The result, as near as a JSON number comes." },
                "decimal": { "type": "string", "description": "The result in decimal digits." },
                "exact": { "type": "boolean", "description": "Whether these are all the digits." },
            }),
        ),
        definition(
            "convert_units",
            "Unit converter",
            "Converts a value from one unit to another: length, mass, temperature, volume, area, speed, time, data, \
             energy or pressure.",
            json!({
                "value": { "type": "number", "description": "How many of the first unit." },
                "from": { "type": "string", "description": "The unit of the value, such as km, mile, °F, MiB or psi." },
                "to": { "type": "string", "description": "The unit to convert to." },
            }),
            &["value", "from", "to"],
            json!({
                "value": { "type": "number", "description": "The result, as near as a JSON number comes." },
                "decimal": { "type": "string", "description": "The result in decimal digits." },
                "unit": { "type": "string", "description": "The symbol of the unit." },
            }),
        ),
        definition(
            "days_between",
            "Days between two dates",
            "Counts the days from one date to another. Negative when the second date is the earlier one.",
            json!({
                "from": { "type": "string", "description": "A date such as 2026-12-24, or today (UTC).", "default": "today" },
                "to": { "type": "string", "description": "A date such as 2026-12-24, or today (UTC)." },
            }),
            &["to"],
            json!({
                "days": { "type": "integer" },
                "workdays": { "type": "integer", "description": "Only Monday to Friday; the later date is not counted." },
                "from": { "type": "string", "format": "date" },
                "to": { "type": "string", "format": "date" },
            }),
        ),
        definition(
            "text_statistics",
            "Text statistics",
            "Counts the characters, words, sentences and lines of a text and, if asked, how often something occurs in it.",
            json!({
                "text": { "type": "string", "description": "The text." },
                "find": { "type": "string", "description": "A letter or word to count; upper and lower case are the same." },
            }),
            &["text"],
            json!({
                "characters": { "type": "integer" },
                "words": { "type": "integer" },
                "sentences": { "type": "integer" },
                "lines": { "type": "integer" },
                "occurrences": { "type": "integer" },
            }),
        ),
    ]
}

/// The reason why a tool has no result. Its text is for the model, which may try again.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum ToolboxError {
    /// An expression that cannot be computed.
    #[error("The expression cannot be computed: {0}.")]
    Expression(#[from] calculator::ExpressionError),
    /// A conversion whose result is not a number.
    #[error("This cannot be converted: {0}.")]
    Conversion(#[from] number::ArithmeticError),
    /// An argument that the tool cannot use, described in a sentence.
    #[error("{0}")]
    Argument(String),
}

impl From<ArgumentsError> for ToolboxError {
    fn from(error: ArgumentsError) -> Self {
        Self::Argument(error.to_string())
    }
}

/// Runs a tool. Returns `None` if there is no such tool.
pub fn call(name: &str, arguments: Map<String, Value>, now: Timestamp) -> Option<ToolResult> {
    let result = match name {
        "current_time" => parse(arguments).and_then(|input| dates::current_time(&input, now)),
        "calculate" => parse(arguments).and_then(|input| calculator::calculate(&input)),
        "convert_units" => parse(arguments).and_then(|input| units::convert_units(&input)),
        "days_between" => parse(arguments).and_then(|input| dates::days_between(&input, now)),
        "text_statistics" => parse(arguments).map(|input| statistics::text_statistics(&input)),
        _ => return None,
    };
    Some(result.unwrap_or_else(|error| ToolResult::error(error.to_string())))
}

fn parse<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, ToolboxError> {
    Ok(tool_arguments::parse(arguments)?)
}

/// Returns a result with a text for users and models, and the same as structured content.
fn result(text: String, structured: Value) -> ToolResult {
    ToolResult { structured_content: Some(structured), ..ToolResult::text(text) }
}

fn definition(
    name: &str,
    title: &str,
    description: &str,
    properties: Value,
    required: &[&str],
    output_properties: Value,
) -> ToolDefinition {
    // `occurrences` is the only field that depends on the arguments.
    let always_present: Vec<&String> =
        output_properties.as_object().into_iter().flat_map(Map::keys).filter(|key| *key != "occurrences").collect();
    let output_schema = json!({ "type": "object", "properties": output_properties, "required": always_present });
    ToolDefinition {
        name: name.into(),
        title: Some(title.into()),
        description: description.into(),
        input_schema: tool_arguments::object_schema(properties, required),
        output_schema: Some(output_schema),
        annotations: Some(ToolAnnotations {
            title: Some(title.into()),
            read_only_hint: Some(true),
            destructive_hint: Some(false),
            idempotent_hint: Some(true),
            open_world_hint: Some(false),
        }),
        icons: Vec::new(),
        meta: ToolMeta::default(),
    }
}

#[cfg(test)]
mod tests;
