//! The command `ai-chat-mcp health`: asks a running server whether it is ready, for containers, whose images have no
//! HTTP client.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use platform::config::Config;
use url::Url;

use super::http::{cause, check_url, operator_client, server_origin};

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
        None => server_origin(Config::load()?.listen)?,
    };
    check_url(&origin)?;
    let probe = origin.join("/health/ready")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (code, line) = match runtime.block_on(ask(probe)) {
        Ok(()) => (ExitCode::SUCCESS, "ready".to_owned()),
        Err(reason) => (ExitCode::FAILURE, format!("not ready: {reason}")),
    };
    writeln!(std::io::stdout(), "{line}")?;
    Ok(code)
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
