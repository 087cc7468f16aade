//! The administrator's exceptions.

use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;

use super::address::canonical;

/// One entry of the list of targets that may be reached although they are not public: `host`, `host:port`, an address
/// with or without a port, or a network as `10.1.0.0/16`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allow {
    place: Place,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Network(IpNet),
    Name(String),
}

/// An entry that is none of the forms of [`Allow`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is neither a host, a host:port, an address nor a network such as 10.1.0.0/16")]
pub struct AllowError(String);

impl FromStr for Allow {
    type Err = AllowError;

    fn from_str(entry: &str) -> Result<Self, AllowError> {
        let wrong = || AllowError(entry.to_owned());
        let text = entry.trim();
        if text.contains('/') {
            let network: IpNet = text.parse().map_err(|_| wrong())?;
            return Ok(Self { place: Place::Network(network.trunc()), port: None });
        }
        if let Ok(ip) = text.parse::<IpAddr>() {
            return Ok(Self { place: Place::Network(canonical(ip).into()), port: None });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse::<u16>().map_err(|_| wrong())?)),
            None => (text, None),
        };
        let place = match url::Host::parse(host).map_err(|_| wrong())? {
            url::Host::Domain(name) if name.contains('*') => return Err(wrong()),
            url::Host::Domain(name) => Place::Name(name.trim_end_matches('.').to_owned()),
            url::Host::Ipv4(ip) => Place::Network(IpAddr::V4(ip).into()),
            url::Host::Ipv6(ip) => Place::Network(canonical(ip.into()).into()),
        };
        Ok(Self { place, port })
    }
}

impl Allow {
    /// Whether the entry covers `host`, in lower case and without a final dot, when it stands for `ip`.
    pub(super) fn covers(&self, host: &str, port: u16, ip: IpAddr) -> bool {
        let there = match &self.place {
            Place::Network(network) => network.contains(&canonical(ip)),
            Place::Name(name) => name == host,
        };
        there && self.port.is_none_or(|allowed| allowed == port)
    }

    /// Whether the entry is this very name.
    pub(super) fn names(&self, host: &str, port: u16) -> bool {
        matches!(&self.place, Place::Name(name) if name == host) && self.port.is_none_or(|allowed| allowed == port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(entry: &str, host: &str, port: u16, ip: &str) -> bool {
        entry.parse::<Allow>().unwrap().covers(host, port, ip.parse().unwrap())
    }

    #[test]
    fn each_form_covers_what_it_says() {
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
    fn what_is_no_entry_is_refused() {
        for entry in ["", "10.0.0.0/33", "host:", "host:99999", "http://host", "*.lan", "a b", "[::1"] {
            assert!(entry.parse::<Allow>().is_err(), "{entry}");
        }
    }
}
