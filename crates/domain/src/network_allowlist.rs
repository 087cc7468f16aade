//! Allowlist of the administrator: targets that user-given URLs may reach although they are not public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ipnet::IpNet;

/// Entry of the list of targets that may be reached although they are not public: `host`, `host:port`, an address with
/// or without a port, or a network such as `10.1.0.0/16`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowlistEntry {
    host: AllowedHost,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum AllowedHost {
    Network(IpNet),
    Name(String),
}

/// Error for a text that is none of the forms of an [`AllowlistEntry`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is neither a host, a host:port, an address nor a network such as 10.1.0.0/16")]
pub struct ParseAllowlistError(String);

impl FromStr for AllowlistEntry {
    type Err = ParseAllowlistError;

    fn from_str(entry: &str) -> Result<Self, ParseAllowlistError> {
        let invalid = || ParseAllowlistError(entry.to_owned());
        let text = entry.trim();
        if text.contains('/') {
            let network: IpNet = text.parse().map_err(|_| invalid())?;
            // Truncated, so that `10.1.2.3/16` and `10.1.0.0/16` are equal.
            return Ok(Self { host: AllowedHost::Network(network.trunc()), port: None });
        }
        // Before the split at a colon, which an IPv6 address contains.
        if let Ok(ip) = text.parse::<IpAddr>() {
            return Ok(Self { host: AllowedHost::Network(canonical_ip(ip).into()), port: None });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse::<u16>().map_err(|_| invalid())?)),
            None => (text, None),
        };
        let host = match url::Host::parse(host).map_err(|_| invalid())? {
            // A pattern would be a name that never occurs, and the operator would believe it to be in force.
            url::Host::Domain(name) if name.contains('*') => return Err(invalid()),
            url::Host::Domain(name) => AllowedHost::Name(name.trim_end_matches('.').to_owned()),
            url::Host::Ipv4(ip) => AllowedHost::Network(IpAddr::V4(ip).into()),
            url::Host::Ipv6(ip) => AllowedHost::Network(canonical_ip(ip.into()).into()),
        };
        Ok(Self { host, port })
    }
}

impl AllowlistEntry {
    /// Returns whether the entry covers `host` at the resolved address `ip`. `host` is in lower case and has no final
    /// dot.
    pub fn covers(&self, host: &str, port: u16, ip: IpAddr) -> bool {
        let covers_host = match &self.host {
            AllowedHost::Network(network) => network.contains(&canonical_ip(ip)),
            AllowedHost::Name(name) => name == host,
        };
        covers_host && self.port.is_none_or(|allowed| allowed == port)
    }

    /// Returns whether the entry is this host name.
    pub fn names_host(&self, host: &str, port: u16) -> bool {
        matches!(&self.host, AllowedHost::Name(name) if name == host) && self.port.is_none_or(|allowed| allowed == port)
    }
}

/// Returns the IPv4 address that an IPv6 address embeds (IPv4-mapped, or with the well-known prefix of NAT64), else the
/// address itself. All rules apply to this form.
pub fn canonical_ip(ip: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = ip else { return ip };
    let tail = |v6: Ipv6Addr| {
        let [.., a, b, c, d] = v6.octets();
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    match v6.segments() {
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => tail(v6),
        _ => ip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(entry: &str, host: &str, port: u16, ip: &str) -> bool {
        entry.parse::<AllowlistEntry>().unwrap().covers(host, port, ip.parse().unwrap())
    }

    #[test]
    fn each_form_covers_its_targets() {
        assert!(covers("10.1.0.0/16", "any", 80, "10.1.2.3"));
        assert!(covers("10.1.2.3/16", "any", 80, "10.1.9.9"), "host bits of a network do not matter");
        assert!(!covers("10.1.0.0/16", "any", 80, "10.2.0.1"));
        assert!(covers("10.1.0.0/16", "any", 80, "::ffff:10.1.2.3"));
        assert!(covers("fd00::/8", "any", 80, "fd12::1"));
        assert!(covers("192.168.1.5", "192.168.1.5", 8080, "192.168.1.5"));
        assert!(covers("192.168.1.5:8080", "192.168.1.5", 8080, "192.168.1.5"));
        assert!(!covers("192.168.1.5:8080", "192.168.1.5", 22, "192.168.1.5"));
        assert!(covers("[fd00::1]:8080", "fd00::1", 8080, "fd00::1"));
        assert!(covers("fd00::1", "fd00::1", 1, "fd00::1"));
        assert!(covers("NAS.lan.", "nas.lan", 1, "192.168.1.9"));
        assert!(covers("nas.lan:443", "nas.lan", 443, "192.168.1.9"));
        assert!(!covers("nas.lan:443", "nas.lan", 80, "192.168.1.9"));
        assert!(!covers("nas.lan", "other.lan", 80, "192.168.1.9"));
    }

    #[test]
    fn rejects_invalid_entries() {
        for entry in ["", "10.0.0.0/33", "host:", "host:99999", "http://host", "*.lan", "a b", "[::1"] {
            assert!(entry.parse::<AllowlistEntry>().is_err(), "{entry}");
        }
    }
}
