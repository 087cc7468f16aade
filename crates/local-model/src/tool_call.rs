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

/// Drops optional arguments that `message` does not ask for: a small model often fills every field, and an invented
/// limit, order or filter changes the result.
///
/// Dropped are numbers that are not mentioned, choices of which neither the value nor the field is mentioned, and
/// texts that repeat a required argument.
pub(crate) fn drop_unrequested_arguments(arguments: &str, schema: &Value, message: &str) -> String {
    let Ok(Value::Object(mut fields)) = serde_json::from_str::<Value>(arguments) else { return arguments.to_owned() };
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let numbers: Vec<f64> = message
        .split(|character: char| !(character.is_ascii_digit() || character == '.'))
        .filter_map(|number| number.trim_end_matches('.').parse().ok())
        .collect();
    let message_words = words_of(message);
    let required_values: Vec<Value> = required.iter().filter_map(|name| fields.get(*name)).cloned().collect();
    // Required arguments stay in any case, because the call would fail without them.
    fields.retain(|name, value| {
        if required.contains(&name.as_str()) {
            return true;
        }
        if let Some(number) = value.as_f64() {
            // The sign may be in the words of the message, such as "below zero".
            return numbers.contains(&number.abs());
        }
        let Some(text) = value.as_str() else { return true };
        let is_choice = schema["properties"][name.as_str()].get("enum").is_some();
        let is_mentioned = || {
            [words_of(text), words_of(name)]
                .concat()
                .iter()
                .any(|word| message_words.iter().any(|other| other.starts_with(word)))
        };
        if is_choice { is_mentioned() } else { !required_values.contains(value) }
    });
    Value::Object(fields).to_string()
}

/// Returns the words of a text, or of a name in any of the usual cases, in lower case.
fn words_of(text: &str) -> Vec<String> {
    let mut spaced = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_uppercase() {
            spaced.push(' ');
        }
        if character.is_alphanumeric() {
            spaced.extend(character.to_lowercase());
        } else {
            spaced.push(' ');
        }
    }
    spaced.split_whitespace().filter(|word| word.len() > 2).map(str::to_owned).collect()
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

    fn drop(arguments: &Value, schema: &Value, message: &str) -> Value {
        serde_json::from_str(&drop_unrequested_arguments(&arguments.to_string(), schema, message)).unwrap()
    }

    #[test]
    fn drops_optional_numbers_not_mentioned() {
        let schema = json!({ "required": ["a"] });
        let made_up = json!({ "a": 7, "limit": 10, "q": "x" });
        assert_eq!(drop(&made_up, &schema, "find x"), json!({ "a": 7, "q": "x" }));
        assert_eq!(drop(&made_up, &schema, "find 10 x."), made_up);
        assert_eq!(drop(&json!({ "t": -2.5 }), &schema, "set it to -2.5."), json!({ "t": -2.5 }));
        assert_eq!(drop_unrequested_arguments("{\"text\": \"Dear", &schema, ""), "{\"text\": \"Dear");
    }

    #[test]
    fn drops_optional_choices_not_mentioned() {
        let choice = json!({ "type": "string", "enum": ["name", "size"] });
        let schema = json!({ "properties": { "sortBy": choice, "unit": choice, "a/b": choice }, "required": ["unit"] });
        let made_up = json!({ "sortBy": "size", "unit": "size", "a/b": "name" });
        assert_eq!(drop(&made_up, &schema, "how big are they?"), json!({ "unit": "size" }));
        assert_eq!(
            drop(&made_up, &schema, "Order them by Size"),
            json!({ "sortBy": "size", "unit": "size" }),
            "the value is mentioned"
        );
        assert_eq!(
            drop(&made_up, &schema, "sorted, please"),
            json!({ "sortBy": "size", "unit": "size" }),
            "the field is mentioned"
        );
    }

    #[test]
    fn drops_optional_texts_that_repeat_another() {
        let schema = json!({ "required": ["text"] });
        let called = |find: &str| json!({ "text": "a rose is a rose", "find": find });
        assert_eq!(drop(&called("a rose is a rose"), &schema, "count"), json!({ "text": "a rose is a rose" }));
        assert_eq!(drop(&called("rose"), &schema, "count rose"), called("rose"));
    }
}
