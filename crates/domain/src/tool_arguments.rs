//! Arguments of the tools that this program runs itself: their schema, and parsing them.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Returns the JSON Schema of an object that has these properties and no others.
pub fn object_schema(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// An error in the arguments of a tool call. Its text is for the model, which may try again.
#[derive(Debug, thiserror::Error)]
#[error("The arguments do not fit: {0}.")]
pub struct ArgumentsError(#[from] serde_json::Error);

/// Parses the arguments of a tool call. `null` counts as absent, because models often write it for what they leave out.
pub fn parse<T: DeserializeOwned>(mut arguments: Map<String, Value>) -> Result<T, ArgumentsError> {
    arguments.retain(|_, value| !value.is_null());
    Ok(serde_json::from_value(Value::Object(arguments))?)
}
