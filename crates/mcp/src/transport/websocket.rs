//! WebSocket with subprotocol `mcp`, one message per frame. No revision defines it; several gateways speak it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use http::header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL};
use http::{HeaderValue, StatusCode};
use rmcp::service::RoleClient;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, timeout};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::error::{CapacityError, ProtocolError, SubProtocolError, TlsError};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error as WsError, Message};
use tokio_tungstenite::{Connector, MaybeTlsStream, WebSocketStream, client_async_tls_with_config};

use super::admission::admit;
use super::capability_shim::preserve_task_support;
use super::http_response::{self, ContentType};
use super::{Incoming, Outgoing, TransportErrorSlot, parse_message};
use crate::net::GuardedHttp;
use crate::oauth::{SecretString, bearer_header};
use crate::{ConnectionLimits, ConnectionTarget, Error};

/// Interval of pings, which keep proxies from dropping an idle connection.
const PING_INTERVAL: Duration = Duration::from_secs(25);
/// Time without any frame, pongs included, after which the server counts as gone.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(80);
/// Time limit for sending a frame: a server that does not read counts as gone, too.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// Time limit for the closing handshake.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Open WebSocket.
pub(crate) struct WebSocketTransport {
    /// Shared by the futures of sends, which may overlap.
    sink: Arc<Mutex<SplitSink<Socket, Message>>>,
    stream: SplitStream<Socket>,
    ping: Interval,
    /// Time of the last frame.
    last_frame_at: Instant,
    limit: usize,
    transport_errors: TransportErrorSlot,
}

impl WebSocketTransport {
    /// Connects. Offers the subprotocol first, and connects again without it if the server does not accept it:
    /// servers of both kinds exist. A rejected token is replaced once.
    pub(crate) async fn open(
        guard: &GuardedHttp,
        target: &ConnectionTarget,
        limits: ConnectionLimits,
        transport_errors: TransportErrorSlot,
    ) -> Result<Self, Error> {
        let limit = limits.message_bytes;
        let mut token = match target.token_source() {
            Some(source) => source.token().await?,
            None => None,
        };
        let mut socket = Box::pin(connect_with_or_without_subprotocol(guard, target, token.as_ref(), limit)).await;
        // Once only: a server that rejects a fresh token will reject the next one too.
        if let (Some(source), Some(rejected), true) = (target.token_source(), &token, is_unauthorized(&socket)) {
            token = source.replace_rejected(rejected).await?;
            if token.is_some() {
                socket = Box::pin(connect_with_or_without_subprotocol(guard, target, token.as_ref(), limit)).await;
            }
        }
        let (sink, stream) = socket.map_err(|error| explain_error(&error, limit))?.split();
        let mut ping = interval_at(Instant::now() + PING_INTERVAL, PING_INTERVAL);
        // After a suspension of the machine one ping is enough.
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self {
            sink: Arc::new(Mutex::new(sink)),
            stream,
            ping,
            last_frame_at: Instant::now(),
            limit,
            transport_errors,
        })
    }

    /// Stores the error and ends the transport.
    fn fail(&self, error: Error) -> Option<Incoming> {
        self.transport_errors.set(error);
        None
    }
}

async fn connect_with_or_without_subprotocol(
    guard: &GuardedHttp,
    target: &ConnectionTarget,
    token: Option<&SecretString>,
    limit: usize,
) -> Result<Socket, WsError> {
    match handshake(guard, target, token, limit, true).await {
        Err(WsError::Protocol(ProtocolError::SecWebSocketSubProtocolError(SubProtocolError::NoSubProtocol))) => {
            handshake(guard, target, token, limit, false).await
        }
        other => other,
    }
}

fn is_unauthorized(socket: &Result<Socket, WsError>) -> bool {
    matches!(socket, Err(WsError::Http(response)) if response.status() == StatusCode::UNAUTHORIZED)
}

/// Opens the connection and completes the WebSocket handshake.
async fn handshake(
    guard: &GuardedHttp,
    target: &ConnectionTarget,
    token: Option<&SecretString>,
    limit: usize,
    subprotocol: bool,
) -> Result<Socket, WsError> {
    let mut request = target.url.as_str().into_client_request()?;
    request.headers_mut().extend(target.headers.clone());
    if let Some(token) = token {
        let header = bearer_header(token).map_err(|error| WsError::Io(std::io::Error::other(error)))?;
        request.headers_mut().insert(AUTHORIZATION, header);
    }
    if subprotocol {
        request.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("mcp"));
    }
    // The limits are enforced by the library, before a message is in memory.
    let config = WebSocketConfig::default()
        .read_buffer_size(16 * 1024)
        .max_message_size(Some(limit))
        .max_frame_size(Some(limit));
    let tcp = guard.connect_tcp(&target.url).await.map_err(|error| WsError::Io(std::io::Error::other(error)))?;
    let tls = Connector::Rustls(guard.tls_config());
    let (socket, _) = Box::pin(client_async_tls_with_config(request, tcp, Some(config), Some(tls))).await?;
    Ok(socket)
}

/// Translates an error of the WebSocket library.
fn explain_error(error: &WsError, limit: usize) -> Error {
    match error {
        WsError::Io(error) => Error::from_io(error),
        WsError::Tls(TlsError::Rustls(error)) => Error::from_tls(error),
        WsError::Tls(_) => Error::Tls("the name is not valid in a certificate".to_owned()),
        WsError::Capacity(CapacityError::TooManyHeaders) | WsError::AttackAttempt => {
            Error::Protocol("its headers do not end".to_owned())
        }
        WsError::Capacity(_) => Error::TooLarge(limit),
        WsError::Utf8(_) => Error::Protocol("it sent text that is not UTF-8".to_owned()),
        WsError::Http(response) => match http_response::content_type(response.headers()) {
            ContentType::Other(what) if response.status().is_success() => Error::NotMcp(what.to_owned()),
            _ if response.status().is_success() => Error::NotMcp("it does not switch to WebSocket".to_owned()),
            _ => http_response::status_error(response.status(), response.headers()),
        },
        WsError::Protocol(
            ProtocolError::MissingConnectionUpgradeHeader
            | ProtocolError::MissingUpgradeWebSocketHeader
            | ProtocolError::SecWebSocketAcceptKeyMismatch,
        )
        | WsError::HttpFormat(_) => Error::NotMcp("it does not switch to WebSocket".to_owned()),
        WsError::Protocol(ProtocolError::ResetWithoutClosingHandshake | ProtocolError::HandshakeIncomplete)
        | WsError::ConnectionClosed
        | WsError::AlreadyClosed => Error::Closed,
        WsError::Protocol(_) => Error::Protocol("its WebSocket cannot be read".to_owned()),
        _ => Error::Closed,
    }
}

impl rmcp::transport::Transport<RoleClient> for WebSocketTransport {
    type Error = Error;

    fn send(&mut self, message: Outgoing) -> impl Future<Output = Result<(), Error>> + Send + 'static {
        let sink = self.sink.clone();
        async move {
            let text = serde_json::to_string(&message)
                .map_err(|_| Error::Header("the message cannot be written as JSON".to_owned()))?;
            match timeout(SEND_TIMEOUT, async { sink.lock().await.send(Message::text(text)).await }).await {
                Ok(Ok(())) => Ok(()),
                Ok(Err(_)) => Err(Error::Closed),
                Err(_) => Err(Error::Timeout(SEND_TIMEOUT)),
            }
        }
    }

    async fn receive(&mut self) -> Option<Incoming> {
        loop {
            let frame = tokio::select! {
                frame = self.stream.next() => frame?,
                _ = self.ping.tick() => {
                    if self.last_frame_at.elapsed() > SILENCE_TIMEOUT {
                        return self.fail(Error::Timeout(SILENCE_TIMEOUT));
                    }
                    // A send in progress holds the lock. It keeps the connection in use and has its own timeout.
                    if let Ok(mut sink) = self.sink.try_lock() {
                        let sent = timeout(SEND_TIMEOUT, sink.send(Message::Ping(bytes::Bytes::new()))).await;
                        if !matches!(sent, Ok(Ok(()))) {
                            return None;
                        }
                    }
                    continue;
                }
            };
            self.last_frame_at = Instant::now();
            let text = match frame {
                Ok(Message::Text(text)) => text.to_string(),
                Ok(Message::Binary(bytes)) => match String::from_utf8(bytes.to_vec()) {
                    Ok(text) => text,
                    Err(_) => return self.fail(Error::Protocol("it sent text that is not UTF-8".to_owned())),
                },
                Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => continue,
                Ok(Message::Close(_)) => return None,
                Err(error) => {
                    let error = explain_error(&error, self.limit);
                    return self.fail(error);
                }
            };
            let _admission = match admit(&text).await {
                Ok(admission) => admission,
                Err(error) => return self.fail(error),
            };
            return match parse_message(&preserve_task_support(&text)) {
                Ok(message) => Some(message),
                Err(error) => self.fail(error),
            };
        }
    }

    async fn close(&mut self) -> Result<(), Error> {
        let handshake = async {
            let mut sink = self.sink.lock().await;
            let _ = sink.close().await;
            // The server's close frame arrives only by reading (RFC 6455, 7.1.1); messages before it are discarded.
            while let Some(Ok(_)) = self.stream.next().await {}
        };
        let _ = timeout(CLOSE_TIMEOUT, handshake).await;
        Ok(())
    }
}
