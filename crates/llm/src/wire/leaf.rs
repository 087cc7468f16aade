//! The leaves of what a server sends. They stay raw until they are needed, so that one of an unexpected type is only one
//! that is missing, and nothing of a token is copied before it becomes an event.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, de};
use serde_json::value::RawValue;

/// A leaf as it stands in the text; `None` when missing or null.
pub(super) type Raw<'a> = Option<&'a RawValue>;

/// The string of a leaf, if it is one.
pub(super) fn text_in(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Text<'_>>(raw?.get()).ok().map(|text| text.0)
}

/// The number of a leaf, if it is one.
pub(super) fn number_in(raw: Raw<'_>) -> Option<u64> {
    serde_json::from_str::<u64>(raw?.get()).ok()
}

/// The number of a leaf, 0 when it is missing or something else.
pub(super) fn count_in(raw: Raw<'_>) -> u64 {
    number_in(raw).unwrap_or(0)
}

/// The JSON of a leaf read as `T`; the default when it is missing or something else.
pub(super) fn read_in<'a, T: Deserialize<'a> + Default>(raw: Raw<'a>) -> T {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

/// The text of arguments: the string, or the object that some servers send in its place.
pub(super) fn arguments_in(raw: Raw<'_>) -> Cow<'_, str> {
    let text = raw.map_or("", RawValue::get);
    if text.starts_with(['{', '[']) { Cow::Borrowed(text) } else { text_in(raw).unwrap_or_default() }
}

/// A string, borrowed when it holds no escapes. Read as bytes, because half of an escaped surrogate pair would
/// otherwise be an error; it becomes the replacement character.
struct Text<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl<'de> Visitor<'de> for Bytes {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_bytes<E: de::Error>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
                Ok(Text(String::from_utf8_lossy(bytes)))
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(String::from_utf8_lossy(bytes).into_owned())))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}
