//! Lenient access to JSON fields.
//!
//! Fields stay raw until they are needed. So a field of an unexpected type counts as missing instead of failing the
//! whole event, and text is not copied before it becomes a model event.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, de};
use serde_json::value::RawValue;

/// A field in its JSON form; `None` when missing or null.
pub(super) type RawField<'a> = Option<&'a RawValue>;

/// Returns the field as a string, if it is one.
pub(super) fn as_text(raw: RawField<'_>) -> Option<Cow<'_, str>> {
    serde_json::from_str::<LenientString<'_>>(raw?.get()).ok().map(|text| text.0)
}

/// Returns the field as a number, if it is one.
pub(super) fn as_number(raw: RawField<'_>) -> Option<u64> {
    serde_json::from_str::<u64>(raw?.get()).ok()
}

/// Returns the field as a number, and 0 when it is missing or not a number.
pub(super) fn number_or_zero(raw: RawField<'_>) -> u64 {
    as_number(raw).unwrap_or(0)
}

/// Parses the field as `T`; returns the default when it is missing or something else.
pub(super) fn parse_or_default<'a, T: Deserialize<'a> + Default>(raw: RawField<'a>) -> T {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

/// Returns the JSON text of tool arguments: the string, or the object that some servers send instead of a string.
pub(super) fn arguments_text(raw: RawField<'_>) -> Cow<'_, str> {
    let text = raw.map_or("", RawValue::get);
    // The raw text, not a value parsed and written again: the order of the fields stays the model's.
    if text.starts_with(['{', '[']) { Cow::Borrowed(text) } else { as_text(raw).unwrap_or_default() }
}

/// A string, borrowed when it contains no escapes.
///
/// Deserialized as bytes, because half of an escaped surrogate pair would be an error in a string. It becomes the
/// replacement character.
struct LenientString<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for LenientString<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BytesVisitor;
        impl<'de> Visitor<'de> for BytesVisitor {
            type Value = LenientString<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_bytes<E: de::Error>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
                Ok(LenientString(String::from_utf8_lossy(bytes)))
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
                Ok(LenientString(Cow::Owned(String::from_utf8_lossy(bytes).into_owned())))
            }
        }
        deserializer.deserialize_bytes(BytesVisitor)
    }
}
