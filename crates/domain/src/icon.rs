//! Small pictures by which servers want their things to be known.

use serde::{Deserialize, Serialize};

/// A picture of a server, a tool, a prompt or a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Icon {
    /// Where it is: an `https:` address, or the picture itself as `data:`.
    pub src: String,
    /// What the server says that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The sizes it is good for, as `48x48`; `any` for one that scales.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<String>,
    /// `light` or `dark`: the background that it is made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theme: Option<String>,
}
