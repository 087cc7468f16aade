//! Contents of MCP resources.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One content item of a resource, as MCP defines it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceContents {
    /// URI by which it was read.
    pub uri: String,
    /// Media type as declared by the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Text content, if the resource is a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Binary content in base64, otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// Metadata of the server, passed through.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

impl ResourceContents {
    /// Returns the size of the content in bytes, as it is stored.
    pub fn size(&self) -> usize {
        self.text.as_deref().map_or(0, str::len) + self.blob.as_deref().map_or(0, str::len)
    }
}
