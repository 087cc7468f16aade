//! Resolution of host names.

use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

/// Resolver of host names.
pub trait DnsResolver: Debug + Send + Sync {
    /// Resolves `host` to all its addresses, each with `port`.
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>>;
}

/// Resolver of the operating system.
#[derive(Debug)]
pub(super) struct SystemResolver;

impl DnsResolver for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) }.boxed()
    }
}

/// Returns whether a name is reserved for local use (RFC 6761, 6762, 8375, and `internal`). Such a host is not public,
/// whatever address it resolves to.
pub(super) fn is_local_name(host: &str) -> bool {
    const LOCAL_DOMAINS: [&str; 4] = ["localhost", "local", "internal", "home.arpa"];
    LOCAL_DOMAINS
        .iter()
        .any(|local| host.strip_suffix(local).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_local_names() {
        for host in ["localhost", "a.localhost", "nas.local", "metadata.google.internal", "internal", "x.home.arpa"] {
            assert!(is_local_name(host), "{host}");
        }
        for host in ["example.com", "notlocalhost", "local.example", "internal.example", "arpa", "ahome.arpa"] {
            assert!(!is_local_name(host), "{host}");
        }
    }
}
