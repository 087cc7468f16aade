//! Values of rows: parsed from literals and JSON, read from the database, written as JSON.

use std::cmp::Ordering;

use domain::Timestamp;
use domain::clock::NotATimestamp;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::fault::Fault;
use super::table::Kind;

/// A value, or null with its type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Cell {
    Uuid(Option<Uuid>),
    Text(Option<String>),
    Time(Option<i64>),
    Json(Option<String>),
    Bytes(Option<Vec<u8>>),
}

impl Cell {
    pub(crate) fn null(kind: Kind) -> Self {
        match kind {
            Kind::Uuid => Self::Uuid(None),
            Kind::Text => Self::Text(None),
            Kind::Time => Self::Time(None),
            Kind::JsonList => Self::Json(None),
            Kind::Sealed => Self::Bytes(None),
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Uuid(None) | Self::Text(None) | Self::Time(None) | Self::Json(None) | Self::Bytes(None))
    }

    /// Parses a literal from a URL.
    pub(crate) fn from_literal(kind: Kind, text: &str) -> Result<Self, Fault> {
        if text.contains('\0') {
            return Err(Fault::new("22021", "invalid byte sequence for encoding \"UTF8\": 0x00"));
        }
        Ok(match kind {
            Kind::Uuid => {
                let bad = || Fault::bad_literal("22P02", kind.sql_name(), text);
                Self::Uuid(Some(uuid(text).ok_or_else(bad)?))
            }
            Kind::Text => Self::Text(Some(text.to_owned())),
            // Parsed here, not by the database, so that both accept the same forms.
            Kind::Time => Self::Time(Some(text.parse::<Timestamp>().map_err(|why| bad_time(why, text))?.0)),
            Kind::JsonList | Kind::Sealed => return Err(Fault::no_operator(kind, "=")),
        })
    }

    /// Parses a value from a JSON body. A number or an object for a text column becomes its JSON text, as in
    /// PostgreSQL.
    pub(crate) fn from_json(kind: Kind, value: &RawValue) -> Result<Self, Fault> {
        let raw = value.get();
        if raw == "null" {
            return Ok(Self::null(kind));
        }
        if matches!(kind, Kind::JsonList | Kind::Sealed) {
            // A value that cannot be read again, because it is nested too deeply or contains half a surrogate pair,
            // must not be stored.
            serde_json::from_str::<serde_json::Value>(raw).map_err(bad_json)?;
            return Ok(Self::Json(Some(raw.to_owned())));
        }
        let text =
            if raw.starts_with('"') { serde_json::from_str::<String>(raw).map_err(bad_json)? } else { raw.to_owned() };
        if text.contains('\0') {
            return Err(Fault::new("22P05", "unsupported Unicode escape sequence")
                .details("\\u0000 cannot be converted to text."));
        }
        Self::from_literal(kind, &text)
    }

    /// Appends the value as JSON.
    pub(crate) fn write_json(&self, out: &mut String) {
        match self {
            // A stored list was validated before and is JSON already.
            Self::Json(Some(json)) => out.push_str(json),
            Self::Uuid(Some(id)) => write_string(out, &id.to_string()),
            Self::Text(Some(text)) => write_string(out, text),
            Self::Time(Some(micros)) => write_string(out, &Timestamp(*micros).to_postgrest()),
            _ => out.push_str("null"),
        }
    }

    /// Compares two values of a column that are not null: ids and texts by their bytes, times chronologically.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Uuid(a), Self::Uuid(b)) => a.cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Time(a), Self::Time(b)) => a.cmp(b),
            _ => Ordering::Equal,
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err takes")]
fn bad_json(error: serde_json::Error) -> Fault {
    Fault::new("22P02", "invalid input syntax for type json").details(error.to_string())
}

fn bad_time(why: NotATimestamp, text: &str) -> Fault {
    match why {
        NotATimestamp::Syntax => Fault::bad_literal("22007", Kind::Time.sql_name(), text),
        NotATimestamp::OutOfRange => Fault::new("22008", format!("date/time field value out of range: \"{text}\"")),
        NotATimestamp::Offset => Fault::new("22009", format!("time zone displacement out of range: \"{text}\"")),
    }
}

/// Parses an id like PostgreSQL: 32 digits, optionally with a hyphen after each group of four, optionally in braces.
fn uuid(text: &str) -> Option<Uuid> {
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

    fn json(kind: Kind, text: &str) -> Result<String, &'static str> {
        let raw = RawValue::from_string(text.to_owned()).unwrap();
        let cell = Cell::from_json(kind, &raw).map_err(|fault| fault.code)?;
        let mut out = String::new();
        cell.write_json(&mut out);
        Ok(out)
    }

    #[test]
    fn json_values_are_read_as_postgresql_reads_them() {
        let id = "\"01890A5D-AC96-774B-BCCE-B302099A8057\"";
        for (kind, text, want) in [
            (Kind::Uuid, id, Ok("\"01890a5d-ac96-774b-bcce-b302099a8057\"")),
            (Kind::Uuid, "7", Err("22P02")),
            (Kind::Uuid, "\"urn:uuid:01890a5d-ac96-774b-bcce-b302099a8057\"", Err("22P02")),
            (Kind::Uuid, "\"{01890a5dac96-774b-bcceb302-099a8057}\"", Ok("\"01890a5d-ac96-774b-bcce-b302099a8057\"")),
            (Kind::Uuid, "\"01890a-5dac96774bbcceb302099a8057\"", Err("22P02")),
            (Kind::Uuid, "\"01890a5d--ac96774bbcceb302099a8057\"", Err("22P02")),
            (Kind::Uuid, "\"01890a5d-ac96-774b-bcce-b302099a8057-\"", Err("22P02")),
            (Kind::Time, "\"2026-02-30\"", Err("22008")),
            (Kind::Time, "\"2026-02-01 00:00+99\"", Err("22009")),
            (Kind::Text, "1.0", Ok("\"1.0\"")),
            (Kind::Text, "\"\\u0000\"", Err("22P05")),
            (Kind::Text, "\"\\ud800\"", Err("22P02")),
            (Kind::Text, "null", Ok("null")),
            (Kind::Time, "\"2026-11-21 10:00:00.5+00\"", Ok("\"2026-11-21T10:00:00.5+00:00\"")),
            (Kind::Time, "5", Err("22007")),
            (Kind::JsonList, "[{\"b\": 1, \"a\": \"\\u0000\"}]", Ok("[{\"b\": 1, \"a\": \"\\u0000\"}]")),
        ] {
            assert_eq!(json(kind, text), want.map(str::to_owned), "{kind:?} {text}");
        }
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert_eq!(json(Kind::JsonList, &deep), Err("22P02"));
    }
}
