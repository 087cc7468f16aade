//! Preservation of fields that the protocol library would drop.
//!
//! The library knows the tasks of 2026-07-28 only. What a server of 2025-11-25 declares about tasks, in its
//! capabilities and its tools, is copied to fields that the library passes on unchanged.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// Key of the copies, in the experimental capabilities and in the `_meta` of a tool.
pub(crate) const PRESERVED_KEY: &str = "ai-chat-mcp/2025-11-25";

/// Returns the message with its task support copied to fields that the library keeps; unchanged if it has none.
pub(crate) fn preserve_task_support(message: &str) -> Cow<'_, str> {
    // Most messages have neither word, and are not parsed twice.
    let has_capabilities = message.contains("\"tasks\"") && message.contains("\"capabilities\"");
    if !has_capabilities && !message.contains("\"taskSupport\"") {
        return Cow::Borrowed(message);
    }
    // Invalid JSON passes: the caller parses the message and reports it.
    let Ok(mut parsed) = serde_json::from_str::<Value>(message) else { return Cow::Borrowed(message) };
    if let Some(capabilities) = parsed.pointer_mut("/result/capabilities").and_then(Value::as_object_mut)
        && let Some(tasks @ Value::Object(_)) = capabilities.get("tasks").cloned()
    {
        insert_preserved(capabilities, "experimental", tasks);
    }
    for tool in parsed.pointer_mut("/result/tools").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(tool) = tool.as_object_mut()
            && let Some(execution @ Value::Object(_)) = tool.get("execution").cloned()
        {
            insert_preserved(tool, "_meta", execution);
        }
    }
    Cow::Owned(parsed.to_string())
}

fn insert_preserved(object: &mut Map<String, Value>, field: &str, value: Value) {
    let target = object.entry(field).or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(target) = target {
        target.insert(PRESERVED_KEY.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn preserves_task_support_and_nothing_else() {
        let tools = json!({ "result": { "tools": [
            { "name": "a", "execution": { "taskSupport": "required" }, "_meta": { "x": 1 } },
            { "name": "b" },
        ] } });
        let kept: Value = serde_json::from_str(&preserve_task_support(&tools.to_string())).unwrap();
        assert_eq!(
            kept["result"]["tools"][0]["_meta"],
            json!({ "x": 1, PRESERVED_KEY: { "taskSupport": "required" } })
        );
        assert_eq!(kept["result"]["tools"][1], json!({ "name": "b" }));

        let hello = json!({ "result": { "capabilities": { "tasks": { "cancel": {} } } } });
        let kept: Value = serde_json::from_str(&preserve_task_support(&hello.to_string())).unwrap();
        assert_eq!(kept["result"]["capabilities"]["experimental"], json!({ PRESERVED_KEY: { "cancel": {} } }));

        for other in [r#"{"result":{"content":[{"type":"text","text":"tasks"}]}}"#, r#"{"taskSupport" "capabilities""#]
        {
            assert_eq!(preserve_task_support(other), other);
        }
    }
}
