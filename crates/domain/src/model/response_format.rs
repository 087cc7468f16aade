//! Formats of the response text.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Format of the response text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub enum ResponseFormat {
    /// Free text.
    #[default]
    Text,
    /// Any JSON object.
    JsonObject,
    /// JSON that follows a schema.
    JsonSchema(OutputSchema),
}

/// JSON Schema that the response text follows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputSchema {
    /// Name of the schema, `[A-Za-z0-9_-]{1,64}`; some provider APIs require one.
    pub name: String,
    /// Description of the response, for the model.
    pub description: Option<String>,
    /// The JSON Schema, an object.
    pub schema: Value,
    /// Asks OpenAI-compatible providers to enforce the whole schema; `None` leaves their default.
    pub strict: Option<bool>,
}
