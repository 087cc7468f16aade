//! Reports to the service manager (systemd, `Type=notify`): ready, alive, stopping. Without `NOTIFY_SOCKET` in the
//! environment nothing is sent.

use std::time::Duration;

use platform::BackgroundTasks;
use sd_notify::NotifyState;

/// Reports that the server accepts connections. From then on, reports until shutdown that it is alive, twice in the
/// interval after which the service manager restarts it (`WatchdogSec`).
pub fn report_ready(tasks: &BackgroundTasks) {
    report(&NotifyState::Ready);
    if let Some(interval) = sd_notify::watchdog_enabled().filter(|interval| !interval.is_zero()) {
        let shutdown = tasks.shutdown_token().clone();
        // A task of the runtime, so that the reports end when the runtime makes no progress.
        tasks.spawn("watchdog", async move {
            shutdown.run_until_cancelled(report_alive(interval / 2)).await;
        });
    }
}

/// Reports that the server has begun to stop. The service manager no longer expects it to report that it is alive.
pub fn report_stopping() {
    report(&NotifyState::Stopping);
}

async fn report_alive(interval: Duration) {
    loop {
        report(&NotifyState::Watchdog);
        tokio::time::sleep(interval).await;
    }
}

fn report(state: &NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(std::slice::from_ref(state)) {
        tracing::warn!(%error, "the service manager could not be notified");
    }
}
