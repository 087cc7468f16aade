//! Requests to Google, at the addresses that the administrator configured, and answers of bounded size.

use std::error::Error;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::{Client, ClientBuilder, RequestBuilder, StatusCode};
use serde::de::DeserializeOwned;

use super::error::DriveError;

/// Time to reach Google.
const CONNECT: Duration = Duration::from_secs(10);
/// Time for a whole answer.
const TOTAL: Duration = Duration::from_mins(1);
/// The longest document of the API, in bytes; 100 files with their names are far below that.
pub const MAX_DOCUMENT: usize = 1024 * 1024;

/// The client, made when it is first needed: making it reads the certificates of the system.
#[derive(Debug, Default)]
pub struct Http(OnceLock<Result<Client, String>>);

/// An answer, or its beginning.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub body: Vec<u8>,
    /// The body goes on.
    pub is_cut: bool,
}

impl Http {
    /// For making requests.
    pub fn client(&self) -> Result<&Client, DriveError> {
        let made = self.0.get_or_init(|| {
            // Without certificates on the system, an endpoint that speaks plain HTTP is still reachable.
            let client = builder().build().or_else(|_| builder().tls_certs_only([]).build());
            client.map_err(|error| innermost(&error))
        });
        made.as_ref().map_err(|reason| DriveError::Unreachable(reason.clone()))
    }
}

#[expect(clippy::disallowed_methods, reason = "Google's addresses are the administrator's")]
fn builder() -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("ai-chat-mcp/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .timeout(TOTAL)
        .redirect(reqwest::redirect::Policy::none())
}

/// Sends a request and reads a JSON document.
pub async fn document(request: RequestBuilder) -> Result<Answer, DriveError> {
    let answer = send(request, MAX_DOCUMENT).await?;
    if answer.is_cut { Err(DriveError::Unreadable) } else { Ok(answer) }
}

/// Sends a request and reads at most `limit` bytes of the answer.
pub async fn send(request: RequestBuilder, limit: usize) -> Result<Answer, DriveError> {
    let unreachable = |error: reqwest::Error| {
        DriveError::Unreachable(if error.is_timeout() { "it took too long".into() } else { innermost(&error) })
    };
    let mut response = request.send().await.map_err(unreachable)?;
    let status = response.status();
    let mut body = Vec::new();
    while body.len() <= limit
        && let Some(piece) = response.chunk().await.map_err(unreachable)?
    {
        body.extend_from_slice(&piece);
    }
    let is_cut = body.len() > limit;
    body.truncate(limit);
    Ok(Answer { status, body, is_cut })
}

impl Answer {
    /// The document, as what it should be.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, DriveError> {
        serde_json::from_slice(&self.body).map_err(|_| DriveError::Unreadable)
    }
}

/// The cause at the bottom, which says most; the layers above it name addresses.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
