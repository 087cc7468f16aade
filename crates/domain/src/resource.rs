//! What servers hold for reading.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A piece of a resource.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceContents {
    /// By what it was read.
    pub uri: String,
    /// Its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// What it says, if it is a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its bytes in base64, if it is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// What else the server says about it, for those who know it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

impl ResourceContents {
    /// How much it is to be kept, in bytes as they are written down.
    pub fn size(&self) -> usize {
        self.text.as_deref().map_or(0, str::len) + self.blob.as_deref().map_or(0, str::len)
    }
}
