//! The operation `registration-token` of `ai-chat-mcp admin`: tokens with which users sign up where sign-up is by
//! invitation.

use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::sync::Arc;

use accounts::registration_tokens::{
    DEFAULT_LIFETIME_SECONDS, IssuedRegistrationToken, IssuedRegistrationTokenDto, RegistrationTokenDto,
    RegistrationTokenParams, registration_link, revoke,
};
use anyhow::ensure;
use clap::Subcommand;
use domain::{Clock, RegistrationTokenId, SystemClock, Timestamp};
use platform::AuditLog;
use platform::config::{Config, HostName};
use serde_json::json;
use storage::Storage;
use storage::registration_tokens::RegistrationToken;
use url::Url;

use super::database::on_database;
use super::times::{parse_end, period_seconds};

/// An operation on registration tokens.
#[derive(Debug, Subcommand)]
pub enum RegistrationTokenAction {
    /// Create a token and print it, with the link to sign up with it. Neither is shown again.
    Create {
        /// How many users can sign up with it.
        #[arg(long, value_name = "NUMBER", default_value_t = NonZeroU32::MIN)]
        uses: NonZeroU32,
        /// Time after which it is invalid, such as 24h or 7d. Default: 7d.
        #[arg(long, value_name = "PERIOD", value_parser = parse_period, conflicts_with = "expires")]
        expires_in: Option<i64>,
        /// Time from which it is invalid, such as 2026-11-21T10:00:00Z, or the last day on which it is valid, in UTC.
        #[arg(long, value_name = "DATE", value_parser = parse_end)]
        expires: Option<Timestamp>,
        /// Only email addresses of this domain can sign up with it.
        #[arg(long, value_name = "DOMAIN")]
        domain: Option<HostName>,
        /// What it is for. Only operators see it.
        #[arg(long, default_value = "", value_name = "TEXT")]
        note: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List all tokens, newest first, without the tokens themselves.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Make a token invalid. Users who have signed up with it keep their accounts.
    Revoke {
        /// Id of the token, as `list` prints it.
        id: RegistrationTokenId,
    },
}

fn parse_period(text: &str) -> Result<i64, String> {
    let seconds = period_seconds(text).filter(|seconds| *seconds > 0);
    seconds.ok_or_else(|| "not a number of m, h or d".to_owned())
}

impl RegistrationTokenAction {
    /// Runs the operation on the database, whose server may run or not, and returns what to print.
    ///
    /// # Errors
    ///
    /// The token would be of no use, there is no token with this id, or the database cannot be used.
    pub async fn run(self, config: &Config) -> anyhow::Result<String> {
        on_database(config, async |storage| self.run_on(config, storage).await).await
    }

    async fn run_on(self, config: &Config, storage: &Storage) -> anyhow::Result<String> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let audit = AuditLog::new(config.audit_lifetime.is_some(), &clock);
        let now = clock.now();
        match self {
            Self::Create { uses, expires_in, expires, domain, note, json } => {
                let lifetime = expires_in.unwrap_or(i64::from(DEFAULT_LIFETIME_SECONDS));
                let expires_at = expires.unwrap_or_else(|| now.plus_seconds(lifetime));
                let params = RegistrationTokenParams { max_uses: uses, expires_at, domain, note };
                let issued = params.create(storage, &config.sign_ups, now, &audit).await?;
                let link = registration_link(&config.public_origin(config.listen.port())?, &issued.token)?;
                Ok(if json {
                    format!("{:#}\n", json!(IssuedRegistrationTokenDto::new(issued, link, now)))
                } else {
                    issued_as_text(&issued, &link)
                })
            }
            Self::List { json } => {
                let tokens = storage.registration_tokens().list().await?;
                Ok(if json {
                    let tokens = tokens.into_iter().map(|token| RegistrationTokenDto::new(token, now));
                    format!("{:#}\n", json!(tokens.collect::<Vec<_>>()))
                } else {
                    table(&tokens, now)
                })
            }
            Self::Revoke { id } => {
                ensure!(
                    revoke(storage, id, now, &audit).await?,
                    "there is no registration token {id} that was not revoked"
                );
                Ok(format!("Revoked {id}.\n"))
            }
        }
    }
}

fn issued_as_text(issued: &IssuedRegistrationToken, link: &Url) -> String {
    let IssuedRegistrationToken { stored, token } = issued;
    let uses = if stored.max_uses == 1 { "once".to_owned() } else { format!("{} times", stored.max_uses) };
    let domain = stored.domain.as_ref().map_or_else(String::new, |domain| format!(", by addresses at {domain}"));
    let expiry = stored.expires_at.to_rfc3339();
    format!(
        "id     {}\ntoken  {token}\nlink   {link}\n\nIt can be used {uses}{domain}, until {expiry}. It is not shown again.\n",
        stored.id
    )
}

fn table(tokens: &[RegistrationToken], now: Timestamp) -> String {
    let domain_of = |token: &RegistrationToken| token.domain.clone().unwrap_or_else(|| "any".to_owned());
    let uses_of = |token: &RegistrationToken| format!("{}/{}", token.uses, token.max_uses);
    let width = |text: &dyn Fn(&RegistrationToken) -> String, title: &str| {
        tokens.iter().map(|token| text(token).chars().count()).max().unwrap_or_default().max(title.len())
    };
    let (uses, domains) = (width(&uses_of, "uses"), width(&domain_of, "domain"));
    let mut table = format!(
        "{:36}  {:7}  {:uses$}  {:10}  {:10}  {:domains$}  note\n",
        "id", "state", "uses", "created", "expires", "domain"
    );
    for token in tokens {
        let day = |time: Timestamp| time.to_rfc3339().get(..10).unwrap_or("-").to_owned();
        let (created, expires) = (day(token.created_at), day(token.expires_at));
        let (state, count, domain) = (token.state(now).as_str(), uses_of(token), domain_of(token));
        let line = format!(
            "{:36}  {state:7}  {count:uses$}  {created}  {expires}  {domain:domains$}  {}",
            token.id, token.note
        );
        // Writing to a string cannot fail.
        let _ = writeln!(table, "{}", line.trim_end());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_tokens_in_columns() {
        let token = |note: &str, domain: Option<&str>, max_uses| RegistrationToken {
            id: RegistrationTokenId::fresh(),
            note: note.to_owned(),
            domain: domain.map(str::to_owned),
            max_uses,
            uses: 1,
            created_at: Timestamp(1_795_255_200_000_000),
            expires_at: Timestamp(1_795_255_200_000_000).plus_seconds(86_400),
            revoked_at: None,
        };
        let tokens = [token("Team A", Some("example.com"), 100), token("", None, 1)];
        let now = Timestamp(1_795_255_200_000_000);
        let lines: Vec<String> = table(&tokens, now).lines().map(|line| line[36..].to_owned()).collect();
        let expected = [
            "  state    uses   created     expires     domain       note",
            "  valid    1/100  2026-11-21  2026-11-22  example.com  Team A",
            "  used-up  1/1    2026-11-21  2026-11-22  any",
        ];
        assert_eq!(lines, expected);
        assert!(parse_period("0d").is_err() && parse_period("1w").is_err());
        assert_eq!(parse_period("7d"), Ok(i64::from(DEFAULT_LIFETIME_SECONDS)));
    }
}
