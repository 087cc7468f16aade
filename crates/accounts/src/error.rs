//! Error type of the account service.

use super::gotrue_error::GoTrueError;
use super::password::PasswordWeakness;
use crate::mailer::MailError;

/// Error of an operation of [`AccountService`](crate::AccountService).
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// An error from GoTrue's catalogue.
    #[error("{0}")]
    GoTrue(GoTrueError),
    /// A GoTrue error whose message depends on the request.
    #[error("{message}")]
    GoTrueWithMessage {
        /// HTTP status.
        status: u16,
        /// Stable error code.
        code: &'static str,
        /// Message for users.
        message: String,
    },
    /// The request body is not the expected JSON. The text describes where.
    #[error("Could not parse request body as JSON: {0}")]
    BadJson(String),
    /// The password is too easy to guess.
    #[error("{}", .0.message)]
    WeakPassword(PasswordWeakness),
    /// Too many requests or attempts from one network address.
    #[error("Request rate limit reached")]
    RateLimited {
        /// Seconds until the next request can succeed, at least 1.
        retry_after: u64,
    },
    /// Too many emails to one address.
    #[error("For security purposes, you can only request this after {retry_after} seconds.")]
    EmailRateLimited {
        /// Seconds until the next email may be requested, at least 1.
        retry_after: u64,
    },
    /// The mail server did not accept an email. The reason is only logged.
    #[error("{message}")]
    EmailNotSent {
        /// Message for users.
        message: &'static str,
        /// Reason.
        source: MailError,
    },
    /// An internal failure. The details are only logged.
    #[error("Unexpected failure, please check server logs for more information")]
    Internal(#[source] anyhow::Error),
}

impl AuthError {
    /// Wraps an internal failure.
    pub fn internal(error: impl Into<anyhow::Error>) -> Self {
        Self::Internal(error.into())
    }

    /// Returns the HTTP status.
    pub fn status(&self) -> u16 {
        match self {
            Self::GoTrue(error) => error.status,
            Self::GoTrueWithMessage { status, .. } => *status,
            Self::BadJson(_) => 400,
            Self::WeakPassword(_) => 422,
            Self::RateLimited { .. } | Self::EmailRateLimited { .. } => 429,
            Self::EmailNotSent { .. } | Self::Internal(_) => 500,
        }
    }

    /// Returns the text for the log, which contains no personal data.
    pub fn detail(&self) -> String {
        match self {
            Self::EmailNotSent { message, source } => format!("{message}: {source}"),
            Self::Internal(source) => format!("{source:#}"),
            other => other.to_string(),
        }
    }

    /// Returns the seconds until a retry can succeed, for errors that waiting resolves.
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Self::RateLimited { retry_after } | Self::EmailRateLimited { retry_after } => Some(*retry_after),
            _ => None,
        }
    }

    /// Returns GoTrue's stable error code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::GoTrue(error) => error.code,
            Self::GoTrueWithMessage { code, .. } => code,
            Self::BadJson(_) => "bad_json",
            Self::WeakPassword(_) => "weak_password",
            Self::RateLimited { .. } => "over_request_rate_limit",
            Self::EmailRateLimited { .. } => "over_email_send_rate_limit",
            Self::EmailNotSent { .. } | Self::Internal(_) => "unexpected_failure",
        }
    }
}

impl From<GoTrueError> for AuthError {
    fn from(error: GoTrueError) -> Self {
        Self::GoTrue(error)
    }
}

impl From<storage::Error> for AuthError {
    fn from(error: storage::Error) -> Self {
        Self::internal(error)
    }
}
