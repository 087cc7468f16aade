//! Request bodies: extraction, and the content of messages that both endpoints share.

use axum::extract::{FromRequest, Request};
use http_server::body;
use http_server::error::ApiError;
use http_server::openapi::{Operation, OperationInput, OperationOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::files::RequestFile;
use super::refusal::OpenAiError;

/// Maximum size of a body, in bytes. Conversations contain their images in base64.
const MAX_BODY_BYTES: usize = 20 * 1024 * 1024;

/// A JSON body; a bad one is rejected with a [`OpenAiError`].
#[derive(Debug)]
pub struct Body<T>(pub T);

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for Body<T> {
    type Rejection = OpenAiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, OpenAiError> {
        let too_large = || ApiError::TooLargeFor {
            code: "body_too_large",
            message: format!("the body is larger than {} MiB", MAX_BODY_BYTES / (1024 * 1024)),
        };
        let read = body::read(request.into_body(), MAX_BODY_BYTES).await;
        Ok(read.map(Self).map_err(|error| error.into_api_error(too_large))?)
    }
}

impl<T: JsonSchema> OperationInput for Body<T> {
    fn describe(operation: &mut Operation<'_>) {
        operation.set_json_body::<T>();
        OpenAiError::describe(operation);
    }
}

/// Content of a message: a text or a list of parts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum MessageContent {
    /// A single text.
    Text(String),
    /// A list of parts.
    Pieces(Vec<ContentPart>),
}

/// A part of a message's content.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ContentPart {
    #[schemars(extend("enum" = [
        "text", "input_text", "output_text", "refusal", "image_url", "input_image", "file", "input_file"
    ]))]
    r#type: String,
    text: Option<String>,
    image_url: Option<ImageUrl>,
    file: Option<FilePart>,
    /// Fields of a file in the responses API, where they are not in an object of their own.
    #[serde(flatten)]
    own: FilePart,
    /// Refusal text of an earlier answer, in the responses API.
    pub refusal: Option<String>,
}

/// Location of an image: a URL or `data:`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum ImageUrl {
    /// As in the responses API.
    Plain(String),
    /// As in chat completions.
    Wrapped { url: String },
}

/// A file as data or by its URL.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct FilePart {
    filename: Option<String>,
    file_data: Option<String>,
    file_url: Option<String>,
}

impl ContentPart {
    /// Takes the image or document out of the part; `None` for other parts.
    fn given(&mut self) -> Option<RequestFile> {
        match self.r#type.as_str() {
            "image_url" | "input_image" => {
                let url = match self.image_url.take()? {
                    ImageUrl::Plain(url) | ImageUrl::Wrapped { url } => url,
                };
                Some(RequestFile { name: None, url })
            }
            "file" | "input_file" => {
                let FilePart { filename, file_data, file_url } =
                    // `file` is the form of chat completions, the fields in the part itself that of the responses API.
                    self.file.take().unwrap_or_else(|| std::mem::take(&mut self.own));
                Some(RequestFile { name: filename, url: file_data.or(file_url)? })
            }
            _ => None,
        }
    }

    /// Returns the text of a text part; `None` for other parts.
    pub fn text(self) -> Option<String> {
        self.text.filter(|_| matches!(self.r#type.as_str(), "text" | "input_text" | "output_text"))
    }

    /// Returns whether the part is a refusal of the model.
    pub fn is_refusal(&self) -> bool {
        self.r#type == "refusal"
    }
}

/// Splits content into its text and its files. `of` reads the text of a part, and `field` names the field in errors.
///
/// # Errors
///
/// A part that is neither a file nor text for `of`.
pub fn words(
    content: Option<MessageContent>,
    field: &'static str,
    mut of: impl FnMut(ContentPart) -> Option<String>,
) -> Result<(String, Vec<RequestFile>), OpenAiError> {
    let pieces = match content {
        None => return Ok((String::new(), Vec::new())),
        Some(MessageContent::Text(text)) => return Ok((text, Vec::new())),
        Some(MessageContent::Pieces(pieces)) => pieces,
    };
    let (mut texts, mut given) = (Vec::new(), Vec::new());
    for mut piece in pieces {
        match piece.given() {
            Some(file) => given.push(file),
            None => texts.push(of(piece).ok_or_else(|| OpenAiError::bad(field, NOT_ASKED))?),
        }
    }
    Ok((texts.join("\n"), given))
}

/// Message for unsupported parts.
const NOT_ASKED: &str = "a piece is text, an image (image_url, input_image) or a document (file, input_file) with its \
    data or an address";
