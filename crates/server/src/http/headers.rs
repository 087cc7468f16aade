//! Headers on every answer that keep a page's scripts, frames and referrers in bounds.

use axum::http::{HeaderName, HeaderValue, header};
use tower::layer::util::{Identity, Stack};
use tower_http::set_header::SetResponseHeaderLayer;

/// Scripts, styles and connections from our own origin only. React sets inline styles, so styles may be inline; nothing
/// else may. Images of tool results are `data:` URLs.
const CONTENT_SECURITY_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
     media-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; \
     frame-ancestors 'none'",
);

type Set = SetResponseHeaderLayer<HeaderValue>;

fn set(name: HeaderName, value: HeaderValue) -> Set {
    SetResponseHeaderLayer::if_not_present(name, value)
}

/// The layer that sets them.
pub fn security() -> Stack<Set, Stack<Set, Stack<Set, Stack<Set, Identity>>>> {
    let layers = Stack::new(set(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY), Identity::new());
    let layers = Stack::new(set(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")), layers);
    let layers = Stack::new(set(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")), layers);
    Stack::new(set(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")), layers)
}
