//! Offloading of large tool results: binary content and texts that are too long become files, and the message
//! contains references and the beginning of the text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::file::FileRef;
use domain::json::to_json_text;
use domain::text::cut_to;
use domain::tool::{PIECE_FILE, ToolContent, ToolResult};
use domain::{ChatId, FileId, MessageId, UserId};
use serde_json::{Value, json};
use storage::Storage;
use storage::files::NewFile;

use super::file_type::FileType;
use super::model_attachments::{AttachmentLoader, base64_of};
use super::{FileService, clean_name};

/// Maximum size of base64 data that stays in a message, in bytes: a small image is cheaper inline than as a separate
/// request.
const MAX_INLINE_BASE64_BYTES: usize = 16 * 1024;
/// Maximum size of a result in a message, as JSON in bytes, and of the beginning of a longer one. It is more than a
/// model receives of it.
pub const INLINE_BYTES: usize = 64 * 1024;
/// Maximum size of a content block other than text in the beginning of a result, in bytes.
const MAX_INLINE_BLOCK_BYTES: usize = 2 * 1024;

/// Storage of the files of one answer, referred to by a [`FileRef`].
#[derive(Debug, Clone, Copy)]
pub struct FileSaver<'a> {
    /// Quota and clock.
    pub files: &'a FileService,
    /// Store of the chat.
    pub storage: &'a Storage,
    /// User who owns the chat.
    pub owner: UserId,
    /// Chat.
    pub chat: ChatId,
    /// Answer that refers to the files.
    pub answer: MessageId,
}

/// Notice for the user when the quota for files is used up.
const QUOTA_NOTICE: &str =
    "There was no room to keep all that a tool gave back. Delete chats that have files, and ask again.";

impl FileSaver<'_> {
    /// Stores bytes as a file of the answer. Returns `None` if the quota is used up.
    ///
    /// # Errors
    ///
    /// Fails if the database fails, which is logged.
    pub async fn store_file(
        &self,
        media_type: &str,
        name: Option<&str>,
        bytes: &[u8],
    ) -> Result<Option<FileRef>, storage::Error> {
        let file = NewFile { id: FileId::fresh(), media_type, name, bytes };
        let stored = self.insert(&file).await.inspect_err(|error| {
            tracing::warn!(chat_id = %self.chat, %error, "failed to store a file of an answer");
        })?;
        let (media_type, filename, size) = (media_type.to_owned(), name.map(str::to_owned), bytes.len() as u64);
        Ok(stored.then_some(FileRef { media_type, filename, id: file.id, size }))
    }

    /// Inserts a file, unless the quota is used up. Returns whether it was inserted.
    async fn insert(&self, file: &NewFile<'_>) -> Result<bool, storage::Error> {
        let quota = self.files.quota_bytes(self.owner, self.storage).await?;
        let place = (self.chat, self.answer);
        self.storage.files().insert_for_message(self.owner, place, file, quota, self.files.clock.now()).await
    }

    /// Moves large content of a tool result to files. Images are added to `sight`, so that the model receives them.
    ///
    /// Returns a notice for the user if the quota is used up. If the database fails, the content stays in the result
    /// and is stored with the answer.
    pub async fn offload_result(
        &self,
        mut result: ToolResult,
        sight: &AttachmentLoader,
    ) -> (ToolResult, Option<String>) {
        let mut is_cut = false;
        // Binary content first: without it, the result is often small enough to stay as it is.
        for piece in &mut result.content {
            let Some(bytes) = bytes_of(piece) else { continue };
            let media_type = media_type(&bytes, mime_of(piece).unwrap_or_default());
            match self.store_file(&media_type, name_of(piece).as_deref(), &bytes).await {
                Ok(Some(file)) => {
                    if sight.modalities().accepts(&file.media_type) {
                        sight.add(file.id, bytes.into());
                    }
                    take_bytes(piece);
                    piece[PIECE_FILE] = json!(file);
                }
                Ok(None) => {
                    let text = format!("[{media_type}, {} bytes: not kept]", bytes.len());
                    *piece = json!({ "type": "text", "text": text });
                    is_cut = true;
                }
                Err(_) => {}
            }
        }
        // Measured as JSON, because that is what is stored and sent.
        let json = to_json_text(&result);
        if json.len() > INLINE_BYTES
            && let Ok(whole) = self.store_file("application/json", None, json.as_bytes()).await
        {
            is_cut |= whole.is_none();
            result = ToolResult { whole: whole.map(Box::new), ..head_of(result) };
        }
        (result, is_cut.then(|| QUOTA_NOTICE.to_owned()))
    }
}

/// Returns the decoded data of a content block if it is too large for a message.
fn bytes_of(piece: &ToolContent) -> Option<Vec<u8>> {
    let text = base64_of(piece).filter(|text| text.len() > MAX_INLINE_BASE64_BYTES)?;
    STANDARD.decode(text).ok()
}

/// Removes the data of a content block.
fn take_bytes(piece: &mut ToolContent) {
    let fields = piece.as_object_mut();
    if let Some(fields) = fields {
        fields.remove("data");
        if let Some(resource) = fields.get_mut("resource").and_then(Value::as_object_mut) {
            resource.remove("blob");
        }
    }
}

/// Returns the media type that the server declares.
fn mime_of(piece: &ToolContent) -> Option<&str> {
    let holder = piece.get("resource").unwrap_or(piece);
    holder.get("mimeType").and_then(Value::as_str)
}

/// Returns the name of a resource: the last component of its URI.
fn name_of(piece: &ToolContent) -> Option<String> {
    let uri = piece.get("resource")?.get("uri")?.as_str()?;
    Some(clean_name(uri)).filter(|name| !name.is_empty())
}

/// Returns the media type that is detected from the bytes, or else the declared one if it is well-formed.
pub fn media_type(bytes: &[u8], declared: &str) -> String {
    let is_token = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte))
    };
    let is_type =
        declared.len() < 100 && declared.split_once('/').is_some_and(|(one, two)| is_token(one) && is_token(two));
    match FileType::of(bytes) {
        Some(kind) if kind != FileType::Text => kind.media_type(None).to_owned(),
        // Unsupported images and other types keep the declared type and can only be downloaded.
        _ if is_type => declared.to_ascii_lowercase(),
        _ => "application/octet-stream".to_owned(),
    }
}

/// Returns the JSON pointer to the text of a content block, if it is text.
fn place_of_text(piece: &ToolContent) -> Option<&'static str> {
    let place = match piece.get("type").and_then(Value::as_str)? {
        "text" => "/text",
        "resource" => "/resource/text",
        _ => return None,
    };
    piece.pointer(place)?.is_string().then_some(place)
}

/// Returns the beginning of a result, at most [`INLINE_BYTES`] bytes.
fn head_of(mut result: ToolResult) -> ToolResult {
    let mut room = INLINE_BYTES;
    let has_text = result.content.iter().any(|piece| place_of_text(piece).is_some());
    // Without any text, the structured content is the only thing to show the beginning of.
    if let Some(value) = result.structured_content.take().filter(|_| !has_text) {
        result.content.push(json!({ "type": "text", "text": value.to_string() }));
    }
    let mut pieces = Vec::new();
    for mut piece in result.content {
        let text = place_of_text(&piece).and_then(|place| piece.pointer_mut(place));
        if let Some(text) = text {
            let cut = cut_to(text.as_str().unwrap_or_default(), room).to_owned();
            if cut.is_empty() {
                continue;
            }
            room -= cut.len();
            *text = cut.into();
        } else {
            let length = piece.to_string().len();
            // Other content is useless when it is cut, so it is kept whole or left out.
            if length > MAX_INLINE_BLOCK_BYTES.min(room) {
                continue;
            }
            room -= length;
        }
        pieces.push(piece);
    }
    ToolResult { content: pieces, meta: None, ..result }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_what_they_are_and_not_what_a_server_says() {
        for (bytes, declared, want) in [
            (b"\x89PNG\r\n\x1a\n".as_slice(), "text/html", "image/png"),
            (b"<svg/>", "image/svg+xml", "image/svg+xml"),
            (b"RIFF", "Audio/Wav", "audio/wav"),
            (b"x", "text/html\r\nset-cookie: a=b", "application/octet-stream"),
            (b"x", "", "application/octet-stream"),
        ] {
            assert_eq!(media_type(bytes, declared), want);
        }
    }

    #[test]
    fn the_beginning_of_a_result_is_as_long_as_it_may_be_and_has_what_is_small() {
        let link = json!({ "type": "resource_link", "uri": "a://b", "name": "b" });
        let text = |length: usize| json!({ "type": "text", "text": "x".repeat(length) });
        let resource = json!({ "type": "resource", "resource": { "uri": "a://c", "text": "y".repeat(INLINE_BYTES) } });
        let result = ToolResult {
            content: vec![text(10), link.clone(), resource, text(10)],
            structured_content: Some(json!({ "n": 1 })),
            meta: Some(json!({ "for": "the app" })),
            ..ToolResult::default()
        };
        let head = head_of(result);
        assert_eq!((head.content.len(), &head.content[1]), (3, &link));
        let left = INLINE_BYTES - 10 - link.to_string().len();
        assert_eq!(head.content[2]["resource"]["text"].as_str().unwrap().len(), left);
        assert_eq!((head.structured_content, head.meta), (None, None));

        let structured =
            ToolResult { structured_content: Some(json!(["z".repeat(INLINE_BYTES)])), ..ToolResult::default() };
        let head = head_of(structured);
        assert!(head.to_model_text().starts_with("[\"zzz") && head.to_model_text().len() == INLINE_BYTES);
    }
}
