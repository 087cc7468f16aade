//! Images and documents in requests, as `data:` URLs or by an address from which this server fetches them.

use std::time::Duration;

use agent::files::file_type::FileType;
use agent::files::model_attachments::InputModalities;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::model::{ModelFile, ModelMessage};
use mcp::net::GuardedHttp;
use url::Url;

use super::refusal::OpenAiError;

/// Maximum number of files in a request.
const MAX_FILES: usize = 20;
/// Maximum total size of the files in a request, in bytes; providers accept about as much.
const MAX_TOTAL_BYTES: usize = 14 * 1024 * 1024;
/// Maximum time to fetch a file.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);

/// An image or a document in a request.
#[derive(Debug)]
pub struct RequestFile {
    /// Name of the file.
    pub name: Option<String>,
    /// A `data:` URL or the address.
    pub url: String,
}

/// All files of a request, with the index of their message.
#[derive(Debug, Default)]
pub struct RequestFiles(Vec<(usize, RequestFile)>);

impl RequestFiles {
    /// Adds the files of the message at index `place`.
    pub fn add(&mut self, place: usize, given: Vec<RequestFile>) {
        self.0.extend(given.into_iter().map(|given| (place, given)));
    }

    /// Rejects files in messages that cannot have any.
    pub fn none(field: &'static str, given: &[RequestFile]) -> Result<(), OpenAiError> {
        if given.is_empty() {
            return Ok(());
        }
        Err(OpenAiError::bad(field, "only messages of the user and results of tools can contain images and documents"))
    }

    /// Decodes or fetches all files and attaches them to their messages.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, is too large, or has a type that the model does not support ([`InputModalities`]).
    pub async fn into_messages(
        self,
        http: &GuardedHttp,
        messages: &mut [ModelMessage],
        field: &'static str,
        modalities: InputModalities,
    ) -> Result<(), OpenAiError> {
        if self.0.is_empty() {
            return Ok(());
        }
        if self.0.len() > MAX_FILES {
            return Err(OpenAiError::bad(field, format!("more than {MAX_FILES} images and documents")));
        }
        // The remaining bytes also bound each download.
        let mut room = MAX_TOTAL_BYTES;
        for (place, RequestFile { name, url }) in self.0 {
            let bytes = match url.split_once("base64,").filter(|_| url.starts_with("data:")) {
                Some((_, data)) => STANDARD.decode(data).map_err(|_| OpenAiError::bad(field, "data is not base64"))?,
                None => fetch(http, &url, room).await.map_err(|why| OpenAiError::bad(field, why))?,
            };
            room = room.checked_sub(bytes.len()).ok_or_else(|| OpenAiError::bad(field, too_much()))?;
            // The declared type is not used, since clients often state a wrong one.
            let kind = FileType::of(&bytes).ok_or_else(|| {
                OpenAiError::bad(field, "a file is a PNG, JPEG, WebP or GIF image, a PDF document or a text")
            })?;
            let Some(
                ModelMessage::User { text, files }
                | ModelMessage::ToolResult { text, files, .. }
                | ModelMessage::Assistant { text, files, .. },
            ) = messages.get_mut(place)
            else {
                continue;
            };
            if kind == FileType::Text {
                // All models can read text, so a text file becomes part of the message.
                let name = name.unwrap_or_else(|| "file".to_owned());
                *text = format!("[{name}]\n{}\n\n{text}", String::from_utf8_lossy(&bytes));
            } else if !modalities.accepts(kind.media_type(None)) {
                return Err(OpenAiError::bad(
                    field,
                    format!("this model takes no files of the kind {}", kind.media_type(None)),
                ));
            } else {
                files.push(ModelFile { name, media_type: kind.media_type(None).to_owned(), bytes: bytes.into() });
            }
        }
        Ok(())
    }
}

/// Returns the message for files that exceed the limit.
fn too_much() -> String {
    format!("images and documents are larger than {} MiB in total", MAX_TOTAL_BYTES / (1024 * 1024))
}

/// Fetches a file with the guarded client, which cannot reach private networks. Redirects are not followed.
async fn fetch(http: &GuardedHttp, url: &str, room: usize) -> Result<Vec<u8>, String> {
    let wrong = || "a file comes as data: in base64, or from an address that begins with https://".to_owned();
    let url = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "https" | "http")).ok_or_else(wrong)?;
    let http = http.client_for(&url).map_err(|error| format!("the file's server {error}"))?;
    let work = async {
        let failed = "the file could not be fetched".to_owned();
        let mut answer = http.get(url).send().await.map_err(|_| failed.clone())?;
        if !answer.status().is_success() {
            return Err(format!("the server of the file answered {}", answer.status().as_u16()));
        }
        let mut bytes = Vec::new();
        // Checked while reading, since a server may omit the length or state a wrong one.
        while let Some(piece) = answer.chunk().await.map_err(|_| failed.clone())? {
            if bytes.len() + piece.len() > room {
                return Err(too_much());
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    };
    tokio::time::timeout(FETCH_TIMEOUT, work)
        .await
        .unwrap_or_else(|_| Err("the server of the file was too slow".to_owned()))
}
