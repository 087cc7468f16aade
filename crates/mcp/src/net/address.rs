//! What kind of place an IP address is.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What kind of place an address is, after the IANA special-purpose address registries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Anybody on the internet can be meant by it.
    Public,
    /// This machine.
    Loopback,
    /// Everything else: private, link-local, shared, reserved, documentation, multicast.
    Special,
}

/// The IPv4 address that an IPv6 one carries and leads to (IPv4-mapped, and NAT64's well-known prefix), or the
/// address itself. Rules are written and checked on this form.
pub(super) fn canonical(ip: IpAddr) -> IpAddr {
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

pub(super) fn reach(ip: IpAddr) -> Reach {
    match canonical(ip) {
        IpAddr::V4(v4) => reach_v4(v4),
        IpAddr::V6(v6) => reach_v6(v6),
    }
}

fn reach_v4(ip: Ipv4Addr) -> Reach {
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
        [127, ..] => Reach::Loopback,
        _ if private || assigned || outside => Reach::Special,
        _ => Reach::Public,
    }
}

fn reach_v6(ip: Ipv6Addr) -> Reach {
    if ip == Ipv6Addr::LOCALHOST {
        return Reach::Loopback;
    }
    match ip.segments() {
        // ISATAP: the last four bytes are an IPv4 address to which a router inside takes the packets.
        [.., 0 | 0x200, 0x5efe, high, low] if reach_v4(v4(high, low)) != Reach::Public => Reach::Special,
        // Protocol assignments with Teredo, documentation (both), 6to4: each is special or hides an IPv4 address.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] | [0x2002, ..] => Reach::Special,
        // Global unicast is 2000::/3, and nothing outside it is public.
        [0x2000..=0x3fff, ..] => Reach::Public,
        _ => Reach::Special,
    }
}

fn v4(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_embedded_address_is_judged_as_itself(v4: u32) {
            let v4 = Ipv4Addr::from(v4);
            let [a, b, c, d] = v4.octets().map(u16::from);
            let (high, low) = (a << 8 | b, c << 8 | d);
            let mapped = Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low);
            let nat64 = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low);
            prop_assert_eq!(reach(mapped.into()), reach(v4.into()));
            prop_assert_eq!(reach(nat64.into()), reach(v4.into()));
        }

        #[test]
        fn what_the_standard_library_calls_special_is_never_public(v4: u32) {
            let ip = Ipv4Addr::from(v4);
            let special = ip.is_private() || ip.is_loopback() || ip.is_link_local() || ip.is_broadcast()
                || ip.is_documentation() || ip.is_unspecified() || ip.is_multicast();
            prop_assert!(!(special && reach(ip.into()) == Reach::Public));
        }

        #[test]
        fn only_global_unicast_is_public(v6: u128) {
            let ip = Ipv6Addr::from(v6);
            let carries_v4 = canonical(ip.into()).is_ipv4();
            let global = ip.segments()[0] >> 13 == 1;
            prop_assert!(carries_v4 || global || reach(ip.into()) != Reach::Public);
        }
    }
}
