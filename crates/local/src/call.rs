//! A call as the model wrote it, and what is put right before it is run.

use serde_json::{Map, Value};

/// A call that was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub name: String,
    /// JSON text of the arguments.
    pub arguments: String,
}

/// Finds the call in what the model wrote, past any opening. A call that was cut off keeps its name and what there is
/// of its arguments; closing it by guess would run a tool with half a text.
pub(crate) fn parse(written: &str) -> Option<Call> {
    let object = &written[written.find('{')?..];
    if let Some(Ok(value)) = serde_json::Deserializer::from_str(object).into_iter::<Value>().next() {
        let name = value.get("name")?.as_str()?.to_owned();
        let arguments = value.get("arguments").cloned().unwrap_or_else(|| Value::Object(Map::new()));
        return Some(Call { name, arguments: arguments.to_string() });
    }
    let name = object.split_once("\"name\": \"")?.1.split_once('"')?.0.to_owned();
    let arguments = object.split_once("\"arguments\": ").map_or("{", |(_, arguments)| arguments).to_owned();
    Some(Call { name, arguments })
}

/// Puts back what a path in the arguments has lost at its beginning: a small model likes to write `srv/notes.md` where
/// `message` says `/srv/notes.md`.
pub(crate) fn restore_beginnings(arguments: &str, message: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(arguments) else { return arguments.to_owned() };
    let is_around = |character: char| matches!(character, '"' | '\'' | '`' | '(' | ')' | ',' | ';' | ':' | '?' | '!');
    let said: Vec<&str> =
        message.split_whitespace().map(|word| word.trim_matches(is_around).trim_end_matches('.')).collect();
    restore(&mut value, &said);
    value.to_string()
}

fn restore(value: &mut Value, said: &[&str]) {
    match value {
        Value::String(text) if !text.is_empty() && !said.contains(&text.as_str()) => {
            let lost = |word: &&&str| {
                word.strip_suffix(text.as_str())
                    .is_some_and(|lost| lost.chars().all(|character| matches!(character, '/' | '~' | '.')))
            };
            if let Some(word) = said.iter().find(lost) {
                *text = (*word).to_owned();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| restore(item, said)),
        Value::Object(fields) => fields.values_mut().for_each(|field| restore(field, said)),
        _ => {}
    }
}

/// Drops optional arguments that `message` does not ask for: a small model likes to fill every field, and a made-up
/// limit, order or filter changes the result. These are numbers that are not mentioned, choices of which neither the
/// value nor the field is, and texts that say again what another argument says.
pub(crate) fn drop_unasked(arguments: &str, schema: &Value, message: &str) -> String {
    let Ok(Value::Object(mut fields)) = serde_json::from_str::<Value>(arguments) else { return arguments.to_owned() };
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let numbers: Vec<f64> = message
        .split(|character: char| !(character.is_ascii_digit() || character == '.'))
        .filter_map(|number| number.trim_end_matches('.').parse().ok())
        .collect();
    let said = words(message);
    let needed: Vec<Value> = required.iter().filter_map(|name| fields.get(*name)).cloned().collect();
    fields.retain(|name, value| {
        if required.contains(&name.as_str()) {
            return true;
        }
        if let Some(number) = value.as_f64() {
            return numbers.contains(&number.abs());
        }
        let Some(text) = value.as_str() else { return true };
        let is_choice = schema["properties"][name.as_str()].get("enum").is_some();
        let is_mentioned =
            || [words(text), words(name)].concat().iter().any(|word| said.iter().any(|one| one.starts_with(word)));
        if is_choice { is_mentioned() } else { !needed.contains(value) }
    });
    Value::Object(fields).to_string()
}

/// The words of a text or of a name in any of the usual spellings, in small letters.
fn words(text: &str) -> Vec<String> {
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

    fn call(name: &str, arguments: &str) -> Call {
        Call { name: name.to_owned(), arguments: arguments.to_owned() }
    }

    #[test]
    fn every_opening_is_read() {
        let object = r#"{"name": "add", "arguments": {"a": 1}}"#;
        for written in [
            object.to_owned(),
            format!("<tool_call>\n{object}\n</tool_call>"),
            format!("```json\n{object}\n```"),
            format!("{object}}}"),
        ] {
            assert_eq!(parse(&written), Some(call("add", r#"{"a":1}"#)), "{written}");
        }
        assert_eq!(parse(r#"{"name": "now"}"#), Some(call("now", "{}")));
        assert_eq!(parse("I cannot do that."), None);
    }

    #[test]
    fn a_call_that_was_cut_off_is_not_closed_by_guess() {
        let written = "<tool_call>\n{\"name\": \"write\", \"arguments\": {\"text\": \"Dear";
        assert_eq!(parse(written), Some(call("write", "{\"text\": \"Dear")));
    }

    #[test]
    fn what_a_path_lost_at_its_beginning_is_put_back() {
        let message = "Read /srv/one.md, ~/two.md and \"./three.md\" for @anna, then srv/four.md.";
        let restored = |arguments: Value| -> Value {
            serde_json::from_str(&restore_beginnings(&arguments.to_string(), message)).unwrap()
        };
        assert_eq!(
            restored(json!({ "paths": ["srv/one.md", "two.md", "three.md"], "by": { "name": "anna" } })),
            json!({ "paths": ["/srv/one.md", "~/two.md", "./three.md"], "by": { "name": "anna" } }),
            "a name is often wanted without its mark"
        );
        let whole = json!({ "path": "srv/four.md", "other": "one.md", "none": "", "count": 3 });
        assert_eq!(restored(whole.clone()), whole);
        assert_eq!(restore_beginnings("{\"text\": \"Dear", message), "{\"text\": \"Dear");
    }

    fn drop(arguments: &Value, schema: &Value, message: &str) -> Value {
        serde_json::from_str(&drop_unasked(&arguments.to_string(), schema, message)).unwrap()
    }

    #[test]
    fn optional_numbers_that_nobody_mentioned_are_dropped() {
        let schema = json!({ "required": ["a"] });
        let made_up = json!({ "a": 7, "limit": 10, "q": "x" });
        assert_eq!(drop(&made_up, &schema, "find x"), json!({ "a": 7, "q": "x" }));
        assert_eq!(drop(&made_up, &schema, "find 10 x."), made_up);
        assert_eq!(drop(&json!({ "t": -2.5 }), &schema, "set it to -2.5."), json!({ "t": -2.5 }));
        assert_eq!(drop_unasked("{\"text\": \"Dear", &schema, ""), "{\"text\": \"Dear");
    }

    #[test]
    fn optional_choices_that_nobody_mentioned_are_dropped() {
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
    fn optional_texts_that_repeat_another_are_dropped() {
        let schema = json!({ "required": ["text"] });
        let called = |find: &str| json!({ "text": "a rose is a rose", "find": find });
        assert_eq!(drop(&called("a rose is a rose"), &schema, "count"), json!({ "text": "a rose is a rose" }));
        assert_eq!(drop(&called("rose"), &schema, "count rose"), called("rose"));
    }
}
