//! The operation `audit` of `ai-chat-mcp admin`: prints the audit log.

use std::io::Write;

use clap::Args;
use domain::{Clock, SystemClock, Timestamp};
use platform::config::Config;
use serde_json::json;
use storage::Storage;
use storage::audit_events::AuditEvent;

use super::database::{find_user, on_database};
use super::times::period_seconds;

/// Number of events that are read at a time.
const EVENTS_PER_PAGE: i64 = 1000;

/// Arguments of `ai-chat-mcp admin audit`.
#[derive(Debug, Args)]
pub struct AuditExport {
    /// Only events of this account, an email address or an id. Deleted accounts are found by their id.
    #[arg(long)]
    user: Option<String>,
    /// Only events since this time, such as 2026-11-21T10:00:00Z, or within this time, such as 24h or 7d.
    #[arg(long, value_name = "TIME", value_parser = parse_since)]
    since: Option<Timestamp>,
    /// Print a JSON object per line.
    #[arg(long)]
    json_lines: bool,
}

impl AuditExport {
    /// Writes the events to `out`.
    ///
    /// # Errors
    ///
    /// The database cannot be read, the account does not exist, or `out` cannot be written.
    pub async fn run(self, config: &Config, out: &mut impl Write) -> anyhow::Result<()> {
        on_database(config, async |storage| self.write(storage, out).await).await
    }

    async fn write(&self, storage: &Storage, out: &mut impl Write) -> anyhow::Result<()> {
        let user = match &self.user {
            Some(user) => Some(find_user(storage, user).await?),
            None => None,
        };
        let since = self.since.unwrap_or(Timestamp(0));
        let mut last = None;
        loop {
            let events = storage.audit_events().list(user, since, last, EVENTS_PER_PAGE).await?;
            for event in &events {
                write_event(out, event, self.json_lines)?;
            }
            match events.last() {
                Some(event) => last = Some(event.id),
                None => return Ok(()),
            }
        }
    }
}

fn write_event(out: &mut impl Write, event: &AuditEvent, as_json: bool) -> std::io::Result<()> {
    let AuditEvent { id, user, actor, kind, client_address, user_agent, registration_token, created_at } = event;
    if as_json {
        let object = json!({
            "id": id, "time": created_at.to_rfc3339(), "user_id": user, "actor": actor, "kind": kind,
            "client_address": client_address, "user_agent": user_agent, "registration_token_id": registration_token,
        });
        return writeln!(out, "{object}");
    }
    let user = user.map_or_else(|| "-".to_owned(), |user| user.to_string());
    let (address, agent) = (client_address.as_deref().unwrap_or("-"), user_agent.as_deref().unwrap_or("-"));
    write!(out, "{}  {actor:6}  {kind:16}  {user:36}  {address:15}  {agent}", created_at.to_rfc3339())?;
    if let Some(token) = registration_token {
        write!(out, "  registration token {token}")?;
    }
    writeln!(out)
}

/// Parses a point in time, or a period before now.
fn parse_since(text: &str) -> Result<Timestamp, String> {
    if let Some(seconds) = period_seconds(text) {
        return Ok(SystemClock.now().plus_seconds(-seconds));
    }
    let time: jiff::Timestamp = text.parse().map_err(|_| "neither a time nor a number of m, h or d".to_owned())?;
    Ok(Timestamp(time.as_microsecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_times_and_periods() {
        assert_eq!(parse_since("2026-11-21T10:00:00Z"), Ok(Timestamp(1_795_255_200_000_000)));
        let day_ago = parse_since("24h").unwrap();
        assert!(SystemClock.now().millis_since(day_ago).abs_diff(86_400_000) < 60_000);
        for text in ["", "yesterday", "-1h", "5", "1w"] {
            assert!(parse_since(text).is_err(), "{text}");
        }
    }
}
