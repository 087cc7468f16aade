//! Classification of IP addresses.

use domain::network_allowlist::canonical_ip;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Class of an address, after the IANA special-purpose address registries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressClass {
    /// Globally reachable.
    Public,
    /// This machine.
    Loopback,
    /// All other addresses: private, link-local, shared, reserved, documentation, multicast.
    Special,
}

/// Returns the class of an address.
pub(super) fn classify(ip: IpAddr) -> AddressClass {
    // An IPv6 address that embeds an IPv4 address reaches that one, through the socket or a translator of the network.
    match canonical_ip(ip) {
        IpAddr::V4(v4) => classify_v4(v4),
        IpAddr::V6(v6) => classify_v6(v6),
    }
}

fn classify_v4(ip: Ipv4Addr) -> AddressClass {
    let octets = ip.octets();
    // Private use (RFC 1918), shared by carriers (RFC 6598), link-local with the clouds' metadata.
    let private =
        matches!(octets, [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] | [169, 254, ..]);
    // Protocol assignments, documentation, old 6to4 relays, benchmarks.
    let assigned = matches!(
        octets,
        [192, 0, 0 | 2, _] | [198, 51, 100, _] | [203, 0, 113, _] | [192, 88, 99, _] | [198, 18 | 19, ..]
    );
    // This network; multicast, reserved, broadcast.
    let outside = octets[0] == 0 || octets[0] >= 224;
    match octets {
        [127, ..] => AddressClass::Loopback,
        _ if private || assigned || outside => AddressClass::Special,
        _ => AddressClass::Public,
    }
}

fn classify_v6(ip: Ipv6Addr) -> AddressClass {
    if ip == Ipv6Addr::LOCALHOST {
        return AddressClass::Loopback;
    }
    match ip.segments() {
        // ISATAP: the last four bytes are an IPv4 address to which a router inside the network forwards the packets.
        [.., 0 | 0x200, 0x5efe, high, low] if classify_v4(embedded_v4(high, low)) != AddressClass::Public => {
            AddressClass::Special
        }
        // Protocol assignments with Teredo, documentation (both), 6to4: each is special or hides an IPv4 address.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] | [0x2002, ..] => AddressClass::Special,
        // Global unicast is 2000::/3, and nothing outside it is public.
        [0x2000..=0x3fff, ..] => AddressClass::Public,
        _ => AddressClass::Special,
    }
}

fn embedded_v4(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn embedded_addresses_have_the_class_of_the_embedded(v4: u32) {
            let v4 = Ipv4Addr::from(v4);
            let [a, b, c, d] = v4.octets().map(u16::from);
            let (high, low) = (a << 8 | b, c << 8 | d);
            let mapped = Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low);
            let nat64 = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low);
            prop_assert_eq!(classify(mapped.into()), classify(v4.into()));
            prop_assert_eq!(classify(nat64.into()), classify(v4.into()));
        }

        #[test]
        fn special_addresses_of_std_are_never_public(v4: u32) {
            let ip = Ipv4Addr::from(v4);
            let special = ip.is_private() || ip.is_loopback() || ip.is_link_local() || ip.is_broadcast()
                || ip.is_documentation() || ip.is_unspecified() || ip.is_multicast();
            prop_assert!(!(special && classify(ip.into()) == AddressClass::Public));
        }

        #[test]
        fn only_global_unicast_is_public(v6: u128) {
            let ip = Ipv6Addr::from(v6);
            let carries_v4 = canonical_ip(ip.into()).is_ipv4();
            let global = ip.segments()[0] >> 13 == 1;
            prop_assert!(carries_v4 || global || classify(ip.into()) != AddressClass::Public);
        }
    }
}
