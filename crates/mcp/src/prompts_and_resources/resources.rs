//! Resources: texts and files that a server offers for reading.

use domain::icon::Icon;
use domain::resource::ResourceContents;
use rmcp::model::{ReadResourceRequest, ReadResourceRequestParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::listing::{ListEntry, ListKind};
use super::read_lenient;
use crate::Error;
use crate::input_required::request_until_complete;
use crate::session::Session;

/// Resource of a server's list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// URI by which the resource is read; only its server can interpret it.
    pub uri: String,
    /// Name.
    #[serde(default)]
    pub name: String,
    /// Display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Annotations of the protocol: audience, priority and time of the last change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
    /// Icons that may be shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
}

/// Template for the URIs of resources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    /// URI template (RFC 6570).
    pub uri_template: String,
    /// Name.
    #[serde(default)]
    pub name: String,
    /// Display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description of the resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Media type of all resources of the template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Icons that may be shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
}

impl ListEntry for Resource {
    const LIST: ListKind = ListKind::Resources;

    fn icons_mut(&mut self) -> &mut Vec<Icon> {
        &mut self.icons
    }
}

impl ListEntry for ResourceTemplate {
    const LIST: ListKind = ListKind::ResourceTemplates;

    fn icons_mut(&mut self) -> &mut Vec<Icon> {
        &mut self.icons
    }
}

/// Reads a resource (`resources/read`). The result has one part as a rule, several for a folder.
///
/// # Errors
///
/// [`Error::NotOffered`] if the server has no resources.
pub(crate) async fn read_resource(session: &Session, uri: &str) -> Result<Vec<ResourceContents>, Error> {
    if session.capabilities.resources.is_none() {
        return Err(Error::NotOffered("resources"));
    }
    let original = ReadResourceRequestParams::new(uri);
    let result = request_until_complete(session, |state| {
        let params = match state {
            Some(state) => original.clone().with_request_state(state),
            None => original.clone(),
        };
        ReadResourceRequest::new(params).into()
    });
    let mut result = result.await?;
    let Some(Value::Array(parts)) = result.get_mut("contents").map(Value::take) else {
        return Err(Error::Protocol("its resource cannot be read".to_owned()));
    };
    let parts: Option<Vec<ResourceContents>> = parts.into_iter().map(read_lenient).collect();
    parts.ok_or_else(|| Error::Protocol("its resource cannot be read".to_owned()))
}
