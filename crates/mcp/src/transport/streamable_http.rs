//! Streamable HTTP, modern and legacy: sends the requests. The protocol library handles sessions, streams and versions.
//!
//! The library has an HTTP client of its own, but its errors say too little for users: a 401 without a challenge, a
//! redirect and an HTML page all look alike.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use http::header::{ACCEPT, AUTHORIZATION};
use http::{HeaderName, HeaderValue, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::common::client_side_sse::{BoxedSseResponse, ExponentialBackoff};
use rmcp::transport::common::http_header::{HEADER_LAST_EVENT_ID, HEADER_SESSION_ID};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
    StreamableHttpClientWorker, StreamableHttpError, StreamableHttpPostResponse,
};
use rmcp::transport::worker::WorkerTransport;
use tokio_util::sync::CancellationToken;

use super::admission::admit;
use super::capability_shim::preserve_task_support;
use super::http_response::{self, ContentType};
use super::sse_events::{self, read_events};
use super::{TransportErrorSlot, is_reply};
use crate::answer_retry::{AnswerRetry, MAX_ANSWER_DELAY};
use crate::net::GuardedHttp;
use crate::oauth::TokenSource;
use crate::{ConnectionLimits, ConnectionTarget, Error};

/// Maximum number of attempts to resume a broken stream, where the server supports that.
const MAX_RESUME_ATTEMPTS: usize = 8;
/// Longest wait between these attempts.
const MAX_RESUME_DELAY: Duration = Duration::from_secs(30);

/// Longest wait for a server to accept a reply or a cancellation, which the library sends one after the other. It includes
/// the time in which a database that hangs is found out, when the access token is read.
const CONTROL_TIMEOUT: Duration = Duration::from_secs(15);

/// Transport of the protocol library over [`RequestSender`].
pub(crate) type StreamableHttpTransport = WorkerTransport<StreamableHttpClientWorker<RequestSender>>;

/// Creates the transport. Sends nothing before the handshake.
///
/// The protocol library keeps waiting for a handshake whose caller was dropped; cancelling `abandon` ends all requests.
pub(crate) fn new_transport(
    guard: &GuardedHttp,
    target: &ConnectionTarget,
    limits: ConnectionLimits,
    transport_errors: TransportErrorSlot,
    abandon: CancellationToken,
) -> Result<StreamableHttpTransport, Error> {
    let (http, token_source) = (guard.client_for(&target.url)?, target.token_source().cloned());
    let client = RequestSender { http, token_source, limit: limits.message_bytes, transport_errors, abandon };
    let headers = target.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let mut config = StreamableHttpClientTransportConfig::with_uri(target.url.as_str())
        .custom_headers(headers)
        .max_sse_event_size(limits.message_bytes);
    let mut retry = ExponentialBackoff::default();
    retry.max_times = Some(MAX_RESUME_ATTEMPTS);
    retry.max_delay = Some(MAX_RESUME_DELAY);
    config.retry_config = Arc::new(retry);
    config.control_request_timeout = MAX_ANSWER_DELAY + CONTROL_TIMEOUT;
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// Translates an error that the protocol library reports about this transport.
pub(crate) fn explain_error(error: &StreamableHttpError<Error>) -> Error {
    match error {
        StreamableHttpError::Client(error) => error.clone(),
        StreamableHttpError::Sse(error) => sse_events::explain_error(error),
        StreamableHttpError::ReinitializationFailed(error) => Error::server(error.code.0, &error.message),
        StreamableHttpError::Deserialize(_) | StreamableHttpError::UnexpectedServerResponse(_) => {
            Error::Protocol("it sent something that is not a JSON-RPC message".to_owned())
        }
        _ => Error::Closed,
    }
}

/// Sender of single HTTP requests.
#[derive(Debug, Clone)]
pub(crate) struct RequestSender {
    http: reqwest::Client,
    token_source: Option<TokenSource>,
    /// Maximum size of a message, in bytes.
    limit: usize,
    transport_errors: TransportErrorSlot,
    abandon: CancellationToken,
}

type Failure = StreamableHttpError<Error>;
type Headers = HashMap<HeaderName, HeaderValue>;

impl RequestSender {
    async fn unless_abandoned<T>(&self, request: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        self.abandon.run_until_cancelled(request).await.unwrap_or(Err(Failure::TransportChannelClosed))
    }

    /// Reads the events of a response until the connection is abandoned.
    fn read_events(
        &self,
        response: reqwest::Response,
        limit: usize,
        transport_errors: TransportErrorSlot,
    ) -> BoxedSseResponse {
        let abandoned = self.abandon.clone().cancelled_owned();
        read_events(response.bytes_stream(), limit, transport_errors).take_until(abandoned).boxed()
    }

    /// Returns the slot for the error that breaks off the response to a message. A handshake has that of the transport,
    /// which does not exist without it.
    fn error_slot_for(&self, message: &ClientJsonRpcMessage) -> TransportErrorSlot {
        match message {
            ClientJsonRpcMessage::Request(request) => match request.request {
                ClientRequest::InitializeRequest(_) | ClientRequest::DiscoverRequest(_) => {
                    self.transport_errors.clone()
                }
                _ => self.transport_errors.for_request(&request.id),
            },
            _ => TransportErrorSlot::default(),
        }
    }

    async fn send(
        &self,
        request: reqwest::RequestBuilder,
        session: Option<&str>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<reqwest::Response, Failure> {
        // The user's headers first, so that those of the protocol win.
        let mut request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
        if let Some(session) = session {
            request = request.header(HEADER_SESSION_ID, session);
        }
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        match &self.token_source {
            Some(source) => source.send(&self.http, request).await.map_err(Failure::Client),
            None => request.send().await.map_err(|error| Failure::Client(Error::from_http(&error))),
        }
    }

    async fn post(
        &self,
        uri: &str,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        limit: usize,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let request = self.http.post(uri).header(ACCEPT, "application/json, text/event-stream").json(&message);
        let response = self.send(request, session.as_deref(), token, headers).await?;
        let status = response.status();
        let has_session = session.is_some();
        let session =
            response.headers().get(HEADER_SESSION_ID).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let content = http_response::content_type(response.headers());
        let id = match &message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        // The specification says 202 for notifications and responses; some servers answer 204.
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        // The specification's signal for an expired session; the library then initializes a new one.
        if status == StatusCode::NOT_FOUND && has_session {
            return Err(Failure::SessionExpired);
        }
        if !status.is_success() {
            return self.handle_failure(response, content, &message, has_session).await;
        }
        match (content, id) {
            (ContentType::Events, _) => {
                let transport_errors = self.error_slot_for(&message);
                Ok(StreamableHttpPostResponse::Sse(self.read_events(response, limit, transport_errors), session))
            }
            // A notification has no response: whatever the body is, it does not matter.
            (_, None) => Ok(StreamableHttpPostResponse::Accepted),
            (ContentType::Json, Some(id)) => {
                let body = http_response::read_body(response, self.limit).await.map_err(Failure::Client)?;
                let message = parse_response_body(&body, &id).await.map_err(Failure::Client)?;
                Ok(StreamableHttpPostResponse::Json(message, session))
            }
            (ContentType::Other(what), Some(_)) => Err(Failure::Client(Error::NotMcp(what.to_owned()))),
        }
    }

    /// Posts a reply or a notification. A reply that cannot be sent for the moment is sent later.
    async fn post_without_response(
        &self,
        uri: &str,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        limit: usize,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let retry = AnswerRetry::new(is_reply(&message));
        loop {
            let post = self.post(uri, message.clone(), session.clone(), token.clone(), headers.clone(), limit);
            match tokio::time::timeout(CONTROL_TIMEOUT, post).await {
                Ok(Err(Failure::Client(error))) if retry.wait_to_repeat(&error).await => {}
                Ok(posted) => return posted,
                Err(_) => return Err(Failure::ControlRequestTimeout),
            }
        }
    }

    /// Handles a response that is no success. A JSON-RPC error in its body is the server's answer. To a discovery, any
    /// status that is not about the user's access becomes one, too: it means that the server does not know discovery,
    /// and makes the library try `initialize`.
    async fn handle_failure(
        &self,
        response: reqwest::Response,
        content: ContentType,
        message: &ClientJsonRpcMessage,
        has_session: bool,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let status = response.status();
        let status_error = http_response::status_error(status, response.headers());
        let ClientJsonRpcMessage::Request(request) = message else { return Err(Failure::Client(status_error)) };
        // These concern the user's access or the server's availability; a fallback to another protocol would hide
        // them.
        if status.is_redirection() || matches!(status.as_u16(), 401 | 403 | 407 | 429 | 503) {
            return Err(Failure::Client(status_error));
        }
        let answer = match content {
            ContentType::Json => match http_response::read_body(response, self.limit).await {
                Ok(body) => parse_error_body(&body).await,
                Err(_) => None,
            },
            _ => None,
        };
        let is_discovery = matches!(request.request, ClientRequest::DiscoverRequest(_)) && !has_session;
        match answer {
            Some(error) => Ok(error_response(error, &request.id)),
            None if is_discovery => {
                Ok(error_response(ErrorData::invalid_request(status_error.to_string(), None), &request.id))
            }
            None => Err(Failure::Client(status_error)),
        }
    }

    async fn stream(
        &self,
        uri: &str,
        session: Option<Arc<str>>,
        last_event_id: Option<String>,
        token: Option<String>,
        headers: Headers,
        limit: usize,
    ) -> Result<BoxedSseResponse, Failure> {
        let mut request = self.http.get(uri).header(ACCEPT, "text/event-stream");
        // Only a resumed stream carries a response that a request waits for.
        let transport_errors =
            if last_event_id.is_some() { self.transport_errors.clone() } else { TransportErrorSlot::default() };
        if let Some(id) = last_event_id {
            request = request.header(HEADER_LAST_EVENT_ID, id);
        }
        let response = self.send(request, session.as_deref(), token, headers).await;
        // The handshake succeeded before, so the server was there and may be gone now.
        if let Err(Failure::Client(Error::ConnectionRefused | Error::Closed)) = &response {
            self.transport_errors.signal_doubt();
        }
        let response = response?;
        let status = response.status();
        if matches!(status.as_u16(), 502..=504) {
            // A gateway does not reach the server.
            self.transport_errors.signal_doubt();
        }
        if status.is_server_error() {
            return Err(Failure::Client(http_response::status_error(status, response.headers())));
        }
        // The stream is optional, and servers refuse it in many ways; a repetition would not help.
        if !status.is_success() || http_response::content_type(response.headers()) != ContentType::Events {
            return Err(Failure::ServerDoesNotSupportSse);
        }
        Ok(self.read_events(response, limit, transport_errors))
    }
}

/// Builds the response with a JSON-RPC error.
fn error_response(error: ErrorData, id: &RequestId) -> StreamableHttpPostResponse {
    // Middleware that rejects a request does not know its id.
    StreamableHttpPostResponse::Json(ServerJsonRpcMessage::error(error, Some(id.clone())), None)
}

/// Returns the JSON-RPC error in a body, if it is one.
async fn parse_error_body(body: &[u8]) -> Option<ErrorData> {
    let text = std::str::from_utf8(body).ok()?;
    let _admission = admit(text).await.ok()?;
    match serde_json::from_str(text).ok()? {
        ServerJsonRpcMessage::Error(error) => Some(error.error),
        _ => None,
    }
}

/// Returns the response to request `id` in a JSON body. Another message is an error: the caller would wait forever.
async fn parse_response_body(body: &[u8], id: &RequestId) -> Result<ServerJsonRpcMessage, Error> {
    let unreadable = || Error::NotMcp("it answered JSON that is not a JSON-RPC message".to_owned());
    let text = std::str::from_utf8(body).map_err(|_| unreadable())?;
    let _admission = admit(text).await?;
    let message = serde_json::from_str(&preserve_task_support(text)).map_err(|_| unreadable())?;
    match message {
        // Compared as text: some servers return a numeric id as a string.
        ServerJsonRpcMessage::Response(response) if response.id.to_string() == id.to_string() => {
            Ok(ServerJsonRpcMessage::Response(response))
        }
        // The id is replaced, because it is null if the server could not read the request.
        ServerJsonRpcMessage::Error(error) => Ok(ServerJsonRpcMessage::error(error.error, Some(id.clone()))),
        _ => Err(Error::Protocol("it answered a request that was not made".to_owned())),
    }
}

impl StreamableHttpClient for RequestSender {
    type Error = Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let limit = self.limit;
        self.post_message_with_max_sse_event_size(uri, message, session, token, headers, limit).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        limit: usize,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        if matches!(message, ClientJsonRpcMessage::Request(_)) {
            self.unless_abandoned(self.post(&uri, message, session, token, headers, limit)).await
        } else {
            self.unless_abandoned(self.post_without_response(&uri, message, session, token, headers, limit)).await
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<(), Failure> {
        // The session is over for this client, whatever the server answers.
        self.send(self.http.delete(uri.as_ref()), Some(&session), token, headers).await.map(drop)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event_id: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<BoxedSseResponse, Failure> {
        let limit = self.limit;
        self.get_stream_with_max_sse_event_size(uri, session, last_event_id, token, headers, limit).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event_id: Option<String>,
        token: Option<String>,
        headers: Headers,
        limit: usize,
    ) -> Result<BoxedSseResponse, Failure> {
        self.unless_abandoned(self.stream(&uri, session, last_event_id, token, headers, limit)).await
    }
}
