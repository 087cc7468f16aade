//! HTTP+SSE, the transport of 2024-11-05: one event stream that brings everything, and a POST address that it names.

use futures_util::StreamExt;
use http::HeaderMap;
use http::header::ACCEPT;
use rmcp::service::RoleClient;
use url::Url;

use super::answer::{self, Content};
use super::events::{Events, events, reason};
use super::{Fault, Incoming, Outgoing, parse};
use crate::net::GuardedHttp;
use crate::oauth::Session;
use crate::{Error, Limits, Target};

/// An open event stream and the address that takes messages.
pub(crate) struct Wire {
    events: Events,
    http: reqwest::Client,
    session: Option<Session>,
    endpoint: Url,
    headers: HeaderMap,
    fault: Fault,
}

impl Wire {
    /// Opens the stream and waits for its first event, which names the POST address.
    pub(crate) async fn open(
        guard: &GuardedHttp,
        target: &Target,
        limits: Limits,
        fault: Fault,
    ) -> Result<Self, Error> {
        let http = guard.client_for(&target.url)?;
        let request = http.get(target.url.clone()).headers(target.headers.clone()).header(ACCEPT, "text/event-stream");
        let session = target.session().cloned();
        let response = send(&http, session.as_ref(), request).await?;
        if !response.status().is_success() {
            return Err(answer::refusal(response.status(), response.headers()));
        }
        match answer::content(response.headers()) {
            Content::Events => {}
            Content::Json => return Err(Error::NotMcp("it answered JSON where an event stream was due".to_owned())),
            Content::Other(what) => return Err(Error::NotMcp(what.to_owned())),
        }
        let mut events = events(response.bytes_stream(), limits.message_bytes, fault.clone());
        let endpoint = first_endpoint(&mut events, &target.url).await?;
        Ok(Self { events, http, session, endpoint, headers: target.headers.clone(), fault })
    }
}

async fn send(
    http: &reqwest::Client,
    session: Option<&Session>,
    request: reqwest::RequestBuilder,
) -> Result<reqwest::Response, Error> {
    match session {
        Some(session) => session.send(http, request).await,
        None => request.send().await.map_err(|error| Error::from_http(&error)),
    }
}

async fn first_endpoint(events: &mut Events, url: &Url) -> Result<Url, Error> {
    while let Some(event) = events.next().await {
        let event = event.map_err(|error| reason(&error))?;
        match (event.event.as_deref(), event.data) {
            (Some("endpoint"), Some(data)) => return endpoint(url, &data),
            (None, None) => {}
            _ => return Err(Error::NotMcp("its event stream does not begin with an endpoint".to_owned())),
        }
    }
    Err(Error::Closed)
}

/// The POST address, which has to be of the stream's own origin: the person's headers go there.
fn endpoint(url: &Url, data: &str) -> Result<Url, Error> {
    let wrong = |why: &str| Error::Protocol(why.to_owned());
    let endpoint = url.join(data.trim()).map_err(|_| wrong("its endpoint is not an address"))?;
    if endpoint.origin() != url.origin() || !endpoint.username().is_empty() || endpoint.password().is_some() {
        return Err(wrong("its endpoint is on another server"));
    }
    Ok(endpoint)
}

impl rmcp::transport::Transport<RoleClient> for Wire {
    type Error = Error;

    fn send(&mut self, message: Outgoing) -> impl Future<Output = Result<(), Error>> + Send + 'static {
        let request = self.http.post(self.endpoint.clone()).headers(self.headers.clone()).json(&message);
        let (http, session) = (self.http.clone(), self.session.clone());
        async move {
            let response = send(&http, session.as_ref(), request).await?;
            if response.status().is_success() {
                Ok(())
            } else {
                Err(answer::refusal(response.status(), response.headers()))
            }
        }
    }

    async fn receive(&mut self) -> Option<Incoming> {
        loop {
            let event = self.events.next().await?.ok()?;
            let Some(data) = event.data else { continue };
            if !matches!(event.event.as_deref(), None | Some("" | "message")) {
                continue;
            }
            match parse(&data) {
                Ok(message) => return Some(message),
                Err(error) => {
                    self.fault.set(error);
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Error> {
        // Letting go of the stream is how this transport ends.
        self.events = futures_util::stream::empty().boxed();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_endpoint_is_of_the_same_origin() {
        let url = "https://a.example:8443/x/sse?k=1".parse().unwrap();
        let to = |data: &str| endpoint(&url, data).map(|url| url.to_string()).ok();
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
