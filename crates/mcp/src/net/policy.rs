//! Policy that every URL of a user, a server or a model has to pass.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use url::{Host, Url};

use super::address_class::{AddressClass, classify};
use super::dns::{DnsResolver, SystemResolver, is_local_name};
use crate::Error;
use domain::network_allowlist::AllowlistEntry;

/// Time limit for resolving a name.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Reason why a URL may not be reached. The texts are predicates of "the server".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyViolation {
    /// The scheme is none of http, https, ws, wss.
    #[error("has a URL that does not start with http://, https://, ws:// or wss://")]
    Scheme,
    /// The URL has no host.
    #[error("has a URL without a host")]
    NoHost,
    /// The URL has a user name or a password, which would end up in logs.
    #[error("has a URL with a user name or password; use a header instead")]
    Credentials,
    /// The host is not public.
    #[error("is a private address; the administrator can allow it with CHAT_NETWORK_ALLOW")]
    Private,
}

/// Rules on which URLs may be reached. Cheap to clone.
#[derive(Debug, Clone)]
pub struct NetworkPolicy {
    rules: Arc<Rules>,
    resolver: Arc<dyn DnsResolver>,
}

#[derive(Debug)]
struct Rules {
    allow: Vec<AllowlistEntry>,
    loopback: bool,
    own_origins: Vec<String>,
}

impl NetworkPolicy {
    /// Creates a policy that permits public addresses and the targets in `allow`; loopback addresses if `loopback`,
    /// for a product that only this machine can reach; and the product's own origins, each as `host:port` with
    /// explicit port.
    pub fn new(allow: &[AllowlistEntry], loopback: bool, own_origins: Vec<String>) -> Self {
        let own_origins = own_origins.into_iter().map(|origin| origin.to_ascii_lowercase()).collect();
        let rules = Arc::new(Rules { allow: allow.to_vec(), loopback, own_origins });
        Self { rules, resolver: Arc::new(SystemResolver) }
    }

    /// Sets the resolver of host names.
    pub fn with_resolver(self, resolver: Arc<dyn DnsResolver>) -> Self {
        Self { resolver, ..self }
    }

    /// Checks what can be checked without resolving a name: scheme, credentials and literal addresses. The URL parser
    /// has already normalized every notation of an IPv4 address (octal, hexadecimal, short, one number).
    pub fn check_url(&self, url: &Url) -> Result<(), PolicyViolation> {
        if !matches!(url.scheme(), "http" | "https" | "ws" | "wss") {
            return Err(PolicyViolation::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(PolicyViolation::Credentials);
        }
        let (host, port) = host_and_port(url)?;
        let ip = match url.host() {
            Some(Host::Ipv4(ip)) => IpAddr::V4(ip),
            Some(Host::Ipv6(ip)) => IpAddr::V6(ip),
            Some(Host::Domain(_)) | None => return Ok(()),
        };
        if self.permits(&host, port, ip) { Ok(()) } else { Err(PolicyViolation::Private) }
    }

    /// Returns whether a secret may be sent to `url`: over TLS, or without it to a permitted host that is not public.
    /// On the way to a public host everyone in between could read it.
    pub fn is_confidential(&self, url: &Url) -> bool {
        let Ok((host, port)) = host_and_port(url) else { return false };
        let is_internal = match url.host() {
            Some(Host::Ipv4(ip)) => classify(ip.into()) != AddressClass::Public,
            Some(Host::Ipv6(ip)) => classify(ip.into()) != AddressClass::Public,
            Some(Host::Domain(_)) => {
                host == "localhost"
                    || self.rules.own_origins.iter().any(|origin| *origin == format!("{host}:{port}"))
                    || self.rules.allow.iter().any(|entry| entry.names_host(&host, port))
            }
            None => false,
        };
        url.scheme() == "https" || (url.scheme() == "http" && is_internal)
    }

    /// Checks a URL that the user's browser is sent to. A name that does not resolve here may resolve there.
    pub(crate) async fn check_browser_url(&self, url: &Url) -> Result<(), Error> {
        match self.resolve(url).await {
            Ok(_) | Err(Error::NameNotFound) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Resolves the host of `url` once and returns the permitted addresses.
    pub(crate) async fn resolve(&self, url: &Url) -> Result<Vec<SocketAddr>, Error> {
        self.check_url(url)?;
        let (host, port) = host_and_port(url)?;
        let ip = match url.host() {
            Some(Host::Ipv4(ip)) => Some(IpAddr::V4(ip)),
            Some(Host::Ipv6(ip)) => Some(IpAddr::V6(ip)),
            Some(Host::Domain(_)) | None => None,
        };
        match ip {
            Some(ip) => Ok(vec![SocketAddr::new(ip, port)]),
            None => self.resolve_host(&host, port).await,
        }
    }

    /// Resolves a host name and returns the permitted addresses.
    ///
    /// # Errors
    ///
    /// [`Error::NameNotFound`] if it has no address, [`PolicyViolation::Private`] if none is permitted.
    pub(super) async fn resolve_host(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, Error> {
        let found = tokio::time::timeout(RESOLVE_TIMEOUT, self.resolver.resolve(host, port))
            .await
            .map_err(|_| Error::NameNotFound)?
            // The reason is the resolver's own text, which differs between systems and may name internal servers.
            .map_err(|_| Error::NameNotFound)?;
        if found.is_empty() {
            return Err(Error::NameNotFound);
        }
        let permitted: Vec<SocketAddr> =
            found.into_iter().filter(|address| self.permits(host, port, address.ip())).collect();
        if permitted.is_empty() { Err(PolicyViolation::Private.into()) } else { Ok(permitted) }
    }

    fn permits(&self, host: &str, port: u16, ip: IpAddr) -> bool {
        let allowed = match classify(ip) {
            // A resolver inside the network may answer for such a name with a public address, which is still an
            // internal host.
            AddressClass::Public => !is_local_name(host),
            AddressClass::Loopback => self.rules.loopback,
            AddressClass::Special => false,
        };
        allowed
            || self.rules.own_origins.iter().any(|origin| *origin == format!("{host}:{port}"))
            || self.rules.allow.iter().any(|entry| entry.covers(host, port, ip))
    }
}

/// Returns the host in lower case without a final dot (IPv6 in brackets), and the port or the scheme's default.
pub(super) fn host_and_port(url: &Url) -> Result<(String, u16), PolicyViolation> {
    // `localhost.` and `localhost` are the same host, and a rule must not miss one of them.
    let host = url.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
    match url.port_or_known_default() {
        Some(port) if !host.is_empty() => Ok((host, port)),
        _ => Err(PolicyViolation::NoHost),
    }
}

#[cfg(test)]
mod tests;
