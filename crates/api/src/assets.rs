//! The files of the web app and of the operator's page, embedded in the binary and already compressed by the web build.

use accounts::AccountService;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http_server::error::ApiError;
use rust_embed::{EmbeddedFile, RustEmbed};
use serde_json::json;

use super::shares::NO_ROBOTS;
use crate::state::PublicSettings;

/// The output of the web build. Missing files are allowed so that the server compiles without Node.
#[derive(RustEmbed)]
#[folder = "../../web/dist"]
// The list of the files, for the build only.
#[exclude = ".vite/*"]
#[allow_missing = true]
struct Dist;

/// Cache policy of files with a hash in their name, which never change.
const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
/// Cache policy of files that change with the version: the browser revalidates by [`etag`].
const ASK_AGAIN: HeaderValue = HeaderValue::from_static("no-cache");
/// File endings of compressed variants, best first, with the name of the content encoding.
const ENCODINGS: [(&str, &str); 2] = [(".br", "br"), (".gz", "gzip")];
/// API prefixes. Unknown paths below them respond 404 as JSON instead of the web app's page.
const API_PREFIXES: [&str; 7] = ["v1/", "auth/v1/", "rest/v1/", "functions/", "api/", "mcp/", "health/"];
/// The operator's page, which only the operator's listener serves.
const OPERATOR_PAGE: &str = "operator.html";
/// Beginning of the names of its scripts.
const OPERATOR_SCRIPTS: &str = "assets/operator";
/// Element of `index.html` that receives the server's settings for the web app.
const BOOT_SLOT: &str = r#"<script type="application/json" id="boot">"#;

/// Serves a file of the web app, and its `index.html` for every other path; the page shows its own 404 screen.
pub async fn serve(
    State(settings): State<PublicSettings>,
    State(accounts): State<AccountService>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let path = uri.path().trim_start_matches('/');
    let reads = method == Method::GET || method == Method::HEAD;
    if !reads && !is_call(path) {
        return (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET, HEAD")]).into_response();
    }
    // `index.html` is served by `page`, which fills in the settings.
    if !matches!(path, "" | "index.html")
        && !is_operators(path)
        // A compressed variant is served under the plain name only, with the right `Content-Encoding`.
        && !ENCODINGS.iter().any(|(ending, _)| path.ends_with(ending))
        && let Some(file) = Dist::get(path)
    {
        return file_response(path, &file, &headers);
    }
    // A missing asset must not become a page: the browser would take HTML for a script.
    if is_call(path) || path.starts_with("assets/") {
        return ApiError::NotFound("file").into_response();
    }
    let mut response = page(settings, &accounts);
    // A page opened by a share link must not appear in search engines.
    if uri.query().is_some_and(|query| query.split('&').any(|pair| pair.starts_with("share="))) {
        let (name, value) = NO_ROBOTS;
        response.headers_mut().insert(name, value);
    }
    response
}

/// Serves the operator's page and the files that it loads.
pub async fn serve_operator_page(uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    let path = if path.is_empty() { OPERATOR_PAGE } else { path };
    match Dist::get(path) {
        Some(file) => file_response(path, &file, &headers),
        None if path == OPERATOR_PAGE => not_built(),
        None => ApiError::NotFound("file").into_response(),
    }
}

/// Returns whether a file belongs to the operator's page alone.
fn is_operators(path: &str) -> bool {
    path == OPERATOR_PAGE || path.starts_with(OPERATOR_SCRIPTS)
}

fn not_built() -> Response {
    let hint = "The page is not built into this binary. Run `cargo xtask run`.";
    (StatusCode::NOT_FOUND, hint).into_response()
}

fn is_call(path: &str) -> bool {
    API_PREFIXES.iter().any(|prefix| path.starts_with(prefix))
}

/// Returns `index.html` with the server's settings in its [`BOOT_SLOT`].
fn page(settings: PublicSettings, accounts: &AccountService) -> Response {
    let Some(index) = Dist::get("index.html") else { return not_built() };
    let html = String::from_utf8_lossy(&index.data);
    // Settings of the server only. A text of a user or of the request could end the script element.
    let boot = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "fallbackTools": if settings.fallback_tools { "google-drive" } else { "off" },
        "autoconfirm": settings.autoconfirm,
        "signUps": accounts.sign_ups().as_str(),
        "mail": accounts.can_send_email(),
        "provider": accounts.oidc().map(|oidc| json!({ "name": oidc.name, "only": oidc.is_only, "logout": oidc.signs_out })),
        "passkeys": accounts.passkey_domain(),
        "googleDrive": settings.google_drive,
        "registry": settings.registry,
    });
    let html = match html.split_once(BOOT_SLOT) {
        Some((before, after)) => {
            // Whatever the build put between the tags is replaced.
            let rest = after.split_once("</script>").map_or(after, |(_, rest)| rest);
            format!("{before}{BOOT_SLOT}{boot}</script>{rest}")
        }
        None => html.into_owned(),
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CACHE_CONTROL, ASK_AGAIN),
    ];
    (headers, html).into_response()
}

/// Returns an embedded file in the best encoding, or 304 if the client has it already.
fn file_response(path: &str, file: &EmbeddedFile, request: &HeaderMap) -> Response {
    let tag = etag(file);
    let cache = if path.starts_with("assets/") { IMMUTABLE } else { ASK_AGAIN };
    // All variants share one tag, and caches tell them apart by `Vary`.
    let unchanged = request.get(header::IF_NONE_MATCH).is_some_and(|seen| *seen == tag);
    let (body, encoding) = if unchanged { (Body::empty(), None) } else { best(path, file, request) };
    let mut response = (if unchanged { StatusCode::NOT_MODIFIED } else { StatusCode::OK }, body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::ETAG, tag);
    headers.insert(header::CACHE_CONTROL, cache);
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Ok(mime) = HeaderValue::from_str(file.metadata.mimetype()) {
        headers.insert(header::CONTENT_TYPE, mime);
    }
    if let Some(encoding) = encoding {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    response
}

/// Returns the smallest variant that the client accepts, with its content encoding.
fn best(path: &str, file: &EmbeddedFile, request: &HeaderMap) -> (Body, Option<&'static str>) {
    let accepted = request.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    for (ending, encoding) in ENCODINGS {
        let takes = accepted.split(',').any(|item| item.split(';').next().is_some_and(|name| name.trim() == encoding));
        if takes && let Some(compressed) = Dist::get(&format!("{path}{ending}")) {
            return (body_of(compressed.data), Some(encoding));
        }
    }
    (body_of(file.data.clone()), None)
}

fn body_of(data: std::borrow::Cow<'static, [u8]>) -> Body {
    match data {
        // Release builds embed the files and borrow them without a copy; debug builds read them from the disk.
        std::borrow::Cow::Borrowed(bytes) => Body::from(bytes::Bytes::from_static(bytes)),
        std::borrow::Cow::Owned(bytes) => Body::from(bytes),
    }
}

/// Returns the file's hash as an entity tag.
fn etag(file: &EmbeddedFile) -> HeaderValue {
    let hash = URL_SAFE_NO_PAD.encode(file.metadata.sha256_hash());
    // Base64 is always a valid header value, so the alternative is never taken.
    HeaderValue::from_str(&format!("\"{hash}\"")).unwrap_or(ASK_AGAIN)
}
