//! Quotas of users: for the models that the operator pays for, and for what this server does for them.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::{SECONDS_PER_DAY, SECONDS_PER_HOUR, Timestamp};

/// Billionths of a US dollar, the unit of costs, per dollar.
pub const NANODOLLARS_PER_DOLLAR: u64 = 1_000_000_000;
/// Bytes per MiB, the unit in which people read the size of files.
pub const BYTES_PER_MEBIBYTE: u64 = 1024 * 1024;

/// The subject of a quota. Hours, days and months are those of UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum QuotaKind {
    /// Input and output tokens per day.
    TokensPerDay,
    /// Input and output tokens per month.
    TokensPerMonth,
    /// Cost per day, in billionths of a US dollar.
    CostPerDay,
    /// Cost per month, in billionths of a US dollar.
    CostPerMonth,
    /// Turns that begin per hour.
    TurnsPerHour,
    /// Size of the stored files, in bytes.
    StoredBytes,
    /// Connections to MCP servers, open or not.
    Connections,
}

/// The unit of a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotaUnit {
    /// Input and output tokens.
    Tokens,
    /// Billionths of a US dollar.
    Nanodollars,
    /// Turns that begin.
    Turns,
    /// Bytes of stored files.
    Bytes,
    /// Connections to MCP servers.
    Connections,
}

impl QuotaUnit {
    /// Formats an amount for people: `$2.50`, `5 MiB`, or the number of tokens, turns or connections.
    pub fn format(self, amount: u64) -> String {
        match self {
            Self::Nanodollars => format!("${:.2}", amount as f64 / NANODOLLARS_PER_DOLLAR as f64),
            Self::Bytes => format!("{} MiB", amount / BYTES_PER_MEBIBYTE),
            Self::Tokens | Self::Turns | Self::Connections => amount.to_string(),
        }
    }
}

/// The period after which a quota is renewed, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotaPeriod {
    /// From one full hour to the next.
    Hour,
    /// From one midnight to the next.
    Day,
    /// From the first of a month to that of the next.
    Month,
}

impl QuotaKind {
    /// Number of kinds.
    pub const COUNT: usize = 7;

    /// All kinds, each at the index of its number.
    pub const ALL: [Self; Self::COUNT] = [
        Self::TokensPerDay,
        Self::TokensPerMonth,
        Self::CostPerDay,
        Self::CostPerMonth,
        Self::TurnsPerHour,
        Self::StoredBytes,
        Self::Connections,
    ];

    /// Returns the unit of the limit and of the use.
    pub fn unit(self) -> QuotaUnit {
        match self {
            Self::TokensPerDay | Self::TokensPerMonth => QuotaUnit::Tokens,
            Self::CostPerDay | Self::CostPerMonth => QuotaUnit::Nanodollars,
            Self::TurnsPerHour => QuotaUnit::Turns,
            Self::StoredBytes => QuotaUnit::Bytes,
            Self::Connections => QuotaUnit::Connections,
        }
    }

    /// Returns the period of the quota; `None` if it is never renewed.
    pub fn period(self) -> Option<QuotaPeriod> {
        match self {
            Self::TurnsPerHour => Some(QuotaPeriod::Hour),
            Self::TokensPerDay | Self::CostPerDay => Some(QuotaPeriod::Day),
            Self::TokensPerMonth | Self::CostPerMonth => Some(QuotaPeriod::Month),
            Self::StoredBytes | Self::Connections => None,
        }
    }

    /// Returns whether it limits model calls, by their tokens or their cost.
    pub fn is_of_models(self) -> bool {
        matches!(self.unit(), QuotaUnit::Tokens | QuotaUnit::Nanodollars)
    }
}

impl QuotaPeriod {
    /// Returns the end of the current period.
    pub fn end(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Hour => now.start_of_hour().plus_seconds(SECONDS_PER_HOUR),
            Self::Day => now.start_of_day().plus_seconds(SECONDS_PER_DAY),
            Self::Month => now.start_of_next_month(),
        }
    }
}

/// The limits of a user. `None`: no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuotaLimits([Option<u64>; QuotaKind::COUNT]);

impl QuotaLimits {
    /// Returns a limit, in the unit of its kind.
    pub fn get(&self, kind: QuotaKind) -> Option<u64> {
        self.0[kind as usize]
    }

    /// Sets a limit, or removes it.
    pub fn set(&mut self, kind: QuotaKind, limit: Option<u64>) {
        self.0[kind as usize] = limit;
    }

    /// Returns the limits that there are.
    pub fn iter(&self) -> impl Iterator<Item = (QuotaKind, u64)> {
        QuotaKind::ALL.into_iter().filter_map(|kind| Some((kind, self.get(kind)?)))
    }
}

/// The rest of a quota that does not permit a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum QuotaRest {
    /// All is used.
    Nothing,
    /// The rest is reserved for calls in progress.
    Reserved,
    /// The rest is less than the input of the call.
    TooSmall,
}

/// A quota does not permit a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaExceeded {
    /// What is limited.
    pub kind: QuotaKind,
    /// The limit, in the unit of its kind.
    pub limit: u64,
    /// What is left.
    pub rest: QuotaRest,
    /// Time until another attempt makes sense.
    pub retry_after: Duration,
}

impl std::error::Error for QuotaExceeded {}

impl QuotaExceeded {
    /// Returns the error code of the APIs.
    pub fn code(&self) -> &'static str {
        match self.kind.unit() {
            QuotaUnit::Tokens | QuotaUnit::Nanodollars => "tokens_spent",
            QuotaUnit::Turns => "turns_spent",
            QuotaUnit::Bytes => "storage_full",
            QuotaUnit::Connections => "too_many_connections",
        }
    }

    /// Returns the seconds until another attempt makes sense, at least 1.
    pub fn retry_after_seconds(&self) -> u64 {
        self.retry_after.as_secs().max(1)
    }
}

impl fmt::Display for QuotaExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, limit, .. } = *self;
        let noun = match kind.unit() {
            QuotaUnit::Tokens => " tokens",
            QuotaUnit::Turns => " messages",
            QuotaUnit::Connections => " connections",
            QuotaUnit::Nanodollars | QuotaUnit::Bytes => "",
        };
        let amount = format!("{}{noun}", kind.unit().format(limit));
        let (period, renewal) = match kind.period() {
            Some(QuotaPeriod::Hour) => (" for this hour", "; the quota is reset at the full hour"),
            Some(QuotaPeriod::Day) => (" for today", "; the quota is reset at midnight (UTC)"),
            Some(QuotaPeriod::Month) => (" for this month", "; the quota is reset on the first of next month (UTC)"),
            None => ("", ""),
        };
        match self.rest {
            QuotaRest::Nothing => write!(f, "You have used your {amount}{period}{renewal}"),
            QuotaRest::Reserved => write!(
                f,
                "The rest of your {amount}{period} is reserved for answers that are in progress; try again when they are \
                 complete"
            ),
            QuotaRest::TooSmall => write!(
                f,
                "The rest of your {amount}{period} is not enough for this message and its chat; send a shorter one in a \
                 new chat{renewal}"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_at_the_index_of_their_number() {
        assert!(QuotaKind::ALL.into_iter().enumerate().all(|(index, kind)| kind as usize == index));
    }

    #[test]
    fn periods_end_at_the_full_hour_at_midnight_and_with_the_month() {
        // 2026-11-21T10:00:00Z and 40 minutes
        let now = Timestamp(1_795_255_200_000_000).plus_seconds(40 * 60);
        let end = |period: QuotaPeriod| period.end(now).to_rfc3339();
        assert_eq!(end(QuotaPeriod::Hour), "2026-11-21T11:00:00.000000Z");
        assert_eq!(end(QuotaPeriod::Day), "2026-11-22T00:00:00.000000Z");
        assert_eq!(end(QuotaPeriod::Month), "2026-12-01T00:00:00.000000Z");
    }

    #[test]
    fn names_amount_period_and_renewal() {
        let of = |kind, limit, rest| QuotaExceeded { kind, limit, rest, retry_after: Duration::ZERO }.to_string();
        assert_eq!(
            of(QuotaKind::TokensPerDay, 100, QuotaRest::Nothing),
            "You have used your 100 tokens for today; the quota is reset at midnight (UTC)"
        );
        assert_eq!(
            of(QuotaKind::CostPerMonth, 2_500_000_000, QuotaRest::Nothing),
            "You have used your $2.50 for this month; the quota is reset on the first of next month (UTC)"
        );
        assert_eq!(
            of(QuotaKind::TurnsPerHour, 20, QuotaRest::Nothing),
            "You have used your 20 messages for this hour; the quota is reset at the full hour"
        );
        let reserved = of(QuotaKind::TokensPerMonth, 9, QuotaRest::Reserved);
        assert!(reserved.starts_with("The rest of your 9 tokens for this month is reserved"), "{reserved}");
        let too_small = of(QuotaKind::TokensPerMonth, 9, QuotaRest::TooSmall);
        assert!(too_small.starts_with("The rest of your 9 tokens for this month is not enough"), "{too_small}");
    }
}
