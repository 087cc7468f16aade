//! Tool calls as the model wrote them, and corrections before they run.

use serde_json::{Map, Value};

/// A parsed tool call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ParsedCall {
    pub name: String,
    /// JSON text of the arguments.
    pub arguments: String,
}

/// Parses the call in the model's output, after any opening.
///
/// A truncated call keeps its name and its incomplete arguments: completing them by a guess would run a tool with
/// half a text.
pub(crate) fn parse_call(written: &str) -> Option<ParsedCall> {
    let object = &written[written.find('{')?..];
    if let Some(Ok(value)) = serde_json::Deserializer::from_str(object).into_iter::<Value>().next() {
        let name = value.get("name")?.as_str()?.to_owned();
        let arguments = value.get("arguments").cloned().unwrap_or_else(|| Value::Object(Map::new()));
        return Some(ParsedCall { name, arguments: arguments.to_string() });
    }
    // Incomplete JSON: the generation was stopped by its token limit.
    let name = object.split_once("\"name\": \"")?.1.split_once('"')?.0.to_owned();
    let arguments = object.split_once("\"arguments\": ").map_or("{", |(_, arguments)| arguments).to_owned();
    Some(ParsedCall { name, arguments })
}

/// Restores the beginning of paths in the arguments: a small model often writes `srv/notes.md` where `message` contains
/// `/srv/notes.md`.
pub(crate) fn restore_path_prefixes(arguments: &str, message: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(arguments) else { return arguments.to_owned() };
    let is_delimiter =
        |character: char| matches!(character, '"' | '\'' | '`' | '(' | ')' | ',' | ';' | ':' | '?' | '!');
    let message_words: Vec<&str> =
        message.split_whitespace().map(|word| word.trim_matches(is_delimiter).trim_end_matches('.')).collect();
    restore_in_value(&mut value, &message_words);
    value.to_string()
}

fn restore_in_value(value: &mut Value, message_words: &[&str]) {
    match value {
        Value::String(text) if !text.is_empty() && !message_words.contains(&text.as_str()) => {
            let lost = |word: &&&str| {
                word.strip_suffix(text.as_str())
                    .is_some_and(|lost| lost.chars().all(|character| matches!(character, '/' | '~' | '.')))
            };
            if let Some(word) = message_words.iter().find(lost) {
                *text = (*word).to_owned();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| restore_in_value(item, message_words)),
        Value::Object(fields) => fields.values_mut().for_each(|field| restore_in_value(field, message_words)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(name: &str, arguments: &str) -> ParsedCall {
        ParsedCall { name: name.to_owned(), arguments: arguments.to_owned() }
    }

    #[test]
    fn parses_calls_after_every_opening() {
        let object = r#"{"name": "add", "arguments": {"a": 1}}"#;
        for written in [
            object.to_owned(),
            format!("<tool_call>\n{object}\n</tool_call>"),
            format!("```json\n{object}\n```"),
            format!("{object}}}"),
        ] {
            assert_eq!(parse_call(&written), Some(call("add", r#"{"a":1}"#)), "{written}");
        }
        assert_eq!(parse_call(r#"{"name": "now"}"#), Some(call("now", "{}")));
        assert_eq!(parse_call("I cannot do that."), None);
    }

    #[test]
    fn keeps_truncated_call_incomplete() {
        let written = "<tool_call>\n{\"name\": \"write\", \"arguments\": {\"text\": \"Dear";
        assert_eq!(parse_call(written), Some(call("write", "{\"text\": \"Dear")));
    }

    #[test]
    fn restores_beginning_of_paths() {
        let message = "Read /srv/one.md, ~/two.md and \"./three.md\" for @anna, then srv/four.md.";
        let restored = |arguments: Value| -> Value {
            serde_json::from_str(&restore_path_prefixes(&arguments.to_string(), message)).unwrap()
        };
        assert_eq!(
            restored(json!({ "paths": ["srv/one.md", "two.md", "three.md"], "by": { "name": "anna" } })),
            json!({ "paths": ["/srv/one.md", "~/two.md", "./three.md"], "by": { "name": "anna" } }),
            "a name is often wanted without its mark"
        );
        let whole = json!({ "path": "srv/four.md", "other": "one.md", "none": "", "count": 3 });
        assert_eq!(restored(whole.clone()), whole);
        assert_eq!(restore_path_prefixes("{\"text\": \"Dear", message), "{\"text\": \"Dear");
    }
}
