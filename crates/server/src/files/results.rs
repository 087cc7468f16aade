//! Results of tools that are too large to stand in a message. Their bytes become files, each kept once; a text that is too
//! long becomes one, too, and its beginning stays.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::file::FileRef;
use domain::text::cut_to;
use domain::tool::{PIECE_FILE, ToolContent, ToolResult};
use domain::{ChatId, FileId, MessageId, UserId};
use serde_json::{Value, json};
use store::Store;
use store::files::NewFile;

use super::kind::Kind;
use super::sight::{Sight, base64_of};
use super::{clean_name, room};
use crate::app::App;
use crate::runs::Run;

/// Bytes of base64 that stay in a piece: a small picture costs less than asking for it.
const SMALL: usize = 16 * 1024;
/// Bytes of a whole result, as JSON, that stay in the message, and of the beginning of one that is longer. More than a
/// model reads of it.
pub const HEAD: usize = 64 * 1024;
/// Bytes of a piece that is no text, beside a beginning.
const PIECE: usize = 2 * 1024;

/// For whom files are kept.
#[derive(Debug, Clone, Copy)]
pub struct Keeper<'a> {
    /// The app.
    pub app: &'a App,
    /// Where the chat is kept.
    pub home: &'a Store,
    /// Whose chat it is.
    pub owner: UserId,
    /// The chat.
    pub chat: ChatId,
    /// The answer that names them.
    pub answer: MessageId,
}

/// What is said when there is no room for a large result.
const NOT_KEPT: &str =
    "There was no room to keep all that a tool gave back. Delete chats that have files, and ask again.";

impl<'a> Keeper<'a> {
    /// For the answer of a run.
    pub fn of(app: &'a App, run: &'a Run) -> Self {
        Self { app, home: &run.home, owner: run.owner, chat: run.chat, answer: run.answer }
    }

    /// Keeps bytes as a file of the answer. `None` when there is no room for them.
    pub async fn keep(
        &self,
        media_type: &str,
        name: Option<&str>,
        bytes: &[u8],
    ) -> Result<Option<FileRef>, store::Error> {
        let file = NewFile { id: FileId::fresh(), media_type, name, bytes };
        let (most, now) = (room(self.app, self.home), self.app.clock.now());
        let place = (self.chat, self.answer);
        let kept = self.home.insert_file_of_answer(self.owner, place, &file, most, now).await.inspect_err(|error| {
            tracing::warn!(%error, "a file of an answer could not be kept");
        })?;
        let (media_type, filename, size) = (media_type.to_owned(), name.map(str::to_owned), bytes.len() as u64);
        Ok(kept.then_some(FileRef { media_type, filename, id: file.id, size }))
    }

    /// Takes out of a result what is too large to stand in a message, and keeps it beside; pictures are at hand for the
    /// model from then on. Where the database does not answer, it stays in the result, and is stored with it later. What is
    /// to be said where there is no room for all of it comes beside.
    pub async fn keep_result(&self, mut result: ToolResult, sight: &Sight) -> (ToolResult, Option<String>) {
        let mut is_cut = false;
        for piece in &mut result.content {
            let Some(bytes) = bytes_of(piece) else { continue };
            let media_type = media_type(&bytes, mime_of(piece).unwrap_or_default());
            match self.keep(&media_type, name_of(piece).as_deref(), &bytes).await {
                Ok(Some(file)) => {
                    if sight.takes().takes(&file.media_type) {
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
        let json = serde_json::to_vec(&result).unwrap_or_default();
        if json.len() > HEAD
            && let Ok(whole) = self.keep("application/json", None, &json).await
        {
            is_cut |= whole.is_none();
            result = ToolResult { whole: whole.map(Box::new), ..head_of(result) };
        }
        (result, is_cut.then(|| NOT_KEPT.to_owned()))
    }
}

/// The bytes of a piece, when they are many.
fn bytes_of(piece: &ToolContent) -> Option<Vec<u8>> {
    let text = base64_of(piece).filter(|text| text.len() > SMALL)?;
    STANDARD.decode(text).ok()
}

fn take_bytes(piece: &mut ToolContent) {
    let fields = piece.as_object_mut();
    if let Some(fields) = fields {
        fields.remove("data");
        if let Some(resource) = fields.get_mut("resource").and_then(Value::as_object_mut) {
            resource.remove("blob");
        }
    }
}

fn mime_of(piece: &ToolContent) -> Option<&str> {
    let holder = piece.get("resource").unwrap_or(piece);
    holder.get("mimeType").and_then(Value::as_str)
}

/// What a resource is called: the end of its address.
fn name_of(piece: &ToolContent) -> Option<String> {
    let uri = piece.get("resource")?.get("uri")?.as_str()?;
    Some(clean_name(uri)).filter(|name| !name.is_empty())
}

/// By the bytes where they say it, and else by the server's word, if it is one.
pub fn media_type(bytes: &[u8], said: &str) -> String {
    let is_token = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte))
    };
    let is_type = said.len() < 100 && said.split_once('/').is_some_and(|(one, two)| is_token(one) && is_token(two));
    match Kind::of(bytes) {
        Some(kind) if kind != Kind::Text => kind.media_type(None).to_owned(),
        // What says that it is a picture and is none that browsers draw is only saved.
        _ if is_type => said.to_ascii_lowercase(),
        _ => "application/octet-stream".to_owned(),
    }
}

/// Where the text of a piece stands, if it is one.
fn place_of_text(piece: &ToolContent) -> Option<&'static str> {
    let place = match piece.get("type").and_then(Value::as_str)? {
        "text" => "/text",
        "resource" => "/resource/text",
        _ => return None,
    };
    piece.pointer(place)?.is_string().then_some(place)
}

/// The beginning of a result.
fn head_of(mut result: ToolResult) -> ToolResult {
    let mut room = HEAD;
    let has_text = result.content.iter().any(|piece| place_of_text(piece).is_some());
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
            if length > PIECE.min(room) {
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
        for (bytes, said, want) in [
            (b"\x89PNG\r\n\x1a\n".as_slice(), "text/html", "image/png"),
            (b"<svg/>", "image/svg+xml", "image/svg+xml"),
            (b"RIFF", "Audio/Wav", "audio/wav"),
            (b"x", "text/html\r\nset-cookie: a=b", "application/octet-stream"),
            (b"x", "", "application/octet-stream"),
        ] {
            assert_eq!(media_type(bytes, said), want);
        }
    }

    #[test]
    fn the_beginning_of_a_result_is_as_long_as_it_may_be_and_has_what_is_small() {
        let link = json!({ "type": "resource_link", "uri": "a://b", "name": "b" });
        let text = |length: usize| json!({ "type": "text", "text": "x".repeat(length) });
        let resource = json!({ "type": "resource", "resource": { "uri": "a://c", "text": "y".repeat(HEAD) } });
        let result = ToolResult {
            content: vec![text(10), link.clone(), resource, text(10)],
            structured_content: Some(json!({ "n": 1 })),
            meta: Some(json!({ "for": "the app" })),
            ..ToolResult::default()
        };
        let head = head_of(result);
        assert_eq!((head.content.len(), &head.content[1]), (3, &link));
        let left = HEAD - 10 - link.to_string().len();
        assert_eq!(head.content[2]["resource"]["text"].as_str().unwrap().len(), left);
        assert_eq!((head.structured_content, head.meta), (None, None));

        let structured = ToolResult { structured_content: Some(json!(["z".repeat(HEAD)])), ..ToolResult::default() };
        let head = head_of(structured);
        assert!(head.to_model_text().starts_with("[\"zzz") && head.to_model_text().len() == HEAD);
    }
}
