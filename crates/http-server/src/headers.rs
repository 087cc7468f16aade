//! Security headers of every response: content security policy, framing, permissions, referrers and transport.

use axum::Router;
use axum::http::{HeaderName, HeaderValue, header};
use tower_http::set_header::SetResponseHeaderLayer;

/// Allows scripts, styles and connections from our own origin only. React sets inline styles, so styles may be
/// inline; nothing else may. Images of tool results are `data:` URLs.
const CONTENT_SECURITY_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
     media-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; object-src 'none'; base-uri 'none'; \
     form-action 'self'; frame-ancestors 'none'",
);

/// Keeps pop-ups for signing in to MCP servers usable; pages of other origins that open ours get no handle to its
/// window.
const CROSS_ORIGIN_OPENER_POLICY: HeaderValue = HeaderValue::from_static("same-origin-allow-popups");

/// Disables browser features that the web app never uses. Features that apps may request (camera, microphone,
/// location, clipboard) are controlled per frame, after the user has agreed.
const PERMISSIONS_POLICY: HeaderValue = HeaderValue::from_static(
    "accelerometer=(), browsing-topics=(), display-capture=(), gyroscope=(), magnetometer=(), midi=(), payment=(), \
     serial=(), usb=(), bluetooth=(), hid=(), xr-spatial-tracking=()",
);

/// Two years, as the browsers' HSTS preload lists recommend. Subdomains may belong to other services, so they are not
/// included.
const STRICT_TRANSPORT_SECURITY: HeaderValue = HeaderValue::from_static("max-age=63072000");

/// Sets the headers on every response that does not set its own. `is_https` says whether the site is reached over TLS
/// only.
pub fn security(routes: Router, is_https: bool) -> Router {
    let set = |name: HeaderName, value| SetResponseHeaderLayer::if_not_present(name, value);
    // Over plain HTTP browsers ignore HSTS, and on `localhost` it would break every other server of the developer.
    let routes =
        if is_https { routes.layer(set(header::STRICT_TRANSPORT_SECURITY, STRICT_TRANSPORT_SECURITY)) } else { routes };
    routes
        .layer(set(HeaderName::from_static("cross-origin-opener-policy"), CROSS_ORIGIN_OPENER_POLICY))
        // Applies to requests without CORS only, so the origins of `CHAT_CORS_ORIGINS` are not affected.
        .layer(set(HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")))
        .layer(set(HeaderName::from_static("permissions-policy"), PERMISSIONS_POLICY))
        .layer(set(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY))
        .layer(set(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")))
        .layer(set(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")))
        .layer(set(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")))
}
