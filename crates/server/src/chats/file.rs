//! Chats of a file that somebody brings: our own export, read strictly, or ChatGPT's.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::file::FileRef;
use domain::message::{MessageStatus, Part, Role};
use domain::model::ModelSettings;
use domain::{ChatId, MessageId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use store::imports::{Aside, ImportedChat, ImportedFile, ImportedMessage};
use store::marks::Marks;

use super::chatgpt;
use crate::files::results::media_type;
use crate::models::is_name;
use crate::models::settings::check;

/// The form of our own file that this program reads.
pub const VERSION: u32 = 1;

/// A file. Our own has `chats`; what ChatGPT exports stands in `conversations`.
#[derive(Debug, Deserialize)]
pub struct File {
    format: Option<String>,
    version: Option<u32>,
    chats: Option<Vec<Box<RawValue>>>,
    conversations: Option<Vec<Box<RawValue>>>,
}

/// Why a file is not taken.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It is of a form that is not known.
    #[error("the file is neither an export of this program of version {VERSION} nor one of ChatGPT's conversations")]
    Unknown,
    /// A chat in it is not what a chat looks like.
    #[error("{place}[{index}].{reason}")]
    Bad {
        /// The list.
        place: &'static str,
        /// Which of it, from 0.
        index: usize,
        /// Where in it, and what is wrong.
        reason: String,
    },
}

/// The chats of a file whose every chat can be read.
#[derive(Debug)]
pub struct Chats {
    rows: Vec<Box<RawValue>>,
    read: fn(&RawValue) -> Result<Option<ImportedChat>, String>,
}

impl File {
    /// Looks at every chat, so that a file is taken as a whole or not at all. One chat at a time is in memory.
    pub fn check(self) -> Result<Chats, FileError> {
        let is_ours = self.format.as_deref() == Some("ai-chat-mcp-export") && self.version == Some(VERSION);
        let (place, mut chats) = match (self.chats, self.conversations) {
            (Some(rows), None) if is_ours => ("chats", Chats { rows, read: |row| own_chat(row).map(Some) }),
            (None, Some(rows)) if self.format.is_none() => ("conversations", Chats { rows, read: chatgpt::chat }),
            _ => return Err(FileError::Unknown),
        };
        for (index, row) in chats.rows.iter().enumerate() {
            (chats.read)(row).map_err(|reason| FileError::Bad { place, index, reason })?;
        }
        // They are taken from the end, and are to come in the oldest first: so they stand in ChatGPT's file from its end.
        if is_ours {
            chats.rows.reverse();
        }
        Ok(chats)
    }
}

impl Iterator for Chats {
    type Item = ImportedChat;

    /// The next chat that has something in it, the oldest first.
    fn next(&mut self) -> Option<ImportedChat> {
        loop {
            let row = self.rows.pop()?;
            if let Ok(Some(chat)) = (self.read)(&row) {
                return Some(chat);
            }
        }
    }
}

#[derive(Deserialize)]
struct ChatOfFile {
    id: ChatId,
    title: String,
    created_at: Timestamp,
    updated_at: Timestamp,
    #[serde(default)]
    pinned: bool,
    #[serde(default)]
    archived: bool,
    /// The model that was chosen for it, which stays the chat's where no provider has it: another one would read the
    /// conversation without having been asked to.
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    settings: ModelSettings,
    messages: Vec<MessageOfFile>,
    /// What is on other branches.
    #[serde(default)]
    branches: Vec<MessageOfFile>,
    #[serde(default)]
    files: Vec<FileOfFile>,
}

/// A file that goes with a chat.
#[derive(Debug, Serialize, Deserialize)]
pub struct FileOfFile {
    /// What it is.
    #[serde(flatten)]
    pub file: FileRef,
    /// What is in it, in base64.
    pub bytes: String,
}

#[derive(Deserialize)]
struct MessageOfFile {
    id: MessageId,
    role: Role,
    content: String,
    tool_calls: Box<RawValue>,
    #[serde(default)]
    parts: Option<Box<RawValue>>,
    #[serde(default)]
    status: Option<MessageStatus>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    model: Option<String>,
    created_at: Timestamp,
    /// On another branch: what it stands after.
    #[serde(default)]
    parent_id: Option<MessageId>,
}

fn own_chat(row: &RawValue) -> Result<ImportedChat, String> {
    let mut json = serde_json::Deserializer::from_str(row.get());
    let chat: ChatOfFile =
        serde_path_to_error::deserialize(&mut json).map_err(|error| format!("{}: {}", error.path(), error.inner()))?;
    let read = |(index, message): (usize, MessageOfFile)| {
        own_message(message).map_err(|reason| format!("messages[{index}].{reason}"))
    };
    let read_aside = |(index, message): (usize, MessageOfFile)| {
        let aside = Some(Aside { parent: message.parent_id });
        let read = own_message(message).map_err(|reason| format!("branches[{index}].{reason}"))?;
        Ok(ImportedMessage { aside, ..read })
    };
    let present = chat.messages.into_iter().enumerate().map(read);
    let messages = present.chain(chat.branches.into_iter().enumerate().map(read_aside));
    let files = chat.files.into_iter().enumerate().map(|(index, FileOfFile { mut file, bytes })| {
        let bytes = STANDARD.decode(bytes).map_err(|error| format!("files[{index}].bytes: {error}"))?;
        file.media_type = media_type(&bytes, &file.media_type);
        Ok(ImportedFile { file, bytes })
    });
    check(&chat.settings).map_err(|reason| format!("settings: {reason}"))?;
    if chat.model.as_deref().is_some_and(|name| !is_name(name)) {
        return Err("model: that is no name of a model".to_owned());
    }
    Ok(ImportedChat {
        model: chat.model,
        settings: chat.settings,
        id: chat.id,
        title: chat.title,
        created_at: chat.created_at,
        updated_at: chat.updated_at,
        marks: Marks { pinned: chat.pinned, archived: chat.archived },
        messages: messages.collect::<Result<_, String>>()?,
        files: files.collect::<Result<_, String>>()?,
    })
}

/// Lists are kept as they stand, character by character, once it is sure that they can be read back.
fn own_message(message: MessageOfFile) -> Result<ImportedMessage, String> {
    let tool_calls = message.tool_calls.get();
    serde_json::from_str::<Vec<serde_json::Value>>(tool_calls).map_err(|error| format!("tool_calls: {error}"))?;
    if let Some(parts) = &message.parts {
        serde_json::from_str::<Vec<Part>>(parts.get()).map_err(|error| format!("parts: {error}"))?;
    }
    Ok(ImportedMessage {
        id: message.id,
        role: message.role,
        content: message.content,
        tool_calls: tool_calls.to_owned(),
        parts: message.parts.map(|parts| parts.get().to_owned()),
        status: message.status,
        error: message.error,
        model: message.model,
        created_at: message.created_at,
        aside: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn check(file: &Value) -> Result<Vec<ImportedChat>, String> {
        let file: File = serde_json::from_str(&file.to_string()).unwrap();
        file.check().map(Iterator::collect).map_err(|error| error.to_string())
    }

    fn chat(message: Value) -> Value {
        let chat = json!({ "id": "01890a5d-ac96-774b-bcce-b302099a8057", "title": "T", "messages": [message],
            "created_at": "2026-11-21T10:00:00+00:00", "updated_at": "2026-11-21T10:00:00.5+00:00" });
        json!({ "format": "ai-chat-mcp-export", "version": 1, "chats": [chat] })
    }

    #[test]
    fn what_was_set_for_the_models_of_a_chat_is_read_and_named_when_it_is_wrong() {
        let with = |name: &str, value: Value| {
            let mut file = chat(json!({ "id": "01890a5d-ac96-774b-bcce-b302099a8058", "role": "user", "content": "x",
                "tool_calls": [], "created_at": "2026-11-21T10:00:00+00:00" }));
            file["chats"][0][name] = value;
            check(&file)
        };
        assert_eq!(with("model", json!("openai/other")).unwrap()[0].model.as_deref(), Some("openai/other"));
        assert_eq!(with("settings", json!({ "topP": 0.5 })).unwrap()[0].settings.top_p, Some(0.5));
        for (name, value, says) in [
            ("model", json!("a/b\u{0}"), "chats[0].model: "),
            ("model", json!(7), "chats[0].model: invalid type"),
            ("settings", json!({ "temperature": 9 }), "chats[0].settings: temperature"),
            ("settings", json!({ "temperature": "hot" }), "chats[0].settings.temperature: invalid type"),
        ] {
            let said = with(name, value).unwrap_err();
            assert!(said.starts_with(says), "{said}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let good = json!({ "id": "01890a5d-ac96-774b-bcce-b302099a8058", "role": "user", "content": "x",
            "tool_calls": [], "created_at": "2026-11-21T10:00:00+00:00" });
        assert_eq!(check(&chat(good.clone())).unwrap()[0].messages[0].content, "x");
        for (field, value, says) in [
            ("role", json!("system"), "chats[0].messages[0].role: unknown variant"),
            ("tool_calls", json!({}), "chats[0].messages[0].tool_calls: invalid type"),
            ("parts", json!([{ "type": "sound" }]), "chats[0].messages[0].parts: unknown variant"),
            ("created_at", json!("yesterday"), "chats[0].messages[0].created_at: "),
        ] {
            let mut message = good.clone();
            message[field] = value;
            let said = check(&chat(message)).unwrap_err();
            assert!(said.starts_with(says), "{said}");
        }
        for file in [
            json!({}),
            json!({ "chats": [] }),
            json!({ "format": "ai-chat-mcp-export", "version": 2, "chats": [] }),
            json!({ "format": "other", "conversations": [] }),
        ] {
            assert!(check(&file).unwrap_err().starts_with("the file is neither"), "{file}");
        }
    }
}
