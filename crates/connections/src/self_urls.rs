//! The addresses of this server itself.

use std::net::SocketAddr;

use url::Url;

/// Paths of the built-in MCP servers.
const BUILTIN_SERVER_PATHS: [&str; 2] = ["/mcp/toolbox", "/mcp/google-drive"];

/// Every `host:port` under which this server is reachable.
#[derive(Debug, Clone)]
pub struct SelfUrls(Vec<String>);

impl SelfUrls {
    /// Collects the addresses of a server that listens on `address` and has the public origin `site`.
    pub fn new(address: SocketAddr, site: &Url) -> Self {
        let port = address.port();
        let mut hosts = vec![address.to_string(), host_and_port(site)];
        // A server that listens on all addresses is reached over loopback, too.
        if address.ip().is_loopback() || address.ip().is_unspecified() {
            hosts.extend([format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")]);
        }
        Self(hosts)
    }

    /// Returns every `host:port` of this server.
    pub fn hosts(&self) -> &[String] {
        &self.0
    }

    /// Returns whether a URL leads to this server.
    pub fn contains(&self, url: &Url) -> bool {
        self.0.contains(&host_and_port(url))
    }

    /// Returns whether one of the addresses is below the host of a URL, as `chat.example.com` is below `example.com`.
    pub fn has_host_below(&self, url: &Url) -> bool {
        let suffix = format!(".{}", url.host_str().unwrap_or_default());
        self.0.iter().any(|host| host.rsplit_once(':').is_some_and(|(name, _)| name.ends_with(&suffix)))
    }

    /// Returns whether a URL is that of a built-in MCP server.
    pub fn is_builtin_server(&self, url: &str) -> bool {
        Url::parse(url).is_ok_and(|url| {
            matches!(url.scheme(), "http" | "https")
                && BUILTIN_SERVER_PATHS.contains(&url.path())
                && self.contains(&url)
        })
    }
}

/// Returns the `host:port` of a URL, with the default port of the scheme if there is none.
fn host_and_port(url: &Url) -> String {
    format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default())
}
