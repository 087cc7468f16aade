//! Import of chats from an exported file.

use std::collections::HashMap;

use domain::file::{FILE_URL_PREFIX, FileRef};
use domain::message::{MessageStatus, Part, Role};
use domain::model::ModelSettings;
use domain::text::without_nul;
use domain::{ChatId, FileId, MessageId, Timestamp, UserId};

use crate::db_macros::transaction;
use crate::named_values::query_named;
use crate::{ChatRepository, Error, chat_models, chat_settings, files, model_settings, trash, users};

/// A chat to import.
#[derive(Debug, Clone)]
pub struct ImportedChat {
    /// Id in the export.
    pub id: ChatId,
    /// Title.
    pub title: String,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last message.
    pub updated_at: Timestamp,
    /// Marks.
    pub marks: chat_settings::ChatMarks,
    /// Selected model, as `provider/name`.
    pub model: Option<String>,
    /// Settings for its models.
    pub settings: ModelSettings,
    /// Messages. A message comes after its predecessor.
    pub messages: Vec<ImportedMessage>,
    /// Files.
    pub files: Vec<ImportedFile>,
}

/// A file of an [`ImportedChat`].
#[derive(Debug, Clone)]
pub struct ImportedFile {
    /// Metadata, with the id in the export.
    pub file: FileRef,
    /// Content.
    pub bytes: Vec<u8>,
}

/// A message of an [`ImportedChat`].
#[derive(Debug, Clone)]
pub struct ImportedMessage {
    /// Id in the export.
    pub id: MessageId,
    /// Author.
    pub role: Role,
    /// Text.
    pub content: String,
    /// Tool calls, a JSON list.
    pub tool_calls: String,
    /// Parts of an assistant message, a JSON list of [`domain::message::Part`].
    pub parts: Option<String>,
    /// State in which the response ended.
    pub status: Option<MessageStatus>,
    /// Error message for the user.
    pub error: Option<String>,
    /// Model, as `provider/name`.
    pub model: Option<String>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Position on an inactive branch; `None` for a message of the active branch.
    pub aside: Option<Aside>,
}

/// The position of a message that is not on the active branch of its chat.
#[derive(Debug, Clone, Copy)]
pub struct Aside {
    /// Preceding message; `None` if it begins the chat.
    pub parent: Option<MessageId>,
}

/// Outcome of the import of a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatImport {
    /// The chat is new.
    Inserted,
    /// The user already has the chat.
    Exists,
    /// The user's files would exceed their maximum size.
    Full,
}

const INSERT_CHAT: &str = "INSERT INTO ai_chat_sessions (id, user_id, title, created_at, updated_at)
    VALUES (:id, :owner, :title, :created_at, :updated_at) ON CONFLICT (id) DO NOTHING";

const IS_OWN: &str = "SELECT COUNT(*) FROM existing_chats WHERE id = $1 AND user_id = $2";

const INSERT_MESSAGE: &str = "INSERT INTO ai_chat_messages
      (id, session_id, role, content, tool_calls, parts, status, error, model, created_at, parent_id, inactive_since)
    SELECT :id, id, :role, :content, :tool_calls, :parts, :status, :error, :model, :created_at,
      :parent, :inactive_since
    FROM existing_chats WHERE id = :chat AND user_id = :owner
    ON CONFLICT (id) DO NOTHING";

impl ChatRepository<'_> {
    /// Imports a chat, completely or not at all. A chat that the user already has is skipped. Ids are preserved; one
    /// that is taken, by any user, is replaced by a new one. A chat with whose files those of the user would exceed
    /// `max_file_bytes` in total is not imported.
    pub async fn insert_imported(
        self,
        owner: UserId,
        chat: &ImportedChat,
        max_file_bytes: u64,
        now: Timestamp,
    ) -> Result<ChatImport, Error> {
        let title = without_nul(chat.title.clone());
        let size: u64 = chat.files.iter().map(|file| file.bytes.len() as u64).sum();
        // Before contents are put into object storage in vain.
        if size > 0 && self.storage.objects.is_some() {
            if self.get(owner, chat.id).await?.is_some() {
                return Ok(ChatImport::Exists);
            }
            if self.storage.files().count_bytes(owner).await?.saturating_add(size) > max_file_bytes {
                return Ok(ChatImport::Full);
            }
        }
        let mut contents = Vec::new();
        for file in &chat.files {
            contents.push(self.storage.files().place_content(owner, &file.bytes).await?);
        }
        let imported = transaction!(self.storage, |tx| {
            let own = sqlx::query_scalar::<_, i64>(IS_OWN).bind(chat.id.0).bind(owner.0).fetch_one(&mut *tx).await?;
            // Importing the same export twice must not duplicate chats.
            if own > 0 {
                return Ok(ChatImport::Exists);
            }
            if size > 0 {
                // Without the lock, parallel imports could exceed the quota together.
                sqlx::query(users::LOCK).bind(owner.0).execute(&mut *tx).await?;
                let kept = sqlx::query_scalar::<_, i64>(files::SUM).bind(owner.0).fetch_one(&mut *tx).await?;
                if kept.unsigned_abs().saturating_add(size) > max_file_bytes {
                    return Ok(ChatImport::Full);
                }
            }
            let mut id = chat.id;
            // Repeats with a new id until it is free. A conflict reveals nothing about the owner of the id.
            loop {
                let inserted = query_named!(
                    INSERT_CHAT,
                    id = id.0,
                    owner = owner.0,
                    title = &title,
                    created_at = chat.created_at.0,
                    updated_at = chat.updated_at.0
                )
                .execute(&mut *tx)
                .await?;
                if inserted.rows_affected() == 1 {
                    break;
                }
                // Own deleted chats do not keep their ids.
                let purged = sqlx::query(trash::PURGE_CHAT).bind(owner.0).bind(id.0).execute(&mut *tx).await?;
                if purged.rows_affected() == 0 {
                    id = ChatId::fresh();
                }
            }
            let mut new_paths: Vec<(String, String)> = Vec::new();
            for (ImportedFile { file, bytes }, content) in chat.files.iter().zip(&contents) {
                let name = file.filename.clone().map(without_nul);
                let mut file_id = file.id;
                loop {
                    let inserted = query_named!(
                        files::INSERT,
                        id = file_id.0,
                        owner = owner.0,
                        media_type = &file.media_type,
                        name = name.as_deref(),
                        size = bytes.len() as i64,
                        now = now.0,
                        object_key = content.object_key.as_deref(),
                        sha256 = content.sha256.as_deref()
                    )
                    .execute(&mut *tx)
                    .await?;
                    if inserted.rows_affected() == 1 {
                        break;
                    }
                    file_id = FileId::fresh();
                }
                if content.object_key.is_none() {
                    sqlx::query(files::INSERT_BYTES).bind(file_id.0).bind(bytes).execute(&mut *tx).await?;
                }
                sqlx::query(files::ASSIGN_TO_CHAT).bind(file_id.0).bind(owner.0).bind(id.0).execute(&mut *tx).await?;
                if file_id != file.id {
                    new_paths.push((format!("{FILE_URL_PREFIX}{}", file.id), format!("{FILE_URL_PREFIX}{file_id}")));
                }
            }
            // Files with a new id have a new path, which the messages must refer to.
            let renew = |json: &str| new_paths.iter().fold(json.to_owned(), |json, (old, new)| json.replace(old, new));
            let mut renamed: HashMap<MessageId, MessageId> = HashMap::new();
            for message in &chat.messages {
                let parent = message.aside.and_then(|aside| aside.parent);
                // A predecessor may have received a new id.
                let parent = parent.map(|parent| renamed.get(&parent).copied().unwrap_or(parent).0);
                let content = without_nul(message.content.clone());
                let error = message.error.clone().map(without_nul);
                let model = message.model.clone().map(without_nul);
                let tool_calls = renew(&message.tool_calls);
                let parts = message.parts.as_deref().map(renew);
                let mut message_id = message.id;
                loop {
                    let inserted = query_named!(
                        INSERT_MESSAGE,
                        id = message_id.0,
                        chat = id.0,
                        role = message.role.as_str(),
                        content = &content,
                        tool_calls = &tool_calls,
                        parts = parts.as_deref(),
                        status = message.status.map(MessageStatus::as_str),
                        error = error.as_deref(),
                        model = model.as_deref(),
                        created_at = message.created_at.0,
                        owner = owner.0,
                        parent = parent,
                        // The export has no time for this. Any time marks the message as inactive.
                        inactive_since = message.aside.map(|_| now.0)
                    )
                    .execute(&mut *tx)
                    .await?;
                    if inserted.rows_affected() == 1 {
                        break;
                    }
                    let purged = sqlx::query(trash::PURGE_MESSAGE).bind(owner.0).bind(message_id.0);
                    if purged.execute(&mut *tx).await?.rows_affected() == 0 {
                        message_id = MessageId::fresh();
                        renamed.insert(message.id, message_id);
                    }
                }
                // Without files there is nothing to assign, so that the parts need not be parsed.
                if let Some(parts) = parts.filter(|_| !chat.files.is_empty()) {
                    let parts: Vec<Part> =
                        serde_json::from_str(&parts).map_err(|error| Error::Corrupt(error.to_string()))?;
                    files::hold_files!(tx, owner, id, message_id.0, &files::named_in(&parts));
                }
            }
            if chat.marks != chat_settings::ChatMarks::default() {
                sqlx::query(chat_settings::SET_MARKS)
                    .bind(owner.0)
                    .bind(id.0)
                    .bind(chat.marks.pinned.then_some(now.0))
                    .bind(chat.marks.archived.then_some(now.0))
                    .execute(&mut *tx)
                    .await?;
            }
            if let Some(model) = &chat.model {
                sqlx::query(chat_models::SET).bind(owner.0).bind(id.0).bind(model).execute(&mut *tx).await?;
            }
            if let Some(json) = model_settings::json_of(&chat.settings)? {
                sqlx::query(model_settings::SET).bind(owner.0).bind(id.0).bind(&json).execute(&mut *tx).await?;
            }
            Ok(ChatImport::Inserted)
        })?;
        if imported != ChatImport::Inserted {
            for content in &contents {
                self.storage.files().discard(content).await;
            }
        }
        Ok(imported)
    }
}
