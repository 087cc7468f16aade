//! What the bodies of both shapes have in common.

use axum::extract::{FromRequest, Request};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::files::Given;
use super::refusal::Refusal;
use crate::app::App;
use crate::http::body::{self, BodyError};
use crate::http::error::ApiError;

/// The largest body, in bytes: conversations come with their pictures, in base64.
const LIMIT: usize = 20 * 1024 * 1024;

/// A body in JSON; what is wrong with it is told in the door's shape.
#[derive(Debug)]
pub struct Body<T>(pub T);

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _app: &App) -> Result<Self, Refusal> {
        let read = body::read(request.into_body(), LIMIT).await;
        Ok(read.map(Self).map_err(|error| match error {
            BodyError::TooLarge => {
                let message = format!("the body is larger than {} MiB", LIMIT / (1024 * 1024));
                ApiError::TooLargeFor { code: "body_too_large", message }
            }
            BodyError::BrokeOff => ApiError::BadRequest("the body broke off".into()),
            BodyError::NotJson(error) => ApiError::BadRequest(format!("the body is not what this call takes: {error}")),
        })?)
    }
}

/// The words of a message: a text, or pieces.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// As one.
    Text(String),
    /// In several.
    Pieces(Vec<Piece>),
}

/// A piece of a message.
#[derive(Debug, Deserialize)]
pub struct Piece {
    r#type: String,
    text: Option<String>,
    image_url: Option<ImageUrl>,
    file: Option<FileOfPiece>,
    /// Of a file in the shape of a response, whose fields stand in the piece itself.
    #[serde(flatten)]
    own: FileOfPiece,
    /// Of an earlier answer in the shape of a response.
    pub refusal: Option<String>,
}

/// Where a picture is.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ImageUrl {
    /// In the shape of a response.
    Plain(String),
    /// In the shape of a chat completion.
    Wrapped { url: String },
}

/// A file, or where it is.
#[derive(Debug, Default, Deserialize)]
struct FileOfPiece {
    filename: Option<String>,
    file_data: Option<String>,
    file_url: Option<String>,
}

impl Piece {
    /// The picture or the document in it, if it is one.
    fn given(&mut self) -> Option<Given> {
        match self.r#type.as_str() {
            "image_url" | "input_image" => {
                let url = match self.image_url.take()? {
                    ImageUrl::Plain(url) | ImageUrl::Wrapped { url } => url,
                };
                Some(Given { name: None, url })
            }
            "file" | "input_file" => {
                let FileOfPiece { filename, file_data, file_url } =
                    self.file.take().unwrap_or_else(|| std::mem::take(&mut self.own));
                Some(Given { name: filename, url: file_data.or(file_url)? })
            }
            _ => None,
        }
    }

    /// Its words, when it is text.
    pub fn text(self) -> Option<String> {
        self.text.filter(|_| matches!(self.r#type.as_str(), "text" | "input_text" | "output_text"))
    }

    /// Whether it says that the model refused.
    pub fn is_refusal(&self) -> bool {
        self.r#type == "refusal"
    }
}

/// The words of what stands in `field`, piece by piece as `of` reads them, and the pictures and documents among them.
pub fn words(
    content: Option<Content>,
    field: &'static str,
    mut of: impl FnMut(Piece) -> Option<String>,
) -> Result<(String, Vec<Given>), Refusal> {
    let pieces = match content {
        None => return Ok((String::new(), Vec::new())),
        Some(Content::Text(text)) => return Ok((text, Vec::new())),
        Some(Content::Pieces(pieces)) => pieces,
    };
    let (mut texts, mut given) = (Vec::new(), Vec::new());
    for mut piece in pieces {
        match piece.given() {
            Some(file) => given.push(file),
            None => texts.push(of(piece).ok_or_else(|| Refusal::bad(field, NOT_ASKED))?),
        }
    }
    Ok((texts.join("\n"), given))
}

/// What is said of pieces that cannot be asked.
const NOT_ASKED: &str = "a piece is text, a picture (image_url, input_image) or a document (file, input_file) with its \
    data or an address";
