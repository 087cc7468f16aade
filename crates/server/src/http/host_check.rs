//! Refuses requests whose `Host` is a name that nobody gave this server.
//!
//! A page of another site can point its own name at this server's address (DNS rebinding) and is then of the same origin as
//! ours, but for the name. Addresses and `localhost` cannot be pointed elsewhere by a name server.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header;
use axum::http::uri::Authority;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use url::{Host, Url};

use super::error::ApiError;
use crate::config::HostName;

/// Probes ask by whatever name their network has for this server, and learn nothing but that it runs.
const UNCHECKED_PREFIX: &str = "/health/";

/// Names under which this server is reached, beside addresses and `localhost`.
#[derive(Debug, Clone)]
pub struct AllowedHosts(Arc<[String]>);

impl AllowedHosts {
    /// Allows the host of the site URL and the configured names.
    pub fn new(site_url: &Url, configured: &[HostName]) -> Self {
        let site = site_url.host_str().map(str::to_owned);
        Self(site.into_iter().chain(configured.iter().map(|name| name.as_str().to_owned())).collect())
    }

    /// Returns whether `host[:port]` is an address, `localhost` or an allowed name. The port does not matter: a forwarded
    /// port differs from ours.
    fn allows(&self, host: &str) -> bool {
        let Ok(url) = Url::parse(&format!("http://{host}/")) else { return false };
        match url.host() {
            Some(Host::Domain(name)) => {
                let name = name.strip_suffix('.').unwrap_or(name);
                name == "localhost" || self.0.iter().any(|allowed| allowed == name)
            }
            Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
            None => false,
        }
    }
}

/// Refuses foreign names on every route.
pub fn check(routes: Router, allowed: AllowedHosts) -> Router {
    routes.layer(from_fn_with_state(allowed, refuse_foreign))
}

async fn refuse_foreign(State(allowed): State<AllowedHosts>, request: Request, next: Next) -> Response {
    // HTTP/2 has the host in the address.
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
