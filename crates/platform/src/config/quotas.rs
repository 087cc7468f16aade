//! Settings of the quotas of users.

use std::num::NonZeroU64;
use std::str::FromStr;

use domain::model::{BYTES_PER_MEBIBYTE, NANODOLLARS_PER_DOLLAR, QuotaKind, QuotaLimits};

use super::source::{ConfigError, Source};

/// MiB of stored files that each user may have without a setting.
const DEFAULT_FILES_MIB: u64 = 1_024;
/// Connections that each user may have without a setting.
const DEFAULT_CONNECTIONS: u64 = 200;
/// Largest amount of money, in US dollars.
const MAX_DOLLARS: f64 = 1_000_000.0;

/// A positive amount of US dollars, in billionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nanodollars(pub u64);

/// Error of a text that is not a positive amount of dollars.
#[derive(Debug, thiserror::Error)]
#[error("not an amount of US dollars, such as 2.50")]
pub struct InvalidDollars;

impl FromStr for Nanodollars {
    type Err = InvalidDollars;

    fn from_str(text: &str) -> Result<Self, InvalidDollars> {
        let dollars: f64 = text.trim().trim_start_matches('$').parse().map_err(|_| InvalidDollars)?;
        let nanos = (dollars * NANODOLLARS_PER_DOLLAR as f64).round();
        if !(1.0..=MAX_DOLLARS * NANODOLLARS_PER_DOLLAR as f64).contains(&nanos) {
            return Err(InvalidDollars);
        }
        Ok(Self(nanos as u64))
    }
}

/// Reads `CHAT_TOKENS_PER_DAY`, `CHAT_TOKENS_PER_MONTH`, `CHAT_COST_PER_DAY`, `CHAT_COST_PER_MONTH`, `CHAT_TURNS_PER_HOUR`,
/// `CHAT_MAX_FILES_MIB_PER_USER` and `CHAT_MAX_SAVED_CONNECTIONS_PER_USER`.
pub(super) fn read(source: &mut Source) -> Result<QuotaLimits, ConfigError> {
    let mut limits = QuotaLimits::default();
    for (name, kind) in [
        ("CHAT_TOKENS_PER_DAY", QuotaKind::TokensPerDay),
        ("CHAT_TOKENS_PER_MONTH", QuotaKind::TokensPerMonth),
        ("CHAT_TURNS_PER_HOUR", QuotaKind::TurnsPerHour),
    ] {
        let number: Option<NonZeroU64> = source.parse(name, "a number, at least 1")?;
        limits.set(kind, number.map(NonZeroU64::get));
    }
    let mebibytes: Option<NonZeroU64> = source.parse("CHAT_MAX_FILES_MIB_PER_USER", "a number, at least 1")?;
    let mebibytes = mebibytes.map_or(DEFAULT_FILES_MIB, NonZeroU64::get);
    limits.set(QuotaKind::StoredBytes, Some(mebibytes.saturating_mul(BYTES_PER_MEBIBYTE)));
    let connections: Option<NonZeroU64> =
        source.parse("CHAT_MAX_SAVED_CONNECTIONS_PER_USER", "a number, at least 1")?;
    limits.set(QuotaKind::Connections, Some(connections.map_or(DEFAULT_CONNECTIONS, NonZeroU64::get)));
    for (name, kind) in [("CHAT_COST_PER_DAY", QuotaKind::CostPerDay), ("CHAT_COST_PER_MONTH", QuotaKind::CostPerMonth)]
    {
        let cost: Option<Nanodollars> = source.parse(name, "an amount of US dollars, such as 2.50")?;
        limits.set(kind, cost.map(|cost| cost.0));
    }
    Ok(limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_amounts_of_dollars() {
        let nanos = |text: &str| text.parse::<Nanodollars>().ok().map(|amount| amount.0);
        assert_eq!(
            (nanos("2.50"), nanos("$3"), nanos("0.000001")),
            (Some(2_500_000_000), Some(3_000_000_000), Some(1_000))
        );
        for invalid in ["", "0", "-1", "NaN", "inf", "1e9", "2,50", "two"] {
            assert_eq!(nanos(invalid), None, "{invalid}");
        }
    }
}
