//! HTTP+SSE, the transport of 2024-11-05: one event stream for all messages of the server, and a POST address that it
//! names in its first event.

use futures_util::StreamExt;
use http::HeaderMap;
use http::header::ACCEPT;
use rmcp::service::RoleClient;
use url::Url;

use super::admission::admit;
use super::http_response::{self, ContentType};
use super::sse_events::{SseEventStream, explain_error, read_events};
use super::{Incoming, Outgoing, TransportErrorSlot, is_reply, parse_message};
use crate::answer_retry::AnswerRetry;
use crate::net::GuardedHttp;
use crate::oauth::TokenSource;
use crate::{ConnectionLimits, ConnectionTarget, Error};

/// Open event stream and the address for messages.
pub(crate) struct HttpSseTransport {
    events: SseEventStream,
    http: reqwest::Client,
    token_source: Option<TokenSource>,
    endpoint: Url,
    headers: HeaderMap,
    transport_errors: TransportErrorSlot,
}

impl HttpSseTransport {
    /// Opens the stream and waits for the POST address.
    pub(crate) async fn open(
        guard: &GuardedHttp,
        target: &ConnectionTarget,
        limits: ConnectionLimits,
        transport_errors: TransportErrorSlot,
    ) -> Result<Self, Error> {
        let http = guard.client_for(&target.url)?;
        let request = http.get(target.url.clone()).headers(target.headers.clone()).header(ACCEPT, "text/event-stream");
        let token_source = target.token_source().cloned();
        let response = send(&http, token_source.as_ref(), request).await?;
        if !response.status().is_success() {
            return Err(http_response::status_error(response.status(), response.headers()));
        }
        match http_response::content_type(response.headers()) {
            ContentType::Events => {}
            ContentType::Json => {
                return Err(Error::NotMcp("it answered JSON where an event stream was due".to_owned()));
            }
            ContentType::Other(what) => return Err(Error::NotMcp(what.to_owned())),
        }
        let mut events = read_events(response.bytes_stream(), limits.message_bytes, transport_errors.clone());
        let endpoint = receive_endpoint(&mut events, &target.url).await?;
        Ok(Self { events, http, token_source, endpoint, headers: target.headers.clone(), transport_errors })
    }
}

/// Sends a request with the access token, if there is a sign-in.
async fn send(
    http: &reqwest::Client,
    token_source: Option<&TokenSource>,
    request: reqwest::RequestBuilder,
) -> Result<reqwest::Response, Error> {
    match token_source {
        Some(source) => source.send(http, request).await,
        None => request.send().await.map_err(|error| Error::from_http(&error)),
    }
}

/// Waits for the event that names the POST address.
async fn receive_endpoint(events: &mut SseEventStream, url: &Url) -> Result<Url, Error> {
    while let Some(event) = events.next().await {
        let event = event.map_err(|error| explain_error(&error))?;
        match (event.event.as_deref(), event.data) {
            (Some("endpoint"), Some(data)) => return resolve_endpoint(url, &data),
            // Such an event carries nothing, for example a keep-alive.
            (None, None) => {}
            _ => return Err(Error::NotMcp("its event stream does not begin with an endpoint".to_owned())),
        }
    }
    Err(Error::Closed)
}

/// Resolves the POST address. It has to have the origin of the stream, because the user's headers are sent to it.
fn resolve_endpoint(url: &Url, data: &str) -> Result<Url, Error> {
    let wrong = |why: &str| Error::Protocol(why.to_owned());
    let endpoint = url.join(data.trim()).map_err(|_| wrong("its endpoint is not an address"))?;
    if endpoint.origin() != url.origin() || !endpoint.username().is_empty() || endpoint.password().is_some() {
        return Err(wrong("its endpoint is on another server"));
    }
    Ok(endpoint)
}

impl rmcp::transport::Transport<RoleClient> for HttpSseTransport {
    type Error = Error;

    fn send(&mut self, message: Outgoing) -> impl Future<Output = Result<(), Error>> + Send + 'static {
        let (http, token_source) = (self.http.clone(), self.token_source.clone());
        let (endpoint, headers) = (self.endpoint.clone(), self.headers.clone());
        async move {
            let retry = AnswerRetry::new(is_reply(&message));
            let response = loop {
                let request = http.post(endpoint.clone()).headers(headers.clone()).json(&message);
                match send(&http, token_source.as_ref(), request).await {
                    Err(error) if retry.wait_to_repeat(&error).await => {}
                    sent => break sent?,
                }
            };
            // The body is ignored: the answer arrives on the event stream.
            if response.status().is_success() {
                Ok(())
            } else {
                Err(http_response::status_error(response.status(), response.headers()))
            }
        }
    }

    async fn receive(&mut self) -> Option<Incoming> {
        loop {
            let event = self.events.next().await?.ok()?;
            let Some(data) = event.data else { continue };
            // An event without a type is a `message` (WHATWG HTML, 9.2.6); other types are not the protocol's.
            if !matches!(event.event.as_deref(), None | Some("" | "message")) {
                continue;
            }
            let _admission = match admit(&data).await {
                Ok(admission) => admission,
                Err(error) => {
                    self.transport_errors.set(error);
                    return None;
                }
            };
            match parse_message(&data) {
                Ok(message) => return Some(message),
                Err(error) => {
                    self.transport_errors.set(error);
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Error> {
        // Dropping the stream ends the transport; there is no closing handshake.
        self.events = futures_util::stream::empty().boxed();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_endpoint_of_the_same_origin_only() {
        let url = "https://a.example:8443/x/sse?k=1".parse().unwrap();
        let to = |data: &str| resolve_endpoint(&url, data).map(|url| url.to_string()).ok();
        assert_eq!(to("/messages?s=1").as_deref(), Some("https://a.example:8443/messages?s=1"));
        assert_eq!(to("messages").as_deref(), Some("https://a.example:8443/x/messages"));
        assert_eq!(to("https://A.example:8443/m").as_deref(), Some("https://a.example:8443/m"));
        for other in [
            "https://a.example/m",
            "http://a.example:8443/m",
            "https://b.example:8443/m",
            "//b.example/m",
            "https://user@a.example:8443/m",
            "file:///etc/passwd",
            "http://[",
            r"\\b.example\m",
        ] {
            assert_eq!(to(other), None, "{other}");
        }
    }
}
