//! Keeps what the protocol library would drop.
//!
//! The library knows the long calls of 2026-07-28 only. What a server of 2025-11-25 says about them in its capabilities
//! and in its tools is moved to the places that the library hands on as they are.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// The name under which it is kept, in the experimental capabilities and in the `_meta` of a tool.
pub(crate) const KEPT: &str = "ai-chat-mcp/2025-11-25";

/// The message as it came, or with what would be dropped in another place.
pub(crate) fn keep(message: &str) -> Cow<'_, str> {
    let of_capabilities = message.contains("\"tasks\"") && message.contains("\"capabilities\"");
    if !of_capabilities && !message.contains("\"taskSupport\"") {
        return Cow::Borrowed(message);
    }
    // What is no JSON is told by whoever reads it.
    let Ok(mut message_read) = serde_json::from_str::<Value>(message) else { return Cow::Borrowed(message) };
    if let Some(capabilities) = message_read.pointer_mut("/result/capabilities").and_then(Value::as_object_mut)
        && let Some(tasks @ Value::Object(_)) = capabilities.get("tasks").cloned()
    {
        put(capabilities, "experimental", tasks);
    }
    for tool in message_read.pointer_mut("/result/tools").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(tool) = tool.as_object_mut()
            && let Some(execution @ Value::Object(_)) = tool.get("execution").cloned()
        {
            put(tool, "_meta", execution);
        }
    }
    Cow::Owned(message_read.to_string())
}

fn put(object: &mut Map<String, Value>, place: &str, value: Value) {
    let place = object.entry(place).or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(place) = place {
        place.insert(KEPT.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_said_about_long_calls_is_kept_and_nothing_else_changes() {
        let tools = json!({ "result": { "tools": [
            { "name": "a", "execution": { "taskSupport": "required" }, "_meta": { "x": 1 } },
            { "name": "b" },
        ] } });
        let kept: Value = serde_json::from_str(&keep(&tools.to_string())).unwrap();
        assert_eq!(kept["result"]["tools"][0]["_meta"], json!({ "x": 1, KEPT: { "taskSupport": "required" } }));
        assert_eq!(kept["result"]["tools"][1], json!({ "name": "b" }));

        let hello = json!({ "result": { "capabilities": { "tasks": { "cancel": {} } } } });
        let kept: Value = serde_json::from_str(&keep(&hello.to_string())).unwrap();
        assert_eq!(kept["result"]["capabilities"]["experimental"], json!({ KEPT: { "cancel": {} } }));

        for other in [r#"{"result":{"content":[{"type":"text","text":"tasks"}]}}"#, r#"{"taskSupport" "capabilities""#]
        {
            assert_eq!(keep(other), other);
        }
    }
}
