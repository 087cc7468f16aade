//! Every text a user reads stands once, in one file.

use super::Source;
use crate::json::Value;

const FILE: &str = "web/messages/en.json";

pub fn check(files: &[Source]) -> Vec<String> {
    let Some(file) = files.iter().find(|file| file.path == FILE) else { return Vec::new() };
    match Value::read(&file.text) {
        Ok(value) => {
            let twice = repeated(&value, "");
            twice.iter().map(|key| format!("{FILE}: `{key}` is there twice: only the last one would be used")).collect()
        }
        Err(failure) => vec![format!("{FILE}: {failure}")],
    }
}

/// The keys, with their path, that an object has more than once.
fn repeated(value: &Value, path: &str) -> Vec<String> {
    let entries = value.entries();
    let mut found = Vec::new();
    for (index, (key, inner)) in entries.iter().enumerate() {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        found.extend(repeated(inner, &path));
        if entries[..index].iter().any(|(earlier, _)| earlier == key) {
            found.push(path);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    #[test]
    fn messages_are_read_and_keys_are_single() {
        let findings = |text| check(&[source(FILE, text)]);
        assert!(findings(r#"{"a": {"x": "1"}, "b": {"x": "1"}}"#).is_empty());
        assert!(findings(r#"{"a": {"x": "1", "x": "2"}}"#)[0].contains("`a.x` is there twice"));
        assert!(findings("{\n\"a\": }")[0].contains("line 2"));
    }
}
