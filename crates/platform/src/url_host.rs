//! The host of a URL as a network address.

use std::net::IpAddr;

use url::{Host, Url};

/// Returns whether `url` points to the machine on which it is opened.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        _ => ip_address(url).is_some_and(|address| address.is_loopback()),
    }
}

/// Returns the host of `url` if it is an IP address.
pub fn ip_address(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
        // `url` parses addresses in web URLs only; in the custom scheme of an app they stay text.
        Host::Domain(name) => name.parse().ok(),
    }
}
