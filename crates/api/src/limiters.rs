//! The concurrency limiters of the routes, each of a type of its own.

use std::net::IpAddr;
use std::sync::Arc;

use platform::{ConcurrencyLimiter, Limit};
use tokio::sync::Semaphore;

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

/// Limiter of open event streams.
#[derive(Debug, Clone)]
pub struct StreamLimiter(pub ConcurrencyLimiter);

impl StreamLimiter {
    /// Creates the limiter.
    pub fn new(limit: Limit) -> Self {
        Self(ConcurrencyLimiter::new(limit))
    }
}

/// Limiter of imports, for all users together.
#[derive(Debug, Clone)]
pub struct ImportLimiter(pub Arc<Semaphore>);

impl Default for ImportLimiter {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_IMPORTS)))
    }
}

/// Limiter of file uploads.
#[derive(Debug, Clone)]
pub struct UploadLimiter(pub ConcurrencyLimiter);

impl Default for UploadLimiter {
    fn default() -> Self {
        Self(ConcurrencyLimiter::new(UPLOADS))
    }
}

/// Limiter of file downloads.
#[derive(Debug, Clone)]
pub struct DownloadLimiter(pub ConcurrencyLimiter);

impl Default for DownloadLimiter {
    fn default() -> Self {
        Self(ConcurrencyLimiter::new(DOWNLOADS))
    }
}

/// Limiter of `mcp-proxy` calls, per user.
#[derive(Debug, Clone)]
pub struct ProbeLimiter(pub ConcurrencyLimiter);

impl Default for ProbeLimiter {
    fn default() -> Self {
        Self(ConcurrencyLimiter::new(PROBES))
    }
}

/// Limiter of `mcp-proxy` calls, per network address.
#[derive(Debug, Clone)]
pub struct ProbeAddressLimiter(pub ConcurrencyLimiter<IpAddr>);

impl Default for ProbeAddressLimiter {
    fn default() -> Self {
        Self(ConcurrencyLimiter::new(PROBES_BY_ADDRESS))
    }
}
