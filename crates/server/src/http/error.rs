//! Errors of `/api` and `/functions`: `{error: {code, message}}` with a stable code and words for people. The auth and
//! data APIs speak the shapes of their own protocols.

use std::any::Any;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// What a caller is told when something cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The request is not what the route takes.
    #[error("{0}")]
    BadRequest(String),
    /// The body is larger than anybody needs.
    #[error("the body is larger than {} MiB", super::BODY_LIMIT / (1024 * 1024))]
    TooLarge,
    /// What was sent is larger than there is room for.
    #[error("{message}")]
    TooLargeFor {
        /// Stable word.
        code: &'static str,
        /// For people.
        message: String,
    },
    /// What was sent is of a kind that is not taken.
    #[error("{0}")]
    UnsupportedKind(String),
    /// No or no valid access token.
    #[error("sign in first")]
    Unauthorized,
    /// A sign-in without the second factor that its person has.
    #[error("sign in with your second factor first")]
    NeedsFactor,
    /// The last proof of identity of the sign-in is too old for this.
    #[error("confirm that it is you: this change requires reauthentication")]
    NeedsReauthentication,
    /// The request names a host that is not this server.
    #[error("this server is not known by this name; add the name to CHAT_ALLOWED_HOSTS, or set CHAT_SITE_URL")]
    UnknownHost,
    /// No such thing, or it belongs to somebody else.
    #[error("{0} not found")]
    NotFound(&'static str),
    /// The path is there, for another method.
    #[error("this call takes another method")]
    MethodNotAllowed,
    /// It cannot be done in the present state.
    #[error("{message}")]
    Conflict {
        /// Stable word.
        code: &'static str,
        /// For people.
        message: String,
    },
    /// The request is well formed and asks for something that is not there.
    #[error("{message}")]
    Unprocessable {
        /// Stable word.
        code: &'static str,
        /// For people.
        message: String,
    },
    /// The caller has too much going on at once.
    #[error("{message}")]
    TooMany {
        /// Stable word.
        code: &'static str,
        /// For people.
        message: String,
    },
    /// The person has used what they may use of models today.
    #[error("{message}")]
    Spent {
        /// For people.
        message: String,
        /// Seconds until they may again.
        retry_after: u64,
    },
    /// Too many tries to prove who one is.
    #[error("Too many tries. Wait for {retry_after} seconds.")]
    TooManyTries {
        /// Seconds until the next try.
        retry_after: u64,
    },
    /// Everybody together has.
    #[error("the server has as much to do as it can; try again soon")]
    Overloaded,
    /// A server that we asked failed.
    #[error("{message}")]
    Upstream {
        /// Stable word.
        code: &'static str,
        /// For people.
        message: String,
    },
    /// The database cannot be reached.
    #[error("the server cannot reach its database; try again soon")]
    Outage(#[source] anyhow::Error),
    /// A fault of ours. The words stay in the log.
    #[error("something went wrong on the server")]
    Internal(#[source] anyhow::Error),
}

/// Seconds after which it is worth another try when the database could not be reached.
pub const OUTAGE_RETRY: u64 = 5;

/// The same when there is too much at once.
pub const BUSY_RETRY: u64 = 5;

/// Whether something failed because the database cannot be reached.
pub fn is_outage(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<store::Error>().is_some_and(store::Error::is_outage))
}

impl ApiError {
    /// The status on the wire.
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
            Self::Upstream { .. } => StatusCode::BAD_GATEWAY,
            Self::Outage(_) | Self::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The stable word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadRequest(_) => "bad_request",
            Self::TooLarge => "body_too_large",
            Self::UnsupportedKind(_) => "unsupported_media_type",
            Self::Unauthorized => "unauthorized",
            Self::NeedsFactor => "insufficient_aal",
            Self::NeedsReauthentication => "reauthentication_needed",
            Self::UnknownHost => "unknown_host",
            Self::NotFound("session") => "session_not_found",
            Self::NotFound(_) => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::Spent { .. } => "tokens_spent",
            Self::TooManyTries { .. } => "over_request_rate_limit",
            Self::TooLargeFor { code, .. }
            | Self::Conflict { code, .. }
            | Self::Unprocessable { code, .. }
            | Self::TooMany { code, .. }
            | Self::Upstream { code, .. } => code,
            Self::Overloaded => "overloaded",
            Self::Outage(_) => "outage",
            Self::Internal(_) => "internal",
        }
    }

    /// Logs a fault of ours, once, where it is answered.
    pub fn log(&self) {
        if let Self::Internal(source) | Self::Outage(source) = self {
            tracing::error!(error = format!("{source:#}"), "request failed");
        }
    }

    /// Adds what belongs in the headers.
    pub fn decorate(&self, mut response: Response) -> Response {
        let retry_after = match self {
            Self::Spent { retry_after, .. } | Self::TooManyTries { retry_after } => *retry_after,
            Self::TooMany { .. } | Self::Overloaded => BUSY_RETRY,
            Self::Outage(_) => OUTAGE_RETRY,
            _ => return response,
        };
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry_after));
        response
    }
}

impl From<store::Error> for ApiError {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::NotFound => Self::NotFound("row"),
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
        let body = Json(json!({ "error": { "code": self.code(), "message": self.to_string() } }));
        self.decorate((self.status(), body).into_response())
    }
}

/// For paths that do not exist.
pub async fn no_such_route() -> ApiError {
    ApiError::NotFound("route")
}

/// For methods that a path does not take.
pub async fn method_not_allowed() -> ApiError {
    ApiError::MethodNotAllowed
}

/// A panic in a handler costs its caller the answer, and nobody else anything.
pub fn after_panic(_panic: Box<dyn Any + Send + 'static>) -> Response {
    ApiError::Internal(anyhow::anyhow!("a handler panicked")).into_response()
}
