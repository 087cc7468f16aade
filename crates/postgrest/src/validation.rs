//! Validation of values beyond their type. It takes place here and not in the schema, so that it is the same on both
//! databases.

use std::collections::BTreeMap;

use domain::server_url::mask_query;
use url::Url;

use crate::pg_error::PgError;
use crate::table::{ColumnType, RestTable, TableColumn};
use storage::raw::SqlValue;

/// Maximum length of a connection's name or status in characters.
const MAX_NAME_CHARACTERS: usize = 200;
/// Maximum length of a connection's URL in bytes.
const MAX_URL_BYTES: usize = 2_048;
/// Maximum number of HTTP headers of a connection.
const MAX_HEADERS: usize = 32;
/// Maximum size of all HTTP headers of a connection in bytes.
const MAX_HEADERS_BYTES: usize = 8 * 1024;

/// Rejects a value that violates a rule of its column. Null is checked elsewhere.
pub(crate) fn check_value(table: RestTable, column: &'static TableColumn, value: &SqlValue) -> Result<(), PgError> {
    let rule = match (table, column.name, value) {
        (_, _, SqlValue::Json(Some(json))) if column.column_type == ColumnType::JsonList && !json.starts_with('[') => {
            "it must be a JSON list"
        }
        (RestTable::McpServers, "name", SqlValue::Text(Some(name)))
            if name.trim().is_empty() || name.chars().count() > MAX_NAME_CHARACTERS =>
        {
            "a name has 1 to 200 characters"
        }
        (RestTable::McpServers, "status", SqlValue::Text(Some(status)))
            if status.chars().count() > MAX_NAME_CHARACTERS =>
        {
            "a status has at most 200 characters"
        }
        (RestTable::McpServers, "url", SqlValue::Text(Some(url))) if !is_server_url(url) => {
            "it must be a http, https, ws or wss URL without user name and password"
        }
        (RestTable::Messages, "role", SqlValue::Text(Some(role))) if role != "user" && role != "assistant" => {
            "a role is user or assistant"
        }
        _ => return Ok(()),
    };
    Err(PgError::check_violation(table, column, rule))
}

fn is_server_url(text: &str) -> bool {
    text.len() <= MAX_URL_BYTES
        // The masked form can be longer, because each value becomes three characters.
        && mask_query(text).len() <= MAX_URL_BYTES
        && Url::parse(text).is_ok_and(|url| {
            matches!(url.scheme(), "http" | "https" | "ws" | "wss")
                && url.host_str().is_some_and(|host| !host.is_empty())
                && url.username().is_empty()
                && url.password().is_none()
        })
}

/// Parses and validates the HTTP headers of a connection.
pub(crate) fn check_headers(
    table: RestTable,
    column: &'static TableColumn,
    json: &str,
) -> Result<BTreeMap<String, String>, PgError> {
    let refused = |rule| PgError::check_violation(table, column, rule);
    let headers: BTreeMap<String, String> =
        serde_json::from_str(json).map_err(|_| refused("it must be an object of strings"))?;
    let size: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    if headers.len() > MAX_HEADERS || size > MAX_HEADERS_BYTES {
        return Err(refused("at most 32 headers of together 8 KiB"));
    }
    if !headers.keys().all(|name| is_token(name)) {
        return Err(refused("a header's name is a token: letters, digits and !#$%&'*+-.^_`|~"));
    }
    if !headers.values().all(|value| is_field_value(value)) {
        return Err(refused("a header's value has no control characters and no spaces at its ends"));
    }
    Ok(headers)
}

/// Returns whether a name is a token by RFC 9110, section 5.6.2.
fn is_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// Returns whether a value is a field value by RFC 9110, section 5.5: visible characters, inner spaces and tabs, and
/// bytes above ASCII.
fn is_field_value(value: &str) -> bool {
    value.trim_matches([' ', '\t']) == value && value.bytes().all(|b| b == b'\t' || (b >= b' ' && b != 0x7f))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers_of(json: &str) -> Option<BTreeMap<String, String>> {
        let column = RestTable::McpServers.writable("headers").unwrap();
        check_headers(RestTable::McpServers, column, json).ok()
    }

    #[test]
    fn urls_of_servers() {
        for good in ["http://a", "https://a.example/mcp?x=1", "ws://127.0.0.1:8080/", "wss://[::1]/s"] {
            assert!(is_server_url(good), "{good}");
        }
        let long = format!("http://a/{}", "x".repeat(MAX_URL_BYTES));
        for bad in
            ["", "a", "ftp://a", "file:///etc/passwd", "http://u@a", "http://u:p@a", "http://", "javascript:1", &long]
        {
            assert!(!is_server_url(bad), "{bad}");
        }
    }

    #[test]
    fn headers_are_an_object_of_clean_strings() {
        let want = [("A", ""), ("X-Key", "a b")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(headers_of(r#"{"X-Key": "a b", "A": ""}"#).unwrap(), BTreeMap::from(want));
        let many = serde_json::to_string(&(0..33).map(|n| (format!("h{n}"), "")).collect::<BTreeMap<_, _>>()).unwrap();
        let large = serde_json::to_string(&BTreeMap::from([("h", "x".repeat(MAX_HEADERS_BYTES))])).unwrap();
        for bad in [
            "[]",
            "1",
            r#"{"a": 1}"#,
            r#"{"": "x"}"#,
            r#"{"a b": "x"}"#,
            r#"{"a:": "x"}"#,
            r#"{"a": "x\r\ny"}"#,
            r#"{"a": "\u0000"}"#,
            r#"{"a": " x"}"#,
            &many,
            &large,
        ] {
            assert_eq!(headers_of(bad), None, "{bad}");
        }
    }
}
