//! Quotas of users for the models that the operator pays for.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Billionths of a US dollar, the unit of costs, per dollar.
pub const NANODOLLARS_PER_DOLLAR: u64 = 1_000_000_000;

/// The subject of a quota. Days and months are those of UTC.
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
}

impl QuotaKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::TokensPerDay, Self::TokensPerMonth, Self::CostPerDay, Self::CostPerMonth];

    /// Returns whether it limits a cost, and not a number of tokens.
    pub fn is_cost(self) -> bool {
        matches!(self, Self::CostPerDay | Self::CostPerMonth)
    }

    /// Returns whether it is renewed each day, and not each month.
    pub fn is_daily(self) -> bool {
        matches!(self, Self::TokensPerDay | Self::CostPerDay)
    }
}

/// The limits of a user. `None`: no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuotaLimits([Option<u64>; 4]);

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

/// A quota does not permit a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaExceeded {
    /// What is limited.
    pub kind: QuotaKind,
    /// The limit, in the unit of its kind.
    pub limit: u64,
    /// Whether the rest of the quota is reserved for calls in progress, and not used up.
    pub is_reserved: bool,
    /// Time until another attempt makes sense.
    pub retry_after: Duration,
}

impl std::error::Error for QuotaExceeded {}

impl fmt::Display for QuotaExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amount = if self.kind.is_cost() {
            format!("${:.2}", self.limit as f64 / NANODOLLARS_PER_DOLLAR as f64)
        } else {
            format!("{} tokens", self.limit)
        };
        let period = if self.kind.is_daily() { "today" } else { "this month" };
        if self.is_reserved {
            return write!(
                f,
                "the rest of your {amount} for {period} is reserved for answers that are in progress; try again when they \
                 are complete"
            );
        }
        let renewal = if self.kind.is_daily() { "at midnight (UTC)" } else { "on the first of next month (UTC)" };
        write!(f, "you have used your {amount} for {period}; the quota is reset {renewal}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_amount_period_and_renewal() {
        let of = |kind, limit, is_reserved| {
            QuotaExceeded { kind, limit, is_reserved, retry_after: Duration::ZERO }.to_string()
        };
        assert_eq!(
            of(QuotaKind::TokensPerDay, 100, false),
            "you have used your 100 tokens for today; the quota is reset at midnight (UTC)"
        );
        assert_eq!(
            of(QuotaKind::CostPerMonth, 2_500_000_000, false),
            "you have used your $2.50 for this month; the quota is reset on the first of next month (UTC)"
        );
        assert!(
            of(QuotaKind::TokensPerMonth, 9, true).starts_with("the rest of your 9 tokens for this month is reserved")
        );
    }
}
