//! What the built-in tools take: the schema that says it, and the reading of it.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// The schema of an object with exactly these properties.
pub fn schema(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// Reads arguments, or says what is wrong with them, in words for a model that may try again. A model that leaves
/// something out often writes `null`, so `null` counts as left out.
pub fn read<T: DeserializeOwned>(mut arguments: Map<String, Value>) -> Result<T, String> {
    arguments.retain(|_, value| !value.is_null());
    serde_json::from_value(Value::Object(arguments)).map_err(|error| format!("The arguments do not fit: {error}."))
}
