//! The tool that reads a file as text.

use domain::UserId;
use domain::tool::ToolResult;
use serde::Deserialize;
use serde_json::json;

use super::{
    DOCUMENT_TYPE, DriveError, FOLDER_TYPE, File, GoogleDrive, MAX_DOCUMENT_BYTES, PRESENTATION_TYPE, SHORTCUT_TYPE,
    SPREADSHEET_TYPE, checked_id,
};

/// Maximum size of the content that is read, in bytes.
const MAX_CONTENT_BYTES: usize = 1024 * 1024;
/// Fields of the response.
const RESPONSE_FIELDS: &str = "id,name,mimeType,size,webViewLink,shortcutDetails(targetId)";
/// Media types outside `text/` whose content is text.
const TEXT_TYPES: [&str; 12] = [
    "application/json",
    "application/ld+json",
    "application/javascript",
    "application/x-javascript",
    "application/typescript",
    "application/xml",
    "application/yaml",
    "application/x-yaml",
    "application/toml",
    "application/sql",
    "application/x-sh",
    "application/rtf",
];

/// Arguments of the tool.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadFile {
    #[serde(alias = "fileId")]
    file_id: String,
}

impl GoogleDrive {
    /// Returns the text of a file. The result for a file without text describes the file.
    pub(in super::super) async fn read_file(&self, user: UserId, input: ReadFile) -> Result<ToolResult, DriveError> {
        let mut file = self.get_file(user, checked_id("file", &input.file_id)?).await?;
        if file.mime_type == SHORTCUT_TYPE
            && let Some(shortcut) = &file.shortcut_details
        {
            file = self.get_file(user, checked_id("file", &shortcut.target_id)?).await?;
        }
        let mut url = self.api_url(&["drive", "v3", "files", checked_id("file", &file.id)?])?;
        match file.mime_type.as_str() {
            FOLDER_TYPE => {
                let name = &file.name;
                return Err(DriveError::Arguments(format!(
                    "{name:?} is a folder. google_drive_list_files lists what is in it, with folder_id {}.",
                    file.id
                )));
            }
            google if let Some(export) = export_type(google) => {
                if let Ok(mut segments) = url.path_segments_mut() {
                    // Documents of Google's own types have no content to download, only exports.
                    segments.push("export");
                }
                url.query_pairs_mut().append_pair("mimeType", export);
            }
            other if is_text(other) => {
                url.query_pairs_mut().append_pair("alt", "media").append_pair("supportsAllDrives", "true");
            }
            _ => return Ok(ToolResult::text(describe_without_text(&file))),
        }
        let response = self.request(user, MAX_CONTENT_BYTES, |client| client.get(url.clone())).await?;
        Ok(content_result(&file, &response.body, response.is_truncated))
    }

    /// Requests the metadata of a file.
    async fn get_file(&self, user: UserId, id: &str) -> Result<File, DriveError> {
        let mut url = self.api_url(&["drive", "v3", "files", id])?;
        url.query_pairs_mut().append_pair("fields", RESPONSE_FIELDS).append_pair("supportsAllDrives", "true");
        self.request(user, MAX_DOCUMENT_BYTES, |client| client.get(url.clone())).await?.json()
    }
}

/// Returns the type as which a Google document is exported.
fn export_type(mime_type: &str) -> Option<&'static str> {
    match mime_type {
        DOCUMENT_TYPE => Some("text/markdown"),
        SPREADSHEET_TYPE => Some("text/csv"),
        PRESENTATION_TYPE => Some("text/plain"),
        _ => None,
    }
}

/// Returns whether content of a media type is text.
fn is_text(mime_type: &str) -> bool {
    let essence = mime_type.split(';').next().unwrap_or_default().trim();
    essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
        || TEXT_TYPES.contains(&essence)
}

/// Describes a file whose content is not text.
fn describe_without_text(file: &File) -> String {
    let size = file.size.as_deref().map(|size| format!(", {size} bytes")).unwrap_or_default();
    let link = file.web_view_link.as_deref().map(|link| format!(" It can be opened at {link}")).unwrap_or_default();
    format!("{} is not a text ({}{size}), so its content is not shown.{link}", file.name, file.type_name())
}

/// Returns the result for the content of a file, with notes on what is missing.
fn content_result(file: &File, body: &[u8], is_truncated: bool) -> ToolResult {
    // Drive's text exports of documents begin with a byte order mark.
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let text = match std::str::from_utf8(body) {
        Ok(text) => text.to_owned(),
        // The body was truncated within a character.
        Err(error) if is_truncated && error.error_len().is_none() => {
            String::from_utf8_lossy(&body[..error.valid_up_to()]).into()
        }
        Err(_) if body.contains(&0) => return ToolResult::text(describe_without_text(file)),
        Err(_) => String::from_utf8_lossy(body).into(),
    };
    let mut notes = Vec::new();
    if text.is_empty() {
        notes.push(format!("{} is empty.", file.name));
    }
    if is_truncated {
        notes.push(format!("{} is longer than 1 MiB; this is its beginning.", file.name));
    }
    if file.mime_type == SPREADSHEET_TYPE {
        notes.push("This is the first sheet; others are not included.".to_owned());
    }
    let mut result = ToolResult { content: Vec::new(), ..ToolResult::default() };
    for text in Some(text).filter(|text| !text.is_empty()).into_iter().chain(notes) {
        result.content.push(json!({ "type": "text", "text": text }));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(mime_type: &str) -> File {
        serde_json::from_value(json!({ "id": "1", "name": "a.txt", "mimeType": mime_type })).unwrap()
    }

    #[test]
    fn truncates_at_whole_characters_with_a_note() {
        let text = content_result(&file("text/plain"), "añ".as_bytes().split_at(2).0, true).to_model_text();
        assert_eq!(text, "a\na.txt is longer than 1 MiB; this is its beginning.");
        assert_eq!(content_result(&file("text/plain"), b"\xef\xbb\xbfa", false).to_model_text(), "a");
        assert_eq!(content_result(&file("text/plain"), b"", false).to_model_text(), "a.txt is empty.");
        assert!(content_result(&file("text/plain"), b"\xff\x00\x01", false).to_model_text().contains("not a text"));
    }

    #[test]
    fn recognizes_text_by_media_type() {
        assert!(is_text("text/csv; charset=utf-8") && is_text("application/json") && is_text("image/svg+xml"));
        assert!(!is_text("application/pdf") && !is_text("image/png") && !is_text(""));
    }
}
