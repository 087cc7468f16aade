//! CORS for the Supabase-compatible APIs: admits web pages of the origins in `CHAT_CORS_ORIGINS`.
//!
//! Callers are identified by a bearer token, never by a cookie, so credentials are not allowed.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use platform::config::Origin;

/// Paths that other origins may call.
const CORS_PATHS: [&str; 4] = ["/auth/v1/", "/rest/v1/", "/functions/v1/", "/.well-known/jwks.json"];

const ALLOWED_METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");

/// Request headers that the official clients send.
const REQUEST_HEADERS: HeaderValue = HeaderValue::from_static(
    "accept, accept-profile, apikey, authorization, content-profile, content-type, last-event-id, prefer, \
     x-client-info, x-region, x-retry-count, x-supabase-api-version",
);

/// Response headers that the official clients read, and `Retry-After`.
const RESPONSE_HEADERS: HeaderValue = HeaderValue::from_static(
    "content-range, link, location, preference-applied, retry-after, x-relay-error, x-sb-error-code, \
     x-supabase-api-version, x-total-count",
);

/// Seconds for which a browser may cache a preflight response. Chromium's maximum is two hours.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");

/// Adds CORS headers for these origins. Without origins, the routes are unchanged.
pub fn allow(routes: Router, origins: &[Origin]) -> Router {
    if origins.is_empty() {
        return routes;
    }
    routes.layer(from_fn_with_state(Arc::from(origins), share))
}

/// Answers preflight requests of configured origins and marks the responses of other requests for them.
async fn share(State(origins): State<Arc<[Origin]>>, request: Request, next: Next) -> Response {
    // `/api` is for our own web app, which has the same origin.
    if !CORS_PATHS.iter().any(|path| request.uri().path().starts_with(path)) {
        return next.run(request).await;
    }
    // Requests of other origins are served, too, but without the headers the browser withholds the response.
    let origin = request.headers().get(header::ORIGIN).cloned();
    let known = origin.filter(|given| origins.iter().any(|origin| given == origin.as_str()));
    let asks =
        *request.method() == Method::OPTIONS && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response =
        if asks && known.is_some() { StatusCode::NO_CONTENT.into_response() } else { next.run(request).await };
    let headers = response.headers_mut();
    // A cache must not serve the response of one origin to another.
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = known {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        if asks { preflight(headers) } else { expose(headers) }
    }
    response
}

fn preflight(headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, ALLOWED_METHODS);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, REQUEST_HEADERS);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
}

fn expose(headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, RESPONSE_HEADERS);
}
