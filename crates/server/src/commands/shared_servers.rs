//! The operation `servers` of `ai-chat-mcp admin`: MCP servers that the operator offers to users.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, ensure};
use clap::Subcommand;
use connections::shared_servers::{ServerOffer, withdraw};
use domain::{Clock, SystemClock};
use platform::AuditLog;
use platform::config::{Config, HostName, PROVE_ADDRESSES};
use serde_json::json;
use storage::Storage;
use storage::shared_servers::SharedServer;

use super::database::on_database;
use super::key_files::present_sealer;

/// An operation on shared servers.
#[derive(Debug, Subcommand)]
pub enum SharedServersAction {
    /// List the servers that are offered.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Offer a server to users, or replace the offer with this name. Connections of users to it stay.
    Offer {
        /// Name that users see.
        name: String,
        /// Its URL. Users see it without the values of its query. On a private network, CHAT_NETWORK_ALLOW must permit it.
        // Not `url`: the option of that name applies to all operations.
        #[arg(value_name = "URL")]
        server_url: String,
        /// What the server is for, as users see it.
        #[arg(long, default_value = "", value_name = "TEXT")]
        description: String,
        /// File of HTTP headers to send, a line each, such as "Authorization: Bearer KEY". "-" reads standard input. They
        /// are encrypted and never shown. Without it, users sign in to the server themselves if it asks.
        #[arg(long, value_name = "FILE")]
        headers: Option<PathBuf>,
        /// Offer it only to users with a proven email address of this domain. Can be repeated.
        #[arg(long = "domain", value_name = "DOMAIN")]
        domains: Vec<HostName>,
        /// Offer it only to users in this group at the identity provider (CHAT_OIDC_GROUPS_CLAIM), and to those of the
        /// domains. Can be repeated.
        #[arg(long = "group", value_name = "NAME")]
        groups: Vec<String>,
    },
    /// No longer offer a server. All connections of users to it are deleted.
    Withdraw { name: String },
}

impl SharedServersAction {
    /// Runs the operation on the database, whose server may run or not, and returns what to print.
    ///
    /// # Errors
    ///
    /// The offer is invalid, there is no server of this name, or the database or a file cannot be read.
    pub async fn run(self, config: &Config) -> anyhow::Result<String> {
        on_database(config, async |storage| self.run_on(config, storage).await).await
    }

    async fn run_on(self, config: &Config, storage: &Storage) -> anyhow::Result<String> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let audit = AuditLog::new(config.audit_lifetime.is_some(), &clock);
        match self {
            Self::List { json } => {
                let servers = storage.shared_servers().list().await?;
                Ok(if json { as_json(&servers) } else { table(&servers) })
            }
            Self::Offer { name, server_url, description, headers, domains, groups } => {
                ensure!(
                    groups.is_empty() || config.oidc.as_ref().is_some_and(|oidc| oidc.groups_claim.is_some()),
                    "groups need CHAT_OIDC_GROUPS_CLAIM"
                );
                ensure!(
                    domains.is_empty() || !config.admits_unproven_addresses(),
                    "domains need proven addresses; {PROVE_ADDRESSES}"
                );
                let headers = headers.as_deref().map(read_headers).transpose()?.unwrap_or_default();
                let offer = ServerOffer {
                    name: &name,
                    url: &server_url,
                    description: &description,
                    headers: &headers,
                    domains: &domains,
                    groups: &groups,
                };
                offer.store(storage, &present_sealer(config)?, clock.now(), &audit).await?;
                Ok(format!("Offered {}.\n", name.trim()))
            }
            Self::Withdraw { name } => {
                ensure!(withdraw(storage, &name, &audit).await?, "there is no shared server {name}");
                Ok(format!("Withdrew {name}, with all connections to it.\n"))
            }
        }
    }
}

/// Reads headers from a file, or with `-` from standard input.
fn read_headers(path: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let text = if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text).context("standard input cannot be read")?
    } else {
        std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?
    };
    parse_headers(&text)
}

fn parse_headers(text: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let mut headers = BTreeMap::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        // Without the line itself, which may hold a secret.
        let (name, value) =
            line.split_once(':').with_context(|| format!("line {} of the headers has no colon", index + 1))?;
        headers.insert(name.trim().to_owned(), value.trim().to_owned());
    }
    Ok(headers)
}

fn as_json(servers: &[SharedServer]) -> String {
    let servers: Vec<_> = servers
        .iter()
        .map(|server| {
            json!({
                "id": server.id,
                "name": server.name,
                "description": server.description,
                "url": server.url,
                "hasHeaders": server.headers.is_some(),
                "domains": server.domains,
                "groups": server.groups,
            })
        })
        .collect();
    format!("{:#}\n", json!(servers))
}

fn table(servers: &[SharedServer]) -> String {
    let width = |text: fn(&SharedServer) -> &str, title: &str| {
        servers.iter().map(|server| text(server).chars().count()).max().unwrap_or_default().max(title.len())
    };
    let (names, urls) = (width(|server| &server.name, "name"), width(|server| &server.url, "URL"));
    let mut table = format!("{:names$}  {:urls$}  headers  offered to\n", "name", "URL");
    for SharedServer { name, url, headers, domains, groups, .. } in servers {
        let headers = if headers.is_some() { "yes" } else { "no" };
        let groups = groups.iter().map(|group| format!("group {group}"));
        let offered_to: Vec<String> = domains.iter().cloned().chain(groups).collect();
        let offered_to = if offered_to.is_empty() { "all users".to_owned() } else { offered_to.join(", ") };
        // Writing to a string cannot fail.
        let _ = writeln!(table, "{name:names$}  {url:urls$}  {headers:7}  {offered_to}");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_header_from_each_line() {
        let headers = parse_headers("Authorization: Bearer a:b\n\n X-Team :7\r\n").unwrap();
        let expected = [("Authorization", "Bearer a:b"), ("X-Team", "7")];
        assert_eq!(headers, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        assert_eq!(parse_headers("X: 1\nsecret").unwrap_err().to_string(), "line 2 of the headers has no colon");
    }
}
