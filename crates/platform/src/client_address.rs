//! The network address of a client: the peer of the connection, or what a trusted proxy reports about it.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use ipnet::IpNet;

/// A proxy, or a network of proxies, whose `X-Forwarded-For` is trusted (`CHAT_TRUSTED_PROXIES`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedProxy(IpNet);

/// The error for a text that is no [`TrustedProxy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("neither an IP address nor a network such as 10.0.0.0/8")]
pub struct InvalidProxy;

impl FromStr for TrustedProxy {
    type Err = InvalidProxy;

    fn from_str(text: &str) -> Result<Self, InvalidProxy> {
        let network = match text.parse::<IpAddr>() {
            // A dual-stack socket reports IPv4 peers as mapped IPv6 addresses; all addresses are compared in the plain
            // form.
            Ok(address) => address.to_canonical().into(),
            Err(_) => text.parse().map_err(|_| InvalidProxy)?,
        };
        Ok(Self(network))
    }
}

impl TrustedProxy {
    /// Returns whether `address` is the proxy's, or in its network.
    pub fn covers(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

/// Returns the address of the client behind `peer`. `forwarded` are the values of `X-Forwarded-For` in their order.
///
/// Each proxy appends the address it saw, and a client can send any value. The list is therefore read from the right, and
/// only as long as its writer is a [`TrustedProxy`]. If an entry cannot be parsed, the result is `peer`.
pub fn client_address<'a>(
    peer: IpAddr,
    forwarded: impl DoubleEndedIterator<Item = &'a str>,
    trusted: &[TrustedProxy],
) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|proxy| proxy.covers(address));
    let peer = peer.to_canonical();
    if !is_trusted(peer) {
        return peer;
    }
    let mut client = peer;
    for entry in forwarded.rev().flat_map(|value| value.rsplit(',')) {
        // The clients of a proxy that writes nonsense share the limits of the proxy: better than having none.
        let Some(address) = parse_forwarded(entry.trim()) else { return peer };
        client = address;
        if !is_trusted(address) {
            break;
        }
    }
    client
}

/// Parses an address as proxies write it: with or without a port, an IPv6 address with or without brackets.
fn parse_forwarded(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()));
    address.map(|address: IpAddr| address.to_canonical())
}

/// Returns the address that limits per address count by: an IPv4 address, or the /64 network of an IPv6 address, which is
/// what a provider assigns to one subscriber (RFC 6177).
pub fn subscriber_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let network = v6.to_bits() & (u128::MAX << 64);
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_client_from_the_right_over_trusted_proxies() {
        let trusted: Vec<TrustedProxy> =
            ["10.0.0.0/8", "192.0.2.1", "fd00::/8"].map(|text| text.parse().unwrap()).into();
        let table: &[(&str, &[&str], &str)] = &[
            // A peer that is no trusted proxy.
            ("203.0.113.9", &[], "203.0.113.9"),
            ("203.0.113.9", &["198.51.100.1"], "203.0.113.9"),
            ("192.0.2.2", &["198.51.100.1"], "192.0.2.2"),
            // One proxy.
            ("10.1.2.3", &["198.51.100.1"], "198.51.100.1"),
            ("192.0.2.1", &["198.51.100.1"], "198.51.100.1"),
            ("::ffff:10.1.2.3", &["198.51.100.1"], "198.51.100.1"),
            ("fd12::1", &["2001:db8::1"], "2001:db8::1"),
            ("10.1.2.3", &["::ffff:198.51.100.1"], "198.51.100.1"),
            ("10.1.2.3", &["  198.51.100.1  "], "198.51.100.1"),
            // The client can send the left part itself.
            ("10.1.2.3", &["1.1.1.1, 198.51.100.1"], "198.51.100.1"),
            ("10.1.2.3", &["1.1.1.1", "198.51.100.1"], "198.51.100.1"),
            ("10.1.2.3", &["garbage, 198.51.100.1"], "198.51.100.1"),
            ("10.1.2.3", &["10.9.9.9, 198.51.100.1"], "198.51.100.1"),
            // Several proxies, in one value or in several.
            ("10.1.2.3", &["1.1.1.1, 198.51.100.1, 192.0.2.1"], "198.51.100.1"),
            ("10.1.2.3", &["198.51.100.1", "10.0.0.1, 192.0.2.1"], "198.51.100.1"),
            ("10.1.2.3", &["10.0.0.7, 10.0.0.8"], "10.0.0.7"),
            // With a port.
            ("10.1.2.3", &["198.51.100.1:4711"], "198.51.100.1"),
            ("10.1.2.3", &["[2001:db8::1]:4711"], "2001:db8::1"),
            ("10.1.2.3", &["[2001:db8::1]"], "2001:db8::1"),
            // Entries that cannot be parsed.
            ("10.1.2.3", &[], "10.1.2.3"),
            ("10.1.2.3", &[""], "10.1.2.3"),
            ("10.1.2.3", &["unknown"], "10.1.2.3"),
            ("10.1.2.3", &["198.51.100.1,"], "10.1.2.3"),
            ("10.1.2.3", &["198.51.100.1, nonsense, 10.0.0.1"], "10.1.2.3"),
            ("10.1.2.3", &["198.51.100.256"], "10.1.2.3"),
        ];
        for (peer, forwarded, client) in table {
            let found = client_address(peer.parse().unwrap(), forwarded.iter().copied(), &trusted);
            assert_eq!(found.to_string(), *client, "{peer} {forwarded:?}");
        }
    }

    #[test]
    fn parses_proxy_as_address_or_network() {
        for text in ["10.0.0.1", "10.0.0.0/8", "::1", "fd00::/8"] {
            assert!(text.parse::<TrustedProxy>().is_ok(), "{text}");
        }
        for text in ["", "proxy.example.com", "10.0.0.0/33", "10.0.0", "*"] {
            assert_eq!(text.parse::<TrustedProxy>(), Err(InvalidProxy), "{text}");
        }
    }
}
