//! The span of a tool call, with the attributes of OpenTelemetry's conventions for MCP and generative AI.

use domain::SPAN_TARGET;
use domain::text::cut_to;
use domain::tool::Outcome;
use platform::traces;
use serde::Serialize;
use tracing::Span;
use tracing::field::Empty;
use url::Url;

use crate::CallOutcome;

/// Maximum size of the arguments and of the result of a call in its span, in bytes.
const MAX_SPAN_CONTENT_BYTES: usize = 16 * 1024;

/// Begins the span of a call, as part of the current one. `url` is that of the tool's MCP server; built-in tools have none.
///
/// Of the URL the span contains the host alone. The id of the MCP session is left out, because some servers take it for a
/// proof of identity.
pub(crate) fn begin_tool_call_span(tool: &str, url: Option<&str>, arguments: &impl Serialize) -> Span {
    let span = tracing::info_span!(
        target: SPAN_TARGET,
        "execute_tool",
        otel.name = %format_args!("execute_tool {tool}"),
        otel.kind = "client",
        otel.status_code = Empty,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = tool,
        gen_ai.tool.call.arguments = Empty,
        gen_ai.tool.call.result = Empty,
        mcp.method.name = Empty,
        server.address = Empty,
        server.port = Empty,
        "error.type" = Empty,
    );
    if span.is_disabled() {
        return span;
    }
    if let Some(url) = url.and_then(|url| Url::parse(url).ok()) {
        span.record("mcp.method.name", "tools/call");
        span.record("server.address", url.host_str());
        span.record("server.port", url.port_or_known_default().map(i64::from));
    }
    if traces::captures_content() {
        record_content(&span, "gen_ai.tool.call.arguments", arguments);
    }
    span
}

/// Takes note of the outcome of a call in its span.
pub(crate) fn record_outcome(span: &Span, outcome: &CallOutcome) {
    if span.is_disabled() {
        return;
    }
    let error_type = match outcome.outcome() {
        Outcome::Done => None,
        // The conventions' word for a result that reports a failure.
        Outcome::Error if matches!(outcome, CallOutcome::Result(_)) => Some("tool_error"),
        other => Some(other.as_str()),
    };
    if let Some(error_type) = error_type {
        span.record("error.type", error_type);
        span.record("otel.status_code", "error");
    }
    if let (CallOutcome::Result(result), true) = (outcome, traces::captures_content()) {
        record_content(span, "gen_ai.tool.call.result", result);
    }
}

fn record_content(span: &Span, attribute: &str, content: &impl Serialize) {
    if let Ok(text) = serde_json::to_string(content) {
        span.record(attribute, cut_to(&text, MAX_SPAN_CONTENT_BYTES));
    }
}
