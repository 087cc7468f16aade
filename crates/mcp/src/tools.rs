//! Tools as servers describe them, turned into the product's own types.

use std::collections::HashSet;

use domain::text::is_invisible;
use domain::tool::{PIECE_FILE, ToolDefinition, ToolResult};
use rmcp::model::{ClientRequest, ErrorCode, ListToolsRequest, PaginatedRequestParams, ServerResult};
use serde_json::Value;

use crate::call::long;
use crate::connection::Inner;
use crate::offers::ask;
use crate::{Error, icons};

/// The protocol's bounds on a tool's name, in characters.
const NAME: std::ops::RangeInclusive<usize> = 1..=128;
/// Pages of the smallest sensible size fit many times; a server that needs more is turning in a circle.
const PAGES: usize = 500;

/// All pages of the server's list.
pub(crate) async fn list(connection: &Inner) -> Result<Vec<ToolDefinition>, Error> {
    let patience = connection.limits.list;
    tokio::time::timeout(patience, pages(connection)).await.unwrap_or(Err(Error::Timeout(patience)))
}

async fn pages(connection: &Inner) -> Result<Vec<ToolDefinition>, Error> {
    let limits = connection.limits;
    let mut tools: Vec<ToolDefinition> = Vec::new();
    let mut names = HashSet::new();
    let mut long_calls = HashSet::new();
    let mut bytes = 0;
    let mut cursor = None;
    for _ in 0..PAGES {
        let (page, next) = match page(connection, cursor).await {
            // A server without tools need not know the request.
            Err(Error::Server { code, .. })
                if code == i64::from(ErrorCode::METHOD_NOT_FOUND.0) && !connection.offers_tools =>
            {
                return Ok(Vec::new());
            }
            page => page?,
        };
        for tool in page {
            bytes += tool.to_string().len();
            if bytes > limits.tools_bytes {
                return Err(Error::TooLarge(limits.tools_bytes));
            }
            if connection.offers_long_calls && long::is_wanted(&tool) {
                long_calls.extend(tool["name"].as_str().map(str::to_owned));
            }
            // One bad tool is no reason to lose the others.
            let Some(mut tool) = definition(tool) else {
                tracing::warn!("a tool was left out: its definition cannot be read");
                continue;
            };
            icons::keep_usable(&mut tool.icons, &connection.url);
            if names.insert(tool.name.clone()) {
                tools.push(tool);
            }
            if tools.len() > limits.tools {
                return Err(Error::Protocol(format!("it lists more than {} tools", limits.tools)));
            }
        }
        if next.is_none() {
            connection.set_long_calls(long_calls);
            return Ok(tools);
        }
        cursor = next;
    }
    Err(Error::Protocol("its list of tools does not end".to_owned()))
}

async fn page(connection: &Inner, cursor: Option<String>) -> Result<(Vec<Value>, Option<String>), Error> {
    let params = PaginatedRequestParams::default().with_cursor(cursor);
    let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
    let result = ask::once(connection, request).await?;
    let unreadable = || Error::Protocol("its list of tools cannot be read".to_owned());
    match result {
        ServerResult::ListToolsResult(list) => {
            let tools = list.tools.iter().map(serde_json::to_value).collect::<Result<_, _>>();
            Ok((tools.map_err(|_| unreadable())?, list.next_cursor))
        }
        // The library gives what it cannot read as it came, for instance when one tool of many is malformed.
        ServerResult::CustomResult(raw) => {
            let mut list = raw.0;
            let Some(Value::Array(tools)) = list.get_mut("tools").map(Value::take) else { return Err(unreadable()) };
            Ok((tools, list.get("nextCursor").and_then(Value::as_str).map(str::to_owned)))
        }
        _ => Err(unreadable()),
    }
}

fn definition(mut tool: Value) -> Option<ToolDefinition> {
    let fields = tool.as_object_mut()?;
    // A field that is null, or of another kind than it has to be, means the same as one that is not there: the tool can be
    // called all the same.
    fields.retain(|name, value| match name.as_str() {
        "title" | "description" => value.is_string(),
        "annotations" | "outputSchema" | "_meta" => value.is_object(),
        "icons" => value.is_array(),
        _ => !value.is_null(),
    });
    if let Some(Value::Object(hints)) = fields.get_mut("annotations") {
        hints.retain(|name, value| if name == "title" { value.is_string() } else { value.is_boolean() });
    }
    let tool: ToolDefinition = serde_json::from_value(tool).ok()?;
    // A name is called by and cannot be shown as another, so that one with something invisible in it is none.
    let is_named = NAME.contains(&tool.name.chars().count()) && !tool.name.contains(is_not_for_names);
    (is_named && tool.input_schema.is_object()).then_some(tool)
}

fn is_not_for_names(character: char) -> bool {
    character.is_control() || is_invisible(character)
}

/// The result of a call.
pub(crate) fn result(result: ServerResult) -> Result<ToolResult, Error> {
    let unreadable = || Error::Protocol("its result cannot be read".to_owned());
    let raw = match result {
        ServerResult::CallToolResult(result) => serde_json::to_value(result).map_err(|_| unreadable())?,
        // A piece of a kind that the library does not know.
        ServerResult::CustomResult(raw) if raw.0.get("content").is_some_and(Value::is_array) => raw.0,
        // An empty object says that it is done.
        ServerResult::EmptyResult(_) => return Ok(ToolResult::default()),
        _ => return Err(unreadable()),
    };
    let mut result: ToolResult = serde_json::from_value(raw).map_err(|_| unreadable())?;
    // Not for a server to say.
    for piece in &mut result.content {
        if let Some(fields) = piece.as_object_mut() {
            fields.remove(PIECE_FILE);
        }
    }
    Ok(ToolResult { schema_error: None, whole: None, ..result })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_definition_is_read_as_servers_write_it() {
        let tool = definition(json!({
            "name": "add", "description": null, "inputSchema": { "type": "object" },
            "annotations": { "readOnlyHint": true, "other": 1 }, "_meta": { "x": 1 }, "icons": [],
        }))
        .unwrap();
        assert_eq!((tool.name.as_str(), tool.description.as_str()), ("add", ""));
        assert_eq!(tool.annotations.unwrap().read_only_hint, Some(true));
    }

    #[test]
    fn what_is_not_needed_to_call_a_tool_does_not_cost_the_tool() {
        let tool = definition(json!({
            "name": "add", "title": 7, "description": ["adds"], "inputSchema": { "type": "object" }, "outputSchema": "any",
            "annotations": { "readOnlyHint": "yes", "destructiveHint": false, "title": null }, "_meta": [], "icons": {},
        }))
        .unwrap();
        assert_eq!((tool.title, tool.description.as_str(), tool.output_schema), (None, "", None));
        let hints = tool.annotations.unwrap();
        assert_eq!((hints.read_only_hint, hints.destructive_hint), (None, Some(false)));
        let odd = json!({ "name": "add", "inputSchema": {}, "annotations": "none" });
        assert_eq!(definition(odd).unwrap().annotations, None);
    }

    #[test]
    fn what_is_no_tool_is_left_out() {
        for tool in [
            json!({ "name": "", "inputSchema": {} }),
            json!({ "name": "x".repeat(129), "inputSchema": {} }),
            json!({ "name": "sen\u{200b}d", "inputSchema": {} }),
            json!({ "name": "send\nit", "inputSchema": {} }),
            json!({ "name": "\u{202e}dnes", "inputSchema": {} }),
            json!({ "name": "a", "inputSchema": "string" }),
            json!({ "name": 1, "inputSchema": {} }),
            json!("a"),
        ] {
            assert!(definition(tool.clone()).is_none(), "{tool}");
        }
    }
}
