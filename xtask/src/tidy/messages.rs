//! Rule: every text for users is in one file, with a unique key.

use std::collections::HashMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::Source;

const MESSAGES_FILE: &str = "web/messages/en.json";

pub fn check(files: &[Source]) -> Vec<String> {
    let Some(file) = files.iter().find(|file| file.path == MESSAGES_FILE) else { return Vec::new() };
    match serde_json::from_str::<Messages>(&file.text) {
        Ok(_) => Vec::new(),
        Err(error) => vec![format!("{MESSAGES_FILE}: {error}")],
    }
}

/// A text, or an object of texts with unique keys. JSON parsers silently use the last of several equal keys.
enum Messages {
    Text,
    Group,
}

impl<'de> Deserialize<'de> for Messages {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MessagesVisitor)
    }
}

/// Parser of [`Messages`] that rejects repeated keys.
struct MessagesVisitor;

impl<'de> Visitor<'de> for MessagesVisitor {
    type Value = Messages;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or an object of texts")
    }

    fn visit_str<E>(self, _: &str) -> Result<Messages, E> {
        Ok(Messages::Text)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Messages, A::Error> {
        let mut seen = HashMap::new();
        while let Some((key, value)) = entries.next_entry::<String, Messages>()? {
            if seen.contains_key(&key) {
                return Err(A::Error::custom(format!("the key `{key}` is there twice")));
            }
            seen.insert(key, value);
        }
        Ok(Messages::Group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    #[test]
    fn rejects_repeated_keys_and_invalid_json() {
        let findings = |text| check(&[source(MESSAGES_FILE, text)]);
        assert!(findings(r#"{"a": {"x": "1"}, "b": {"x": "1"}}"#).is_empty());
        assert!(findings(r#"{"a": {"x": "1", "x": "2"}}"#)[0].contains("`x` is there twice"));
        assert!(findings("{\n\"a\": }")[0].contains("line 2"));
        assert!(findings(r#"{"a": 1}"#)[0].contains("a text or an object of texts"));
    }
}
