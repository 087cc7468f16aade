//! The concurrency limiters of the routes, each of a type of its own.

use std::hash::Hash;
use std::marker::PhantomData;
use std::net::IpAddr;
use std::sync::Arc;

use domain::UserId;
use http_server::error::ApiError;
use platform::{ConcurrencyLimiter, Limit, LimitReached, Permit};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Maximum number of imports at a time. Each holds its whole file in memory.
const MAX_IMPORTS: usize = 2;
/// Maximum number of file uploads at a time. Each holds up to 10 MiB in memory.
pub const UPLOADS: Limit = Limit { per_user: 4, total: 16 };
/// Maximum number of file downloads at a time: more than a browser requests for two tabs. A file is in memory until it
/// is sent.
pub const DOWNLOADS: Limit = Limit { per_user: 16, total: 64 };
/// Maximum number of transcriptions at a time. Each holds up to 25 MB in memory.
pub const TRANSCRIPTIONS: Limit = Limit { per_user: 2, total: 8 };
/// Maximum number of `mcp-proxy` calls at a time. Each is a connection with a response of up to 16 MiB.
pub const PROBES: Limit = Limit { per_user: 4, total: 64 };
/// Maximum number of `mcp-proxy` calls at a time for one network address.
pub const PROBES_BY_ADDRESS: Limit = Limit { per_user: 16, total: 64 };

/// Returns the error for a limit of the caller's own, with this code and message, or of the whole server.
pub(crate) fn at_limit(reached: LimitReached, code: &'static str, message: &str) -> ApiError {
    match reached {
        LimitReached::User => ApiError::TooMany { code, message: message.to_owned() },
        LimitReached::Global => ApiError::Overloaded,
    }
}

/// A limited activity, with the error for users who reach their limit.
pub trait LimitedActivity {
    /// Code of the error.
    const CODE: &'static str;
    /// Message of the error.
    const MESSAGE: &'static str;
}

/// An open event stream.
#[derive(Debug, Clone, Copy)]
pub struct EventStream;

impl LimitedActivity for EventStream {
    const CODE: &'static str = "too_many_streams";
    const MESSAGE: &'static str = "Too many of your windows and devices follow your chats. Close some of them.";
}

/// An upload of a file.
#[derive(Debug, Clone, Copy)]
pub struct FileUpload;

impl LimitedActivity for FileUpload {
    const CODE: &'static str = "too_many_uploads";
    const MESSAGE: &'static str =
        "You are already uploading as many files as possible at once. Wait for one to finish.";
}

/// A download of a file.
#[derive(Debug, Clone, Copy)]
pub struct FileDownload;

impl LimitedActivity for FileDownload {
    const CODE: &'static str = "too_many_downloads";
    const MESSAGE: &'static str =
        "You are already downloading as many files as possible at once. Wait for one to finish.";
}

/// A transcription of a recording.
#[derive(Debug, Clone, Copy)]
pub struct Transcribing;

impl LimitedActivity for Transcribing {
    const CODE: &'static str = "too_many_transcriptions";
    const MESSAGE: &'static str = "You are already transcribing as much as possible at once. Wait for one to finish.";
}

/// A call of `mcp-proxy`, which connects to a server once.
#[derive(Debug, Clone, Copy)]
pub struct ServerProbe;

impl LimitedActivity for ServerProbe {
    const CODE: &'static str = "too_many_probes";
    const MESSAGE: &'static str =
        "You are already connecting to as many servers as possible at once. Wait for one to finish.";
}

/// Limiter of one [activity](LimitedActivity), which makes it a type of its own by which handlers take it. It counts for
/// each `K`: a user, or a network address.
#[derive(Debug, Clone)]
pub struct ActivityLimiter<A, K: Eq + Hash + Copy = UserId> {
    limiter: ConcurrencyLimiter<K>,
    activity: PhantomData<A>,
}

/// Limiter of open event streams.
pub type StreamLimiter = ActivityLimiter<EventStream>;
/// Limiter of file uploads.
pub type UploadLimiter = ActivityLimiter<FileUpload>;
/// Limiter of file downloads.
pub type DownloadLimiter = ActivityLimiter<FileDownload>;
/// Limiter of transcriptions.
pub type TranscriptionLimiter = ActivityLimiter<Transcribing>;
/// Limiter of `mcp-proxy` calls, per user.
pub type ProbeLimiter = ActivityLimiter<ServerProbe>;
/// Limiter of `mcp-proxy` calls, per network address.
pub type ProbeAddressLimiter = ActivityLimiter<ServerProbe, IpAddr>;

impl<A: LimitedActivity, K: Eq + Hash + Copy> ActivityLimiter<A, K> {
    /// Creates the limiter.
    pub fn new(limit: Limit) -> Self {
        Self { limiter: ConcurrencyLimiter::new(limit), activity: PhantomData }
    }

    /// Returns the number of permits in use.
    pub fn in_use(&self) -> usize {
        self.limiter.in_use()
    }

    /// Acquires the permit for one more.
    ///
    /// # Errors
    ///
    /// [`ApiError::TooMany`] at the limit of the user or address, [`ApiError::Overloaded`] at the server's.
    pub fn acquire(&self, key: K) -> Result<Permit<K>, ApiError> {
        self.limiter.acquire(key).map_err(|reached| at_limit(reached, A::CODE, A::MESSAGE))
    }
}

/// Limiter of imports, for all users together.
#[derive(Debug, Clone)]
pub struct ImportLimiter(Arc<Semaphore>);

impl Default for ImportLimiter {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_IMPORTS)))
    }
}

impl ImportLimiter {
    /// Acquires the permit for one more import.
    ///
    /// # Errors
    ///
    /// [`ApiError::Overloaded`] if as many imports run as may.
    pub fn acquire(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        Arc::clone(&self.0).try_acquire_owned().map_err(|_| ApiError::Overloaded)
    }
}
