//! Prompts: messages that a server prepares for a user to send.

use std::collections::BTreeMap;

use domain::attachment::PromptMessage;
use domain::icon::Icon;
use rmcp::model::{GetPromptRequest, GetPromptRequestParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::listing::{ListEntry, ListKind};
use super::read_lenient;
use crate::Error;
use crate::input_required::request_until_complete;
use crate::session::Session;

/// Maximum number of messages in one prompt, far more than a user would send at once.
const MAX_PROMPT_MESSAGES: usize = 100;

/// Prompt of a server's list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Prompt {
    /// Name, unique within the server.
    pub name: String,
    /// Display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Arguments; all values are text.
    #[serde(default)]
    pub arguments: Vec<PromptArgument>,
    /// Icons that may be shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
}

/// Argument of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PromptArgument {
    /// Name, unique within the prompt.
    pub name: String,
    /// Display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Meaning of the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Set if the prompt cannot be filled without it.
    #[serde(default)]
    pub required: bool,
}

/// Prompt filled with arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FilledPrompt {
    /// Purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Messages, in the order in which they are sent.
    pub messages: Vec<PromptMessage>,
}

impl ListEntry for Prompt {
    const LIST: ListKind = ListKind::Prompts;

    fn icons_mut(&mut self) -> &mut Vec<Icon> {
        &mut self.icons
    }
}

/// Fills a prompt with arguments (`prompts/get`).
///
/// # Errors
///
/// [`Error::NotOffered`] if the server has no prompts.
pub(crate) async fn get_prompt(
    session: &Session,
    name: &str,
    arguments: &BTreeMap<String, String>,
) -> Result<FilledPrompt, Error> {
    if session.capabilities.prompts.is_none() {
        return Err(Error::NotOffered("prompts"));
    }
    let arguments: Map<String, Value> =
        arguments.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    let original = GetPromptRequestParams::new(name).with_arguments(arguments);
    let result = request_until_complete(session, |state| {
        let params = match state {
            Some(state) => original.clone().with_request_state(state),
            None => original.clone(),
        };
        GetPromptRequest::new(params).into()
    });
    let filled: Option<FilledPrompt> = read_lenient(result.await?);
    let filled = filled.filter(|filled| filled.messages.iter().all(|message| message.content.is_object()));
    let filled = filled.ok_or_else(|| Error::Protocol("its prompt cannot be read".to_owned()))?;
    // Rejected instead of cut: half of a prompt may mean something else.
    if filled.messages.len() > MAX_PROMPT_MESSAGES {
        return Err(Error::Protocol(format!("its prompt has more than {MAX_PROMPT_MESSAGES} messages")));
    }
    Ok(filled)
}
