//! Ways to write places that are not public, for every entrance at which an address comes in.

use std::net::Ipv4Addr;

/// IPv4 addresses of every kind that is not public.
const ADDRESSES: [[u8; 4]; 13] = [
    [127, 0, 0, 1],
    [0, 0, 0, 0],
    [10, 0, 0, 1],
    [172, 16, 0, 1],
    [192, 168, 0, 1],
    // Shared by carriers, where a cloud's metadata stands; link-local, with the metadata of most clouds.
    [100, 100, 100, 200],
    [169, 254, 169, 254],
    // Protocol assignments, with a cloud's metadata; documentation; benchmarks.
    [192, 0, 0, 192],
    [192, 0, 2, 1],
    [198, 18, 0, 1],
    // Multicast, reserved, broadcast.
    [224, 0, 0, 1],
    [240, 0, 0, 1],
    [255, 255, 255, 255],
];

/// Hosts that are written in one way only.
const HOSTS: &[&str] = &[
    // The other ends of the ranges.
    "127.255.255.254",
    "0.1.2.3",
    "10.255.255.255",
    "172.31.255.255",
    "192.168.255.255",
    "100.64.0.1",
    "100.127.255.255",
    "169.254.0.1",
    "192.88.99.1",
    "198.19.255.255",
    "198.51.100.7",
    "203.0.113.7",
    "239.255.255.255",
    // Loopback in IPv6, and the unspecified address, which leads there.
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[0000:0000:0000:0000:0000:0000:0000:0001]",
    "[::0.0.0.1]",
    "[::]",
    "[0::0]",
    // Short and mixed ways to write 127.0.0.1, and with other digits and dots.
    "127.1",
    "127.0.1",
    "0177.1",
    "0x7f.1",
    "0x7f.0.1",
    "0177.0x0.0.1",
    "0x7F.0.0.0x1",
    "00000000177.0.0.1",
    "127.0.0.0x00000001",
    "%31%32%37.0.0.1",
    "127%2E0%2e0%2E1",
    "127。0。0。1",
    "127．0．0．1",
    "127｡0｡0｡1",
    "１２７.０.０.１",
    "①②⑦.⓪.⓪.①",
    "𝟏𝟐𝟕.0.0.1",
    "127.0.0.1%2e",
    "127.0.0.1。",
    "127.\u{ad}0.0.1",
    "127.0.\u{200b}0.1",
    "0",
    "0x0",
    "017700000001",
    "169.254.43518",
    "0xa9.254.0xa9fe",
    "[::ffff:169.254.43518]",
    // Zones.
    "[fe80::1%25eth0]",
    "[fe80::1%eth0]",
    "[::1%25lo]",
    // Link-local, unique local, site-local, multicast, discard-only, documentation, benchmarks, ORCHID, segment routing.
    "[fe80::1]",
    "[febf:ffff::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[fdff:ffff::1]",
    "[fec0::1]",
    "[ff02::1]",
    "[ff0e::1]",
    "[100::1]",
    "[2001:db8::1]",
    "[3fff:fff::1]",
    "[2001:2::1]",
    "[2001:10::1]",
    "[2001:20::1]",
    "[5f00::1]",
    "[4000::1]",
    "[e000::1]",
    // A prefix of one's own for NAT64.
    "[64:ff9b:1::7f00:1]",
    "[64:ff9b:1:ffff::10.0.0.1]",
    // Names: the resolver of the test says that each of them is 127.0.0.1.
    "localhost",
    "LOCALHOST",
    "localhost.",
    "ｌｏｃａｌｈｏｓｔ",
    "local%68ost",
    "a.localhost",
    "printer.local",
    "nas.home.arpa",
    "metadata.google.internal",
    "instance-data.ec2.internal",
    "ip6-localhost",
    "router",
    "127.0.0.1.nip.io",
    "localtest.me",
    "bücher.example",
    "xn--bcher-kva.example",
];

/// Whole addresses that look as if they led to another place, or do not look like an address at all.
const TRICKS: &[&str] = &[
    "{scheme}://example.com@127.0.0.1:{port}/mcp",
    "{scheme}://example.com:443@127.0.0.1:{port}/mcp",
    "{scheme}://127.0.0.1:{port}@127.0.0.1:{port}/mcp",
    "{scheme}://example.com%2f@127.0.0.1:{port}/mcp",
    "{scheme}://example.com%23@127.0.0.1:{port}/mcp",
    "{scheme}://:@127.0.0.1:{port}/mcp",
    "{scheme}://user:@127.0.0.1:{port}/mcp",
    "{scheme}://@127.0.0.1:{port}/mcp",
    r"{scheme}://127.0.0.1:{port}\@example.com/mcp",
    r"{scheme}:\\127.0.0.1:{port}\mcp",
    r"{scheme}:/\127.0.0.1:{port}/mcp",
    "{scheme}:127.0.0.1:{port}/mcp",
    "{scheme}:/127.0.0.1:{port}/mcp",
    "{scheme}:////127.0.0.1:{port}/mcp",
    "{scheme}://127.0.0.1:{port}#@example.com/",
    "{scheme}://127.0.0.1:{port}?@example.com/",
    "{scheme}://127.0.0.1:0{port}/mcp",
    "{scheme}://127.0.0.1.:{port}/mcp",
    "{scheme}://127.0.\t0.1:{port}/mcp",
    "{scheme}://127.\n0.0.1:{port}/mcp",
    "{scheme}://127.0.0.\r\n1:{port}/mcp",
    " \u{1}{scheme}://127.0.0.1:{port}/mcp ",
    "{scheme}\n://127.0.0.1:{port}/mcp",
    "{scheme}://[::ffff:127.0.0.1]:{port}@127.0.0.1:{port}/mcp",
    "{scheme}://127.0.0.1:{port}/mcp/../../",
    "{scheme}://127.0.0.1:{port}//example.com/",
    "{scheme}://127.0.0.1:{port}/mcp\u{0}",
    "file://127.0.0.1:{port}/mcp",
    "gopher://127.0.0.1:{port}/mcp",
    "ftp://127.0.0.1:{port}/mcp",
    "dict://127.0.0.1:{port}/mcp",
    "unix:/run/docker.sock",
    "data:application/json,{}",
    "jar:{scheme}://127.0.0.1:{port}/mcp",
];

/// Every way to write a place that is not public, each once. Those that lead to this machine lead to `port` there.
pub fn spellings(scheme: &str, port: u16) -> Vec<String> {
    let hosts = ADDRESSES.iter().flat_map(|bytes| ways_to_write(Ipv4Addr::from(*bytes)));
    let hosts = hosts.chain(HOSTS.iter().map(|host| (*host).to_owned()));
    let all = hosts.map(|host| format!("{scheme}://{host}:{port}/mcp"));
    let tricks = TRICKS.iter().map(|trick| trick.replace("{scheme}", scheme).replace("{port}", &port.to_string()));
    let mut all: Vec<String> = all.chain(tricks).collect();
    all.sort();
    all.dedup();
    assert!(all.len() >= 300, "{}", all.len());
    all
}

/// The ways to write an IPv4 address as a host: as numbers, and inside of IPv6 addresses.
fn ways_to_write(ip: Ipv4Addr) -> Vec<String> {
    let [a, b, c, d] = ip.octets();
    let whole = u32::from(ip);
    let (high, low) = (whole >> 16, whole & 0xffff);
    vec![
        format!("{ip}"),
        format!("{ip}."),
        format!("{whole}"),
        format!("{whole:#x}"),
        format!("0{whole:o}"),
        format!("{a:#x}.{b:#x}.{c:#x}.{d:#x}"),
        format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        format!("{a:#x}.0{b:o}.{low}"),
        format!("{a}.{}", whole & 0x00ff_ffff),
        format!("[::ffff:{ip}]"),
        format!("[::ffff:{high:x}:{low:x}]"),
        // Compatible, translated, NAT64, 6to4, Teredo (where it is written the other way round), ISATAP.
        format!("[::{high:x}:{low:x}]"),
        format!("[::ffff:0:{ip}]"),
        format!("[64:ff9b::{ip}]"),
        format!("[2002:{high:x}:{low:x}::1]"),
        format!("[2001:0:{high:x}:{low:x}::]"),
        format!("[2001:0:808:808:0:0:{:x}:{:x}]", !high & 0xffff, !low & 0xffff),
        format!("[fe80::5efe:{ip}]"),
        format!("[2606:4700::200:5efe:{ip}]"),
    ]
}
