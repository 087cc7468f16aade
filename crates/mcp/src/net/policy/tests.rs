use super::*;
use proptest::prelude::*;

fn strict() -> NetworkPolicy {
    NetworkPolicy::new(&[], false, vec!["chat.example:443".to_owned(), "10.9.9.9:3000".to_owned()])
}

fn verdict(policy: &NetworkPolicy, url: &str) -> Result<(), PolicyViolation> {
    policy.check_url(&Url::parse(url).unwrap_or_else(|error| panic!("{url}: {error}")))
}

/// Spellings of places that are not public; every one has to be refused as it stands.
const PRIVATE: &[&str] = &[
    // Loopback, in every way an address can be written.
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "127.255.255.254",
    "0177.0.0.1",
    "0177.1",
    "0x7f.0.0.1",
    "0x7f.1",
    "0x7F000001",
    "2130706433",
    "017700000001",
    "0x7f000001",
    "127.0.0.1.",
    "127.0.0.01",
    "127.0.0.0x1",
    "00000177.0.0.1",
    "0x7f.0x0.0x0.0x1",
    "%31%32%37.0.0.1",
    "127%2E0.0.1",
    "127。0。0。1",
    "127．0．0．1",
    "１２７.0.0.1",
    "①②⑦.0.0.1",
    "127.0.0.1%2e",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[0000::0001]",
    "[::0.0.0.1]",
    // The unspecified address reaches this machine too.
    "0.0.0.0",
    "0",
    "0x0",
    "00",
    "0.0",
    "[::]",
    "0.1.2.3",
    // Private networks.
    "10.0.0.1",
    "10.1",
    "012.0.0.1",
    "0xa.0.0.1",
    "167772161",
    "10.255.255.255",
    "172.16.0.1",
    "172.31.255.255",
    "172.16.1",
    "0xac100001",
    "2886729729",
    "192.168.0.1",
    "192.168.1",
    "0xc0a80101",
    "3232235777",
    "0300.0250.1.1",
    // Shared by carriers, link-local, cloud metadata.
    "100.64.0.1",
    "100.127.255.255",
    "169.254.169.254",
    "169.254.43518",
    "0xa9fea9fe",
    "2852039166",
    "0251.0376.0251.0376",
    "169.254.169.254.",
    "[fe80::1]",
    "[febf::1]",
    "[fd00:ec2::254]",
    // Protocol assignments, documentation, benchmarks, multicast, reserved, broadcast.
    "192.0.0.1",
    "192.0.2.1",
    "198.51.100.7",
    "203.0.113.7",
    "192.88.99.1",
    "198.18.0.1",
    "198.19.255.255",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "4294967295",
    "0xffffffff",
    // IPv6 that carries IPv4.
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:127.0.0.1]",
    "[::ffff:10.0.0.1]",
    "[::ffff:169.254.169.254]",
    "[::ffff:a9fe:a9fe]",
    "[::ffff:0.0.0.0]",
    "[::127.0.0.1]",
    "[::7f00:1]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b::a9fe:a9fe]",
    "[64:ff9b::10.0.0.1]",
    "[64:ff9b:1::1]",
    "[2002:7f00:1::]",
    "[2002:a9fe:a9fe::1]",
    "[2001:0:7f00:1::]",
    "[2001::1]",
    // IPv6 that is local, special or unassigned.
    "[fc00::1]",
    "[fdff::1]",
    "[fec0::1]",
    "[ff02::1]",
    "[ff0e::1]",
    "[100::1]",
    "[2001:db8::1]",
    "[2001:10::1]",
    "[2001:20::1]",
    "[3fff::1]",
    "[4000::1]",
    "[5f00::1]",
    "[8000::1]",
];

const PUBLIC: &[&str] = &[
    "1.1.1.1",
    "8.8.8.8",
    "0x08080808",
    "134744072",
    "010.8.8.8",
    "9.255.255.255",
    "11.0.0.1",
    "100.63.255.255",
    "100.128.0.1",
    "126.255.255.255",
    "128.0.0.1",
    "169.253.255.255",
    "172.15.255.255",
    "172.32.0.1",
    "192.167.255.255",
    "192.169.0.1",
    "198.17.255.255",
    "198.20.0.1",
    "223.255.255.255",
    "[2606:4700:4700::1111]",
    "[2a00:1450::1]",
    "[::ffff:8.8.8.8]",
    "[64:ff9b::8.8.8.8]",
    "[2001:4860:4860::8888]",
];

#[test]
fn every_spelling_of_a_private_place_is_refused() {
    for host in PRIVATE {
        for url in [format!("http://{host}/mcp"), format!("wss://{host}:8443/")] {
            assert_eq!(verdict(&strict(), &url), Err(PolicyViolation::Private), "{url}");
        }
    }
    assert!(PRIVATE.len() >= 100);
}

#[test]
fn public_places_are_permitted() {
    for host in PUBLIC {
        assert_eq!(verdict(&strict(), &format!("https://{host}/mcp")), Ok(()), "{host}");
    }
}

#[test]
fn names_wait_for_the_resolver() {
    for host in
        ["example.com", "localhost", "LOCALHOST.", "bücher.example", "xn--bcher-kva.example", "127.0.0.1.nip.io"]
    {
        assert_eq!(verdict(&strict(), &format!("http://{host}/")), Ok(()), "{host}");
    }
}

#[test]
fn what_is_no_address_at_all_does_not_parse() {
    for url in [
        "http://256.1.1.1/",
        "http://1.2.3.4.5/",
        "http://0x100000000/",
        "http://[::1",
        "http://[fe80::1%25eth0]/",
        "http:///",
    ] {
        assert!(Url::parse(url).is_err(), "{url}");
    }
}

#[test]
fn other_schemes_and_credentials_are_refused() {
    for url in
        ["file:///etc/passwd", "ftp://example.com/", "gopher://example.com/", "data:text/plain,x", "unix:/run/x.sock"]
    {
        assert_eq!(verdict(&strict(), url), Err(PolicyViolation::Scheme), "{url}");
    }
    for url in [
        "http://user@example.com/",
        "http://user:pass@example.com/",
        "http://:pass@example.com/",
        "http://example.com@127.0.0.1/",
        "http://127.0.0.1:80@example.com/",
        "https://1.1.1.1%2f@10.0.0.1/",
    ] {
        assert_eq!(verdict(&strict(), url), Err(PolicyViolation::Credentials), "{url}");
    }
}

#[test]
fn a_backslash_ends_the_host() {
    // Browsers and this parser agree: what follows is the path, so the host is what stands before it.
    assert_eq!(verdict(&strict(), r"http://127.0.0.1\@example.com/"), Err(PolicyViolation::Private));
    assert_eq!(verdict(&strict(), r"http:\\10.0.0.1/"), Err(PolicyViolation::Private));
    assert_eq!(verdict(&strict(), "http://127.0.0.1#@example.com/"), Err(PolicyViolation::Private));
    assert_eq!(verdict(&strict(), "http://127.0.0.1\t/"), Err(PolicyViolation::Private));
}

#[test]
fn the_own_origin_is_permitted_at_its_port_only() {
    assert_eq!(verdict(&strict(), "http://10.9.9.9:3000/mcp/toolbox"), Ok(()));
    assert_eq!(verdict(&strict(), "http://10.9.9.9:3001/"), Err(PolicyViolation::Private));
}

#[test]
fn loopback_is_permitted_where_the_server_is_local() {
    let local = NetworkPolicy::new(&[], true, vec![]);
    for host in ["127.0.0.1", "127.9.9.9", "[::1]", "[::ffff:127.0.0.1]"] {
        assert_eq!(verdict(&local, &format!("ws://{host}:9000/")), Ok(()), "{host}");
    }
    for host in ["0.0.0.0", "10.0.0.1", "169.254.169.254", "[::]", "[fe80::1]"] {
        assert_eq!(verdict(&local, &format!("ws://{host}:9000/")), Err(PolicyViolation::Private), "{host}");
    }
}

#[test]
fn the_administrator_allows_hosts_ports_and_networks() {
    let allow = ["10.1.0.0/16", "192.168.1.5:8080"].map(|entry| entry.parse().unwrap());
    let policy = NetworkPolicy::new(&allow, false, vec![]);
    assert_eq!(verdict(&policy, "http://10.1.2.3/"), Ok(()));
    assert_eq!(verdict(&policy, "http://0x0a010203/"), Ok(()));
    assert_eq!(verdict(&policy, "http://192.168.1.5:8080/"), Ok(()));
    assert_eq!(verdict(&policy, "http://192.168.1.5/"), Err(PolicyViolation::Private));
    assert_eq!(verdict(&policy, "http://10.2.0.1/"), Err(PolicyViolation::Private));
}

#[tokio::test]
async fn a_name_is_judged_by_what_it_resolves_to() {
    let url = Url::parse("http://localhost:9/").unwrap();
    assert!(matches!(strict().resolve(&url).await, Err(Error::Blocked(PolicyViolation::Private))));
    let by_name = NetworkPolicy::new(&["localhost:9".parse().unwrap()], false, vec![]);
    assert!(!by_name.resolve(&url).await.unwrap().is_empty());
    let other_port = Url::parse("http://localhost:10/").unwrap();
    assert!(by_name.resolve(&other_port).await.is_err());
    let own = NetworkPolicy::new(&[], false, vec!["LocalHost:9".to_owned()]);
    assert!(!own.resolve(&url).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_name_that_does_not_exist_says_so() {
    let url = Url::parse("http://nothing.invalid/").unwrap();
    assert_eq!(strict().resolve(&url).await.unwrap_err().to_string(), "has a host name that does not resolve");
}

proptest! {
    /// However an IPv4 address is written, the verdict is the one of its dotted form.
    #[test]
    fn the_spelling_does_not_change_the_verdict(ip: u32, loopback: bool) {
        let policy = NetworkPolicy::new(&[], loopback, vec![]);
        let [a, b, c, d] = ip.to_be_bytes();
        let plain = verdict(&policy, &format!("http://{a}.{b}.{c}.{d}/"));
        for host in [
            format!("{ip}"), format!("{ip:#x}"), format!("0{ip:o}"), format!("{a:#x}.{b:#x}.{c:#x}.{d:#x}"),
            format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"), format!("{a}.{}", ip & 0x00ff_ffff), format!("{a}.{b}.{}", ip & 0xffff),
            format!("{a}.{b}.{c}.{d}."), format!("[::ffff:{a}.{b}.{c}.{d}]"), format!("[64:ff9b::{a}.{b}.{c}.{d}]"),
        ] {
            prop_assert_eq!(verdict(&policy, &format!("http://{host}/")), plain.clone(), "{}", host);
        }
    }
}
