//! The one rule in front of every address that a user, a server or a model names.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use url::{Host, Url};

use super::address::{Reach, reach};
use super::allow::Allow;
use super::names::{Names, System, is_local};
use crate::Error;

/// A resolver that does not answer is a server that does not answer.
const RESOLVE: Duration = Duration::from_secs(10);

/// Why an address may not be reached. The words follow "the server".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The address is none of http, https, ws, wss.
    #[error("has an address that does not start with http://, https://, ws:// or wss://")]
    Scheme,
    /// The address has no host.
    #[error("has an address without a host")]
    NoHost,
    /// The address carries a user name or a password, which would end up in logs.
    #[error("has an address with a user name or a password in it; use a header instead")]
    Credentials,
    /// The address leads to a place that is not public.
    #[error("is a private address; the administrator can allow it with CHAT_NETWORK_ALLOW")]
    Private,
}

/// What may be reached. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Policy {
    rules: Arc<Rules>,
    names: Arc<dyn Names>,
}

#[derive(Debug)]
struct Rules {
    allow: Vec<Allow>,
    loopback: bool,
    own: Vec<String>,
}

impl Policy {
    /// Public addresses, and beside them: what `allow` lists; this machine, if `loopback` (for a server that only this
    /// machine can reach anyway); and the product's own origins, each as `host:port` with the port written out.
    pub fn new(allow: &[Allow], loopback: bool, own: Vec<String>) -> Self {
        let own = own.into_iter().map(|origin| origin.to_ascii_lowercase()).collect();
        let rules = Arc::new(Rules { allow: allow.to_vec(), loopback, own });
        Self { rules, names: Arc::new(System) }
    }

    /// The same rules for names that `names` resolves.
    pub fn with_names(self, names: Arc<dyn Names>) -> Self {
        Self { names, ..self }
    }

    /// Judges what can be judged before resolving a name: scheme, credentials and literal addresses. The URL parser
    /// has already turned every spelling of an IPv4 address (octal, hexadecimal, short, one number) into one form.
    pub fn check_url(&self, url: &Url) -> Result<(), Refused> {
        if !matches!(url.scheme(), "http" | "https" | "ws" | "wss") {
            return Err(Refused::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refused::Credentials);
        }
        let (host, port) = place(url)?;
        let ip = match url.host() {
            Some(Host::Ipv4(ip)) => IpAddr::V4(ip),
            Some(Host::Ipv6(ip)) => IpAddr::V6(ip),
            Some(Host::Domain(_)) | None => return Ok(()),
        };
        if self.permits(&host, port, ip) { Ok(()) } else { Err(Refused::Private) }
    }

    /// Whether a secret may be sent to `url`: over TLS, or else to a place inside that may be reached at all. What is
    /// public is public to those in between.
    pub fn is_confidential(&self, url: &Url) -> bool {
        let Ok((host, port)) = place(url) else { return false };
        let inside = match url.host() {
            Some(Host::Ipv4(ip)) => reach(ip.into()) != Reach::Public,
            Some(Host::Ipv6(ip)) => reach(ip.into()) != Reach::Public,
            Some(Host::Domain(_)) => {
                host == "localhost"
                    || self.rules.own.iter().any(|origin| *origin == format!("{host}:{port}"))
                    || self.rules.allow.iter().any(|entry| entry.names(&host, port))
            }
            None => false,
        };
        url.scheme() == "https" || (url.scheme() == "http" && inside)
    }

    /// Judges an address that a person's browser is sent to. A name that this machine does not know may be known there.
    pub(crate) async fn check_visit(&self, url: &Url) -> Result<(), Error> {
        match self.resolve(url).await {
            Ok(_) | Err(Error::NameNotFound) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Resolves the host of `url`, once, and gives those of its addresses that may be reached.
    pub(crate) async fn resolve(&self, url: &Url) -> Result<Vec<SocketAddr>, Error> {
        self.check_url(url)?;
        let (host, port) = place(url)?;
        let ip = match url.host() {
            Some(Host::Ipv4(ip)) => Some(IpAddr::V4(ip)),
            Some(Host::Ipv6(ip)) => Some(IpAddr::V6(ip)),
            Some(Host::Domain(_)) | None => None,
        };
        match ip {
            Some(ip) => Ok(vec![SocketAddr::new(ip, port)]),
            None => self.lookup(&host, port).await,
        }
    }

    pub(super) async fn lookup(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, Error> {
        let found = tokio::time::timeout(RESOLVE, self.names.addresses(host, port))
            .await
            .map_err(|_| Error::NameNotFound)?
            .map_err(|_| Error::NameNotFound)?;
        if found.is_empty() {
            return Err(Error::NameNotFound);
        }
        let permitted: Vec<SocketAddr> =
            found.into_iter().filter(|address| self.permits(host, port, address.ip())).collect();
        if permitted.is_empty() { Err(Refused::Private.into()) } else { Ok(permitted) }
    }

    fn permits(&self, host: &str, port: u16, ip: IpAddr) -> bool {
        let allowed = match reach(ip) {
            Reach::Public => !is_local(host),
            Reach::Loopback => self.rules.loopback,
            Reach::Special => false,
        };
        allowed
            || self.rules.own.iter().any(|origin| *origin == format!("{host}:{port}"))
            || self.rules.allow.iter().any(|entry| entry.covers(host, port, ip))
    }
}

/// The host in lower case and without a final dot (IPv6 in brackets), and the port with the scheme's default.
pub(super) fn place(url: &Url) -> Result<(String, u16), Refused> {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
    match url.port_or_known_default() {
        Some(port) if !host.is_empty() => Ok((host, port)),
        _ => Err(Refused::NoHost),
    }
}

#[cfg(test)]
mod tests;
