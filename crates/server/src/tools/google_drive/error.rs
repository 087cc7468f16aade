//! What can go wrong with Google, in words for the person and for the model that reads them.

/// Why a tool has no result.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// This installation is not known to Google.
    #[error(
        "Google Drive is not set up on this server: its administrator has to set GOOGLE_CLIENT_ID and \
         GOOGLE_CLIENT_SECRET."
    )]
    NotConfigured,
    /// The person has not authorised this installation.
    #[error(
        "Google Drive is not linked yet. To link it, open the \"MCP Servers\" tab and choose \"Link Google Drive\"."
    )]
    NotLinked,
    /// The authorisation was withdrawn or has run out; it is forgotten.
    #[error(
        "Google no longer accepts the link to your Google Drive. To link it again, open the \"MCP Servers\" tab and \
         choose \"Link Google Drive\"."
    )]
    LinkEnded,
    /// The person did not grant everything when they linked.
    #[error(
        "The link to your Google Drive does not permit this. Link it again in the \"MCP Servers\" tab and leave all \
         permissions checked."
    )]
    NotPermitted,
    /// The tool was called with something else than it takes.
    #[error("{0}")]
    Arguments(String),
    /// No such file, or not the person's to see.
    #[error(
        "Google Drive has no such file, or you may not see it. google_drive_list_files tells the ids of your files."
    )]
    NotFound,
    /// Too much at once.
    #[error("Google Drive asks to slow down. Try again in a minute.")]
    TooMany,
    /// No answer, or one that broke off.
    #[error("Google could not be reached: {0}.")]
    Unreachable(String),
    /// An answer that is no success.
    #[error("Google answered with an error ({status}){}", if message.is_empty() { ".".to_owned() } else { format!(": {message}") })]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What Google says; may be empty.
        message: String,
    },
    /// An answer that is not what was asked for.
    #[error("Google answered something that could not be understood.")]
    Unreadable,
    /// A fault of ours. The words stay in the log.
    #[error("Something went wrong on the server.")]
    Internal(#[source] anyhow::Error),
}

impl DriveError {
    /// Logs a fault of ours or of Google's, once, where it is answered.
    pub fn log(&self) {
        match self {
            Self::Internal(source) => tracing::error!(error = format!("{source:#}"), "a Google Drive call failed"),
            Self::Refused { status, .. } => tracing::warn!(status, "Google refused a call"),
            _ => {}
        }
    }
}

impl From<store::Error> for DriveError {
    fn from(error: store::Error) -> Self {
        Self::Internal(error.into())
    }
}

impl From<platform::secret_sealing::SealError> for DriveError {
    fn from(error: platform::secret_sealing::SealError) -> Self {
        Self::Internal(error.into())
    }
}
