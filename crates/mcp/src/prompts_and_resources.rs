//! Prompts and resources of servers, and completion of their arguments.
//!
//! Each request is sent only to servers that declare the capability.

pub(crate) mod completion;
pub(crate) mod listing;
pub(crate) mod prompts;
pub(crate) mod resources;
pub(crate) mod subscription;

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads an object leniently: a field that is null counts as absent, as many servers write it.
fn read_lenient<T: DeserializeOwned>(mut value: Value) -> Option<T> {
    value.as_object_mut()?.retain(|_, value| !value.is_null());
    serde_json::from_value(value).ok()
}
