//! Arguments of the tools that this program runs itself: their schema, and parsing them.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Returns the JSON Schema of an object that has these properties and no others.
pub fn object_schema(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// Parses the arguments of a tool call. `null` counts as absent, because models often write it for what they leave out.
///
/// # Errors
///
/// A sentence that says what does not fit, for a model that may try again.
pub fn parse<T: DeserializeOwned>(mut arguments: Map<String, Value>) -> Result<T, String> {
    arguments.retain(|_, value| !value.is_null());
    serde_json::from_value(Value::Object(arguments)).map_err(|error| format!("The arguments do not fit: {error}."))
}
