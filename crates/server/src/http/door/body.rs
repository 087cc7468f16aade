//! What the bodies of both shapes have in common.

use axum::extract::{FromRequest, Request};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::refusal::Refusal;
use crate::app::App;
use crate::http::extract::JsonBody;

/// A body in JSON; what is wrong with it is told in the door's shape.
#[derive(Debug)]
pub struct Body<T>(pub T);

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &App) -> Result<Self, Refusal> {
        Ok(JsonBody::from_request(request, app).await.map(|JsonBody(body)| Self(body))?)
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
    /// Of an earlier answer in the shape of a response.
    pub refusal: Option<String>,
}

impl Piece {
    /// Its words, when it is text.
    pub fn text(self) -> Option<String> {
        self.text.filter(|_| matches!(self.r#type.as_str(), "text" | "input_text" | "output_text"))
    }

    /// Whether it says that the model refused.
    pub fn is_refusal(&self) -> bool {
        self.r#type == "refusal"
    }
}

/// The words of what stands in `field`, piece by piece as `of` reads them.
pub fn words(
    content: Option<Content>,
    field: &'static str,
    of: impl FnMut(Piece) -> Option<String>,
) -> Result<String, Refusal> {
    let pieces = match content {
        None => return Ok(String::new()),
        Some(Content::Text(text)) => return Ok(text),
        Some(Content::Pieces(pieces)) => pieces,
    };
    let texts: Option<Vec<String>> = pieces.into_iter().map(of).collect();
    texts.map(|texts| texts.join("\n")).ok_or_else(|| Refusal::bad(field, "only text can be asked here"))
}
