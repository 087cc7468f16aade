//! Reading a file as text.

use domain::UserId;
use domain::tool::ToolResult;
use serde::Deserialize;
use serde_json::json;

use super::{DOCUMENT, DriveError, FOLDER, File, MAX_DOCUMENT, PRESENTATION, SHORTCUT, SPREADSHEET, address, ask, id};
use crate::app::App;

/// The most that is read of a file, in bytes.
const MAX_CONTENT: usize = 1024 * 1024;
const FIELDS: &str = "id,name,mimeType,size,webViewLink,shortcutDetails(targetId)";
/// Types outside `text/` whose content is text all the same.
const TEXTS: [&str; 12] = [
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

/// What the tool takes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadFile {
    #[serde(alias = "fileId")]
    file_id: String,
}

/// The text of the file; what has no text is named.
pub async fn read(app: &App, user: UserId, input: ReadFile) -> Result<ToolResult, DriveError> {
    let mut file = describe(app, user, id("file", &input.file_id)?).await?;
    if file.mime_type == SHORTCUT
        && let Some(shortcut) = &file.shortcut_details
    {
        file = describe(app, user, id("file", &shortcut.target_id)?).await?;
    }
    let mut url = address(app, &["drive", "v3", "files", id("file", &file.id)?])?;
    match file.mime_type.as_str() {
        FOLDER => {
            let name = &file.name;
            return Err(DriveError::Arguments(format!(
                "{name:?} is a folder. google_drive_list_files lists what is in it, with folder_id {}.",
                file.id
            )));
        }
        google if let Some(export) = exported_as(google) => {
            if let Ok(mut segments) = url.path_segments_mut() {
                segments.push("export");
            }
            url.query_pairs_mut().append_pair("mimeType", export);
        }
        other if is_text(other) => {
            url.query_pairs_mut().append_pair("alt", "media").append_pair("supportsAllDrives", "true");
        }
        _ => return Ok(ToolResult::text(without_text(&file))),
    }
    let answer = ask(app, user, MAX_CONTENT, |client| client.get(url.clone())).await?;
    Ok(content(&file, &answer.body, answer.is_cut))
}

async fn describe(app: &App, user: UserId, id: &str) -> Result<File, DriveError> {
    let mut url = address(app, &["drive", "v3", "files", id])?;
    url.query_pairs_mut().append_pair("fields", FIELDS).append_pair("supportsAllDrives", "true");
    ask(app, user, MAX_DOCUMENT, |client| client.get(url.clone())).await?.read()
}

fn exported_as(mime_type: &str) -> Option<&'static str> {
    match mime_type {
        DOCUMENT => Some("text/markdown"),
        SPREADSHEET => Some("text/csv"),
        PRESENTATION => Some("text/plain"),
        _ => None,
    }
}

fn is_text(mime_type: &str) -> bool {
    let essence = mime_type.split(';').next().unwrap_or_default().trim();
    essence.starts_with("text/") || essence.ends_with("+json") || essence.ends_with("+xml") || TEXTS.contains(&essence)
}

fn without_text(file: &File) -> String {
    let size = file.size.as_deref().map(|size| format!(", {size} bytes")).unwrap_or_default();
    let link = file.web_view_link.as_deref().map(|link| format!(" It can be opened at {link}")).unwrap_or_default();
    format!("{} is not a text ({}{size}), so its content is not shown.{link}", file.name, file.kind())
}

fn content(file: &File, body: &[u8], is_cut: bool) -> ToolResult {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let text = match std::str::from_utf8(body) {
        Ok(text) => text.to_owned(),
        // The cut went through a character.
        Err(error) if is_cut && error.error_len().is_none() => {
            String::from_utf8_lossy(&body[..error.valid_up_to()]).into()
        }
        Err(_) if body.contains(&0) => return ToolResult::text(without_text(file)),
        Err(_) => String::from_utf8_lossy(body).into(),
    };
    let mut notes = Vec::new();
    if text.is_empty() {
        notes.push(format!("{} is empty.", file.name));
    }
    if is_cut {
        notes.push(format!("{} is longer than 1 MiB; this is its beginning.", file.name));
    }
    if file.mime_type == SPREADSHEET {
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
    fn a_cut_leaves_whole_characters_and_a_note() {
        let text = content(&file("text/plain"), "añ".as_bytes().split_at(2).0, true).to_model_text();
        assert_eq!(text, "a\na.txt is longer than 1 MiB; this is its beginning.");
        assert_eq!(content(&file("text/plain"), b"\xef\xbb\xbfa", false).to_model_text(), "a");
        assert_eq!(content(&file("text/plain"), b"", false).to_model_text(), "a.txt is empty.");
        assert!(content(&file("text/plain"), b"\xff\x00\x01", false).to_model_text().contains("not a text"));
    }

    #[test]
    fn texts_are_told_by_their_type() {
        assert!(is_text("text/csv; charset=utf-8") && is_text("application/json") && is_text("image/svg+xml"));
        assert!(!is_text("application/pdf") && !is_text("image/png") && !is_text(""));
    }
}
