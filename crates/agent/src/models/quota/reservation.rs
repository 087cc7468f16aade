//! The decision what a model call may use of the quotas.

use domain::model::{QuotaKind, QuotaLimits, QuotaPeriod, QuotaRest, QuotaUnit, Usage};
use storage::quotas::{Amount, QuotaUse};

use crate::models::catalogue::Price;

/// Output tokens that a call without a limit of its own may have: more than nearly all answers, with their reasoning.
const MAX_OUTPUT_TOKENS: u64 = 16_384;
/// Output tokens that a call may always have, so that the last one before a limit is still an answer.
const MIN_OUTPUT_TOKENS: u64 = 256;
/// Input tokens by which the last call before a limit may exceed it, so that the rest of a quota can be used: room for the
/// instructions, some tools and a message.
const MAX_EXCESS_TOKENS: u64 = 4_096;

/// The expected use of a call.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedUse {
    /// Estimated input tokens.
    pub input_tokens: u64,
    /// Limit of the output tokens that the caller has set.
    pub max_tokens: Option<u32>,
    /// Maximum number of output tokens of the model; `None` if unknown.
    pub output_limit: Option<u64>,
    /// Price of the model; `None` if unknown.
    pub price: Option<Price>,
}

/// The permission to make a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reservation {
    /// Whether there is something to [release](super::QuotaService::release).
    pub is_stored: bool,
    /// Limit of the output tokens that the call has to observe.
    pub max_tokens: Option<u32>,
}

/// Reason for which a call is not permitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// A quota does not permit it.
    Exceeded { kind: QuotaKind, limit: u64, rest: QuotaRest },
    /// A quota limits costs, and the price of the model is unknown.
    UnknownPrice,
}

/// Returns what is used of a quota for models.
pub(super) fn used(kind: QuotaKind, present: &QuotaUse) -> u64 {
    let amount = if kind.period() == Some(QuotaPeriod::Day) { present.today } else { present.month };
    of_kind(kind, amount)
}

/// Returns whether a quota limits costs.
pub(super) fn is_cost(kind: QuotaKind) -> bool {
    kind.unit() == QuotaUnit::Nanodollars
}

fn of_kind(kind: QuotaKind, Amount { tokens, nanos }: Amount) -> u64 {
    if is_cost(kind) { nanos } else { tokens }
}

/// Returns what to reserve for a call, which is also what its output is limited to. A call is permitted while something is
/// left, so that all calls pass a quota together at most by the error of the estimates, [`MAX_EXCESS_TOKENS`] of input and
/// [`MIN_OUTPUT_TOKENS`] of output of one call.
pub(super) fn decide(
    limits: &QuotaLimits,
    present: &QuotaUse,
    expected: &ExpectedUse,
) -> Result<(Amount, Reservation), Refusal> {
    let most = expected.max_tokens.map_or(MAX_OUTPUT_TOKENS, u64::from).min(expected.output_limit.unwrap_or(u64::MAX));
    let mut output = most;
    for (kind, limit) in limits.iter().filter(|(kind, _)| kind.is_of_models()) {
        let price = if is_cost(kind) { Some(expected.price.ok_or(Refusal::UnknownPrice)?) } else { None };
        if price.is_some_and(|price| price.is_free()) {
            continue;
        }
        let needed = |input_tokens, output_tokens| of_kind(kind, amount(input_tokens, output_tokens, price));
        let least = needed(expected.input_tokens.saturating_sub(MAX_EXCESS_TOKENS), 0).max(1);
        let unused = limit.saturating_sub(used(kind, present));
        let left = unused.saturating_sub(of_kind(kind, present.reserved));
        if left < least {
            let rest = match unused {
                0 => QuotaRest::Nothing,
                _ if unused < least => QuotaRest::TooSmall,
                _ => QuotaRest::Reserved,
            };
            return Err(Refusal::Exceeded { kind, limit, rest });
        }
        let affordable = largest(most, |output_tokens| needed(expected.input_tokens, output_tokens) <= left);
        output = output.min(affordable.max(MIN_OUTPUT_TOKENS.min(most)));
    }
    let max_tokens = Some(u32::try_from(output).unwrap_or(u32::MAX));
    Ok((amount(expected.input_tokens, output, expected.price), Reservation { is_stored: true, max_tokens }))
}

/// Returns what a call with these tokens uses.
fn amount(input_tokens: u64, output_tokens: u64, price: Option<Price>) -> Amount {
    let usage = Usage { input_tokens, output_tokens, cached_input_tokens: 0 };
    Amount { tokens: input_tokens.saturating_add(output_tokens), nanos: price.map_or(0, |price| price.cost(usage)) }
}

/// Returns the largest number up to `most` that fits, or 0; a number below one that fits has to fit as well.
fn largest(most: u64, fits: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPECTED: ExpectedUse =
        ExpectedUse { input_tokens: 1_000, max_tokens: None, output_limit: None, price: None };
    /// 1 and 10 dollars per million tokens.
    const PRICE: Price = Price { input: 1.0, output: 10.0, cached_input: None, long: None };

    fn limits(kind: QuotaKind, limit: u64) -> QuotaLimits {
        let mut limits = QuotaLimits::default();
        limits.set(kind, Some(limit));
        limits
    }

    fn tokens(used: u64, reserved: u64) -> QuotaUse {
        let amount = |tokens| Amount { tokens, nanos: 0 };
        QuotaUse { today: amount(used), month: amount(used), reserved: amount(reserved) }
    }

    #[test]
    fn a_call_gets_what_is_left_and_none_when_nothing_is() {
        let (kind, limit) = (QuotaKind::TokensPerDay, 20_000);
        let reserve = |used, reserved| {
            let decided = decide(&limits(kind, limit), &tokens(used, reserved), &EXPECTED);
            decided.map(|(amount, reservation)| (amount.tokens, reservation.max_tokens.unwrap()))
        };
        assert_eq!(reserve(0, 0), Ok((1_000 + MAX_OUTPUT_TOKENS, 16_384)));
        assert_eq!(reserve(12_000, 5_000), Ok((3_000, 2_000)));
        assert_eq!(reserve(19_900, 0), Ok((1_256, 256)), "still an answer");
        let refused = |rest| Err(Refusal::Exceeded { kind, limit, rest });
        assert_eq!(reserve(20_000, 0), refused(QuotaRest::Nothing));
        assert_eq!(reserve(14_000, 6_000), refused(QuotaRest::Reserved));
    }

    #[test]
    fn output_is_limited_to_what_is_reserved() {
        let daily = limits(QuotaKind::TokensPerDay, 1_000_000);
        let max_tokens = |max_tokens, output_limit| {
            let expected = ExpectedUse { max_tokens, output_limit, ..EXPECTED };
            let (amount, reservation) = decide(&daily, &tokens(0, 0), &expected).unwrap();
            assert_eq!(amount.tokens, 1_000 + u64::from(reservation.max_tokens.unwrap()));
            reservation.max_tokens.unwrap()
        };
        assert_eq!(max_tokens(None, None), 16_384);
        assert_eq!(max_tokens(Some(100), None), 100);
        assert_eq!(max_tokens(Some(50_000), None), 50_000);
        assert_eq!(max_tokens(None, Some(8_192)), 8_192);
        assert_eq!(max_tokens(Some(50_000), Some(32_000)), 32_000);
    }

    #[test]
    fn a_long_input_does_not_pass_what_is_left() {
        let (kind, limit) = (QuotaKind::TokensPerDay, 100_000);
        let reserve = |used, reserved, input_tokens| {
            let expected = ExpectedUse { input_tokens, ..EXPECTED };
            decide(&limits(kind, limit), &tokens(used, reserved), &expected).map(drop)
        };
        let refused = |rest| Err(Refusal::Exceeded { kind, limit, rest });
        assert_eq!(reserve(99_999, 0, 50_000), refused(QuotaRest::TooSmall));
        assert_eq!(reserve(10_000, 80_000, 50_000), refused(QuotaRest::Reserved));
        assert_eq!(reserve(99_999, 0, 4_097), Ok(()));
        assert_eq!(reserve(99_999, 0, 4_098), refused(QuotaRest::TooSmall));
    }

    #[test]
    fn calls_at_the_same_time_reserve_at_most_the_quota_and_one_short_call() {
        for quota in [1_u64, 5_000, 12_345, 100_000] {
            for input_tokens in [10, 1_000, 20_000] {
                let expected = ExpectedUse { input_tokens, ..EXPECTED };
                let monthly = limits(QuotaKind::TokensPerMonth, quota);
                let mut reserved = 0;
                while let Ok((amount, _)) = decide(&monthly, &tokens(0, reserved), &expected) {
                    reserved += amount.tokens;
                }
                assert!(reserved <= quota + MAX_EXCESS_TOKENS + MIN_OUTPUT_TOKENS, "{quota}: {reserved}");
            }
        }
    }

    #[test]
    fn a_cost_limits_the_output() {
        let expected = ExpectedUse { price: Some(PRICE), ..EXPECTED };
        let (kind, limit) = (QuotaKind::CostPerDay, 11_000_000);
        let daily = limits(kind, limit);
        let (amount, reservation) = decide(&daily, &QuotaUse::default(), &expected).unwrap();
        assert_eq!((amount.nanos, reservation.max_tokens), (11_000_000, Some(1_000)));
        let all = Amount { tokens: 0, nanos: 11_000_000 };
        let spent = QuotaUse { today: all, month: all, ..QuotaUse::default() };
        let refused = Err(Refusal::Exceeded { kind, limit, rest: QuotaRest::Nothing });
        assert_eq!(decide(&daily, &spent, &expected), refused);
        let free = ExpectedUse { price: Some(Price::FREE), ..EXPECTED };
        assert!(decide(&daily, &spent, &free).is_ok());
        assert_eq!(decide(&daily, &QuotaUse::default(), &EXPECTED), Err(Refusal::UnknownPrice));
        assert!(decide(&limits(QuotaKind::TokensPerDay, 9_000), &spent, &EXPECTED).is_ok());
    }
}
