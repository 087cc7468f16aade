//! Which addresses are this server's own.

use std::net::SocketAddr;

use url::Url;

/// Every `host:port` under which this server answers.
pub fn own_origins(address: SocketAddr, site: &Url) -> Vec<String> {
    let port = address.port();
    let mut own = vec![address.to_string(), host_and_port(site)];
    if address.ip().is_loopback() || address.ip().is_unspecified() {
        own.extend([format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")]);
    }
    own
}

/// The `host:port` of an address, with the port written out.
pub fn host_and_port(url: &Url) -> String {
    format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default())
}
