//! Names, and what they stand for.

use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

/// Finds the addresses behind a name.
pub trait Names: Debug + Send + Sync {
    /// All addresses of `host`, each with `port`.
    fn addresses<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>>;
}

/// The resolver of the machine.
#[derive(Debug)]
pub(super) struct System;

impl Names for System {
    fn addresses<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) }.boxed()
    }
}

/// Whether a name means something only where it is asked (RFC 6761, 6762, 8375, and `internal`, which is kept for private
/// use): whatever address somebody answers for it, the place is not a public one.
pub(super) fn is_local(host: &str) -> bool {
    const LOCAL: [&str; 4] = ["localhost", "local", "internal", "home.arpa"];
    LOCAL.iter().any(|local| host.strip_suffix(local).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_inside_are_told_from_others() {
        for host in ["localhost", "a.localhost", "nas.local", "metadata.google.internal", "internal", "x.home.arpa"] {
            assert!(is_local(host), "{host}");
        }
        for host in ["example.com", "notlocalhost", "local.example", "internal.example", "arpa", "ahome.arpa"] {
            assert!(!is_local(host), "{host}");
        }
    }
}
