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

/// Drops optional numbers that `message` does not mention: a small model likes to fill every field, and a made-up
/// limit or depth changes the result.
pub(crate) fn drop_unmentioned_numbers(arguments: &str, schema: &Value, message: &str) -> String {
    let Ok(Value::Object(mut fields)) = serde_json::from_str::<Value>(arguments) else { return arguments.to_owned() };
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let mentioned: Vec<f64> = message
        .split(|character: char| !(character.is_ascii_digit() || character == '.'))
        .filter_map(|number| number.trim_end_matches('.').parse().ok())
        .collect();
    fields.retain(|name, value| match value.as_f64() {
        Some(number) => required.contains(&name.as_str()) || mentioned.contains(&number.abs()),
        None => true,
    });
    Value::Object(fields).to_string()
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
    fn optional_numbers_that_nobody_mentioned_are_dropped() {
        let schema = json!({ "required": ["a"] });
        let drop = |arguments: Value, message| {
            serde_json::from_str::<Value>(&drop_unmentioned_numbers(&arguments.to_string(), &schema, message)).unwrap()
        };
        let made_up = json!({ "a": 7, "limit": 10, "q": "x" });
        assert_eq!(drop(made_up.clone(), "find x"), json!({ "a": 7, "q": "x" }));
        assert_eq!(drop(made_up.clone(), "find 10 x."), made_up);
        assert_eq!(drop(json!({ "t": -2.5 }), "set it to -2.5."), json!({ "t": -2.5 }));
        assert_eq!(drop_unmentioned_numbers("{\"text\": \"Dear", &schema, ""), "{\"text\": \"Dear");
    }
}
