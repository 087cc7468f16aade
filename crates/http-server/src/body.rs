//! JSON request bodies of bounded size. Unknown fields are ignored, so that an older server accepts the requests of a
//! newer web app.

use axum::body::{Body, Bytes};
use domain::json_shape::JsonShape;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Error};

use crate::error::ApiError;

/// Maximum size of a request body, in bytes, unless a route has its own. A message has at most 200,000 characters, and
/// tool arguments are smaller. Each extractor checks the limit itself, because each protocol reports a body that is too
/// large in its own shape.
pub const BODY_LIMIT: usize = 2 * 1024 * 1024;
/// Size in bytes below which a body cannot cost much memory, whatever its structure; larger ones are measured first.
const SMALL_BODY_BYTES: usize = 64 * 1024;
/// Message for a body whose parsed form would take too much memory.
pub const TOO_COMPLEX: &str = "it has too many or too deeply nested values; send less at a time";

/// Causes for a rejected request body.
#[derive(Debug, PartialEq, Eq)]
pub enum BodyError {
    /// The body exceeds the size limit.
    TooLarge,
    /// The client closed the connection, or sent too slowly.
    BrokeOff,
    /// The body is not the expected JSON. The message names the path within the body.
    NotJson(String),
}

impl BodyError {
    /// Converts to an [`ApiError`], with `too_large` for a body that exceeds the limit of its route.
    pub fn into_api_error(self, too_large: impl FnOnce() -> ApiError) -> ApiError {
        match self {
            Self::TooLarge => too_large(),
            Self::BrokeOff => ApiError::BadRequest("the body is incomplete".into()),
            Self::NotJson(error) => ApiError::BadRequest(format!("the body is invalid: {error}")),
        }
    }
}

/// Reads and parses a JSON object of at most `limit` bytes.
pub async fn read<T: DeserializeOwned>(body: Body, limit: usize) -> Result<T, BodyError> {
    parse(&collect(body, limit).await?)
}

/// Like [`read`], but returns `None` for an empty body.
pub async fn read_optional<T: DeserializeOwned>(body: Body, limit: usize) -> Result<Option<T>, BodyError> {
    let bytes = collect(body, limit).await?;
    if bytes.is_empty() { Ok(None) } else { parse(&bytes).map(Some) }
}

/// Reads a body of at most `limit` bytes without parsing it.
pub async fn read_bytes(body: Body, limit: usize) -> Result<Bytes, BodyError> {
    collect(body, limit).await
}

async fn collect(body: Body, limit: usize) -> Result<Bytes, BodyError> {
    match Limited::new(body, limit).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(BodyError::TooLarge),
        Err(_) => Err(BodyError::BrokeOff),
    }
}

/// Parses a JSON object. Arrays at the top are rejected.
///
/// # Errors
///
/// [`BodyError::NotJson`], also for a body that is too deep or has too many values ([`TOO_COMPLEX`]).
pub fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, BodyError> {
    let text = text(bytes)?;
    // A megabyte of `[[],[],…]` would parse into a tree of many times its size.
    if bytes.len() > SMALL_BODY_BYTES && !JsonShape::measure(text).is_acceptable() {
        return Err(BodyError::NotJson(TOO_COMPLEX.to_owned()));
    }
    read_value(text)
}

/// Returns the body as text, and rejects a top-level array and bytes that are not UTF-8.
pub fn text(bytes: &[u8]) -> Result<&str, BodyError> {
    let not_json = |error: serde_json::Error| BodyError::NotJson(error.to_string());
    // serde's derived decoders would accept an array as a struct's fields in order.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err(not_json(serde_json::Error::custom("expected an object, not a list")));
    }
    // The decoder skips ignored fields without checking their encoding, so it is checked here.
    str::from_utf8(bytes).map_err(|error| not_json(serde_json::Error::custom(error)))
}

/// Parses text without the check for complexity: for types that store few of the values.
pub fn read_value<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, BodyError> {
    let not_json = |error: serde_json::Error| BodyError::NotJson(error.to_string());
    let mut json = serde_json::Deserializer::from_str(text);
    // The path of the wrong field is part of the message, which a plain serde error lacks.
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let place = error.path().to_string();
        let error = error.into_inner();
        BodyError::NotJson(if place == "." { error.to_string() } else { format!("{place}: {error}") })
    })?;
    json.end().map_err(not_json)?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Eq, serde::Deserialize)]
    struct Outer {
        name: String,
        #[serde(default)]
        inner: Vec<Outer>,
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        assert!(matches!(parse::<Outer>(b"{\"a\":\"\xff\"}"), Err(BodyError::NotJson(_))));
        for (body, says) in [
            ("", "EOF while parsing"),
            (r#" ["a"]"#, "expected an object, not a list"),
            (r#"{"name":"a"} x"#, "trailing characters"),
            (r#"{"name":1}"#, "name: invalid type"),
            (r#"{"name":"a","inner":[{"name":"b"},{"name":[]}]}"#, "inner[1].name: invalid type"),
            ("{}", "missing field `name`"),
        ] {
            let BodyError::NotJson(message) = parse::<Outer>(body.as_bytes()).unwrap_err() else { unreachable!() };
            assert!(message.starts_with(says), "{message}");
        }
    }

    #[test]
    fn a_body_of_too_many_values_is_refused() {
        let many = format!(r#"{{"name":"a","new":[{}1]}}"#, "{},".repeat(1_500_000));
        assert_eq!(parse::<Outer>(many.as_bytes()), Err(BodyError::NotJson(TOO_COMPLEX.to_owned())));
        let long = format!(r#"{{"name":"{}"}}"#, "{},".repeat(1_500_000));
        assert!(parse::<Outer>(long.as_bytes()).is_ok());
    }

    #[test]
    fn fields_that_nobody_knows_are_ignored() {
        let outer: Outer = parse(br#"{"name":"a","new":{"deep":[1]}}"#).unwrap();
        assert_eq!(outer, Outer { name: "a".into(), inner: vec![] });
    }
}
