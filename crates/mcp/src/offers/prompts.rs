//! Prompts: messages that a server has ready for a person to send.

use std::collections::BTreeMap;

use domain::attachment::PromptMessage;
use domain::icon::Icon;
use rmcp::model::{GetPromptRequest, GetPromptRequestParams};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ask;
use super::pages::{List, Listed};
use crate::Error;
use crate::connection::Inner;

/// Messages of one prompt that are kept, far more than a person would send at once.
const MESSAGES: usize = 100;

/// A prompt as its server lists it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prompt {
    /// Unique within its server.
    pub name: String,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it takes; all of it is text.
    #[serde(default)]
    pub arguments: Vec<PromptArgument>,
    /// Pictures of it that may be shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
}

/// Something that a prompt takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromptArgument {
    /// Unique within its prompt.
    pub name: String,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What belongs there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the prompt needs it.
    #[serde(default)]
    pub required: bool,
}

/// A prompt with its arguments filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FilledPrompt {
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What is to be said, in order.
    pub messages: Vec<PromptMessage>,
}

impl Listed for Prompt {
    const LIST: List = List::Prompts;

    fn icons(&mut self) -> &mut Vec<Icon> {
        &mut self.icons
    }
}

/// A prompt with these arguments.
pub(crate) async fn get(
    connection: &Inner,
    name: &str,
    arguments: &BTreeMap<String, String>,
) -> Result<FilledPrompt, Error> {
    if connection.capabilities.prompts.is_none() {
        return Err(Error::NotOffered("prompts"));
    }
    let arguments: Map<String, Value> =
        arguments.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    let plain = GetPromptRequestParams::new(name).with_arguments(arguments);
    let answer = ask::answer(connection, |state| {
        let params = match state {
            Some(state) => plain.clone().with_request_state(state),
            None => plain.clone(),
        };
        GetPromptRequest::new(params).into()
    });
    let filled: Option<FilledPrompt> = super::read(answer.await?);
    let filled = filled.filter(|filled| filled.messages.iter().all(|message| message.content.is_object()));
    let filled = filled.ok_or_else(|| Error::Protocol("its prompt cannot be read".to_owned()))?;
    if filled.messages.len() > MESSAGES {
        return Err(Error::Protocol(format!("its prompt has more than {MESSAGES} messages")));
    }
    Ok(filled)
}
