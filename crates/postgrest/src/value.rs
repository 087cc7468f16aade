//! Values of rows: parsed from literals and JSON, read from the database, written as JSON.

use std::cmp::Ordering;

use domain::Timestamp;
use domain::clock::NotATimestamp;
use serde_json::value::RawValue;
use storage::raw::SqlValue;
use uuid::Uuid;

use crate::pg_error::PgError;
use crate::table::ColumnType;

/// Parses a literal from a URL.
pub(crate) fn parse_literal(column_type: ColumnType, text: &str) -> Result<SqlValue, PgError> {
    // SQLite would store a NUL, PostgreSQL cannot.
    if text.contains('\0') {
        return Err(PgError::new("22021", "invalid byte sequence for encoding \"UTF8\": 0x00"));
    }
    Ok(match column_type {
        ColumnType::Uuid => {
            let bad = || PgError::invalid_literal("22P02", column_type.sql_name(), text);
            SqlValue::Uuid(Some(parse_uuid(text).ok_or_else(bad)?))
        }
        ColumnType::Text => SqlValue::Text(Some(text.to_owned())),
        // Parsed here, not by the database, so that both accept the same forms.
        ColumnType::Time => SqlValue::Time(Some(text.parse::<Timestamp>().map_err(|why| invalid_time(why, text))?.0)),
        ColumnType::JsonList | ColumnType::Sealed => return Err(PgError::missing_operator(column_type, "=")),
    })
}

/// Parses a value from a JSON body. A number or an object for a text column becomes its JSON text, as in
/// PostgreSQL.
pub(crate) fn parse_json(column_type: ColumnType, value: &RawValue) -> Result<SqlValue, PgError> {
    let raw = value.get();
    if raw == "null" {
        return Ok(SqlValue::null(column_type.sql_type()));
    }
    if matches!(column_type, ColumnType::JsonList | ColumnType::Sealed) {
        // A value that cannot be read again, because it is nested too deeply or contains half a surrogate pair,
        // must not be stored.
        serde_json::from_str::<serde_json::Value>(raw).map_err(invalid_json)?;
        return Ok(SqlValue::Json(Some(raw.to_owned())));
    }
    let text =
        if raw.starts_with('"') { serde_json::from_str::<String>(raw).map_err(invalid_json)? } else { raw.to_owned() };
    if text.contains('\0') {
        return Err(PgError::new("22P05", "unsupported Unicode escape sequence")
            .with_details("\\u0000 cannot be converted to text."));
    }
    parse_literal(column_type, &text)
}

/// Appends the value as JSON.
pub(crate) fn write_json(value: &SqlValue, out: &mut String) {
    match value {
        // A stored list was validated before and is JSON already.
        SqlValue::Json(Some(json)) => out.push_str(json),
        SqlValue::Uuid(Some(id)) => write_string(out, &id.to_string()),
        SqlValue::Text(Some(text)) => write_string(out, text),
        SqlValue::Time(Some(micros)) => write_string(out, &Timestamp(*micros).to_postgrest()),
        _ => out.push_str("null"),
    }
}

/// Compares two values of a column that are not null: ids and texts by their bytes, times chronologically.
pub(crate) fn compare(a: &SqlValue, b: &SqlValue) -> Ordering {
    match (a, b) {
        (SqlValue::Uuid(a), SqlValue::Uuid(b)) => a.cmp(b),
        (SqlValue::Text(a), SqlValue::Text(b)) => a.cmp(b),
        (SqlValue::Time(a), SqlValue::Time(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err takes")]
fn invalid_json(error: serde_json::Error) -> PgError {
    PgError::new("22P02", "invalid input syntax for type json").with_details(error.to_string())
}

fn invalid_time(why: NotATimestamp, text: &str) -> PgError {
    match why {
        NotATimestamp::Syntax => PgError::invalid_literal("22007", ColumnType::Time.sql_name(), text),
        NotATimestamp::OutOfRange => PgError::new("22008", format!("date/time field value out of range: \"{text}\"")),
        NotATimestamp::Offset => PgError::new("22009", format!("time zone displacement out of range: \"{text}\"")),
    }
}

/// Parses an id like PostgreSQL: 32 digits, optionally with a hyphen after each group of four, optionally in braces.
fn parse_uuid(text: &str) -> Option<Uuid> {
    let bare = match text.strip_prefix('{') {
        Some(rest) => rest.strip_suffix('}')?,
        None => text,
    };
    let mut digits = String::with_capacity(32);
    let mut after_hyphen = true;
    for c in bare.chars() {
        match c {
            '-' if !after_hyphen && digits.len().is_multiple_of(4) => after_hyphen = true,
            c if c.is_ascii_hexdigit() => {
                digits.push(c);
                after_hyphen = false;
            }
            _ => return None,
        }
    }
    if after_hyphen || digits.len() != 32 { None } else { Uuid::try_parse(&digits).ok() }
}

/// Appends a text as a JSON string.
pub(crate) fn write_string(out: &mut String, text: &str) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(column_type: ColumnType, text: &str) -> Result<String, &'static str> {
        let raw = RawValue::from_string(text.to_owned()).unwrap();
        let value = parse_json(column_type, &raw).map_err(|error| error.code)?;
        let mut out = String::new();
        write_json(&value, &mut out);
        Ok(out)
    }

    #[test]
    fn parses_json_values_like_postgresql() {
        let id = "\"01890A5D-AC96-774B-BCCE-B302099A8057\"";
        for (column_type, text, want) in [
            (ColumnType::Uuid, id, Ok("\"01890a5d-ac96-774b-bcce-b302099a8057\"")),
            (ColumnType::Uuid, "7", Err("22P02")),
            (ColumnType::Uuid, "\"urn:uuid:01890a5d-ac96-774b-bcce-b302099a8057\"", Err("22P02")),
            (
                ColumnType::Uuid,
                "\"{01890a5dac96-774b-bcceb302-099a8057}\"",
                Ok("\"01890a5d-ac96-774b-bcce-b302099a8057\""),
            ),
            (ColumnType::Uuid, "\"01890a-5dac96774bbcceb302099a8057\"", Err("22P02")),
            (ColumnType::Uuid, "\"01890a5d--ac96774bbcceb302099a8057\"", Err("22P02")),
            (ColumnType::Uuid, "\"01890a5d-ac96-774b-bcce-b302099a8057-\"", Err("22P02")),
            (ColumnType::Time, "\"2026-02-30\"", Err("22008")),
            (ColumnType::Time, "\"2026-02-01 00:00+99\"", Err("22009")),
            (ColumnType::Text, "1.0", Ok("\"1.0\"")),
            (ColumnType::Text, "\"\\u0000\"", Err("22P05")),
            (ColumnType::Text, "\"\\ud800\"", Err("22P02")),
            (ColumnType::Text, "null", Ok("null")),
            (ColumnType::Time, "\"2026-11-21 10:00:00.5+00\"", Ok("\"2026-11-21T10:00:00.5+00:00\"")),
            (ColumnType::Time, "5", Err("22007")),
            (ColumnType::JsonList, "[{\"b\": 1, \"a\": \"\\u0000\"}]", Ok("[{\"b\": 1, \"a\": \"\\u0000\"}]")),
        ] {
            assert_eq!(json(column_type, text), want.map(str::to_owned), "{column_type:?} {text}");
        }
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert_eq!(json(ColumnType::JsonList, &deep), Err("22P02"));
    }
}
