//! Rejects requests whose `Host` header is not a configured name.
//!
//! This prevents DNS rebinding: a page of another site can point its own host name at this server's address, and the
//! browser then treats both as one origin. Only the name tells them apart. IP addresses and `localhost` cannot be
//! redirected by a name server and are always allowed.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header;
use axum::http::uri::Authority;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use platform::config::HostName;
use url::{Host, Url};

use crate::error::ApiError;

/// Paths of health probes, which use any name that their network has for this server and disclose nothing.
const UNCHECKED_PREFIX: &str = "/health/";

/// Host names of this server, in addition to IP addresses and `localhost`.
#[derive(Debug, Clone)]
pub struct AllowedHosts(Arc<[String]>);

impl AllowedHosts {
    /// Allows the host of the site URL and the configured names.
    pub fn new(site_url: &Url, configured: &[HostName]) -> Self {
        let site = site_url.host_str().map(str::to_owned);
        Self(site.into_iter().chain(configured.iter().map(|name| name.as_str().to_owned())).collect())
    }

    /// Returns whether `host[:port]` is an IP address, `localhost` or an allowed name. The port is ignored, since a
    /// forwarded port differs from ours.
    fn allows(&self, host: &str) -> bool {
        // The URL parser normalises case, international names and the odd spellings of IP addresses.
        let Ok(url) = Url::parse(&format!("http://{host}/")) else { return false };
        url.host().is_some_and(|host| is_fixed(&host) || matches!(host, Host::Domain(name) if self.has_name(name)))
    }

    fn has_name(&self, name: &str) -> bool {
        let name = name.strip_suffix('.').unwrap_or(name);
        self.0.iter().any(|allowed| allowed == name)
    }
}

/// Returns whether a host is an IP address or `localhost`, which no name server can redirect.
pub fn is_fixed(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => name.strip_suffix('.').unwrap_or(name) == "localhost",
        Host::Ipv4(_) | Host::Ipv6(_) => true,
    }
}

/// Rejects requests for unknown hosts on every route.
pub fn check(routes: Router, allowed: AllowedHosts) -> Router {
    routes.layer(from_fn_with_state(allowed, refuse_foreign))
}

/// Responds [`ApiError::UnknownHost`] unless the host is allowed.
async fn refuse_foreign(State(allowed): State<AllowedHosts>, request: Request, next: Next) -> Response {
    // HTTP/2 and proxies send the host in the request target.
    let from_uri = request.uri().authority().map(Authority::as_str);
    let from_header = || request.headers().get(header::HOST).map(|value| value.to_str().unwrap_or_default());
    let is_allowed = from_uri.or_else(from_header).is_some_and(|host| allowed.allows(host));
    if is_allowed || request.uri().path().starts_with(UNCHECKED_PREFIX) {
        next.run(request).await
    } else {
        ApiError::UnknownHost.into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allows_addresses_and_configured_names_only() {
        let site: Url = "https://chat.example:8443".parse().unwrap();
        let allowed = AllowedHosts::new(&site, &["Chat.Internal".parse().unwrap()]);
        for (host, expected) in [
            ("chat.example", true),
            ("CHAT.example:8443", true),
            ("chat.example.:3000", true),
            ("chat.internal:80", true),
            ("localhost:3000", true),
            ("127.0.0.1:3000", true),
            ("[::1]:3000", true),
            ("192.168.1.7:3000", true),
            ("evil.example:3000", false),
            ("chat.example.evil.example", false),
            ("localhost.evil.example", false),
            ("user@evil.example", false),
            ("a b", false),
            ("", false),
        ] {
            assert_eq!(allowed.allows(host), expected, "{host}");
        }
    }
}
