//! URLs of a next step: those that the message or a result contains and that no earlier call had. A small model otherwise
//! repeats the URL of the first step, and the call is not made.

use domain::model::{ModelCall, ToolSpec};
use serde_json::{Value, json};

use crate::tool_decision::is_url_argument;

/// Characters that end a URL in a text or in JSON.
const URL_ENDS: [char; 11] = ['"', '\'', '<', '>', '(', ')', '[', ']', '{', '}', '\\'];

/// Returns the tools with their arguments for a URL limited to the URLs of `sources` that no earlier call had. Without such
/// a URL, the tools are unchanged.
pub(crate) fn limit_urls<'a>(
    tools: &[&ToolSpec],
    sources: &str,
    calls: impl IntoIterator<Item = &'a ModelCall>,
) -> Vec<ToolSpec> {
    let called: Vec<&str> = calls.into_iter().flat_map(|call| urls(&call.arguments)).collect();
    let new: Vec<&str> = urls(sources).filter(|url| !called.contains(url)).collect();
    tools.iter().map(|tool| if new.is_empty() { (*tool).clone() } else { with_urls(tool, &new) }).collect()
}

/// Returns the URLs in a text, without the punctuation after them.
fn urls(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| c.is_whitespace() || URL_ENDS.contains(&c));
    let is_url = |word: &&str| word.starts_with("http://") || word.starts_with("https://");
    words.filter(is_url).map(|word| word.trim_end_matches(['.', ',', ';', ':', '!', '?']))
}

/// Returns a tool whose texts for a URL accept these alone.
fn with_urls(tool: &ToolSpec, urls: &[&str]) -> ToolSpec {
    let mut tool = tool.clone();
    let properties = tool.input_schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, schema) in properties.into_iter().flatten() {
        if is_url_argument(name, schema) && schema["type"] == "string" {
            schema["enum"] = json!(urls);
        }
    }
    tool
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool() -> ToolSpec {
        let properties =
            json!({ "url": { "type": "string" }, "urls": { "type": "array" }, "depth": { "type": "string" } });
        let input_schema = json!({ "type": "object", "properties": properties });
        ToolSpec { name: "fetch".to_owned(), description: String::new(), input_schema }
    }

    fn call(arguments: &str) -> ModelCall {
        ModelCall { id: "1".to_owned(), name: "fetch".to_owned(), arguments: arguments.to_owned() }
    }

    #[test]
    fn limits_url_to_those_not_called_yet() {
        let sources = "Open https://a.example/x and its first link\n[{\"text\":\"See https://b.example/y.\\nMore\"}]";
        let limited = limit_urls(&[&tool()], sources, [&call(r#"{"url":"https://a.example/x"}"#)]);
        let properties = &limited[0].input_schema["properties"];
        assert_eq!(properties["url"], json!({ "type": "string", "enum": ["https://b.example/y"] }));
        assert_eq!(properties["urls"], json!({ "type": "array" }));
        assert_eq!(properties["depth"], json!({ "type": "string" }));
    }

    #[test]
    fn tools_are_unchanged_without_a_new_url() {
        let sources = "Open https://a.example/x\nno link";
        assert_eq!(limit_urls(&[&tool()], sources, [&call(r#"{"url":"https://a.example/x"}"#)]), [tool()]);
    }
}
