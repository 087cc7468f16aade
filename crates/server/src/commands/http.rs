//! HTTP client for addresses that the operator names, and the address of the own server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use anyhow::Context;
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};
use url::Url;

/// Returns a client that follows no redirect. Requests take at most `timeout`.
pub fn operator_client(timeout: Duration, uses_proxy: bool) -> reqwest::Result<Client> {
    let builder = || builder(timeout, uses_proxy);
    // Without any certificates on the system, which is common in containers, plain HTTP works all the same.
    builder().build().or_else(|_| builder().tls_certs_only([]).build())
}

fn builder(timeout: Duration, uses_proxy: bool) -> ClientBuilder {
    #[expect(clippy::disallowed_methods, reason = "the operator names the address")]
    let builder = Client::builder().redirect(Policy::none()).timeout(timeout);
    if uses_proxy { builder } else { builder.no_proxy() }
}

/// Returns the innermost cause of an error, which names the reason.
pub fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// Rejects a value of `--url` that no HTTP client can ask.
pub fn check_url(url: &Url) -> anyhow::Result<()> {
    anyhow::ensure!(matches!(url.scheme(), "http" | "https"), "--url must be an http:// or https:// URL");
    Ok(())
}

/// Returns the origin under which a server on this machine is reached that listens on `address`.
pub fn server_origin(address: SocketAddr) -> anyhow::Result<Url> {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    Url::parse(&format!("http://{}", SocketAddr::new(ip, address.port()))).context("CHAT_LISTEN is not an address")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reaches_wildcard_addresses_over_loopback() {
        for (listen, origin) in [
            ("0.0.0.0:3000", "http://127.0.0.1:3000/"),
            ("[::]:80", "http://[::1]/"),
            ("192.0.2.1:8080", "http://192.0.2.1:8080/"),
        ] {
            assert_eq!(server_origin(listen.parse().unwrap()).unwrap().as_str(), origin);
        }
    }
}
