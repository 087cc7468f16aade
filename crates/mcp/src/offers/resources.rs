//! Resources: texts and files that a server has for reading.

use domain::icon::Icon;
use domain::resource::ResourceContents;
use rmcp::model::{ReadResourceRequest, ReadResourceRequestParams};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ask;
use super::pages::{List, Listed};
use crate::Error;
use crate::connection::Inner;

/// A resource as its server lists it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// By what it is read; only its server knows what it means.
    pub uri: String,
    /// What it is called.
    #[serde(default)]
    pub name: String,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Whom it is for and how much it matters, in the server's view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
    /// Pictures of it that may be shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
}

/// Resources that are named by filling in a pattern.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    /// The pattern (RFC 6570).
    pub uri_template: String,
    /// What it is called.
    #[serde(default)]
    pub name: String,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What its resources are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The kind of all its resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Pictures of it that may be shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
}

impl Listed for Resource {
    const LIST: List = List::Resources;

    fn icons(&mut self) -> &mut Vec<Icon> {
        &mut self.icons
    }
}

impl Listed for ResourceTemplate {
    const LIST: List = List::Templates;

    fn icons(&mut self) -> &mut Vec<Icon> {
        &mut self.icons
    }
}

/// What a resource holds: one piece as a rule, several for a folder.
pub(crate) async fn read(connection: &Inner, uri: &str) -> Result<Vec<ResourceContents>, Error> {
    if connection.capabilities.resources.is_none() {
        return Err(Error::NotOffered("resources"));
    }
    let plain = ReadResourceRequestParams::new(uri);
    let answer = ask::answer(connection, |state| {
        let params = match state {
            Some(state) => plain.clone().with_request_state(state),
            None => plain.clone(),
        };
        ReadResourceRequest::new(params).into()
    });
    let mut answer = answer.await?;
    let Some(Value::Array(pieces)) = answer.get_mut("contents").map(Value::take) else {
        return Err(Error::Protocol("its resource cannot be read".to_owned()));
    };
    let pieces: Option<Vec<ResourceContents>> = pieces.into_iter().map(super::read).collect();
    pieces.ok_or_else(|| Error::Protocol("its resource cannot be read".to_owned()))
}
