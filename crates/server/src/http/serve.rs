//! Accepting connections: no delay for small frames, a limit on slow headers, a bounded drain at the end. HTTP/1.1
//! only: browsers speak HTTP/2 with TLS alone, and the proxy that ends TLS speaks HTTP/1.1 to us.

mod patience;

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::extract::ConnectInfo;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::auth::address::subscriber_of;
use crate::config::Limit;
use crate::places::{Place, Places};
use patience::Patient;

/// How long a client may take to send its request's headers, counted from when it is connected or from its last answer.
const HEADER_TIMEOUT: Duration = Duration::from_secs(15);
/// How long open requests may take to end at shutdown. With what tasks may take it stays below the ten seconds after
/// which supervisors kill.
const DRAIN: Duration = Duration::from_secs(4);
/// How long to wait after a failed accept (too many open files): at once would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Connections that the system takes before we do. Those that find no place there try again after a second, then two: the usual 128 are too few for
/// hundreds of people whose pages come back at the same moment. The system bounds it, too (Linux at `net.core.somaxconn`, 4,096).
const WAITING: u32 = 4096;

/// How long a client may take to read what was sent to it, or its system to say that it came. One that is back resumes
/// where it was.
const READ_TIMEOUT: Duration = Duration::from_mins(1);
/// Bytes that are kept for one connection of what came and what goes, and of the head of a request.
const BUFFER: usize = 64 * 1024;
/// Connections that are told at a time that there is no place for them. More are closed without a word.
const TURNED_AWAY: usize = 64;
/// How long one of them may take.
const FAREWELL: Duration = Duration::from_secs(1);
const NO_PLACE: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\n\
Content-Type: application/json\r\nContent-Length: 101\r\n\r\n\
{\"error\":{\"code\":\"overloaded\",\"message\":\"the server has as many visitors as it can; try again soon\"}}";

/// Takes the address, or says who might have it.
pub fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let take = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // A server that starts again is not to wait for what the system still holds of the last one. Elsewhere it means more than that.
        socket.set_reuseaddr(cfg!(unix))?;
        socket.bind(address)?;
        socket.listen(WAITING)
    };
    take().with_context(|| {
        format!("cannot listen on {address}; set CHAT_LISTEN to another address, or stop what uses it")
    })
}

/// Serves until `stop` ends; then open streams are told to end and requests have four seconds to finish.
pub async fn serve(app: App, listener: TcpListener, stop: impl Future<Output = ()>) {
    let routes = TowerToHyperService::new(super::routes(&app));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).max_buf_size(BUFFER);
    let sockets = Sockets::new(within_open_files(app.config.limits.sockets));
    let farewells = Arc::new(Semaphore::new(TURNED_AWAY));
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
        let is_proxy = app.config.trusted_proxies.iter().any(|proxy| proxy.covers(peer.ip()));
        let Some(place) = sockets.take(peer.ip(), is_proxy) else {
            if let Ok(farewell) = Arc::clone(&farewells).try_acquire_owned() {
                app.tasks.spawn("farewell", turn_away(stream, farewell));
            }
            continue;
        };
        if let Err(error) = stream.set_nodelay(true).and_then(|()| patience::bound_silence(&stream, READ_TIMEOUT)) {
            tracing::debug!(%error, "an option of a connection was refused");
        }
        let routes = routes.clone();
        // Not a layer: it would copy every route for every connection.
        let answer = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo(peer));
            routes.call(request)
        });
        let connection = builder.serve_connection(TokioIo::new(Patient::new(stream, READ_TIMEOUT)), answer);
        let connection = graceful.watch(connection);
        let hung_up = hang_up.clone();
        app.tasks.spawn("connection", async move {
            let _place = place;
            tokio::select! {
                ended = connection => if let Err(error) = ended {
                    tracing::trace!(%error, "a connection broke");
                },
                () = hung_up.cancelled() => {}
            }
        });
    }
    drop(listener);
    app.tasks.shutdown_token().cancel();
    if tokio::time::timeout(DRAIN, graceful.shutdown()).await.is_err() {
        tracing::warn!("some connections did not end in time");
    }
    hang_up.cancel();
}

/// Bounds the connections of clients to three quarters of the files that the system lets this process open; the rest is for
/// the database, the models and the servers of users. The share of one address shrinks with the total.
fn within_open_files(wanted: Limit) -> Limit {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files")?.split_whitespace().next());
    let most = files.and_then(|files| files.parse::<usize>().ok()).map_or(wanted.all, |files| files / 4 * 3);
    if most >= wanted.all {
        return wanted;
    }
    tracing::info!(
        most,
        wanted = wanted.all,
        "the system's limit on open files (ulimit -n) bounds the connections of clients"
    );
    Limit { each: (wanted.each.saturating_mul(most) / wanted.all).max(1), all: most }
}

/// The connections of clients.
struct Sockets {
    all: Arc<Semaphore>,
    by_address: Places<IpAddr>,
}

impl Sockets {
    fn new(limit: Limit) -> Self {
        let by_address = Places::new(Limit { each: limit.each, all: usize::MAX });
        Self { all: Arc::new(Semaphore::new(limit.all)), by_address }
    }

    /// Takes a place for a connection. A trusted proxy brings the connections of many addresses, so no share bounds it.
    fn take(&self, peer: IpAddr, is_proxy: bool) -> Option<(OwnedSemaphorePermit, Option<Place<IpAddr>>)> {
        let own = if is_proxy { None } else { Some(self.by_address.take(subscriber_of(peer)).ok()?) };
        Some((Arc::clone(&self.all).try_acquire_owned().ok()?, own))
    }
}

/// Tells a client that there is no place for it. Its request is read first: an answer before it could be lost.
async fn turn_away(mut stream: TcpStream, farewell: OwnedSemaphorePermit) {
    let told = async {
        let mut request = [0; 4096];
        drop(stream.read(&mut request).await);
        drop(stream.write_all(NO_PLACE).await);
        drop(stream.shutdown().await);
        drop(stream.read(&mut request).await);
    };
    drop(tokio::time::timeout(FAREWELL, told).await);
    drop(farewell);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn hundreds_may_come_before_the_first_is_let_in() {
        let listener = listen(([127, 0, 0, 1], 0).into()).unwrap();
        let address = listener.local_addr().unwrap();
        let all = futures_util::future::try_join_all((0..300).map(|_| TcpStream::connect(address)));
        let connected = tokio::time::timeout(Duration::from_secs(30), all).await;
        assert_eq!(connected.expect("none waits for a place").unwrap().len(), 300);
    }
}
