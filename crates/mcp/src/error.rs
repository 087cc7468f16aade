//! Errors of MCP servers and of tool calls, with texts for users.

use std::error::Error as StdError;
use std::time::Duration;

use domain::text::show_invisible;
use domain::tool::Outcome;

use crate::net::PolicyViolation;
use crate::oauth::AuthChallenge;

/// Maximum length of a server's text in an error, in characters.
const MAX_QUOTE_CHARS: usize = 300;

/// Failure to reach, understand or use a server. Each text is a predicate that follows the server's name. No text
/// contains a header value or the address.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The policy does not permit the address.
    #[error(transparent)]
    Blocked(#[from] PolicyViolation),
    /// The name has no address.
    #[error("has a host name that does not resolve")]
    NameNotFound,
    /// Nothing listens there.
    #[error("refused the connection")]
    ConnectionRefused,
    /// The network does not lead there; the text says how it failed.
    #[error("could not be reached: {0}")]
    Unreachable(String),
    /// No encrypted connection could be made; the text says why.
    #[error("cannot be reached securely: {0}")]
    Tls(String),
    /// A header that was to be sent cannot be sent.
    #[error("cannot be used: {0}")]
    Header(String),
    /// HTTP 401: the user has to sign in, or to sign in again.
    #[error("answered 401: it requires a sign-in")]
    Unauthorized {
        /// Sign-in requirements that the server sent.
        challenge: AuthChallenge,
    },
    /// HTTP 403 with `insufficient_scope`: the user has to sign in again and grant more scopes.
    #[error("answered 403: it requires permissions that were not granted yet")]
    InsufficientScope {
        /// Scopes that the server requires.
        challenge: AuthChallenge,
    },
    /// HTTP 403.
    #[error("answered 403: access is denied")]
    Forbidden,
    /// The sign-in could not be renewed for the moment; the text says why.
    #[error("cannot be used: its sign-in could not be refreshed: {0}")]
    Renewal(String),
    /// Another HTTP status that is not a success.
    #[error("answered {status}{}", status_word(*.status))]
    Status {
        /// The HTTP status.
        status: u16,
    },
    /// A redirect that is not followed: it leaves the origin or would lose the request.
    #[error("redirects to another URL; use that one{0}")]
    Redirected(String),
    /// Something answers there, but not with MCP; the text says what it was.
    #[error("is not an MCP server: {0}")]
    NotMcp(String),
    /// No answer in time.
    #[error("did not answer within {}", seconds(*.0))]
    Timeout(Duration),
    /// More than the limit, in bytes.
    #[error("sent more than {}", size(*.0))]
    TooLarge(usize),
    /// A message whose values would take too much memory, or that is nested too deep.
    #[error(
        "sent more values than can be held in memory, or nested them too deep; ask it for less at a time, or for the same as \
         text or a file"
    )]
    TooComplex,
    /// It speaks MCP, but breaks its rules; the text says how.
    #[error("violated the protocol: {0}")]
    Protocol(String),
    /// It answered with an error of its own.
    #[error("answered with an error: {message} ({code})")]
    Server {
        /// The JSON-RPC error code.
        code: i64,
        /// The server's words, cut and cleaned.
        message: String,
    },
    /// It does not offer what was asked for; the text says what.
    #[error("offers no {0}")]
    NotOffered(&'static str),
    /// No revision of the protocol is known to both sides.
    #[error("supports no protocol version that this client supports")]
    Version,
    /// It does not know a long call any more whose result was not read yet.
    #[error("no longer knows the task")]
    TaskGone,
    /// It did not finish a long call in the time that it had set itself, or in the longest time that is waited for.
    #[error("did not finish its task in time")]
    TaskExpired,
    /// It ended a long call without a result; the text says why, if it did.
    #[error("ended the task without a result{0}")]
    TaskCancelled(String),
    /// The connection ended without an answer.
    #[error("closed the connection")]
    Closed,
    /// The caller gave up.
    #[error("was not waited for")]
    Cancelled,
}

impl Error {
    /// Returns a stable name of the kind of error, for the API and for statistics.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::TooComplex => "too-complex",
            Self::Blocked(_) => "blocked",
            Self::NameNotFound => "name-not-found",
            Self::ConnectionRefused => "connection-refused",
            Self::Unreachable(_) => "unreachable",
            Self::Tls(_) => "tls",
            Self::Header(_) => "header",
            Self::Unauthorized { .. } => "unauthorized",
            Self::InsufficientScope { .. } => "insufficient-scope",
            Self::Forbidden => "forbidden",
            Self::Renewal(_) => "renewal",
            Self::Status { .. } => "status",
            Self::Redirected(_) => "redirected",
            Self::NotMcp(_) => "not-mcp",
            Self::Timeout(_) => "timeout",
            Self::TooLarge(_) => "too-large",
            Self::Protocol(_) => "protocol",
            Self::Server { .. } => "server",
            Self::NotOffered(_) => "not-offered",
            Self::Version => "version",
            Self::TaskGone => "task-gone",
            Self::TaskExpired => "task-expired",
            Self::TaskCancelled(_) => "task-cancelled",
            Self::Closed => "closed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns the sign-in requirements of the server, if a sign-in can solve the problem. They are the input of
    /// [`OAuthClient::start_sign_in`](crate::oauth::OAuthClient::start_sign_in).
    pub fn challenge(&self) -> Option<&AuthChallenge> {
        match self {
            Self::Unauthorized { challenge } | Self::InsufficientScope { challenge } => Some(challenge),
            _ => None,
        }
    }

    /// Returns whether the same request may succeed later, because the server or the network is only temporarily
    /// unavailable.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::NameNotFound
            | Self::ConnectionRefused
            | Self::Unreachable(_)
            | Self::Unauthorized { .. }
            | Self::Renewal(_)
            | Self::Timeout(_)
            | Self::Closed => true,
            // 404 as well: a server that is being deployed may be missing behind its gateway for a moment.
            Self::Status { status } => matches!(status, 404 | 408 | 429 | 500..=599),
            _ => false,
        }
    }

    /// Returns whether the server appears to be down.
    pub(crate) fn is_unreachable(&self) -> bool {
        match self {
            Self::NameNotFound | Self::ConnectionRefused | Self::Unreachable(_) => true,
            // A gateway answers, but cannot reach the server behind it.
            Self::Status { status } => matches!(status, 502..=504),
            _ => false,
        }
    }

    /// Returns whether the request certainly had no effect: it was not sent, or it was rejected before it was
    /// executed.
    fn was_not_executed(&self) -> bool {
        match self {
            Self::Blocked(_)
            | Self::NameNotFound
            | Self::ConnectionRefused
            | Self::Unreachable(_)
            | Self::Tls(_)
            | Self::Header(_)
            | Self::Unauthorized { .. }
            | Self::InsufficientScope { .. }
            | Self::Forbidden
            | Self::Renewal(_)
            | Self::NotOffered(_)
            | Self::Redirected(_) => true,
            // A gateway that answers 408, 500, 502 or 504 may have passed the request on.
            Self::Status { status } => (400..500).contains(status) && *status != 408 || *status == 503,
            Self::NotMcp(_)
            | Self::Timeout(_)
            | Self::TooLarge(_)
            | Self::TooComplex
            | Self::Protocol(_)
            | Self::Server { .. }
            | Self::Version
            | Self::TaskGone
            | Self::TaskExpired
            | Self::TaskCancelled(_)
            | Self::Closed
            | Self::Cancelled => false,
        }
    }

    /// Converts an I/O error, or returns the [`Error`] that it wraps.
    pub(crate) fn from_io(error: &std::io::Error) -> Self {
        use std::io::ErrorKind as Kind;
        // The wrapped error is more precise than its wrapper, and can be wrapped twice.
        let inner = error.get_ref();
        if let Some(error) = inner.and_then(|inner| inner.downcast_ref::<Self>()) {
            return error.clone();
        }
        if let Some(error) = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            return Self::from_tls(error);
        }
        if let Some(error) = inner.and_then(|inner| inner.downcast_ref::<std::io::Error>()) {
            return Self::from_io(error);
        }
        match error.kind() {
            Kind::ConnectionRefused => Self::ConnectionRefused,
            Kind::ConnectionReset | Kind::ConnectionAborted | Kind::BrokenPipe | Kind::UnexpectedEof => Self::Closed,
            Kind::NetworkUnreachable | Kind::HostUnreachable => Self::Unreachable("there is no route to it".to_owned()),
            Kind::TimedOut => Self::Unreachable("the connection timed out".to_owned()),
            kind => Self::Unreachable(kind.to_string()),
        }
    }

    /// Converts a TLS error to [`Error::Tls`] with a reason for the user.
    pub(crate) fn from_tls(error: &rustls::Error) -> Self {
        use rustls::{CertificateError as Certificate, Error as Tls};
        let why = match error {
            Tls::InvalidCertificate(error) => match error {
                Certificate::Expired | Certificate::ExpiredContext { .. } => "its certificate has expired",
                Certificate::NotValidYet | Certificate::NotValidYetContext { .. } => "its certificate is not valid yet",
                Certificate::NotValidForName | Certificate::NotValidForNameContext { .. } => {
                    "its certificate is for another name"
                }
                Certificate::Revoked => "its certificate is revoked",
                _ => "its certificate is signed by nobody who is trusted here",
            },
            Tls::InvalidMessage(_) | Tls::InappropriateMessage { .. } => "it does not speak TLS",
            _ => "the TLS handshake failed",
        };
        Self::Tls(why.to_owned())
    }

    /// Converts an error of the HTTP client, by the innermost cause that is known.
    pub(crate) fn from_http(error: &reqwest::Error) -> Self {
        if error.is_connect() && error.is_timeout() {
            return Self::Unreachable("it did not accept the connection in time".to_owned());
        }
        // The cause is at the bottom of the chain, below the HTTP library's own errors.
        let mut found = None;
        let mut source: Option<&(dyn StdError + 'static)> = error.source();
        while let Some(cause) = source {
            if let Some(error) = cause.downcast_ref::<Self>() {
                return error.clone();
            }
            if let Some(error) = cause.downcast_ref::<std::io::Error>() {
                found = Some(Self::from_io(error));
            }
            // The HTTP library distinguishes its own errors only by their text.
            if cause.to_string().starts_with("invalid HTTP") {
                found = Some(Self::NotMcp("it does not speak HTTP".to_owned()));
            }
            source = cause.source();
        }
        match found {
            // A connection that breaks while it is established never carried the request.
            Some(Self::Closed) | None if error.is_connect() => {
                Self::Unreachable("the connection broke at once".to_owned())
            }
            Some(error) => error,
            None if error.is_decode() || error.is_body() || error.is_request() => Self::Closed,
            None => Self::Protocol("its HTTP cannot be read".to_owned()),
        }
    }

    /// Creates [`Error::Server`] with the server's text made safe for display.
    pub(crate) fn server(code: i32, message: &str) -> Self {
        Self::Server { code: code.into(), message: sanitize_text(message) }
    }
}

/// Failure of a tool call.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CallError {
    /// The call did not reach the tool: it was not sent, or the server turned it away. Trying again is safe.
    #[error("{0}")]
    NotSent(Error),
    /// The call was sent, and whether the tool ran is unknown.
    #[error("{0}")]
    Unknown(Error),
    /// The server answered the call with an error instead of a result.
    #[error("answered with an error: {message} ({code})")]
    Server {
        /// The JSON-RPC error code.
        code: i64,
        /// The server's words, cut and cleaned.
        message: String,
    },
    /// The server gave the call up.
    #[error("{0}")]
    Ended(Error),
    /// The caller cancelled, and the server was notified.
    #[error("was stopped")]
    Cancelled,
}

impl CallError {
    /// Returns the sign-in requirements of the server; see [`Error::challenge`].
    pub fn challenge(&self) -> Option<&AuthChallenge> {
        match self {
            Self::NotSent(error) | Self::Unknown(error) | Self::Ended(error) => error.challenge(),
            Self::Server { .. } | Self::Cancelled => None,
        }
    }

    /// Returns the outcome to store for the call.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::NotSent(_) | Self::Server { .. } => Outcome::Error,
            Self::Unknown(_) => Outcome::Unknown,
            Self::Ended(_) | Self::Cancelled => Outcome::Stopped,
        }
    }
}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        match error {
            Error::Server { code, message } => Self::Server { code, message },
            Error::Cancelled => Self::Cancelled,
            error @ Error::TaskCancelled(_) => Self::Ended(error),
            error if error.was_not_executed() => Self::NotSent(error),
            error => Self::Unknown(error),
        }
    }
}

/// Returns a server's text in a form that is safe to display: one line, of limited length, without invisible
/// characters.
pub(crate) fn sanitize_text(text: &str) -> String {
    let mut end = text.char_indices().map(|(at, _)| at);
    let (cut, dots) = end.nth(MAX_QUOTE_CHARS).map_or((text, ""), |end| (&text[..end], "…"));
    let line = cut.replace(['\t', '\n', '\r'], " ");
    format!("{}{dots}", show_invisible(&line))
}

/// Returns the name of an HTTP status with a leading space, or nothing.
fn status_word(status: u16) -> String {
    let word = http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    word.map(|word| format!(" {word}")).unwrap_or_default()
}

/// Formats a duration in seconds or milliseconds.
fn seconds(time: Duration) -> String {
    if time.subsec_millis() == 0 { format!("{} s", time.as_secs()) } else { format!("{} ms", time.as_millis()) }
}

/// Formats a size in MiB or bytes.
fn size(bytes: usize) -> String {
    const MEBIBYTE: usize = 1024 * 1024;
    if bytes >= MEBIBYTE { format!("{} MiB", bytes / MEBIBYTE) } else { format!("{bytes} bytes") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_say_what_happened() {
        let said = |error: Error| error.to_string();
        assert_eq!(
            said(Error::Unauthorized { challenge: AuthChallenge::default() }),
            "answered 401: it requires a sign-in"
        );
        assert_eq!(said(Error::Status { status: 502 }), "answered 502 Bad Gateway");
        assert_eq!(said(Error::Status { status: 599 }), "answered 599");
        assert_eq!(said(Error::Timeout(Duration::from_secs(15))), "did not answer within 15 s");
        assert_eq!(said(Error::TooLarge(16 << 20)), "sent more than 16 MiB");
        assert_eq!(
            said(PolicyViolation::Private.into()),
            "is a private address; the administrator can allow it with CHAT_NETWORK_ALLOW"
        );
    }

    #[test]
    fn a_call_is_unknown_unless_it_certainly_did_nothing() {
        let outcome = |error: Error| CallError::from(error).outcome();
        assert_eq!(outcome(Error::ConnectionRefused), Outcome::Error);
        assert_eq!(outcome(Error::Unauthorized { challenge: AuthChallenge::default() }), Outcome::Error);
        assert_eq!(outcome(Error::Status { status: 404 }), Outcome::Error);
        assert_eq!(outcome(Error::Status { status: 503 }), Outcome::Error);
        assert_eq!(outcome(Error::Status { status: 408 }), Outcome::Unknown);
        assert_eq!(outcome(Error::Status { status: 502 }), Outcome::Unknown);
        assert_eq!(outcome(Error::Closed), Outcome::Unknown);
        assert_eq!(outcome(Error::Timeout(Duration::from_secs(1))), Outcome::Unknown);
        assert_eq!(outcome(Error::Server { code: -32000, message: String::new() }), Outcome::Error);
        assert_eq!(outcome(Error::Cancelled), Outcome::Stopped);
    }

    #[test]
    fn a_servers_words_are_cleaned_and_cut() {
        assert_eq!(sanitize_text("a\u{1b}[31m\nb\u{202e}"), "a⟨U+001B⟩[31m b⟨U+202E⟩");
        let long = sanitize_text(&"ä".repeat(5000));
        assert_eq!(long.chars().count(), MAX_QUOTE_CHARS + 1);
        assert!(long.ends_with('…'));
    }
}
