//! Accepting connections: no delay for small frames, a limit on slow headers, a bounded drain at the end. HTTP/1.1
//! only: browsers speak HTTP/2 with TLS alone, and the proxy that ends TLS speaks HTTP/1.1 to us.

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use axum::Extension;
use axum::extract::ConnectInfo;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::app::App;

/// How long a client may take to send its request's headers, counted from when it is connected or from its last answer.
const HEADER_TIMEOUT: Duration = Duration::from_secs(15);
/// How long open requests may take to end at shutdown. With what tasks may take it stays below the ten seconds after
/// which supervisors kill.
const DRAIN: Duration = Duration::from_secs(4);
/// How long to wait after a failed accept (too many open files): at once would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Takes the address, or says who might have it.
pub async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on {address}; set CHAT_LISTEN to another address, or stop what uses it")
    })
}

/// Serves until `stop` ends; then open streams are told to end and requests have four seconds to finish.
pub async fn serve(app: App, listener: TcpListener, stop: impl Future<Output = ()>) {
    let routes = super::routes(&app);
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    let graceful = GracefulShutdown::new();
    let hang_up = CancellationToken::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(connection) => connection,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
            () = &mut stop => break,
        };
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "no-delay was refused");
        }
        let routes = routes.clone().layer(Extension(ConnectInfo(peer)));
        let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
        let connection = graceful.watch(connection);
        let hung_up = hang_up.clone();
        app.tasks.spawn("connection", async move {
            tokio::select! {
                ended = connection => if let Err(error) = ended {
                    tracing::trace!(%error, "a connection broke");
                },
                () = hung_up.cancelled() => {}
            }
        });
    }
    drop(listener);
    app.tasks.stopping().cancel();
    if tokio::time::timeout(DRAIN, graceful.shutdown()).await.is_err() {
        tracing::warn!("some connections did not end in time");
    }
    hang_up.cancel();
}
