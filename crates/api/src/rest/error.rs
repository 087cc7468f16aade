//! Errors of the rest API: `{code, details, hint, message}`, as in PostgREST.

use axum::Json;
use axum::response::{IntoResponse, Response};
use domain::UserId;
use http::{HeaderValue, StatusCode, header};
use http_server::error::{OUTAGE_RETRY, is_outage};
use postgrest::{PgError, PostgrestError};
use serde_json::json;

/// A [`PgError`] with its HTTP status.
#[derive(Debug)]
pub(super) struct RestError {
    status: StatusCode,
    error: PgError,
    /// Total number of rows, for an offset beyond the last.
    total: Option<u64>,
}

impl RestError {
    pub(super) fn new(status: StatusCode, error: PgError) -> Self {
        Self { status, error, total: None }
    }

    /// Adds the total number of rows.
    #[must_use]
    pub(super) fn with_range(self, total: Option<u64>) -> Self {
        Self { total, ..self }
    }

    /// Creates an internal error. The cause is only logged.
    pub(super) fn internal(error: impl Into<anyhow::Error>) -> Self {
        let error: anyhow::Error = error.into();
        tracing::error!(error = format!("{error:#}"), "request failed");
        if is_outage(&error) {
            let error = PgError::new("PGRST001", "Database client error. Retrying the connection.");
            return Self::new(StatusCode::SERVICE_UNAVAILABLE, error);
        }
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, PgError::new("XX000", "something went wrong on the server"))
    }

    /// Changes 403 to 401 for anonymous callers, who could be permitted after signing in.
    #[must_use]
    pub(super) fn seen_by(self, caller: Option<UserId>) -> Self {
        if caller.is_none() && self.status == StatusCode::FORBIDDEN {
            Self { status: StatusCode::UNAUTHORIZED, ..self }
        } else {
            self
        }
    }
}

impl From<PgError> for RestError {
    // PostgREST's mapping of its own codes and of PostgreSQL's.
    fn from(error: PgError) -> Self {
        let status = match error.code {
            "PGRST301" | "PGRST303" => StatusCode::UNAUTHORIZED,
            "42501" => StatusCode::FORBIDDEN,
            "PGRST125" | "PGRST126" | "PGRST202" | "PGRST205" | "42883" => StatusCode::NOT_FOUND,
            "PGRST101" | "PGRST117" => StatusCode::METHOD_NOT_ALLOWED,
            "PGRST106" | "PGRST107" | "PGRST116" => StatusCode::NOT_ACCEPTABLE,
            "23503" | "23505" => StatusCode::CONFLICT,
            "PGRST103" => StatusCode::RANGE_NOT_SATISFIABLE,
            _ => StatusCode::BAD_REQUEST,
        };
        Self::new(status, error)
    }
}

impl From<PostgrestError> for RestError {
    fn from(error: PostgrestError) -> Self {
        match error {
            PostgrestError::Rejected(error) => error.into(),
            PostgrestError::Storage(error) => Self::internal(error),
            PostgrestError::Encryption => Self::internal(PostgrestError::Encryption),
        }
    }
}

impl IntoResponse for RestError {
    fn into_response(self) -> Response {
        let PgError { code, message, details, hint } = &self.error;
        let body = json!({ "code": code, "details": details, "hint": hint, "message": message });
        let mut response = (self.status, Json(body)).into_response();
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(OUTAGE_RETRY));
        }
        // RFC 6750: the challenge names an invalid token, but says nothing about a missing one.
        let challenge = match *code {
            "PGRST301" | "PGRST303" => {
                HeaderValue::try_from(format!("Bearer error=\"invalid_token\", error_description=\"{message}\"")).ok()
            }
            _ if self.status == StatusCode::UNAUTHORIZED => Some(HeaderValue::from_static("Bearer")),
            _ => None,
        };
        if let Some(challenge) = challenge {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        if let Some(range) = self.total.and_then(|total| HeaderValue::try_from(format!("*/{total}")).ok()) {
            response.headers_mut().insert(header::CONTENT_RANGE, range);
        }
        response
    }
}
