//! Scripted servers that run in the background of a test.

use axum::Router;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A server in the background. It stops when it is dropped.
#[derive(Debug)]
pub struct Background {
    /// Origin of the server, without a trailing slash.
    pub origin: String,
    _stop: DropGuard,
}

impl Background {
    /// Serves `routes` on a free port.
    #[expect(
        clippy::unused_async,
        reason = "it must be called on a runtime, as whoever starts one of the other servers"
    )]
    pub async fn serve(routes: Router) -> Self {
        // The application's own listener, with its long queue: tests open hundreds of connections at once.
        let listener = http_server::serve::listen(([127, 0, 0, 1], 0).into(), "CHAT_LISTEN").unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let stop = CancellationToken::new();
        let stopped = stop.clone().cancelled_owned();
        // Like real model servers, so that a chunk is not delayed until the previous one is acknowledged.
        let listener = axum::serve::ListenerExt::tap_io(listener, |stream| drop(stream.set_nodelay(true)));
        #[expect(clippy::disallowed_methods, reason = "it ends when the guard is dropped")]
        // The handle is not needed: the token ends the task.
        drop(tokio::spawn(async move {
            tokio::select! {
                _ = axum::serve(listener, routes) => {}
                () = stopped => {}
            }
        }));
        Self { origin, _stop: stop.drop_guard() }
    }
}
