//! The operation `quota` of `ai-chat-mcp admin`: a user's exceptions from the quotas of the settings.

use std::fmt::Write as _;
use std::num::NonZeroU64;
use std::str::FromStr;

use clap::Args;
use domain::model::{BYTES_PER_MEBIBYTE, QuotaKind};
use platform::config::{Config, Nanodollars};
use storage::Storage;
use storage::audit_events::{AuditActor, AuditEventKind};
use storage::quotas::{QuotaException, QuotaExceptions};

use super::database::{find_user, on_database, record_operation};

/// Arguments of `ai-chat-mcp admin quota`.
#[derive(Debug, Args)]
#[command(
    after_help = "A limit is a number, \"none\" for no limit, or \"default\" for that of the settings. Without options, \
                        prints the quotas."
)]
pub struct QuotaCommand {
    user: String,
    /// Tokens of input and output per day.
    #[arg(long, value_name = "LIMIT")]
    tokens_per_day: Option<Choice<NonZeroU64>>,
    /// Tokens of input and output per month.
    #[arg(long, value_name = "LIMIT")]
    tokens_per_month: Option<Choice<NonZeroU64>>,
    /// US dollars per day, such as 2.50.
    #[arg(long, value_name = "LIMIT")]
    cost_per_day: Option<Choice<Nanodollars>>,
    /// US dollars per month.
    #[arg(long, value_name = "LIMIT")]
    cost_per_month: Option<Choice<Nanodollars>>,
    /// Turns that begin per hour: messages with their answers, and requests of the OpenAI-compatible API.
    #[arg(long, value_name = "LIMIT")]
    turns_per_hour: Option<Choice<NonZeroU64>>,
    /// MiB of stored files.
    #[arg(long, value_name = "LIMIT")]
    files_mib: Option<Choice<NonZeroU64>>,
    /// Connections to MCP servers, open or not.
    #[arg(long, value_name = "LIMIT")]
    connections: Option<Choice<NonZeroU64>>,
}

/// The value of an option.
#[derive(Debug, Clone, Copy)]
enum Choice<T> {
    Default,
    Unlimited,
    Limit(T),
}

impl<T: FromStr> FromStr for Choice<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "default" => Ok(Self::Default),
            "none" => Ok(Self::Unlimited),
            _ => text.parse().map(Self::Limit).map_err(|_| "neither a limit nor none nor default".to_owned()),
        }
    }
}

impl<T> Choice<T> {
    fn into_exception(self, amount: impl FnOnce(T) -> u64) -> Option<QuotaException> {
        match self {
            Self::Default => None,
            Self::Unlimited => Some(QuotaException::Unlimited),
            Self::Limit(limit) => Some(QuotaException::Limit(amount(limit))),
        }
    }
}

impl QuotaCommand {
    /// Changes the exceptions in the database, whose server may run or not, and returns the quotas to print.
    ///
    /// # Errors
    ///
    /// There is no such account, or the database cannot be used.
    pub async fn run(self, config: &Config) -> anyhow::Result<String> {
        on_database(config, async |storage| self.run_on(config, storage).await).await
    }

    async fn run_on(&self, config: &Config, storage: &Storage) -> anyhow::Result<String> {
        let user = find_user(storage, &self.user).await?;
        let number = |choice: Choice<NonZeroU64>| choice.into_exception(NonZeroU64::get);
        let mebibytes =
            |choice: Choice<NonZeroU64>| choice.into_exception(|mib| mib.get().saturating_mul(BYTES_PER_MEBIBYTE));
        let dollars = |choice: Choice<Nanodollars>| choice.into_exception(|dollars| dollars.0);
        // In the order of `QuotaKind::ALL`.
        let changes = [
            self.tokens_per_day.map(number),
            self.tokens_per_month.map(number),
            self.cost_per_day.map(dollars),
            self.cost_per_month.map(dollars),
            self.turns_per_hour.map(number),
            self.files_mib.map(mebibytes),
            self.connections.map(number),
        ];
        let mut exceptions = storage.quotas().get_exceptions(user).await?;
        for (exception, change) in exceptions.0.iter_mut().zip(changes) {
            *exception = change.unwrap_or(*exception);
        }
        if changes.iter().any(Option::is_some) {
            let stored = storage.quotas().set_exceptions(user, exceptions).await;
            stored.map_err(|error| match error {
                storage::Error::MissingReference => anyhow::anyhow!("there is no account {}", self.user),
                error => error.into(),
            })?;
            record_operation(storage, config, AuditActor::Admin, Some(user), AuditEventKind::QuotaChanged).await?;
        }
        Ok(table(config, &exceptions))
    }
}

fn table(config: &Config, exceptions: &QuotaExceptions) -> String {
    let limits = exceptions.over(config.quotas);
    let mut table = String::new();
    for (kind, exception) in QuotaKind::ALL.into_iter().zip(exceptions.0) {
        let name = match kind {
            QuotaKind::TokensPerDay => "tokens per day",
            QuotaKind::TokensPerMonth => "tokens per month",
            QuotaKind::CostPerDay => "cost per day",
            QuotaKind::CostPerMonth => "cost per month",
            QuotaKind::TurnsPerHour => "turns per hour",
            QuotaKind::StoredBytes => "stored files",
            QuotaKind::Connections => "connections",
        };
        let limit = limits.get(kind).map_or_else(|| "no limit".to_owned(), |limit| kind.unit().format(limit));
        let source = if exception.is_some() { "exception" } else { "settings" };
        // Writing to a string cannot fail.
        let _ = writeln!(table, "{name:16}  {limit:>14}  {source}");
    }
    table
}
