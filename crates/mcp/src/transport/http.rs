//! Streamable HTTP, modern and legacy: the requests. Sessions, streams and versions are the protocol library's.
//!
//! The library brings a client of its own, but that one tells a person too little: a 401 without a challenge, a
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

use super::Fault;
use super::answer::{self, Content};
use super::events::{events, reason};
use super::kept::keep;
use crate::net::GuardedHttp;
use crate::oauth::Session;
use crate::{Error, Limits, Target};

/// A broken stream is resumed this often, where the server supports it at all.
const RESUMES: usize = 8;
const RESUME_DELAY: Duration = Duration::from_secs(30);

pub(crate) type Wire = WorkerTransport<StreamableHttpClientWorker<Requests>>;

/// Makes the wire. Nothing is sent before the handshake.
///
/// The protocol library goes on waiting for a handshake that nobody waits for any more; `abandon` ends all requests.
pub(crate) fn wire(
    guard: &GuardedHttp,
    target: &Target,
    limits: Limits,
    fault: Fault,
    abandon: CancellationToken,
) -> Result<Wire, Error> {
    let (http, session) = (guard.client_for(&target.url)?, target.session().cloned());
    let client = Requests { http, session, limit: limits.message_bytes, fault, abandon };
    let headers = target.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let mut config = StreamableHttpClientTransportConfig::with_uri(target.url.as_str())
        .custom_headers(headers)
        .max_sse_event_size(limits.message_bytes);
    let mut retry = ExponentialBackoff::default();
    retry.max_times = Some(RESUMES);
    retry.max_delay = Some(RESUME_DELAY);
    config.retry_config = Arc::new(retry);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// The error behind what the protocol library reports about this wire.
pub(crate) fn explain(error: &StreamableHttpError<Error>) -> Error {
    match error {
        StreamableHttpError::Client(error) => error.clone(),
        StreamableHttpError::Sse(error) => reason(error),
        StreamableHttpError::ReinitializationFailed(error) => Error::server(error.code.0, &error.message),
        StreamableHttpError::Deserialize(_) | StreamableHttpError::UnexpectedServerResponse(_) => {
            Error::Protocol("it sent something that is not a JSON-RPC message".to_owned())
        }
        _ => Error::Closed,
    }
}

/// Sends single requests.
#[derive(Debug, Clone)]
pub(crate) struct Requests {
    http: reqwest::Client,
    session: Option<Session>,
    limit: usize,
    fault: Fault,
    abandon: CancellationToken,
}

type Failure = StreamableHttpError<Error>;
type Headers = HashMap<HeaderName, HeaderValue>;

impl Requests {
    async fn unless_abandoned<T>(&self, request: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        self.abandon.run_until_cancelled(request).await.unwrap_or(Err(Failure::TransportChannelClosed))
    }

    fn events(&self, response: reqwest::Response, limit: usize, fault: Fault) -> BoxedSseResponse {
        let abandoned = self.abandon.clone().cancelled_owned();
        events(response.bytes_stream(), limit, fault).take_until(abandoned).boxed()
    }

    /// Where the reason is left if the answer to a message breaks off. Without its handshake there is no wire at all.
    fn fault_of(&self, message: &ClientJsonRpcMessage) -> Fault {
        match message {
            ClientJsonRpcMessage::Request(request) => match request.request {
                ClientRequest::InitializeRequest(_) | ClientRequest::DiscoverRequest(_) => self.fault.clone(),
                _ => self.fault.of(&request.id),
            },
            _ => Fault::default(),
        }
    }

    async fn send(
        &self,
        request: reqwest::RequestBuilder,
        session: Option<&str>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<reqwest::Response, Failure> {
        // The person's headers first: what the protocol sets wins.
        let mut request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
        if let Some(session) = session {
            request = request.header(HEADER_SESSION_ID, session);
        }
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        match &self.session {
            Some(session) => session.send(&self.http, request).await.map_err(Failure::Client),
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
        let session_had = session.is_some();
        let session =
            response.headers().get(HEADER_SESSION_ID).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let content = answer::content(response.headers());
        let id = match &message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && session_had {
            return Err(Failure::SessionExpired);
        }
        if !status.is_success() {
            return self.failed(response, content, &message, session_had).await;
        }
        match (content, id) {
            (Content::Events, _) => {
                let fault = self.fault_of(&message);
                Ok(StreamableHttpPostResponse::Sse(self.events(response, limit, fault), session))
            }
            // A notification has no answer; whatever a server says to it does not matter.
            (_, None) => Ok(StreamableHttpPostResponse::Accepted),
            (Content::Json, Some(id)) => {
                let body = answer::body(response, self.limit).await.map_err(Failure::Client)?;
                let message = read_answer(&body, &id).map_err(Failure::Client)?;
                Ok(StreamableHttpPostResponse::Json(message, session))
            }
            (Content::Other(what), Some(_)) => Err(Failure::Client(Error::NotMcp(what.to_owned()))),
        }
    }

    /// An answer that is no success. A JSON-RPC error in it is the server's answer; to a discovery, any refusal that
    /// is not about the person means that the server does not know discovery, so that the older handshake is tried.
    async fn failed(
        &self,
        response: reqwest::Response,
        content: Content,
        message: &ClientJsonRpcMessage,
        session_had: bool,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let status = response.status();
        let refusal = answer::refusal(status, response.headers());
        let ClientJsonRpcMessage::Request(request) = message else { return Err(Failure::Client(refusal)) };
        if status.is_redirection() || matches!(status.as_u16(), 401 | 403 | 407 | 429 | 503) {
            return Err(Failure::Client(refusal));
        }
        let said = match content {
            Content::Json => answer::body(response, self.limit).await.ok().and_then(|body| read_error(&body)),
            _ => None,
        };
        let discovers = matches!(request.request, ClientRequest::DiscoverRequest(_)) && !session_had;
        match said {
            Some(error) => Ok(answered(error, &request.id)),
            None if discovers => Ok(answered(ErrorData::invalid_request(refusal.to_string(), None), &request.id)),
            None => Err(Failure::Client(refusal)),
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
        // A stream that does not go on with another one carries no answer that somebody waits for.
        let fault = if last_event_id.is_some() { self.fault.clone() } else { Fault::default() };
        if let Some(id) = last_event_id {
            request = request.header(HEADER_LAST_EVENT_ID, id);
        }
        let response = self.send(request, session.as_deref(), token, headers).await;
        // The session began before, so that somebody was there.
        if let Err(Failure::Client(Error::ConnectionRefused | Error::Closed)) = &response {
            self.fault.doubt();
        }
        let response = response?;
        let status = response.status();
        if matches!(status.as_u16(), 502..=504) {
            // What stands before the server does not reach it.
            self.fault.doubt();
        }
        if status.is_server_error() {
            return Err(Failure::Client(answer::refusal(status, response.headers())));
        }
        // This stream is an offer that servers refuse in many ways, and asking again changes none of them.
        if !status.is_success() || answer::content(response.headers()) != Content::Events {
            return Err(Failure::ServerDoesNotSupportSse);
        }
        Ok(self.events(response, limit, fault))
    }
}

fn answered(error: ErrorData, id: &RequestId) -> StreamableHttpPostResponse {
    // Middleware that turns a request away does not know its id.
    StreamableHttpPostResponse::Json(ServerJsonRpcMessage::error(error, Some(id.clone())), None)
}

fn read_error(body: &[u8]) -> Option<ErrorData> {
    match serde_json::from_slice(body).ok()? {
        ServerJsonRpcMessage::Error(error) => Some(error.error),
        _ => None,
    }
}

/// The answer to request `id` in a JSON body. Anything else there would leave the caller waiting for nothing.
fn read_answer(body: &[u8], id: &RequestId) -> Result<ServerJsonRpcMessage, Error> {
    let unreadable = || Error::NotMcp("it answered JSON that is not a JSON-RPC message".to_owned());
    let text = std::str::from_utf8(body).map_err(|_| unreadable())?;
    let message = serde_json::from_str(&keep(text)).map_err(|_| unreadable())?;
    match message {
        ServerJsonRpcMessage::Response(response) if response.id.to_string() == id.to_string() => {
            Ok(ServerJsonRpcMessage::Response(response))
        }
        ServerJsonRpcMessage::Error(error) => Ok(ServerJsonRpcMessage::error(error.error, Some(id.clone()))),
        _ => Err(Error::Protocol("it answered a request that was not made".to_owned())),
    }
}

impl StreamableHttpClient for Requests {
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
        self.unless_abandoned(self.post(&uri, message, session, token, headers, limit)).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<(), Failure> {
        // Whether the server keeps the session is its own affair.
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
