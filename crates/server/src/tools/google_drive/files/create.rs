//! Creating a file.

use domain::UserId;
use domain::tool::ToolResult;
use reqwest::header::CONTENT_TYPE;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{DOCUMENT, DriveError, File, MAX_DOCUMENT, SPREADSHEET, address, ask, id};
use crate::app::App;
use platform::secret_sealing::random_bytes;

const FIELDS: &str = "id,name,mimeType,webViewLink";

/// What the tool takes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateFile {
    name: String,
    content: String,
    #[serde(alias = "mimeType")]
    mime_type: Option<String>,
    #[serde(alias = "folderId")]
    folder_id: Option<String>,
}

/// Uploads a file and says where it is.
pub async fn create(app: &App, user: UserId, input: CreateFile) -> Result<ToolResult, DriveError> {
    if input.name.trim().is_empty() {
        return Err(DriveError::Arguments("A file needs a name.".into()));
    }
    let mime_type = mime_type(input.mime_type.as_deref())?;
    let mut metadata = Map::from_iter([
        ("name".to_owned(), Value::from(input.name.trim())),
        ("mimeType".to_owned(), Value::from(mime_type)),
    ]);
    if let Some(folder) = input.folder_id.as_deref().filter(|id| !id.trim().is_empty()) {
        metadata.insert("parents".into(), json!([id("folder", folder)?]));
    }
    let (boundary, body) = multipart(&Value::Object(metadata), uploaded_as(mime_type), &input.content)?;
    let mut url = address(app, &["upload", "drive", "v3", "files"])?;
    url.query_pairs_mut()
        .append_pair("uploadType", "multipart")
        .append_pair("fields", FIELDS)
        .append_pair("supportsAllDrives", "true");
    let content_type = format!("multipart/related; boundary={boundary}");
    let body = bytes::Bytes::from(body);
    let answer = ask(app, user, MAX_DOCUMENT, |client| {
        client.post(url.clone()).header(CONTENT_TYPE, &content_type).body(body.clone())
    })
    .await?;
    let file: File = answer.read()?;
    let link = file.web_view_link.as_deref().map(|link| format!(" It is at {link}")).unwrap_or_default();
    let text = format!("Created {} ({}), id {}.{link}", file.name, file.kind(), file.id);
    let structured = serde_json::to_value(&file).map_err(|error| DriveError::Internal(error.into()))?;
    Ok(ToolResult { structured_content: Some(structured), ..ToolResult::text(text) })
}

/// `multipart/related` (RFC 2387): what the file is, then what is in it.
fn multipart(metadata: &Value, content_type: &str, content: &str) -> Result<(String, String), DriveError> {
    let boundary = format!("{:032x}", u128::from_be_bytes(random_bytes()?));
    let body = format!(
        "--{boundary}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n{metadata}\r\n\
         --{boundary}\r\nContent-Type: {content_type}; charset=UTF-8\r\n\r\n{content}\r\n--{boundary}--\r\n"
    );
    Ok((boundary, body))
}

fn mime_type(said: Option<&str>) -> Result<&str, DriveError> {
    let said = said.map(str::trim).filter(|said| !said.is_empty()).unwrap_or("text/plain");
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte))
    };
    match said.split_once('/') {
        Some((kind, name)) if is_word(kind) && is_word(name) && said.len() <= 127 => Ok(said),
        _ => Err(DriveError::Arguments(format!("{said:?} is not a type of content, such as text/plain."))),
    }
}

/// Google's own types are made from what Google can convert.
fn uploaded_as(mime_type: &str) -> &str {
    match mime_type {
        DOCUMENT => "text/markdown",
        SPREADSHEET => "text/csv",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_cannot_bring_headers_of_its_own() {
        assert_eq!(mime_type(None).unwrap(), "text/plain");
        assert_eq!(mime_type(Some("application/vnd.google-apps.document")).unwrap(), DOCUMENT);
        for said in ["text", "text/", "text/plain\r\nX: 1", "text/plain; a=b", "a b/c"] {
            assert!(mime_type(Some(said)).is_err(), "{said}");
        }
    }
}
