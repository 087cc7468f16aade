//! Metrics of HTTP requests.

use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use platform::metrics;
use tokio::time::Instant;

/// Route of requests that no entry of the route table matches: the files of the web app, and unknown paths.
const NO_ROUTE: &str = "none";
/// Methods with time series of their own; clients may invent others.
const METHODS: [Method; 7] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];
const OTHER_METHOD: &str = "other";

/// Records the request when the headers of its response are there. The body may follow for minutes: answers are
/// streams.
pub async fn record_request(route: Option<MatchedPath>, request: Request, next: Next) -> Response {
    let (method, started) = (request.method().clone(), Instant::now());
    let response = next.run(request).await;
    let method = method_name(&method);
    let route = route.as_ref().map_or(NO_ROUTE, MatchedPath::as_str);
    metrics::record_http_request(method, route, response.status().as_u16(), started.elapsed());
    response
}

/// Returns the name of a method, or one for all that are unusual.
pub(crate) fn method_name(method: &Method) -> &str {
    if METHODS.contains(method) { method.as_str() } else { OTHER_METHOD }
}
