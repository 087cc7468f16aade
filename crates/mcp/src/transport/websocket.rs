//! WebSocket: subprotocol `mcp`, one message per frame. No revision has it, several gateways speak it.

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

use super::answer::{self, Content};
use super::kept::keep;
use super::{Fault, Incoming, Outgoing, parse};
use crate::net::GuardedHttp;
use crate::oauth::{Secret, bearer};
use crate::{Error, Limits, Target};

/// Keeps proxies from dropping an idle connection.
const PING: Duration = Duration::from_secs(25);
/// A server that sends nothing for this long, no pong either, is gone.
const SILENCE: Duration = Duration::from_secs(80);
/// A server that does not read what it is sent is gone, too.
const SEND: Duration = Duration::from_secs(30);
/// For the closing handshake.
const CLOSE: Duration = Duration::from_secs(2);

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// An open WebSocket.
pub(crate) struct Wire {
    // Sends are futures of their own and may overlap, so that they share the sink.
    sink: Arc<Mutex<SplitSink<Socket, Message>>>,
    stream: SplitStream<Socket>,
    ping: Interval,
    heard: Instant,
    limit: usize,
    fault: Fault,
}

impl Wire {
    /// Connects and shakes hands. The subprotocol is offered first; a server that does not answer it is asked again
    /// without, because both kinds exist.
    pub(crate) async fn open(
        guard: &GuardedHttp,
        target: &Target,
        limits: Limits,
        fault: Fault,
    ) -> Result<Self, Error> {
        let limit = limits.message_bytes;
        let mut token = match target.session() {
            Some(session) => session.token().await?,
            None => None,
        };
        let mut socket = Box::pin(either_handshake(guard, target, token.as_ref(), limit)).await;
        if let (Some(session), Some(refused), true) = (target.session(), &token, is_unauthorized(&socket)) {
            token = session.instead_of(refused).await?;
            if token.is_some() {
                socket = Box::pin(either_handshake(guard, target, token.as_ref(), limit)).await;
            }
        }
        let (sink, stream) = socket.map_err(|error| explain(&error, limit))?.split();
        let mut ping = interval_at(Instant::now() + PING, PING);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self { sink: Arc::new(Mutex::new(sink)), stream, ping, heard: Instant::now(), limit, fault })
    }

    fn fail(&self, error: Error) -> Option<Incoming> {
        self.fault.set(error);
        None
    }
}

async fn either_handshake(
    guard: &GuardedHttp,
    target: &Target,
    token: Option<&Secret>,
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

async fn handshake(
    guard: &GuardedHttp,
    target: &Target,
    token: Option<&Secret>,
    limit: usize,
    subprotocol: bool,
) -> Result<Socket, WsError> {
    let mut request = target.url.as_str().into_client_request()?;
    request.headers_mut().extend(target.headers.clone());
    if let Some(token) = token {
        let header = bearer(token).map_err(|error| WsError::Io(std::io::Error::other(error)))?;
        request.headers_mut().insert(AUTHORIZATION, header);
    }
    if subprotocol {
        request.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("mcp"));
    }
    let config = WebSocketConfig::default()
        .read_buffer_size(16 * 1024)
        .max_message_size(Some(limit))
        .max_frame_size(Some(limit));
    let tcp = guard.tcp(&target.url).await.map_err(|error| WsError::Io(std::io::Error::other(error)))?;
    let tls = Connector::Rustls(guard.tls());
    let (socket, _) = Box::pin(client_async_tls_with_config(request, tcp, Some(config), Some(tls))).await?;
    Ok(socket)
}

fn explain(error: &WsError, limit: usize) -> Error {
    match error {
        WsError::Io(error) => Error::from_io(error),
        WsError::Tls(TlsError::Rustls(error)) => Error::from_tls(error),
        WsError::Tls(_) => Error::Tls("the name is not valid in a certificate".to_owned()),
        WsError::Capacity(CapacityError::TooManyHeaders) | WsError::AttackAttempt => {
            Error::Protocol("its headers do not end".to_owned())
        }
        WsError::Capacity(_) => Error::TooLarge(limit),
        WsError::Utf8(_) => Error::Protocol("it sent text that is not UTF-8".to_owned()),
        WsError::Http(response) => match answer::content(response.headers()) {
            Content::Other(what) if response.status().is_success() => Error::NotMcp(what.to_owned()),
            _ if response.status().is_success() => Error::NotMcp("it does not switch to WebSocket".to_owned()),
            _ => answer::refusal(response.status(), response.headers()),
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

impl rmcp::transport::Transport<RoleClient> for Wire {
    type Error = Error;

    fn send(&mut self, message: Outgoing) -> impl Future<Output = Result<(), Error>> + Send + 'static {
        let sink = self.sink.clone();
        async move {
            let text = serde_json::to_string(&message)
                .map_err(|_| Error::Header("the message cannot be written as JSON".to_owned()))?;
            match timeout(SEND, async { sink.lock().await.send(Message::text(text)).await }).await {
                Ok(Ok(())) => Ok(()),
                Ok(Err(_)) => Err(Error::Closed),
                Err(_) => Err(Error::Timeout(SEND)),
            }
        }
    }

    async fn receive(&mut self) -> Option<Incoming> {
        loop {
            let frame = tokio::select! {
                frame = self.stream.next() => frame?,
                _ = self.ping.tick() => {
                    if self.heard.elapsed() > SILENCE {
                        return self.fail(Error::Timeout(SILENCE));
                    }
                    // A send in progress shows that the connection is in use; it bounds itself.
                    if let Ok(mut sink) = self.sink.try_lock() {
                        let sent = timeout(SEND, sink.send(Message::Ping(bytes::Bytes::new()))).await;
                        if !matches!(sent, Ok(Ok(()))) {
                            return None;
                        }
                    }
                    continue;
                }
            };
            self.heard = Instant::now();
            let text = match frame {
                Ok(Message::Text(text)) => text.to_string(),
                Ok(Message::Binary(bytes)) => match String::from_utf8(bytes.to_vec()) {
                    Ok(text) => text,
                    Err(_) => return self.fail(Error::Protocol("it sent text that is not UTF-8".to_owned())),
                },
                Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => continue,
                Ok(Message::Close(_)) => return None,
                Err(error) => {
                    let error = explain(&error, self.limit);
                    return self.fail(error);
                }
            };
            return match parse(&keep(&text)) {
                Ok(message) => Some(message),
                Err(error) => self.fail(error),
            };
        }
    }

    async fn close(&mut self) -> Result<(), Error> {
        let farewell = async {
            let mut sink = self.sink.lock().await;
            sink.close().await.ok();
            while let Some(Ok(_)) = self.stream.next().await {}
        };
        timeout(CLOSE, farewell).await.ok();
        Ok(())
    }
}
