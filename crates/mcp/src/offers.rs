//! What servers offer beside tools: prompts, resources, and help with filling in what these take.
//!
//! Everything is asked for only where the server says that it has it. Lists are read to their end, or until they are
//! longer than anybody could use.

pub(crate) mod ask;
pub(crate) mod completion;
pub(crate) mod pages;
pub(crate) mod prompts;
pub(crate) mod resources;
pub(crate) mod watch;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A list of a server.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listing<T> {
    /// What stands in it, in the server's order.
    pub items: Vec<T>,
    /// Whether the server has more than is read.
    pub is_cut: bool,
}

impl<T> Default for Listing<T> {
    fn default() -> Self {
        Self { items: Vec::new(), is_cut: false }
    }
}

/// Reads something as servers write it: a field that is null means the same as one that is not there.
fn read<T: DeserializeOwned>(mut value: Value) -> Option<T> {
    value.as_object_mut()?.retain(|_, value| !value.is_null());
    serde_json::from_value(value).ok()
}
