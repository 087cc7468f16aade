//! Requests to authorization servers: guarded, bounded, and nothing secret over plain HTTP.

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http::header::ACCEPT;
use serde_json::Value;
use url::Url;

use super::SignInError;
use crate::Error;
use crate::net::GuardedHttp;
use crate::transport::answer;

/// For one request. A person is waiting.
const REQUEST: Duration = Duration::from_secs(10);
/// For one document, in bytes. Real ones have a few thousand.
const DOCUMENT: usize = 256 * 1024;

/// An answer that has been read.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
}

/// A document, or nothing if it is not there.
pub(super) async fn document(guard: &GuardedHttp, url: &Url) -> Result<Option<Value>, SignInError> {
    let answer = send(guard, url, |http| http.get(url.clone())).await?;
    match answer.status.as_u16() {
        200 => {
            let unreadable = SignInError::Document("it is not JSON");
            serde_json::from_slice(&answer.body).map(Some).map_err(|_| unreadable)
        }
        // A redirect is as good as nothing: where it leads is not where the document has to be.
        300..=499 => Ok(None),
        status => Err(Error::Status { status }.into()),
    }
}

/// Sends something and reads the whole answer.
pub(super) async fn send(
    guard: &GuardedHttp,
    url: &Url,
    request: impl FnOnce(&reqwest::Client) -> reqwest::RequestBuilder,
) -> Result<Answer, SignInError> {
    if !guard.policy().is_confidential(url) {
        return Err(SignInError::Insecure);
    }
    let http = guard.client_for(url)?;
    let work = async {
        let response = request(&http).header(ACCEPT, "application/json").send().await;
        let response = response.map_err(|error| Error::from_http(&error))?;
        let status = response.status();
        Ok(Answer { status, body: answer::body(response, DOCUMENT).await? })
    };
    tokio::time::timeout(REQUEST, work).await.unwrap_or(Err(Error::Timeout(REQUEST))).map_err(SignInError::Server)
}
