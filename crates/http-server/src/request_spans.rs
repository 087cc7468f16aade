//! Spans of HTTP requests.

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use domain::SPAN_TARGET;
use platform::traces;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use crate::request_metrics::method_name;

/// Beginning of the routes of health probes, which are called every few seconds.
const PROBES: &str = "/health/";

/// Handles the request in a span, which continues the trace of the client if it has one. The span ends with the headers of
/// the response: the body may follow for minutes.
///
/// Its attributes name the pattern of the route. Paths and queries are left out: those of shared chats are secrets.
pub async fn trace_request(route: Option<MatchedPath>, request: Request, next: Next) -> Response {
    let route = route.as_ref().map(MatchedPath::as_str);
    if route.is_some_and(|route| route.starts_with(PROBES)) {
        return next.run(request).await;
    }
    let span = request_span(route, &request);
    let response = next.run(request).instrument(span.clone()).await;
    let status = response.status();
    span.record("http.response.status_code", i64::from(status.as_u16()));
    if status.is_server_error() {
        span.record("error.type", status.as_str());
        span.record("otel.status_code", "error");
    }
    response
}

/// Creates the span of a request.
fn request_span(route: Option<&str>, request: &Request) -> Span {
    let method = method_name(request.method());
    let name = route.map_or_else(|| method.to_owned(), |route| format!("{method} {route}"));
    let span = tracing::info_span!(
        target: SPAN_TARGET,
        parent: None,
        "request",
        otel.name = name,
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = method,
        http.route = route,
        http.response.status_code = Empty,
        "error.type" = Empty,
    );
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    traces::continue_trace(&span, header("traceparent"), header("tracestate"));
    span
}
