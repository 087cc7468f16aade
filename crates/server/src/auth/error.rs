//! What can go wrong with an account.

use super::refusal::Refusal;

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
    #[error("{message}")]
    WeakPassword {
        /// What people read.
        message: String,
        /// The protocol's words: `length`, `characters` or `pwned`.
        reasons: Vec<&'static str>,
    },
    /// Too many calls from one address.
    #[error("Request rate limit reached")]
    TooMany {
        /// Seconds until it is worth another try, at least 1.
        retry_after: u64,
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
            Self::WeakPassword { .. } => 422,
            Self::TooMany { .. } => 429,
            Self::Internal(_) => 500,
        }
    }

    /// The stable word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.code,
            Self::Worded { code, .. } => code,
            Self::BadJson(_) => "bad_json",
            Self::WeakPassword { .. } => "weak_password",
            Self::TooMany { .. } => "over_request_rate_limit",
            Self::Internal(_) => "unexpected_failure",
        }
    }
}

impl From<Refusal> for AuthError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<store::Error> for AuthError {
    fn from(error: store::Error) -> Self {
        Self::internal(error)
    }
}
