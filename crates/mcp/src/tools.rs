//! Tool lists and results of servers, as types of the domain.

use std::collections::HashSet;

use domain::text::is_invisible;
use domain::tool::{PIECE_FILE, ToolDefinition, ToolResult};
use rmcp::model::{ClientRequest, ErrorCode, ListToolsRequest, PaginatedRequestParams, ServerResult};
use serde_json::Value;

use crate::server_info::ProtocolFamily;
use crate::session::Session;
use crate::{Error, icons, tasks};

/// Length of a tool name, in characters (2025-11-25, "Tool Names").
const TOOL_NAME_CHARS: std::ops::RangeInclusive<usize> = 1..=128;
/// Maximum number of pages. Pages of any sensible size stay far below; a server that needs more repeats its cursors.
const MAX_PAGES: usize = 500;

/// Reads all pages of the tool list, and records which tools are called as tasks.
///
/// # Errors
///
/// [`Error::Timeout`], [`Error::TooLarge`] or [`Error::Protocol`] if the list exceeds a limit of
/// [`ConnectionLimits`](crate::ConnectionLimits).
pub(crate) async fn list_tools(session: &Session) -> Result<Vec<ToolDefinition>, Error> {
    let limit = session.limits.list_timeout;
    tokio::time::timeout(limit, read_pages(session)).await.unwrap_or(Err(Error::Timeout(limit)))
}

async fn read_pages(session: &Session) -> Result<Vec<ToolDefinition>, Error> {
    let limits = session.limits;
    // Later revisions have the tasks extension instead, in which the server decides call by call.
    let supports_tasks =
        session.protocol == ProtocolFamily::Legacy && tasks::supports_task_calls(&session.capabilities);
    let mut tools: Vec<ToolDefinition> = Vec::new();
    let mut names = HashSet::new();
    let mut task_tools = HashSet::new();
    let mut bytes = 0;
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let (page, next) = match read_page(session, cursor).await {
            // A server without the capability need not know the request.
            Err(Error::Server { code, .. })
                if code == i64::from(ErrorCode::METHOD_NOT_FOUND.0) && session.capabilities.tools.is_none() =>
            {
                return Ok(Vec::new());
            }
            page => page?,
        };
        for tool in page {
            bytes += tool.to_string().len();
            if bytes > limits.tool_list_bytes {
                return Err(Error::TooLarge(limits.tool_list_bytes));
            }
            if supports_tasks && tasks::is_task_tool(&tool) {
                task_tools.extend(tool["name"].as_str().map(str::to_owned));
            }
            // One bad definition does not cost the other tools.
            let Some(mut tool) = parse_definition(tool) else {
                tracing::warn!("tool left out: definition cannot be read");
                continue;
            };
            icons::retain_usable(&mut tool.icons, &session.url);
            // Of two tools with one name only the first can be called.
            if names.insert(tool.name.clone()) {
                tools.push(tool);
            }
            if tools.len() > limits.tool_count {
                return Err(Error::Protocol(format!("it lists more than {} tools", limits.tool_count)));
            }
        }
        if next.is_none() {
            // Only once the list is whole: a list that fails half-way leaves the previous names.
            session.task_tools.replace(task_tools);
            return Ok(tools);
        }
        cursor = next;
    }
    Err(Error::Protocol("its list of tools does not end".to_owned()))
}

/// Reads one page. Returns its tools and the cursor of the next page.
async fn read_page(session: &Session, cursor: Option<String>) -> Result<(Vec<Value>, Option<String>), Error> {
    let params = PaginatedRequestParams::default().with_cursor(cursor);
    let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
    let result = session.request(request).await?;
    let unreadable = || Error::Protocol("its list of tools cannot be read".to_owned());
    match result {
        ServerResult::ListToolsResult(list) => {
            let tools = list.tools.iter().map(serde_json::to_value).collect::<Result<_, _>>();
            Ok((tools.map_err(|_| unreadable())?, list.next_cursor))
        }
        // The library passes on what it cannot read, for instance if one tool of many is malformed.
        ServerResult::CustomResult(raw) => {
            let mut list = raw.0;
            let Some(Value::Array(tools)) = list.get_mut("tools").map(Value::take) else { return Err(unreadable()) };
            Ok((tools, list.get("nextCursor").and_then(Value::as_str).map(str::to_owned)))
        }
        _ => Err(unreadable()),
    }
}

/// Reads a tool definition; `None` if the tool could not be called by it.
fn parse_definition(mut tool: Value) -> Option<ToolDefinition> {
    let fields = tool.as_object_mut()?;
    // An optional field that is null or has the wrong type counts as absent: the tool can be called without it.
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
    // A name with an invisible character could pass for another one when it is shown.
    let has_valid_name =
        TOOL_NAME_CHARS.contains(&tool.name.chars().count()) && !tool.name.contains(is_forbidden_in_name);
    (has_valid_name && tool.input_schema.is_object()).then_some(tool)
}

fn is_forbidden_in_name(character: char) -> bool {
    character.is_control() || is_invisible(character)
}

/// Reads the result of a call.
pub(crate) fn parse_result(result: ServerResult) -> Result<ToolResult, Error> {
    let unreadable = || Error::Protocol("its result cannot be read".to_owned());
    let raw = match result {
        ServerResult::CallToolResult(result) => serde_json::to_value(result).map_err(|_| unreadable())?,
        // A content block of a type that the library does not know.
        ServerResult::CustomResult(raw) if raw.0.get("content").is_some_and(Value::is_array) => raw.0,
        // An empty object means success without content.
        ServerResult::EmptyResult(_) => return Ok(ToolResult::default()),
        _ => return Err(unreadable()),
    };
    let mut result: ToolResult = serde_json::from_value(raw).map_err(|_| unreadable())?;
    // These fields are the product's own: a server must not set them.
    for block in &mut result.content {
        if let Some(fields) = block.as_object_mut() {
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
    fn reads_definition_with_null_and_unknown_fields() {
        let tool = parse_definition(json!({
            "name": "add", "description": null, "inputSchema": { "type": "object" },
            "annotations": { "readOnlyHint": true, "other": 1 }, "_meta": { "x": 1 }, "icons": [],
        }))
        .unwrap();
        assert_eq!((tool.name.as_str(), tool.description.as_str()), ("add", ""));
        assert_eq!(tool.annotations.unwrap().read_only_hint, Some(true));
    }

    #[test]
    fn ignores_malformed_optional_fields() {
        let tool = parse_definition(json!({
            "name": "add", "title": 7, "description": ["adds"], "inputSchema": { "type": "object" }, "outputSchema": "any",
            "annotations": { "readOnlyHint": "yes", "destructiveHint": false, "title": null }, "_meta": [], "icons": {},
        }))
        .unwrap();
        assert_eq!((tool.title, tool.description.as_str(), tool.output_schema), (None, "", None));
        let hints = tool.annotations.unwrap();
        assert_eq!((hints.read_only_hint, hints.destructive_hint), (None, Some(false)));
        let odd = json!({ "name": "add", "inputSchema": {}, "annotations": "none" });
        assert_eq!(parse_definition(odd).unwrap().annotations, None);
    }

    #[test]
    fn rejects_uncallable_definitions() {
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
            assert!(parse_definition(tool.clone()).is_none(), "{tool}");
        }
    }
}
