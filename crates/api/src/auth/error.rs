//! Errors of the auth API. GoTrue has two shapes, selected by the version that the client names; each body here is valid
//! in both.

use std::sync::Arc;

use accounts::AuthError;
use accounts::gotrue_error::{GoTrueError, METHOD_NOT_ALLOWED, ROUTE_NOT_FOUND};
use accounts::password::WeaknessReason;
use axum::Json;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_server::error::{OUTAGE_RETRY, is_outage};
use http_server::openapi::{Operation, OperationOutput};
use schemars::JsonSchema;
use serde::Serialize;

const API_VERSION: HeaderName = HeaderName::from_static("x-supabase-api-version");
const ERROR_CODE: HeaderName = HeaderName::from_static("x-sb-error-code");
/// The version of the API since which `code` is a text.
const TEXT_CODES_SINCE: &str = "2024-01-01";

/// An error for which [`write_error`] has yet to write the body.
#[derive(Clone)]
// Shared, because extensions of a response must be `Clone`, which the error is not.
struct PendingError(Arc<AuthError>);

/// Error response of the auth API. It has a status and no body: the middleware [`write_error`] writes the body.
#[derive(Debug)]
pub struct AuthApiError(AuthError);

impl From<AuthError> for AuthApiError {
    fn from(error: AuthError) -> Self {
        Self(error)
    }
}

impl From<GoTrueError> for AuthApiError {
    fn from(refusal: GoTrueError) -> Self {
        Self(refusal.into())
    }
}

impl From<Unsupported> for AuthApiError {
    fn from(Unsupported(refusal): Unsupported) -> Self {
        Self(refusal.into())
    }
}

impl From<storage::Error> for AuthApiError {
    fn from(error: storage::Error) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for AuthApiError {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = status.into_response();
        response.extensions_mut().insert(PendingError(Arc::new(self.0)));
        response
    }
}

impl OperationOutput for AuthApiError {
    fn describe(operation: &mut Operation<'_>) {
        operation.set_error::<AuthErrorBody>();
    }
}

/// The request was rejected, or it failed.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AuthError")]
struct AuthErrorBody {
    /// The status, or the same text as `error_code` for clients that request version 2024-01-01 of the API with the
    /// header `X-Supabase-Api-Version`.
    code: VersionedCode,
    /// Stable code, for programs.
    error_code: &'static str,
    /// Message, for users.
    message: String,
    /// The same message, under its older name.
    msg: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    weak_password: Option<WeakPassword>,
}

/// The field `code` of an error, in one of the two versions of the API.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum VersionedCode {
    Status(u16),
    Text(&'static str),
}

/// Reasons for which a new password was rejected.
#[derive(Serialize, JsonSchema)]
struct WeakPassword {
    reasons: Vec<WeaknessReason>,
}

/// An unsupported route, which is its own handler.
#[derive(Debug, Clone, Copy)]
pub struct Unsupported(pub GoTrueError);

impl IntoResponse for Unsupported {
    fn into_response(self) -> Response {
        AuthApiError::from(self).into_response()
    }
}

/// Responds to unknown paths.
pub async fn no_such_route() -> AuthApiError {
    ROUTE_NOT_FOUND.into()
}

/// Responds to methods that a path does not have.
pub async fn method_not_allowed() -> AuthApiError {
    METHOD_NOT_ALLOWED.into()
}

/// Middleware that writes the bodies of errors in the client's version of the API, and keeps tokens out of caches.
pub async fn write_error(request: Request, next: Next) -> Response {
    let has_text_codes = has_text_codes(&request);
    let mut response = next.run(request).await;
    if let Some(PendingError(error)) = response.extensions_mut().remove::<PendingError>() {
        // The router has set it on a 405 response, which is replaced here.
        let allow = response.headers_mut().remove(header::ALLOW);
        response = error_response(&error, has_text_codes);
        if let Some(allow) = allow {
            response.headers_mut().insert(header::ALLOW, allow);
        }
    }
    let headers = response.headers_mut();
    if has_text_codes {
        // auth-js reads the shape of an error from this header of the response.
        headers.insert(API_VERSION, HeaderValue::from_static(TEXT_CODES_SINCE));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Returns whether the client's version has texts as codes. ISO dates compare as text; any other value counts as old.
fn has_text_codes(request: &Request) -> bool {
    let version = request.headers().get(API_VERSION).and_then(|value| value.to_str().ok());
    version.is_some_and(|version| is_date(version) && version >= TEXT_CODES_SINCE)
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    let within = |part: &str, length: usize, most: u16| {
        let digits = part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
        digits && part.parse::<u16>().is_ok_and(|number| (1..=most).contains(&number))
    };
    within(year, 4, 9999) && within(month, 2, 12) && within(day, 2, 31)
}

fn error_response(error: &AuthError, has_text_codes: bool) -> Response {
    if error.status() >= 500 {
        tracing::error!(error = error.detail(), "an auth call failed");
    }
    let is_outage = matches!(error, AuthError::Internal(source) if is_outage(source));
    // Clients take a 503 for a temporary failure and keep their session.
    let status = if is_outage { 503 } else { error.status() };
    let (code, message) = (error.code(), error.to_string());
    let weak_password = match error {
        AuthError::WeakPassword(weakness) => Some(WeakPassword { reasons: weakness.reasons.clone() }),
        _ => None,
    };
    let body = AuthErrorBody {
        code: if has_text_codes { VersionedCode::Text(code) } else { VersionedCode::Status(status) },
        error_code: code,
        msg: message.clone(),
        message,
        weak_password,
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, Json(body)).into_response();
    response.headers_mut().insert(ERROR_CODE, HeaderValue::from_static(code));
    if let Some(retry_after) = error.retry_after() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry_after));
    }
    if is_outage {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(OUTAGE_RETRY));
    }
    response
}
