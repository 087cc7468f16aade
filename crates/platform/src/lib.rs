//! Infrastructure that every service needs: settings, encryption of secrets, background tasks, events for users, other nodes and
//! the audit log, concurrency limits, logging, metrics, diagnostics, and the client addresses and the clock that limits count
//! by.

pub mod audit_log;
pub mod background_tasks;
pub mod client_address;
pub mod cluster;
pub mod cluster_bus;
pub mod concurrency_limit;
pub mod config;
pub mod diagnostics;
pub mod logging;
pub mod metrics;
pub mod monotonic_clock;
pub mod secret_sealing;
pub mod traces;
pub mod url_host;
pub mod user_events;

pub use audit_log::AuditLog;
pub use background_tasks::BackgroundTasks;
pub use cluster::{Cluster, ClusterHandler, InstanceLock};
pub use cluster_bus::{ClusterBus, ClusterMessage, ClusterOutbox};
pub use concurrency_limit::{ConcurrencyLimiter, Limit, LimitReached, Permit};
pub use config::Config;
pub use monotonic_clock::MonotonicClock;
pub use secret_sealing::SecretSealer;
pub use user_events::{TurnState, UserEvent, UserEventBus};
