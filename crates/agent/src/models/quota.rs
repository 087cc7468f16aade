//! Quotas of users: tokens and cost of the configured models, which the operator pays for, turns per hour, the size of
//! stored files, and connections to MCP servers.
//!
//! All are counted in the database, so that a quota holds on every node. A model call reserves what it may use before it
//! begins, and its recorded usage takes the place of the reservation when it ends.

use std::sync::Arc;
use std::time::Duration;

use domain::model::{QuotaExceeded, QuotaKind, QuotaLimits, QuotaPeriod, QuotaUnit, Usage};
use domain::{Clock, Timestamp, UserId};
use storage::Storage;
use storage::quotas::{Amount, QuotaTimes, QuotaUse};
use uuid::Uuid;

use super::ModelId;
use super::catalogue::Price;
use super::user_providers::{USER_PROVIDER_PREFIX, is_user_provider};

/// Output tokens that a call without a limit of its own reserves: more than nearly all answers have.
const USUAL_OUTPUT_TOKENS: u64 = 4_096;
/// Output tokens that a call may always have, so that the last one before a limit is still an answer.
const MIN_OUTPUT_TOKENS: u64 = 256;
/// Time after which a reservation no longer counts, in seconds: longer than nearly all calls.
const RESERVATION_SECONDS: i64 = 30 * 60;
/// Wait that is suggested while the rest of a quota is reserved.
const RESERVED_RETRY: Duration = Duration::from_secs(30);

/// A quota of a user that is renewed, and its use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaState {
    /// What is limited.
    pub kind: QuotaKind,
    /// The limit, in the unit of its kind.
    pub limit: u64,
    /// What is used, in the same unit.
    pub used: u64,
    /// Time of the renewal.
    pub resets_at: Timestamp,
}

/// A turn that has been counted, unless the user has no limit of turns.
#[derive(Debug, Clone, Copy, Default)]
#[must_use = "a turn that does not begin has to be taken back"]
pub struct CountedTurn {
    /// Start of the hour in which it counts.
    hour: Option<Timestamp>,
}

/// The expected use of a call.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedUse {
    /// Estimated input tokens.
    pub input_tokens: u64,
    /// Limit of the output tokens that the caller has set.
    pub max_tokens: Option<u32>,
    /// Price of the model; `None` if unknown.
    pub price: Option<Price>,
}

/// The permission to make a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reservation {
    /// Whether there is something to [release](QuotaService::release).
    pub is_stored: bool,
    /// Limit of the output tokens that the call has to observe.
    pub max_tokens: Option<u32>,
}

/// The quotas of users and their use.
#[derive(Debug, Clone)]
pub struct QuotaService {
    storage: Storage,
    clock: Arc<dyn Clock>,
    /// Limits of users without exceptions.
    settings: QuotaLimits,
}

impl QuotaService {
    /// Creates the quotas that the settings state.
    pub fn new(storage: Storage, clock: Arc<dyn Clock>, settings: QuotaLimits) -> Self {
        Self { storage, clock, settings }
    }

    /// Returns the limits of users without exceptions.
    pub fn settings(&self) -> QuotaLimits {
        self.settings
    }

    /// Returns the quotas of a user that are renewed, with their use.
    ///
    /// # Errors
    ///
    /// Fails if the database fails.
    pub async fn list(&self, user: UserId) -> Result<Vec<QuotaState>, storage::Error> {
        self.list_kinds(user, |_| true).await
    }

    /// Returns the quotas of some kinds that are renewed, with their use. Reads the use of these kinds alone.
    async fn list_kinds(
        &self,
        user: UserId,
        is_wanted: impl Fn(QuotaKind) -> bool,
    ) -> Result<Vec<QuotaState>, storage::Error> {
        let mut limits = self.limits(user).await?;
        for kind in QuotaKind::ALL.into_iter().filter(|kind| !is_wanted(*kind)) {
            limits.set(kind, None);
        }
        let times = self.times();
        let present = if has_model_quota(&limits) {
            self.storage.quotas().get_use(user, &times).await?
        } else {
            QuotaUse::default()
        };
        let mut states = Vec::new();
        for (kind, limit) in limits.iter() {
            let Some(period) = kind.period() else { continue };
            let used = match kind {
                QuotaKind::TurnsPerHour => self.storage.quotas().count_turns(user, times.now.start_of_hour()).await?,
                _ => used(kind, &present),
            };
            states.push(QuotaState { kind, limit, used, resets_at: period.end(times.now) });
        }
        Ok(states)
    }

    /// Returns the maximum size of all stored files of a user, in bytes.
    ///
    /// # Errors
    ///
    /// Fails if the database fails.
    pub async fn get_stored_bytes(&self, user: UserId) -> Result<u64, storage::Error> {
        Ok(self.limits(user).await?.get(QuotaKind::StoredBytes).unwrap_or(u64::MAX))
    }

    /// Returns the maximum number of connections of a user; `None` for no limit. They are counted where one is stored.
    ///
    /// # Errors
    ///
    /// Fails if the database fails.
    pub async fn get_max_connections(&self, user: UserId) -> Result<Option<u64>, storage::Error> {
        Ok(self.limits(user).await?.get(QuotaKind::Connections))
    }

    /// Checks that a user may begin a turn now, without counting one.
    ///
    /// # Errors
    ///
    /// [`QuotaExceeded`] if the user has begun as many turns in this hour as the quota allows.
    pub async fn check_turns(&self, user: UserId) -> Result<(), QuotaExceeded> {
        self.check_kinds(user, |kind| kind == QuotaKind::TurnsPerHour).await
    }

    async fn check_kinds(&self, user: UserId, is_checked: impl Fn(QuotaKind) -> bool) -> Result<(), QuotaExceeded> {
        match self.list_kinds(user, is_checked).await {
            Ok(quotas) => {
                let exceeded = quotas.iter().find(|quota| quota.used >= quota.limit);
                exceeded.map_or(Ok(()), |quota| Err(self.exceeded(quota.kind, quota.limit, false)))
            }
            Err(error) => {
                report(user, &error);
                Ok(())
            }
        }
    }

    /// Counts a turn that begins now. Turns of users without a limit are not counted.
    ///
    /// # Errors
    ///
    /// [`QuotaExceeded`] if the user has begun as many turns in this hour as the quota allows.
    pub async fn count_turn(&self, user: UserId) -> Result<CountedTurn, QuotaExceeded> {
        match self.try_count_turn(user).await {
            Ok(decided) => decided,
            Err(error) => {
                report(user, &error);
                Ok(CountedTurn::default())
            }
        }
    }

    async fn try_count_turn(&self, user: UserId) -> Result<Result<CountedTurn, QuotaExceeded>, storage::Error> {
        let kind = QuotaKind::TurnsPerHour;
        let Some(limit) = self.limits(user).await?.get(kind) else { return Ok(Ok(CountedTurn::default())) };
        let hour = self.clock.now().start_of_hour();
        let is_counted = self.storage.quotas().count_turn(user, hour, limit).await?;
        Ok(if is_counted { Ok(CountedTurn { hour: Some(hour) }) } else { Err(self.exceeded(kind, limit, false)) })
    }

    /// Takes back the count of a turn that did not begin after all.
    pub async fn uncount_turn(&self, user: UserId, counted: CountedTurn) {
        let Some(hour) = counted.hour else { return };
        if let Err(error) = self.storage.quotas().uncount_turn(user, hour).await {
            tracing::warn!(user_id = %user, %error, "failed to take back the count of a turn; it counts until the full hour");
        }
    }

    /// Checks that a user may call a model now, without a reservation. Their own providers are not limited.
    ///
    /// # Errors
    ///
    /// [`QuotaExceeded`] if a quota is used up.
    pub async fn check(&self, user: UserId, model: &ModelId) -> Result<(), QuotaExceeded> {
        if is_user_provider(&model.provider) {
            return Ok(());
        }
        self.check_kinds(user, QuotaKind::is_of_models).await
    }

    /// Reserves what a call may use. Users' own providers are not limited.
    ///
    /// # Errors
    ///
    /// [`QuotaExceeded`] if a quota is used up, or its rest is reserved for other calls.
    pub async fn reserve(
        &self,
        user: UserId,
        model: &ModelId,
        call: Uuid,
        expected: &ExpectedUse,
    ) -> Result<Reservation, QuotaExceeded> {
        if is_user_provider(&model.provider) {
            return Ok(Reservation::default());
        }
        match self.try_reserve(user, call, expected).await {
            Ok(decided) => decided,
            Err(error) => {
                report(user, &error);
                Ok(Reservation::default())
            }
        }
    }

    async fn try_reserve(
        &self,
        user: UserId,
        call: Uuid,
        expected: &ExpectedUse,
    ) -> Result<Result<Reservation, QuotaExceeded>, storage::Error> {
        let limits = self.limits(user).await?;
        if !has_model_quota(&limits) {
            return Ok(Ok(Reservation::default()));
        }
        let times = self.times();
        let expires_at = times.now.plus_seconds(RESERVATION_SECONDS);
        let decide = |present: &QuotaUse| {
            let decided = decide(&limits, present, expected);
            decided.map_err(|(kind, limit, is_reserved)| self.exceeded(kind, limit, is_reserved))
        };
        self.storage.quotas().reserve(user, call, &times, expires_at, decide).await
    }

    /// Ends the reservation of a call that has used nothing.
    pub async fn release(&self, user: UserId, call: Uuid) {
        if let Err(error) = self.storage.quotas().release(user, call).await {
            tracing::warn!(user_id = %user, %error, "failed to end a reservation; it expires by itself");
        }
    }

    async fn limits(&self, user: UserId) -> Result<QuotaLimits, storage::Error> {
        Ok(self.storage.quotas().get_exceptions(user).await?.over(self.settings))
    }

    fn times(&self) -> QuotaTimes<'static> {
        let now = self.clock.now();
        QuotaTimes { today: now.start_of_day(), month: now.start_of_month(), now, except: USER_PROVIDER_PREFIX }
    }

    fn exceeded(&self, kind: QuotaKind, limit: u64, is_reserved: bool) -> QuotaExceeded {
        let now = self.clock.now();
        let end = kind.period().map_or(now, |period| period.end(now));
        let until_reset = Duration::from_millis(end.millis_since(now)).max(Duration::from_secs(1));
        let retry_after = if is_reserved { until_reset.min(RESERVED_RETRY) } else { until_reset };
        QuotaExceeded { kind, limit, is_reserved, retry_after }
    }
}

/// Reports that a quota is not enforced. The call is allowed: no turn can begin without the database anyway, and one in
/// progress must not fail because of a counter.
fn report(user: UserId, error: &storage::Error) {
    tracing::error!(user_id = %user, %error, "failed to read the use of a quota; it is not enforced");
}

/// Returns whether model calls are limited.
fn has_model_quota(limits: &QuotaLimits) -> bool {
    limits.iter().any(|(kind, _)| kind.is_of_models())
}

/// Returns what is used of a quota for models.
fn used(kind: QuotaKind, present: &QuotaUse) -> u64 {
    let amount = if kind.period() == Some(QuotaPeriod::Day) { present.today } else { present.month };
    of_kind(kind, amount)
}

fn is_cost(kind: QuotaKind) -> bool {
    kind.unit() == QuotaUnit::Nanodollars
}

fn of_kind(kind: QuotaKind, Amount { tokens, nanos }: Amount) -> u64 {
    if is_cost(kind) { nanos } else { tokens }
}

/// Returns what to reserve for a call, or the quota that does not permit it with whether it is only reserved. A call is
/// permitted while something is left, and its output is limited to that, so that calls pass a quota at most by the error of
/// the estimates and by [`MIN_OUTPUT_TOKENS`] of one call.
fn decide(
    limits: &QuotaLimits,
    present: &QuotaUse,
    expected: &ExpectedUse,
) -> Result<(Amount, Reservation), (QuotaKind, u64, bool)> {
    let usual = expected.max_tokens.map_or(USUAL_OUTPUT_TOKENS, u64::from);
    let cost = |output_tokens| {
        let usage = Usage { input_tokens: expected.input_tokens, output_tokens, cached_input_tokens: 0 };
        expected.price.map_or(0, |price| price.cost(usage))
    };
    let mut output = usual;
    for (kind, limit) in limits.iter().filter(|(kind, _)| kind.is_of_models()) {
        let used = used(kind, present);
        let left = limit.saturating_sub(used.saturating_add(of_kind(kind, present.reserved)));
        // A call without a price uses nothing of a quota of costs.
        if left == 0 && !(is_cost(kind) && expected.price.is_none()) {
            return Err((kind, limit, used < limit));
        }
        let affordable = if is_cost(kind) {
            largest(usual, |tokens| cost(tokens) <= left)
        } else {
            left.saturating_sub(expected.input_tokens)
        };
        output = output.min(affordable.max(MIN_OUTPUT_TOKENS.min(usual)));
    }
    let amount = Amount { tokens: expected.input_tokens.saturating_add(output), nanos: cost(output) };
    let max_tokens = if output < usual { u32::try_from(output).ok() } else { expected.max_tokens };
    Ok((amount, Reservation { is_stored: true, max_tokens }))
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

    const EXPECTED: ExpectedUse = ExpectedUse { input_tokens: 1_000, max_tokens: None, price: None };

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
        let daily = limits(QuotaKind::TokensPerDay, 10_000);
        let reserve = |used, reserved| decide(&daily, &tokens(used, reserved), &EXPECTED);
        let (amount, reservation) = reserve(0, 0).unwrap();
        assert_eq!((amount.tokens, reservation.max_tokens), (1_000 + USUAL_OUTPUT_TOKENS, None));
        let (amount, reservation) = reserve(2_000, 5_000).unwrap();
        assert_eq!((amount.tokens, reservation.max_tokens), (3_000, Some(2_000)));
        let (amount, reservation) = reserve(9_900, 0).unwrap();
        assert_eq!((amount.tokens, reservation.max_tokens), (1_256, Some(256)), "still an answer");
        assert_eq!(reserve(10_000, 0), Err((QuotaKind::TokensPerDay, 10_000, false)));
        assert_eq!(reserve(4_000, 6_000), Err((QuotaKind::TokensPerDay, 10_000, true)));
    }

    #[test]
    fn calls_at_the_same_time_reserve_at_most_the_quota_and_one_short_answer() {
        for quota in [1_u64, 5_000, 12_345, 100_000] {
            let monthly = limits(QuotaKind::TokensPerMonth, quota);
            let mut reserved = 0;
            while let Ok((amount, _)) = decide(&monthly, &tokens(0, reserved), &EXPECTED) {
                reserved += amount.tokens;
            }
            assert!((quota..=quota + 1_000 + MIN_OUTPUT_TOKENS).contains(&reserved), "{quota}: {reserved}");
        }
    }

    #[test]
    fn a_cost_limits_the_output_and_calls_without_a_price_are_free() {
        // 1 and 10 dollars per million tokens.
        let price = Price { input: 1.0, output: 10.0, cached_input: None, long: None };
        let expected = ExpectedUse { price: Some(price), ..EXPECTED };
        let daily = limits(QuotaKind::CostPerDay, 11_000_000);
        let (amount, reservation) = decide(&daily, &QuotaUse::default(), &expected).unwrap();
        assert_eq!((amount.nanos, reservation.max_tokens), (11_000_000, Some(1_000)));
        let all = Amount { tokens: 0, nanos: 11_000_000 };
        let spent = QuotaUse { today: all, month: all, ..QuotaUse::default() };
        assert_eq!(decide(&daily, &spent, &expected), Err((QuotaKind::CostPerDay, 11_000_000, false)));
        assert!(decide(&daily, &spent, &EXPECTED).is_ok());
    }
}
