//! Request bodies: one JSON object, of bounded size. Fields that nobody knows are ignored, so that an older server takes
//! what a newer page sends.

use axum::body::{Body, Bytes};
use domain::json_shape::JsonShape;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Error};

/// A body of this size costs little memory, whatever its shape.
const SMALL_BODY_BYTES: usize = 64 * 1024;
/// What is said of a text that would take too much memory.
pub const TOO_COMPLEX: &str = "it has too many values, or is nested too deep; send less at a time";

/// Why a body could not be read.
#[derive(Debug, PartialEq, Eq)]
pub enum BodyError {
    /// It is longer than allowed.
    TooLarge,
    /// The connection ended, or nothing came for too long.
    BrokeOff,
    /// It is not the JSON that is wanted; says where.
    NotJson(String),
}

/// Reads a body of at most `limit` bytes.
pub async fn read<T: DeserializeOwned>(body: Body, limit: usize) -> Result<T, BodyError> {
    parse(&collect(body, limit).await?)
}

/// The same of a body that may be left out.
pub async fn read_optional<T: DeserializeOwned>(body: Body, limit: usize) -> Result<Option<T>, BodyError> {
    let bytes = collect(body, limit).await?;
    if bytes.is_empty() { Ok(None) } else { parse(&bytes).map(Some) }
}

/// Reads a body that need not be JSON.
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

/// Parses a body.
pub fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, BodyError> {
    let text = text(bytes)?;
    if bytes.len() > SMALL_BODY_BYTES && !JsonShape::measure(text).is_acceptable() {
        return Err(BodyError::NotJson(TOO_COMPLEX.to_owned()));
    }
    read_value(text)
}

/// Returns a body as a text that is no list.
pub fn text(bytes: &[u8]) -> Result<&str, BodyError> {
    let not_json = |error: serde_json::Error| BodyError::NotJson(error.to_string());
    // A derived decoder would take a list for the fields in their order.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err(not_json(serde_json::Error::custom("expected an object, not a list")));
    }
    // Of fields that are ignored, the decoder does not look at the bytes.
    str::from_utf8(bytes).map_err(|error| not_json(serde_json::Error::custom(error)))
}

/// Parses the text of a body whose values may be many, because none of them is kept.
pub fn read_value<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, BodyError> {
    let not_json = |error: serde_json::Error| BodyError::NotJson(error.to_string());
    let mut json = serde_json::Deserializer::from_str(text);
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
