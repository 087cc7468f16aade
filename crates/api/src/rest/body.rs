//! Request bodies: one JSON object or an array of them.

use axum::body::{Body, to_bytes};
use http::request::Parts;
use http::{StatusCode, header};
use postgrest::ast::RowObject;
use postgrest::{MAX_ROWS, PgError, RestTable};
use serde_json::value::RawValue;

use super::error::RestError;

/// Rows of a request body.
#[derive(Debug)]
pub(super) struct Records {
    pub(super) records: Vec<RowObject>,
}

/// Maximum size of a body with a connection, in bytes. A connection is stored with its tools, so the limit equals
/// that of a server's listing.
const MAX_CONNECTION_BYTES: usize = 16 * 1024 * 1024;

/// Reads the rows to write to `table`.
pub(super) async fn read(parts: &Parts, body: Body, table: RestTable) -> Result<Records, RestError> {
    // As in PostgREST, a missing content type means JSON.
    if let Some(kind) = parts.headers.get(header::CONTENT_TYPE) {
        let kind = String::from_utf8_lossy(kind.as_bytes());
        let name = kind.split(';').next().unwrap_or_default().trim();
        if !name.eq_ignore_ascii_case("application/json") {
            return Err(PgError::new("PGRST102", format!("Content-Type not acceptable: {name}")).into());
        }
    }
    let limit = if table == RestTable::McpServers { MAX_CONNECTION_BYTES } else { http_server::body::BODY_LIMIT };
    let bytes = to_bytes(body, limit).await.map_err(|_| {
        let error = PgError::new("PGRST102", format!("The body is larger than {} MiB, or broke off", limit >> 20));
        RestError::new(StatusCode::PAYLOAD_TOO_LARGE, error)
    })?;
    Ok(Records { records: parse(&bytes)? })
}

/// Parses a body into records, whose values stay unparsed until the column's type is known.
fn parse(bytes: &[u8]) -> Result<Vec<RowObject>, PgError> {
    let invalid = |_| PgError::new("PGRST102", "Empty or invalid json");
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    let records: Vec<RowObject> = if first == Some(&b'[') {
        let items: Vec<Box<RawValue>> = serde_json::from_slice(bytes).map_err(invalid)?;
        // PostgREST's error for elements that are not objects, too.
        if !items.iter().all(|item| item.get().starts_with('{')) {
            return Err(PgError::new("PGRST102", "All object keys must match"));
        }
        items.iter().map(|item| serde_json::from_str(item.get()).map_err(invalid)).collect::<Result<_, _>>()?
    } else {
        vec![serde_json::from_slice(bytes).map_err(invalid)?]
    };
    if records.len() > MAX_ROWS {
        return Err(PgError::new("PGRST102", format!("A body has at most {MAX_ROWS} rows")));
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_or_a_list_of_them() {
        assert_eq!(parse(br#" {"a": 1.0} "#).unwrap()[0]["a"].get(), "1.0");
        assert_eq!(parse(br#"[{"a":1},{}]"#).unwrap().len(), 2);
        assert_eq!(parse(b"[]").unwrap().len(), 0);
        let many = format!("[{}]", vec!["{}"; MAX_ROWS + 1].join(","));
        for bad in ["", "1", "null", "{", "[1]", r#"{"a":1}x"#, &many] {
            assert_eq!(parse(bad.as_bytes()).unwrap_err().code, "PGRST102", "{bad:.20}");
        }
    }
}
