//! The tool that creates a file.

use domain::UserId;
use domain::tool::ToolResult;
use platform::secret_sealing::random_bytes;
use reqwest::Client;
use reqwest::header::CONTENT_TYPE;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{DOCUMENT_TYPE, DriveError, File, GoogleDrive, MAX_DOCUMENT_BYTES, SPREADSHEET_TYPE, checked_id};

/// Fields of the response.
const RESPONSE_FIELDS: &str = "id,name,mimeType,webViewLink";

/// Maximum length of a media type, in bytes.
const MAX_MIME_TYPE_BYTES: usize = 127;

/// Arguments of the tool.
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

impl GoogleDrive {
    /// Uploads a file and returns its id and link.
    pub(in super::super) async fn create_file(
        &self,
        user: UserId,
        input: CreateFile,
    ) -> Result<ToolResult, DriveError> {
        if input.name.trim().is_empty() {
            return Err(DriveError::Arguments("A file needs a name.".into()));
        }
        let mime_type = checked_mime_type(input.mime_type.as_deref())?;
        let mut metadata = Map::from_iter([
            ("name".to_owned(), Value::from(input.name.trim())),
            ("mimeType".to_owned(), Value::from(mime_type)),
        ]);
        if let Some(folder) = input.folder_id.as_deref().filter(|id| !id.trim().is_empty()) {
            metadata.insert("parents".into(), json!([checked_id("folder", folder)?]));
        }
        let (boundary, body) = multipart(&Value::Object(metadata), upload_type(mime_type), &input.content)?;
        let mut url = self.api_url(&["upload", "drive", "v3", "files"])?;
        url.query_pairs_mut()
            .append_pair("uploadType", "multipart")
            .append_pair("fields", RESPONSE_FIELDS)
            // Without it the API does not find files and folders of shared drives.
            .append_pair("supportsAllDrives", "true");
        let content_type = format!("multipart/related; boundary={boundary}");
        // The request is built again after a renewed token; cloning `Bytes` does not copy the content.
        let body = bytes::Bytes::from(body);
        let upload = |client: &Client| client.post(url.clone()).header(CONTENT_TYPE, &content_type).body(body.clone());
        let file: File = self.request(user, MAX_DOCUMENT_BYTES, upload).await?.json()?;
        let link = file.web_view_link.as_deref().map(|link| format!(" It is at {link}")).unwrap_or_default();
        let text = format!("Created {} ({}), id {}.{link}", file.name, file.type_name(), file.id);
        let structured = serde_json::to_value(&file).map_err(|error| DriveError::Internal(error.into()))?;
        Ok(ToolResult { structured_content: Some(structured), ..ToolResult::text(text) })
    }
}

/// Encodes metadata and content as `multipart/related` (RFC 2387). Returns the boundary and the body.
fn multipart(metadata: &Value, content_type: &str, content: &str) -> Result<(String, String), DriveError> {
    // Random, so that the content cannot contain it.
    let boundary = format!("{:032x}", u128::from_be_bytes(random_bytes()?));
    let body = format!(
        "--{boundary}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n{metadata}\r\n\
         --{boundary}\r\nContent-Type: {content_type}; charset=UTF-8\r\n\r\n{content}\r\n--{boundary}--\r\n"
    );
    Ok((boundary, body))
}

/// Validates a media type; `text/plain` if there is none.
fn checked_mime_type(text: Option<&str>) -> Result<&str, DriveError> {
    let text = text.map(str::trim).filter(|text| !text.is_empty()).unwrap_or("text/plain");
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte))
    };
    match text.split_once('/') {
        Some((kind, name)) if is_word(kind) && is_word(name) && text.len() <= MAX_MIME_TYPE_BYTES => Ok(text),
        _ => Err(DriveError::Arguments(format!("{text:?} is not a type of content, such as text/plain."))),
    }
}

/// Returns the media type of the uploaded content, which Google converts to its own types.
fn upload_type(mime_type: &str) -> &str {
    match mime_type {
        DOCUMENT_TYPE => "text/markdown",
        SPREADSHEET_TYPE => "text/csv",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_media_type_that_could_add_headers() {
        assert_eq!(checked_mime_type(None).unwrap(), "text/plain");
        assert_eq!(checked_mime_type(Some("application/vnd.google-apps.document")).unwrap(), DOCUMENT_TYPE);
        for text in ["text", "text/", "text/plain\r\nX: 1", "text/plain; a=b", "a b/c"] {
            assert!(checked_mime_type(Some(text)).is_err(), "{text}");
        }
    }
}
