//! Headers on every answer that keep a page's scripts, frames and referrers in bounds.

use axum::Router;
use axum::http::{HeaderName, HeaderValue, header};
use tower_http::set_header::SetResponseHeaderLayer;

/// Scripts, styles and connections from our own origin only. React sets inline styles, so styles may be inline; nothing
/// else may. Images of tool results are `data:` URLs.
const CONTENT_SECURITY_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
     media-src 'self' data: blob:; connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; \
     frame-ancestors 'none'",
);

/// Sets them on every answer that does not bring its own.
pub fn security(routes: Router) -> Router {
    let set = |name: HeaderName, value| SetResponseHeaderLayer::if_not_present(name, value);
    routes
        .layer(set(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY))
        .layer(set(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")))
        .layer(set(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")))
        .layer(set(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")))
}
