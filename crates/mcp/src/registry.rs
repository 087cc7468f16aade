//! Client for an MCP registry: the list of public servers, by the registry API v0.1.
//!
//! Anyone can publish there, so entries are untrusted: what is not well-formed is left out, and texts are bounded.

mod entry;

use std::time::Duration;

use domain::network_allowlist::AllowlistEntry;
use http::header::ACCEPT;
use schemars::JsonSchema;
use serde::Serialize;
use url::Url;

use crate::Error;
use crate::net::{GuardedHttp, NetworkPolicy};
use crate::transport::http_response::read_success;
use entry::Page;

/// Time limit for one request to the registry.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of a page in bytes. A hundred entries have about 200 kB.
const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;
/// Number of entries per page; the maximum of the official registry.
const PAGE_SIZE: &str = "100";

/// Client for one registry. Cheap to clone.
#[derive(Debug, Clone)]
pub struct RegistryClient {
    http: GuardedHttp,
    base: Url,
}

/// A part of the list of servers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RegistryPage {
    /// Servers that can be reached over HTTP.
    pub servers: Vec<RegistryServer>,
    /// Position of the next part. `None` at the end.
    pub next_cursor: Option<String>,
}

/// A server in the registry that can be reached over HTTP, in its latest version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistryServer {
    /// Unique name: the namespace of the publisher, a slash and the name of the server.
    pub name: String,
    /// Name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description by the publisher.
    pub description: String,
    /// Version of the server.
    pub version: String,
    /// Publisher. `None` if the registry has not verified the namespace.
    pub publisher: Option<Publisher>,
    /// Whether the publisher advises against new connections.
    pub is_deprecated: bool,
    /// Time of the last change of the entry, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    /// Website of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(url)]
    pub website_url: Option<String>,
    /// Repository of the source code.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(url)]
    pub repository_url: Option<String>,
    /// Addresses of the server; at least one.
    pub remotes: Vec<RegistryRemote>,
}

/// Publisher of a server, who proved to own the namespace of its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Publisher {
    /// Account at GitHub, or domain.
    pub name: String,
    /// Kind of the proof.
    pub verified_by: Verification,
}

/// Proof that a publisher owns a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verification {
    /// A sign-in at GitHub.
    Github,
    /// A key at the domain.
    Domain,
}

/// An address of a server, and what it asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistryRemote {
    /// Transport of the address.
    pub transport: RemoteTransport,
    /// URL, with variables in braces.
    pub url: String,
    /// Whether the host belongs to the publisher's domain. `None` if the publisher is no domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_publisher_domain: Option<bool>,
    /// Variables of the URL.
    pub variables: Vec<RegistryInput>,
    /// Headers to send.
    pub headers: Vec<RegistryHeader>,
}

/// Transport of a [`RegistryRemote`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RemoteTransport {
    /// Streamable HTTP.
    StreamableHttp,
    /// HTTP+SSE of the revision 2024-11-05.
    Sse,
}

/// A value that the user enters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistryInput {
    /// Name of the variable or of the header.
    pub name: String,
    /// Description by the publisher.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether a value is needed.
    pub is_required: bool,
    /// Whether the value is a secret.
    pub is_secret: bool,
    /// Value that applies when the user enters none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Example of a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// Permitted values. Empty if any value is.
    pub choices: Vec<String>,
}

/// A header to send to a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistryHeader {
    /// Name and description of the header, and its value if the user enters it.
    #[serde(flatten)]
    pub input: RegistryInput,
    /// Value of the header, with variables in braces. `None` if the user enters it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Variables of the value.
    pub variables: Vec<RegistryInput>,
}

impl RegistryClient {
    /// Creates a client for the registry at `base`. The administrator names it, so it may be on a private network.
    ///
    /// # Errors
    ///
    /// [`Error::Tls`] if the TLS library rejects its own defaults.
    pub fn new(base: Url) -> Result<Self, Error> {
        let entry = base.host_str().zip(base.port_or_known_default()).map(|(host, port)| format!("{host}:{port}"));
        let allow: Option<AllowlistEntry> = entry.and_then(|entry| entry.parse().ok());
        let http = GuardedHttp::new(NetworkPolicy::new(allow.as_slice(), false, Vec::new()))?;
        Ok(Self { http, base })
    }

    /// Returns the host of the registry.
    pub fn host(&self) -> &str {
        self.base.host_str().unwrap_or_default()
    }

    /// Lists the servers whose names contain `search` (all, if it is empty), from a position that a
    /// [page](RegistryPage::next_cursor) named.
    ///
    /// # Errors
    ///
    /// An [`Error`] of the connection, or [`Error::Protocol`] if the response is not that of a registry.
    pub async fn list(&self, search: &str, cursor: Option<&str>) -> Result<RegistryPage, Error> {
        let url = self.list_url(search, cursor);
        let http = self.http.client_for(&url)?;
        let work = async {
            let response = http.get(url).header(ACCEPT, "application/json").send().await;
            read_success(response.map_err(|error| Error::from_http(&error))?, MAX_PAGE_BYTES).await
        };
        let body = tokio::time::timeout(REQUEST_TIMEOUT, work).await.unwrap_or(Err(Error::Timeout(REQUEST_TIMEOUT)))?;
        let page: Page = serde_json::from_slice(&body)
            .map_err(|_| Error::Protocol("its answer is not that of an MCP registry".to_owned()))?;
        Ok(page.into_page())
    }

    /// Returns the URL of a page. The registry may be below a path.
    fn list_url(&self, search: &str, cursor: Option<&str>) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/v0.1/servers", self.base.path().trim_end_matches('/')));
        {
            let mut query = url.query_pairs_mut();
            query.append_pair("limit", PAGE_SIZE).append_pair("version", "latest");
            if !search.is_empty() {
                query.append_pair("search", search);
            }
            if let Some(cursor) = cursor {
                query.append_pair("cursor", cursor);
            }
        }
        url
    }
}

#[cfg(test)]
mod tests;
