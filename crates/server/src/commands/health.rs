//! The command `ai-chat-mcp health`: asks a running server whether it is ready, for containers, whose images have no
//! HTTP client.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use platform::config::Config;
use url::Url;

use super::http::{cause, operator_client};

/// Maximum time for the whole request. Container runtimes give a check some seconds.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum number of characters of a response that is repeated.
const MAX_REASON_CHARACTERS: usize = 200;

/// Arguments of `ai-chat-mcp health`.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 the server is ready, 1 it is not ready or does not answer, 2 wrong arguments.")]
pub struct Health {
    /// Origin of the server, such as https://chat.example.com. Default: the address in CHAT_LISTEN.
    #[arg(long, value_name = "URL")]
    url: Option<Url>,
}

/// Asks the server and prints one line.
///
/// # Errors
///
/// The settings are invalid, or the URL is not an HTTP URL.
pub fn run(arguments: Health) -> anyhow::Result<ExitCode> {
    let origin = match arguments.url {
        Some(url) => url,
        None => origin_of(Config::load()?.listen)?,
    };
    anyhow::ensure!(matches!(origin.scheme(), "http" | "https"), "--url must be an http:// or https:// URL");
    let probe = origin.join("/health/ready")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (code, line) = match runtime.block_on(ask(probe)) {
        Ok(()) => (ExitCode::SUCCESS, "ready".to_owned()),
        Err(reason) => (ExitCode::FAILURE, format!("not ready: {reason}")),
    };
    writeln!(std::io::stdout(), "{line}")?;
    Ok(code)
}

/// Returns the origin under which a server on this machine is reached that listens on `address`.
fn origin_of(address: SocketAddr) -> anyhow::Result<Url> {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    Url::parse(&format!("http://{}", SocketAddr::new(ip, address.port()))).context("CHAT_LISTEN is not an address")
}

/// Requests the readiness probe. The error is the reason for which the server is not ready.
async fn ask(probe: Url) -> Result<(), String> {
    // A proxy of the environment leads elsewhere, and a redirect to something that is not the probe.
    let client = operator_client(TIMEOUT, false).map_err(|error| cause(&error))?;
    let response = client.get(probe.clone()).send().await.map_err(|error| {
        if error.is_timeout() {
            format!("{probe} did not answer within {} seconds", TIMEOUT.as_secs())
        } else {
            format!("{probe} cannot be reached: {}", cause(&error))
        }
    })?;
    let status = response.status();
    if status.is_success() {
        return Ok(());
    }
    let text = response.text().await.unwrap_or_default();
    // On one line, whatever answers at this address.
    let reason: String =
        text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_REASON_CHARACTERS).collect();
    Err(if reason.is_empty() {
        format!("status {}", status.as_u16())
    } else {
        format!("{reason} ({})", status.as_u16())
    })
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
            assert_eq!(origin_of(listen.parse().unwrap()).unwrap().as_str(), origin);
        }
    }
}
