//! The concurrency limiters of the routes, each of a type of its own.

use std::net::IpAddr;
use std::sync::Arc;

use domain::UserId;
use platform::{ConcurrencyLimiter, Limit, LimitReached, Permit};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::ApiError;

/// Maximum number of imports at a time. Each holds its whole file in memory.
const MAX_IMPORTS: usize = 2;
/// Maximum number of file uploads at a time. Each holds up to 10 MiB in memory.
const UPLOADS: Limit = Limit { per_user: 4, total: 16 };
/// Maximum number of file downloads at a time: more than a browser requests for two tabs.
const DOWNLOADS: Limit = Limit { per_user: 16, total: 64 };
/// Maximum number of `mcp-proxy` calls at a time. Each is a connection with a response of up to 16 MiB.
const PROBES: Limit = Limit { per_user: 4, total: 64 };
/// Maximum number of `mcp-proxy` calls at a time for one network address.
const PROBES_BY_ADDRESS: Limit = Limit { per_user: 16, total: 64 };

/// Message for users who reach [`PROBES`] or [`PROBES_BY_ADDRESS`].
const TOO_MANY_PROBES: &str =
    "You are already connecting to as many servers as possible at once. Wait for one to finish.";

/// Returns the error for a limit of the caller's own, with this code and message, or of the whole server.
pub(crate) fn at_limit(reached: LimitReached, code: &'static str, message: &str) -> ApiError {
    match reached {
        LimitReached::User => ApiError::TooMany { code, message: message.to_owned() },
        LimitReached::Global => ApiError::Overloaded,
    }
}

/// Limiter of open event streams.
#[derive(Debug, Clone)]
pub struct StreamLimiter(ConcurrencyLimiter);

impl StreamLimiter {
    /// Creates the limiter.
    pub fn new(limit: Limit) -> Self {
        Self(ConcurrencyLimiter::new(limit))
    }

    /// Returns the number of open event streams.
    pub fn in_use(&self) -> usize {
        self.0.in_use()
    }

    /// Acquires the permit for one more event stream of the user.
    ///
    /// # Errors
    ///
    /// [`ApiError::TooMany`] at the user's limit, [`ApiError::Overloaded`] at the server's.
    pub fn acquire(&self, user: UserId) -> Result<Permit, ApiError> {
        let message = "Too many of your windows and devices follow your chats. Close some of them.";
        self.0.acquire(user).map_err(|reached| at_limit(reached, "too_many_streams", message))
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

/// Limiter of file uploads.
#[derive(Debug, Clone)]
pub struct UploadLimiter(ConcurrencyLimiter);

impl Default for UploadLimiter {
    fn default() -> Self {
        Self(ConcurrencyLimiter::new(UPLOADS))
    }
}

impl UploadLimiter {
    /// Acquires the permit for one more upload of the user.
    ///
    /// # Errors
    ///
    /// [`ApiError::TooMany`] at the user's limit, [`ApiError::Overloaded`] at the server's.
    pub fn acquire(&self, user: UserId) -> Result<Permit, ApiError> {
        let message = "You are already uploading as many files as possible at once. Wait for one to finish.";
        self.0.acquire(user).map_err(|reached| at_limit(reached, "too_many_uploads", message))
    }
}

/// Limiter of file downloads.
#[derive(Debug, Clone)]
pub struct DownloadLimiter(ConcurrencyLimiter);

impl Default for DownloadLimiter {
    fn default() -> Self {
        Self(ConcurrencyLimiter::new(DOWNLOADS))
    }
}

impl DownloadLimiter {
    /// Acquires the permit for one more download of the user. A file is in memory until it is sent.
    ///
    /// # Errors
    ///
    /// [`ApiError::TooMany`] at the user's limit, [`ApiError::Overloaded`] at the server's.
    pub fn acquire(&self, user: UserId) -> Result<Permit, ApiError> {
        let message = "You are already downloading as many files as possible at once. Wait for one to finish.";
        self.0.acquire(user).map_err(|reached| at_limit(reached, "too_many_downloads", message))
    }
}

/// Limiter of `mcp-proxy` calls, per user.
#[derive(Debug, Clone)]
pub struct ProbeLimiter(ConcurrencyLimiter);

impl Default for ProbeLimiter {
    fn default() -> Self {
        Self(ConcurrencyLimiter::new(PROBES))
    }
}

impl ProbeLimiter {
    /// Acquires the permit for one more call of the user.
    ///
    /// # Errors
    ///
    /// [`ApiError::TooMany`] at the user's limit, [`ApiError::Overloaded`] at the server's.
    pub fn acquire(&self, user: UserId) -> Result<Permit, ApiError> {
        let message = TOO_MANY_PROBES;
        self.0.acquire(user).map_err(|reached| at_limit(reached, "too_many_probes", message))
    }
}

/// Limiter of `mcp-proxy` calls, per network address.
#[derive(Debug, Clone)]
pub struct ProbeAddressLimiter(ConcurrencyLimiter<IpAddr>);

impl Default for ProbeAddressLimiter {
    fn default() -> Self {
        Self(ConcurrencyLimiter::new(PROBES_BY_ADDRESS))
    }
}

impl ProbeAddressLimiter {
    /// Acquires the permit for one more call from the address.
    ///
    /// # Errors
    ///
    /// [`ApiError::TooMany`] at the address's limit, [`ApiError::Overloaded`] at the server's.
    pub fn acquire(&self, address: IpAddr) -> Result<Permit<IpAddr>, ApiError> {
        let message = TOO_MANY_PROBES;
        self.0.acquire(address).map_err(|reached| at_limit(reached, "too_many_probes", message))
    }
}
