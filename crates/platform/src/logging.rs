//! Logging to standard error, and the shutdown signals of the operating system.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// Starts logging to standard error: readable lines on a terminal, JSON otherwise.
///
/// `filter` has the syntax of `RUST_LOG`; an invalid one logs warnings only. Several apps in one process share the
/// logging of the first.
pub fn start(filter: &str) {
    // A typo in `RUST_LOG` must not keep the server from starting.
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("warn"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = if std::io::stderr().is_terminal() { builder.try_init() } else { builder.json().try_init() };
    if started.is_err() {
        tracing::debug!("logging is already set up");
    }
}

/// Waits until the operating system asks the process to stop (SIGINT or SIGTERM).
pub async fn shutdown_signal() {
    let interrupt = tokio::signal::ctrl_c();
    match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = interrupt => {}
                _ = terminate.recv() => {}
            }
        }
        // Without a handler for SIGTERM, SIGINT still stops the process properly.
        Err(_) => drop(interrupt.await),
    }
    tracing::info!("stopping");
}
