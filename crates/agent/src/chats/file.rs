//! Import of chats from a file: our own export, which is validated strictly, or ChatGPT's.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::file::FileRef;
use domain::json_shape::JsonShape;
use domain::message::{MessageStatus, Part, Role};
use domain::model::ModelSettings;
use domain::{ChatId, MessageId, Timestamp};
use schemars::JsonSchema;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use storage::chat_settings::ChatMarks;
use storage::imports::{Aside, ImportedChat, ImportedFile, ImportedMessage};

use super::chatgpt;
use crate::files::result_offload::media_type;
use crate::models::is_name;
use crate::models::settings::check;

/// Name of our export format.
pub const EXPORT_FORMAT: &str = "ai-chat-mcp-export";
/// Version of our export format.
pub const EXPORT_VERSION: u32 = 1;

/// Top level of an import file, without its chats. Our own export has `chats`; ChatGPT's list is in `conversations`.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(
    rename = "ImportFile",
    extend("anyOf" = [{ "required": ["format", "version", "chats"] }, { "required": ["conversations"] }])
)]
pub struct FileFrame {
    #[schemars(extend("const" = EXPORT_FORMAT))]
    format: Option<String>,
    #[schemars(extend("const" = EXPORT_VERSION))]
    version: Option<u32>,
    #[schemars(with = "Option<Vec<Map<String, Value>>>")]
    chats: Option<IgnoredAny>,
    #[schemars(with = "Option<Vec<Map<String, Value>>>")]
    conversations: Option<IgnoredAny>,
}

/// Reason for which a file cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ChatImportError {
    /// The format is unknown.
    #[error(
        "the file is neither an export of this program of version {EXPORT_VERSION} nor one of ChatGPT's conversations"
    )]
    Unknown,
    /// The list of chats is malformed.
    #[error("{place}: {reason}")]
    NotAList {
        /// Name of the list's field.
        place: &'static str,
        /// Description of the problem.
        reason: String,
    },
    /// A chat is malformed.
    #[error("{place}[{index}].{error}")]
    Bad {
        /// Name of the list's field.
        place: &'static str,
        /// Position in the list, from 0.
        index: usize,
        /// Error of the chat.
        error: ChatError,
    },
}

/// A chat that cannot be imported: the path of the field, and the problem.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ChatError(String);

impl ChatError {
    fn new(path: impl fmt::Display, problem: impl fmt::Display) -> Self {
        Self(format!("{path}: {problem}"))
    }

    /// Returns the error with the field or item that contains the path.
    fn within(self, parent: impl fmt::Display) -> Self {
        Self(format!("{parent}.{self}"))
    }
}

impl From<serde_path_to_error::Error<serde_json::Error>> for ChatError {
    fn from(error: serde_path_to_error::Error<serde_json::Error>) -> Self {
        Self::new(error.path(), error.inner())
    }
}

/// Chats of a file that [`FileFrame::check`] has validated. They are references into its text, and each is decoded
/// when it is needed.
#[derive(Debug)]
pub struct Chats<'a> {
    rows: Vec<&'a RawValue>,
    read: ReadChat,
}

type ReadChat = fn(&RawValue) -> Result<Option<ImportedChat>, ChatError>;

impl FileFrame {
    /// Validates every chat in `text`, so that a file is imported as a whole or not at all. Only one decoded chat is
    /// in memory at a time.
    ///
    /// # Errors
    ///
    /// See [`ChatImportError`].
    pub fn check(self, text: &str) -> Result<Chats<'_>, ChatImportError> {
        let is_ours = self.format.as_deref() == Some(EXPORT_FORMAT) && self.version == Some(EXPORT_VERSION);
        let (place, read): (_, ReadChat) = match (self.chats, self.conversations) {
            (Some(_), None) if is_ours => ("chats", |row| own_chat(row).map(Some)),
            (None, Some(_)) if self.format.is_none() => ("conversations", chatgpt::chat),
            _ => return Err(ChatImportError::Unknown),
        };
        let mut scan = Scan { place, read, rows: Vec::new(), fault: None };
        let scanned = serde_json::Deserializer::from_str(text).deserialize_map(&mut scan);
        match (scan.fault, scanned) {
            (Some(fault), _) => return Err(fault),
            (None, Err(error)) => return Err(ChatImportError::NotAList { place, reason: error.to_string() }),
            (None, Ok(())) => {}
        }
        // The iterator pops from the end and must return the oldest chat first. ChatGPT's export lists the newest
        // first already.
        if is_ours {
            scan.rows.reverse();
        }
        Ok(Chats { rows: scan.rows, read })
    }
}

/// Visitor that collects the positions of the chats. It stops at the first malformed one, so that a huge list of
/// something else is never collected.
struct Scan<'de> {
    place: &'static str,
    read: ReadChat,
    rows: Vec<&'de RawValue>,
    fault: Option<ChatImportError>,
}

impl<'de> Visitor<'de> for &mut Scan<'de> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with a list of chats")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(name) = fields.next_key::<Cow<'de, str>>()? {
            if name == self.place {
                fields.next_value_seed(&mut *self)?;
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut chats: A) -> Result<(), A::Error> {
        let mut index = 0;
        while let Some(row) = chats.next_element::<&'de RawValue>()? {
            match (self.read)(row) {
                Ok(Some(_)) => self.rows.push(row),
                Ok(None) => {}
                Err(error) => {
                    self.fault = Some(ChatImportError::Bad { place: self.place, index, error });
                    return Err(A::Error::custom("a chat cannot be read"));
                }
            }
            index += 1;
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for &mut Scan<'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, list: D) -> Result<(), D::Error> {
        list.deserialize_seq(self)
    }
}

impl Iterator for Chats<'_> {
    type Item = ImportedChat;

    /// Decodes and returns the next chat, the oldest first.
    fn next(&mut self) -> Option<ImportedChat> {
        loop {
            let row = self.rows.pop()?;
            if let Ok(Some(chat)) = (self.read)(row) {
                return Some(chat);
            }
        }
    }
}

/// Rejects a chat whose values would take too much memory.
pub(super) fn check_shape(row: &RawValue) -> Result<(), ChatError> {
    if JsonShape::measure(row.get()).is_acceptable() {
        return Ok(());
    }
    let message = "this chat has too many or too deeply nested values; remove it from the file";
    Err(ChatError(message.to_owned()))
}

#[derive(Deserialize)]
/// A chat in our export format.
struct ChatOfFile {
    id: ChatId,
    title: String,
    created_at: Timestamp,
    updated_at: Timestamp,
    #[serde(default)]
    pinned: bool,
    #[serde(default)]
    archived: bool,
    /// Model that was chosen for the chat. It is preserved even if no provider has it: another provider must not
    /// receive the conversation without the user's consent.
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    settings: ModelSettings,
    messages: Vec<MessageOfFile>,
    /// Messages on inactive branches.
    #[serde(default)]
    branches: Vec<MessageOfFile>,
    #[serde(default)]
    files: Vec<FileOfFile>,
}

/// A file in our export format.
#[derive(Debug, Serialize, Deserialize)]
pub struct FileOfFile {
    /// Reference with type, name and size.
    #[serde(flatten)]
    pub file: FileRef,
    /// Content in base64.
    pub bytes: String,
}

#[derive(Deserialize)]
/// A message in our export format.
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
    /// Message before it; only set on an inactive branch.
    #[serde(default)]
    parent_id: Option<MessageId>,
}

/// Decodes and validates a chat of our export; see [`ChatOfFile`].
fn own_chat(row: &RawValue) -> Result<ImportedChat, ChatError> {
    check_shape(row)?;
    let mut json = serde_json::Deserializer::from_str(row.get());
    let chat: ChatOfFile = serde_path_to_error::deserialize(&mut json)?;
    let read = |(index, message): (usize, MessageOfFile)| {
        own_message(message).map_err(|error| error.within(format_args!("messages[{index}]")))
    };
    let read_aside = |(index, message): (usize, MessageOfFile)| {
        let aside = Some(Aside { parent: message.parent_id });
        let read = own_message(message).map_err(|error| error.within(format_args!("branches[{index}]")))?;
        Ok(ImportedMessage { aside, ..read })
    };
    let present = chat.messages.into_iter().enumerate().map(read);
    let messages = present.chain(chat.branches.into_iter().enumerate().map(read_aside));
    let files = chat.files.into_iter().enumerate().map(|(index, FileOfFile { mut file, bytes })| {
        let bytes = STANDARD.decode(bytes);
        let bytes = bytes.map_err(|error| ChatError::new(format_args!("files[{index}].bytes"), error))?;
        // Detected again: the type decides whether browsers display the file.
        file.media_type = media_type(&bytes, &file.media_type);
        Ok(ImportedFile { file, bytes })
    });
    // The same rules as for the settings of the API, because the file may have been edited.
    check(&chat.settings).map_err(|error| ChatError::new("settings", error))?;
    if chat.model.as_deref().is_some_and(|name| !is_name(name)) {
        return Err(ChatError::new("model", "not the name of a model"));
    }
    Ok(ImportedChat {
        model: chat.model,
        settings: chat.settings,
        id: chat.id,
        title: chat.title,
        created_at: chat.created_at,
        updated_at: chat.updated_at,
        marks: ChatMarks { pinned: chat.pinned, archived: chat.archived },
        messages: messages.collect::<Result<_, ChatError>>()?,
        files: files.collect::<Result<_, ChatError>>()?,
    })
}

/// Validates a message. Its tool calls and parts keep their original JSON, character by character, once they are
/// known to be readable.
fn own_message(message: MessageOfFile) -> Result<ImportedMessage, ChatError> {
    let tool_calls = message.tool_calls.get();
    serde_json::from_str::<Vec<serde_json::Value>>(tool_calls).map_err(|error| ChatError::new("tool_calls", error))?;
    if let Some(parts) = &message.parts {
        serde_json::from_str::<Vec<Part>>(parts.get()).map_err(|error| ChatError::new("parts", error))?;
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
        let text = file.to_string();
        let frame: FileFrame = serde_json::from_str(&text).unwrap();
        frame.check(&text).map(Iterator::collect).map_err(|error| error.to_string())
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
            let error = with(name, value).unwrap_err();
            assert!(error.starts_with(says), "{error}");
        }
    }

    #[test]
    fn a_list_of_something_else_is_refused_at_its_first_item() {
        let list = |item: &str| format!("{item}{}", format!(",{item}").repeat(1_500_000));
        let error_of = |text: &str| {
            let frame: FileFrame = serde_json::from_str(text).unwrap();
            frame.check(text).unwrap_err().to_string()
        };
        let own = format!(r#"{{"chats":[{}],"format":"ai-chat-mcp-export","version":1}}"#, list("1"));
        assert!(error_of(&own).starts_with("chats[0]."), "{}", error_of(&own));
        assert!(error_of(&format!(r#"{{"conversations":[{}]}}"#, list("1"))).starts_with("conversations[0]."));
        assert!(error_of(r#"{"conversations":7}"#).starts_with("conversations: invalid type"));
        let parts = format!(
            r#"{{"conversations":[{{"mapping":{{"a":{{"message":{{"content":{{"parts":[{}]}}}}}}}}}}]}}"#,
            list("1")
        );
        assert!(
            error_of(&parts).starts_with("conversations[0].this chat has too many or too deeply"),
            "{}",
            error_of(&parts)
        );
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
            let error = check(&chat(message)).unwrap_err();
            assert!(error.starts_with(says), "{error}");
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
