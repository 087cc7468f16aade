//! Icons of MCP servers, tools, prompts and resources.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An icon that an MCP server declares for itself, a tool, a prompt or a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Icon {
    /// URL of the image: `https:`, or `data:` with the image itself.
    pub src: String,
    /// Media type as declared by the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Sizes it suits, such as `48x48`, or `any` for a scalable image.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<String>,
    /// Background it is made for: `light` or `dark`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theme: Option<String>,
}
