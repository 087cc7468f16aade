//! What can go wrong with an account.

use super::gotrue_error::Refusal;
use super::password::Weakness;
use crate::mailer::MailError;

/// Why a call about an account gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// It was refused, in the protocol's own words.
    #[error("{0}")]
    Refused(Refusal),
    /// The same, with words for this one call.
    #[error("{message}")]
    Worded {
        /// The HTTP status.
        status: u16,
        /// The stable word for programs.
        code: &'static str,
        /// What people read.
        message: String,
    },
    /// The body is not JSON of the right form; says where.
    #[error("Could not parse request body as JSON: {0}")]
    BadJson(String),
    /// The password is too easy to guess; says how.
    #[error("{}", .0.message)]
    WeakPassword(Weakness),
    /// Too many calls from one address.
    #[error("Request rate limit reached")]
    TooMany {
        /// Seconds until it is worth another try, at least 1.
        retry_after: u64,
    },
    /// Too many mails to one address.
    #[error("For security purposes, you can only request this after {retry_after} seconds.")]
    TooManyMails {
        /// Seconds until the next one, at least 1.
        retry_after: u64,
    },
    /// The mail server did not take a letter. The reason stays in the log.
    #[error("{what}")]
    Undelivered {
        /// What people read.
        what: &'static str,
        /// Why.
        source: MailError,
    },
    /// A fault of ours. The words stay in the log.
    #[error("Unexpected failure, please check server logs for more information")]
    Internal(#[source] anyhow::Error),
}

impl AuthError {
    /// A fault of ours.
    pub fn internal(error: impl Into<anyhow::Error>) -> Self {
        Self::Internal(error.into())
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        match self {
            Self::Refused(refusal) => refusal.status,
            Self::Worded { status, .. } => *status,
            Self::BadJson(_) => 400,
            Self::WeakPassword(_) => 422,
            Self::TooMany { .. } | Self::TooManyMails { .. } => 429,
            Self::Undelivered { .. } | Self::Internal(_) => 500,
        }
    }

    /// What the log says about it, nothing of a person's.
    pub fn detail(&self) -> String {
        match self {
            Self::Undelivered { what, source } => format!("{what}: {source}"),
            Self::Internal(source) => format!("{source:#}"),
            other => other.to_string(),
        }
    }

    /// Seconds until it is worth another try, where that helps.
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Self::TooMany { retry_after } | Self::TooManyMails { retry_after } => Some(*retry_after),
            _ => None,
        }
    }

    /// The stable word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.code,
            Self::Worded { code, .. } => code,
            Self::BadJson(_) => "bad_json",
            Self::WeakPassword(_) => "weak_password",
            Self::TooMany { .. } => "over_request_rate_limit",
            Self::TooManyMails { .. } => "over_email_send_rate_limit",
            Self::Undelivered { .. } | Self::Internal(_) => "unexpected_failure",
        }
    }
}

impl From<Refusal> for AuthError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<storage::Error> for AuthError {
    fn from(error: storage::Error) -> Self {
        Self::internal(error)
    }
}
