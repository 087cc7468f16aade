//! Errors of Google Drive. Their texts are shown to users and models.

use platform::secret_sealing::SealError;

/// Error of a tool, or of linking a Google Drive.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// This installation has no OAuth client at Google.
    #[error(
        "Google Drive is not set up on this server: its administrator has to set GOOGLE_CLIENT_ID and \
         GOOGLE_CLIENT_SECRET."
    )]
    NotConfigured,
    /// The user has not authorised this installation.
    #[error(
        "Google Drive is not linked yet. To link it, open the \"MCP Servers\" tab and choose \"Link Google Drive\"."
    )]
    NotLinked,
    /// The authorisation was revoked or has expired, and was deleted.
    #[error(
        "Google no longer accepts the link to your Google Drive. To link it again, open the \"MCP Servers\" tab and \
         choose \"Link Google Drive\"."
    )]
    LinkEnded,
    /// The user did not grant all permissions.
    #[error(
        "The link to your Google Drive does not permit this. Link it again in the \"MCP Servers\" tab and leave all \
         permissions checked."
    )]
    NotPermitted,
    /// The tool was called with invalid arguments.
    #[error("{0}")]
    Arguments(String),
    /// The file does not exist, or the user has no access to it.
    #[error(
        "Google Drive has no such file, or you may not see it. google_drive_list_files tells the ids of your files."
    )]
    NotFound,
    /// Google's rate limit was exceeded.
    #[error("Google Drive asks to slow down. Try again in a minute.")]
    RateLimited,
    /// There was no complete response.
    #[error("Google could not be reached: {0}.")]
    Unreachable(String),
    /// The response has an error status.
    #[error("Google answered with an error ({status}){}", if message.is_empty() { ".".to_owned() } else { format!(": {message}") })]
    Rejected {
        /// HTTP status.
        status: u16,
        /// Google's message; may be empty.
        message: String,
    },
    /// The response could not be decoded.
    #[error("Google sent an unreadable response.")]
    Unreadable,
    /// An internal error. Its details are logged, and not shown.
    #[error("Something went wrong on the server.")]
    Internal(#[source] anyhow::Error),
}

impl DriveError {
    /// Logs an internal error or one of Google's. Called once, where the error becomes a tool result.
    pub fn log(&self) {
        match self {
            Self::Internal(source) => tracing::error!(error = format!("{source:#}"), "Google Drive call failed"),
            Self::Rejected { status, .. } => tracing::warn!(status, "Google rejected a Drive call"),
            _ => {}
        }
    }
}

impl From<storage::Error> for DriveError {
    fn from(error: storage::Error) -> Self {
        Self::Internal(error.into())
    }
}

impl From<SealError> for DriveError {
    fn from(error: SealError) -> Self {
        Self::Internal(error.into())
    }
}
