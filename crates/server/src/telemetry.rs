//! Logs, and the signals of the system. Logs never hold message text, tokens or addresses of people.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::Config;

/// Starts logging to standard error: lines for a person at a terminal, JSON for everything else.
/// `RUST_LOG` chooses what is logged; the default is the house at `info` and everything else at `warn`.
pub fn start(config: &Config) {
    let filter = EnvFilter::try_new(&config.log).unwrap_or_else(|_| EnvFilter::new("warn"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // A second start (several apps in one test process) keeps the first one's logging.
    let started = if std::io::stderr().is_terminal() { builder.try_init() } else { builder.json().try_init() };
    if started.is_err() {
        tracing::debug!("logging had started already");
    }
}

/// Ends when the system asks the program to stop (Ctrl-C or SIGTERM).
pub async fn stop_signal() {
    let interrupt = tokio::signal::ctrl_c();
    match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = interrupt => {}
                _ = terminate.recv() => {}
            }
        }
        Err(_) => drop(interrupt.await),
    }
    tracing::info!("stopping");
}
