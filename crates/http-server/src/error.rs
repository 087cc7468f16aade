//! Errors of `/api` and `/functions`: `{error: {code, message}}` with a stable code and a message for users. The auth
//! and rest APIs have the error shapes of their own protocols.

use std::any::Any;
use std::future::{Ready, ready};

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use crate::body::BODY_LIMIT;
use crate::openapi::{Operation, OperationOutput};

/// An error response: its variant determines status and code.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The request does not have the shape that the route expects (400).
    #[error("{0}")]
    BadRequest(String),
    /// The body exceeds the limit that all routes share (413).
    #[error("the body is larger than {} MiB", BODY_LIMIT / (1024 * 1024))]
    TooLarge,
    /// The request exceeds a limit of this route, such as the storage quota (413).
    #[error("{message}")]
    TooLargeFor {
        /// Stable code.
        code: &'static str,
        /// Message for users.
        message: String,
    },
    /// The media type is not supported (415).
    #[error("{0}")]
    UnsupportedKind(String),
    /// The access token is missing or invalid (401).
    #[error("sign in first")]
    Unauthorized,
    /// The session lacks the second factor that its user has (403).
    #[error("sign in with your second factor first")]
    NeedsFactor,
    /// The session's last proof of identity is too old for this operation (403).
    #[error("this change requires reauthentication")]
    NeedsReauthentication,
    /// The `Host` header names a host that is not configured (403).
    #[error("this host name is not allowed; add it to CHAT_ALLOWED_HOSTS, or set CHAT_SITE_URL")]
    UnknownHost,
    /// The resource does not exist or belongs to another user (404). The value names its kind.
    #[error("{0} not found")]
    NotFound(&'static str),
    /// The path exists, but not for this method (405).
    #[error("method not allowed")]
    MethodNotAllowed,
    /// The operation conflicts with the current state (409).
    #[error("{message}")]
    Conflict {
        /// Stable code.
        code: &'static str,
        /// Message for users.
        message: String,
    },
    /// The request is well-formed but refers to something that does not exist (422).
    #[error("{message}")]
    Unprocessable {
        /// Stable code.
        code: &'static str,
        /// Message for users.
        message: String,
    },
    /// The caller reached a concurrency limit of their own (429).
    #[error("{message}")]
    TooMany {
        /// Stable code.
        code: &'static str,
        /// Message for users.
        message: String,
    },
    /// The user has exhausted a usage quota (429).
    #[error("{message}")]
    Spent {
        /// Name of the quota for programs.
        code: &'static str,
        /// Message for users.
        message: String,
        /// Seconds until the quota allows requests again.
        retry_after: u64,
    },
    /// Too many attempts to prove an identity (429).
    #[error("Too many attempts. Wait {retry_after} seconds.")]
    TooManyTries {
        /// Seconds until the next attempt.
        retry_after: u64,
    },
    /// A concurrency limit of the whole server is reached (503).
    #[error("the server is overloaded; try again soon")]
    Overloaded,
    /// A remote server failed (502).
    #[error("{message}")]
    Upstream {
        /// Stable code.
        code: &'static str,
        /// Message for users.
        message: String,
    },
    /// The database is unreachable (503).
    #[error("the server cannot reach its database; try again soon")]
    Outage(#[source] anyhow::Error),
    /// The object storage of files cannot be used (503).
    #[error("the server cannot reach its file storage; try again soon")]
    FileStorageOutage(#[source] anyhow::Error),
    /// The content of a file is lost (502).
    #[error("the file's content is missing")]
    MissingContent,
    /// An internal error (500). Its cause is only logged.
    #[error("something went wrong on the server")]
    Internal(#[source] anyhow::Error),
}

/// Seconds in `Retry-After` when the database or the file storage is unreachable.
pub const OUTAGE_RETRY: u64 = 5;

/// Seconds in `Retry-After` when a concurrency limit is reached.
pub const BUSY_RETRY: u64 = 5;

/// Returns whether any cause in the chain is an unreachable database.
pub fn is_outage(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<storage::Error>().is_some_and(storage::Error::is_outage))
}

impl ApiError {
    /// Returns the HTTP status.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::TooLarge | Self::TooLargeFor { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedKind(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::NeedsFactor | Self::NeedsReauthentication | Self::UnknownHost => StatusCode::FORBIDDEN,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Conflict { .. } => StatusCode::CONFLICT,
            Self::Unprocessable { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            Self::TooMany { .. } | Self::TooManyTries { .. } | Self::Spent { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::Upstream { .. } | Self::MissingContent => StatusCode::BAD_GATEWAY,
            Self::Outage(_) | Self::FileStorageOutage(_) | Self::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Returns the stable code for API clients.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadRequest(_) => "bad_request",
            Self::TooLarge => "body_too_large",
            Self::UnsupportedKind(_) => "unsupported_media_type",
            Self::Unauthorized => "unauthorized",
            Self::NeedsFactor => "insufficient_aal",
            Self::NeedsReauthentication => "reauthentication_needed",
            Self::UnknownHost => "unknown_host",
            // The specification names this code; other resources share one.
            Self::NotFound("session") => "session_not_found",
            Self::NotFound(_) => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::TooManyTries { .. } => "over_request_rate_limit",
            Self::TooLargeFor { code, .. }
            | Self::Spent { code, .. }
            | Self::Conflict { code, .. }
            | Self::Unprocessable { code, .. }
            | Self::TooMany { code, .. }
            | Self::Upstream { code, .. } => code,
            Self::Overloaded => "overloaded",
            Self::Outage(_) => "outage",
            Self::FileStorageOutage(_) => "file_storage_outage",
            Self::MissingContent => "file_content_missing",
            Self::Internal(_) => "internal",
        }
    }

    /// Logs the cause of an internal error. It is called once, where the response is made.
    pub fn log(&self) {
        if let Self::Internal(source) | Self::Outage(source) | Self::FileStorageOutage(source) = self {
            tracing::error!(error = format!("{source:#}"), "request failed");
        }
    }

    /// Adds `Retry-After` where a later attempt can succeed.
    pub fn decorate(&self, mut response: Response) -> Response {
        let retry_after = match self {
            Self::Spent { retry_after, .. } | Self::TooManyTries { retry_after } => *retry_after,
            Self::TooMany { .. } | Self::Overloaded => BUSY_RETRY,
            Self::Outage(_) | Self::FileStorageOutage(_) => OUTAGE_RETRY,
            _ => return response,
        };
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry_after));
        response
    }
}

impl From<storage::Error> for ApiError {
    fn from(error: storage::Error) -> Self {
        match error {
            storage::Error::NotFound => Self::NotFound("row"),
            storage::Error::MissingContent => Self::MissingContent,
            storage::Error::FileStorage(_) => Self::FileStorageOutage(error.into()),
            other => anyhow::Error::from(other).into(),
        }
    }
}

impl From<anyhow::Error> for ApiError {
    fn from(error: anyhow::Error) -> Self {
        if is_outage(&error) { Self::Outage(error) } else { Self::Internal(error) }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        self.log();
        let error = ErrorDetails { code: self.code(), message: self.to_string() };
        self.decorate((self.status(), Json(ErrorBody { error })).into_response())
    }
}

impl OperationOutput for ApiError {
    fn describe(operation: &mut Operation<'_>) {
        operation.set_error::<ErrorBody>();
    }
}

/// The request was rejected, or it failed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Error")]
struct ErrorBody {
    error: ErrorDetails,
}

/// The cause of an error.
#[derive(Debug, Serialize, JsonSchema)]
struct ErrorDetails {
    /// Stable code, for programs.
    code: &'static str,
    /// Message, for users.
    message: String,
}

/// Responds 404 for paths that do not exist.
pub fn no_such_route() -> Ready<ApiError> {
    ready(ApiError::NotFound("route"))
}

/// Responds 405 for methods that a path does not accept.
pub fn method_not_allowed() -> Ready<ApiError> {
    ready(ApiError::MethodNotAllowed)
}

/// Responds 500 after a panic in a handler. Other requests are not affected.
pub fn after_panic(_panic: Box<dyn Any + Send + 'static>) -> Response {
    // The panic hook has printed the message, which may contain data of the request.
    ApiError::Internal(anyhow::anyhow!("a handler panicked")).into_response()
}
