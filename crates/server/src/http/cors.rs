//! Pages of other origins that may use the APIs which the official clients speak: those of `CHAT_CORS_ORIGINS`.
//!
//! Who calls is told by a bearer token, never by a cookie, so browsers are not asked to send credentials.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use crate::config::Origin;

const PATHS: [&str; 4] = ["/auth/v1/", "/rest/v1/", "/functions/v1/", "/.well-known/jwks.json"];

const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");

/// What the official clients send.
const REQUEST_HEADERS: HeaderValue = HeaderValue::from_static(
    "accept, accept-profile, apikey, authorization, content-profile, content-type, last-event-id, prefer, \
     x-client-info, x-region, x-retry-count, x-supabase-api-version",
);

/// What they read, and how long to wait.
const RESPONSE_HEADERS: HeaderValue = HeaderValue::from_static(
    "content-range, link, location, preference-applied, retry-after, x-relay-error, x-sb-error-code, \
     x-supabase-api-version, x-total-count",
);

/// How long a browser may keep the answer to a preflight, in seconds; two hours are the most that Chromium does.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");

/// Lets pages of these origins in. Without any, nothing changes.
pub fn allow(routes: Router, origins: &[Origin]) -> Router {
    if origins.is_empty() {
        return routes;
    }
    routes.layer(from_fn_with_state(Arc::from(origins), share))
}

async fn share(State(origins): State<Arc<[Origin]>>, request: Request, next: Next) -> Response {
    if !PATHS.iter().any(|path| request.uri().path().starts_with(path)) {
        return next.run(request).await;
    }
    let origin = request.headers().get(header::ORIGIN).cloned();
    let known = origin.filter(|given| origins.iter().any(|origin| given == origin.as_str()));
    let asks =
        *request.method() == Method::OPTIONS && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response =
        if asks && known.is_some() { StatusCode::NO_CONTENT.into_response() } else { next.run(request).await };
    let headers = response.headers_mut();
    // The answer to one origin must not be kept for another.
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = known {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        if asks { preflight(headers) } else { expose(headers) }
    }
    response
}

fn preflight(headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, REQUEST_HEADERS);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
}

fn expose(headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, RESPONSE_HEADERS);
}
