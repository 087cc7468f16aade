//! Connections of clients: accepts connections, sends small frames without delay, bounds slow requests, and drains at
//! shutdown.
//!
//! HTTP/1.1 only: browsers use HTTP/2 over TLS alone, and a proxy that terminates TLS speaks HTTP/1.1 to this server.

mod write_timeout;

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::extract::ConnectInfo;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use platform::client_address::subscriber_network;
use platform::{BackgroundTasks, ConcurrencyLimiter, Limit, Permit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::extract::TrustedProxies;
use write_timeout::TimedWriter;

/// Maximum time for a client to send the headers of a request, counted from the connection or from the last response.
const HEADER_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum time for open requests to finish at shutdown. Together with the time for background tasks it stays below
/// the ten seconds after which process supervisors usually kill.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(4);
/// Pause after a failed accept. The usual cause is too many open files, where an immediate retry would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Length of the listen queue. The usual 128 is too short when hundreds of pages reconnect at the same moment: a
/// client that does not fit retries after one second, then two. Linux caps the value at `net.core.somaxconn` (4,096).
const LISTEN_BACKLOG: u32 = 4096;

/// Maximum time for a client to read what was sent, or for its system to acknowledge it. A client that returns
/// resumes its stream where it stopped.
const READ_TIMEOUT: Duration = Duration::from_mins(1);
/// Size of the read buffer and of the write buffer of one connection, in bytes, and so of the headers of a request.
const BUFFER_BYTES: usize = 64 * 1024;
/// Maximum number of excess connections that receive the 503 response at the same time. Further ones are closed
/// without a response.
const MAX_REJECTIONS: usize = 64;
/// Maximum time for sending the 503 response to one excess connection.
const REJECTION_TIMEOUT: Duration = Duration::from_secs(1);
/// HTTP response to an excess connection, which never reaches the routes.
const OVERLOADED_RESPONSE: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\n\
Content-Type: application/json\r\nContent-Length: 101\r\n\r\n\
{\"error\":{\"code\":\"overloaded\",\"message\":\"the server has as many visitors as it can; try again soon\"}}";

/// Binds `address`, the value of the setting `setting`, and starts to listen.
///
/// # Errors
///
/// The address is not available; the message names the setting that changes it.
pub fn listen(address: SocketAddr, setting: &str) -> anyhow::Result<TcpListener> {
    let take = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // Without it a restarted server could not bind while old connections are in TIME_WAIT. On Windows the option
        // would let a second process take the port.
        socket.set_reuseaddr(cfg!(unix))?;
        socket.bind(address)?;
        socket.listen(LISTEN_BACKLOG)
    };
    take()
        .with_context(|| format!("cannot listen on {address}; set {setting} to another address, or stop what uses it"))
}

/// Connections that a listener has accepted.
#[derive(Debug)]
pub struct OpenConnections {
    graceful: GracefulShutdown,
    close_all: CancellationToken,
}

impl OpenConnections {
    /// Gives open requests four seconds to finish, and closes the connections.
    pub async fn drain(self) {
        if tokio::time::timeout(DRAIN_TIMEOUT, self.graceful.shutdown()).await.is_err() {
            tracing::warn!("some connections did not end in time");
        }
        self.close_all.cancel();
    }
}

/// Acceptor of the connections of a listener.
#[derive(Debug)]
pub struct ConnectionAcceptor {
    /// Tasks, of which each connection is one.
    pub tasks: BackgroundTasks,
    /// Proxies whose connections carry those of many addresses.
    pub trusted_proxies: TrustedProxies,
    /// Limit of open connections, per network address and in total.
    pub limit: Limit,
}

impl ConnectionAcceptor {
    /// Accepts connections for `routes` until `stop` completes, and then frees the port.
    pub async fn accept(
        &self,
        listener: TcpListener,
        routes: Router,
        stop: impl Future<Output = ()>,
    ) -> OpenConnections {
        let routes = TowerToHyperService::new(routes);
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).max_buf_size(BUFFER_BYTES);
        let sockets = ConnectionLimiter::new(within_open_files(self.limit));
        // A rejection needs a socket and a task as well, so their number is limited, too.
        let rejections = Arc::new(Semaphore::new(MAX_REJECTIONS));
        let graceful = GracefulShutdown::new();
        let close_all = CancellationToken::new();
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
            let is_proxy = self.trusted_proxies.0.iter().any(|proxy| proxy.covers(peer.ip()));
            // Rejected rather than left in the listen queue, where a client would wait without any response.
            let Some(permit) = sockets.take(peer.ip(), is_proxy) else {
                if let Ok(rejection) = Arc::clone(&rejections).try_acquire_owned() {
                    self.tasks.spawn("rejected connection", reject_connection(stream, rejection));
                }
                continue;
            };
            // Nagle's algorithm would delay small events.
            if let Err(error) =
                stream.set_nodelay(true).and_then(|()| write_timeout::set_unacknowledged_timeout(&stream, READ_TIMEOUT))
            {
                tracing::debug!(%error, "an option of a connection was refused");
            }
            let routes = routes.clone();
            // Not a layer: applying one for each connection would clone the whole router.
            let answer = service_fn(move |mut request: Request<Incoming>| {
                request.extensions_mut().insert(ConnectInfo(peer));
                routes.call(request)
            });
            let connection = builder.serve_connection(TokioIo::new(TimedWriter::new(stream, READ_TIMEOUT)), answer);
            let connection = graceful.watch(connection);
            // Cancelled after the drain, to drop the connections that are still open.
            let closed = close_all.clone();
            self.tasks.spawn("connection", async move {
                let _permit = permit;
                tokio::select! {
                    // Normal on the internet (the client went away), and one line for each would fill the log.
                    ended = connection => if let Err(error) = ended {
                        tracing::trace!(%error, "a connection broke");
                    },
                    () = closed.cancelled() => {}
                }
            });
        }
        // The port is free from here on: a successor can already start while this process drains.
        drop(listener);
        OpenConnections { graceful, close_all }
    }
}

/// Reduces the connection limit to three quarters of the process's limit on open files; the rest serves the database,
/// models and MCP servers. The limit per address shrinks in proportion. Without `/proc` the limit is unchanged.
fn within_open_files(wanted: Limit) -> Limit {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files")?.split_whitespace().next());
    let most = files.and_then(|files| files.parse::<usize>().ok()).map_or(wanted.total, |files| files / 4 * 3);
    if most >= wanted.total {
        return wanted;
    }
    tracing::info!(
        most,
        wanted = wanted.total,
        "the system's limit on open files (ulimit -n) bounds the connections of clients"
    );
    Limit { per_user: (wanted.per_user.saturating_mul(most) / wanted.total).max(1), total: most }
}

/// Limiter of client connections: in total, and per network address.
struct ConnectionLimiter {
    all: Arc<Semaphore>,
    by_address: ConcurrencyLimiter<IpAddr>,
}

impl ConnectionLimiter {
    // The total has a semaphore of its own, since connections of trusted proxies count in it but have no address
    // limit.
    fn new(limit: Limit) -> Self {
        let by_address = ConcurrencyLimiter::new(Limit { per_user: limit.per_user, total: usize::MAX });
        Self { all: Arc::new(Semaphore::new(limit.total)), by_address }
    }

    /// Acquires the permits of one connection, or returns `None` if a limit is reached. A trusted proxy carries the
    /// connections of many addresses, so only the total limit applies to it.
    fn take(&self, peer: IpAddr, is_proxy: bool) -> Option<(OwnedSemaphorePermit, Option<Permit<IpAddr>>)> {
        // The address limit comes first: an address at its limit must not consume the total.
        let own = if is_proxy { None } else { Some(self.by_address.acquire(subscriber_network(peer)).ok()?) };
        Some((Arc::clone(&self.all).try_acquire_owned().ok()?, own))
    }
}

/// Responds 503 to a connection that exceeds the limit. The request is read first: closing a socket with unread data
/// resets the connection, and the client could lose the response.
async fn reject_connection(mut stream: TcpStream, rejection: OwnedSemaphorePermit) {
    let told = async {
        let mut request = [0; 4096];
        drop(stream.read(&mut request).await);
        drop(stream.write_all(OVERLOADED_RESPONSE).await);
        drop(stream.shutdown().await);
        // Waits until the client has closed or sent more, for the same reason.
        drop(stream.read(&mut request).await);
    };
    drop(tokio::time::timeout(REJECTION_TIMEOUT, told).await);
    drop(rejection);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn hundreds_may_come_before_the_first_is_let_in() {
        let listener = listen(([127, 0, 0, 1], 0).into(), "CHAT_LISTEN").unwrap();
        let address = listener.local_addr().unwrap();
        let all = futures_util::future::try_join_all((0..300).map(|_| TcpStream::connect(address)));
        let connected = tokio::time::timeout(Duration::from_secs(30), all).await;
        assert_eq!(connected.expect("none waits for a place").unwrap().len(), 300);
    }
}
