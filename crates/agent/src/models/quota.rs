//! Quotas of users: tokens and cost of the configured models, which the operator pays for, turns per hour, the size of
//! stored files, and connections to MCP servers.
//!
//! All are counted in the database, so that a quota holds on every node. A model call reserves what it may use before it
//! begins, and its recorded usage takes the place of the reservation when it ends.

mod reservation;

use std::sync::Arc;
use std::time::Duration;

use domain::model::{ModelError, QuotaExceeded, QuotaKind, QuotaLimits, QuotaRest};
use domain::{Clock, Timestamp, UserId};
use storage::Storage;
use storage::quotas::{QuotaTimes, QuotaUse};
use tokio::time::Instant;
use uuid::Uuid;

use super::ModelId;
use super::access::database_failed;
use super::catalogue::Price;
use super::user_providers::{USER_PROVIDER_PREFIX, is_user_provider};

use reservation::Refusal;
pub use reservation::{ExpectedUse, Reservation};

/// Time after which a reservation no longer counts, in seconds: longer than nearly all calls.
const RESERVATION_SECONDS: i64 = 30 * 60;
/// Wait that is suggested while the rest of a quota is reserved.
const RESERVED_RETRY: Duration = Duration::from_secs(30);
/// Longest wait of a call for a database that is unreachable: a standby has taken over by then.
const MAX_OUTAGE_WAIT: Duration = Duration::from_secs(30);
/// Pause between attempts to reach the database.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// A quota of a user, and its use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaState {
    /// What is limited.
    pub kind: QuotaKind,
    /// The limit, in the unit of its kind.
    pub limit: u64,
    /// What is used, in the same unit.
    pub used: u64,
    /// Time of the renewal; `None` if it is never renewed.
    pub resets_at: Option<Timestamp>,
}

/// A turn that has been counted, unless the user has no limit of turns.
#[derive(Debug, Clone, Copy, Default)]
#[must_use = "a turn that does not begin has to be taken back"]
pub struct CountedTurn {
    /// Start of the hour in which it counts.
    hour: Option<Timestamp>,
}

/// Reason for which a call or a turn is refused.
#[derive(Debug, thiserror::Error)]
pub enum QuotaError {
    /// A quota is used up, or its rest is reserved or too small.
    #[error(transparent)]
    Exceeded(#[from] QuotaExceeded),
    /// A quota limits costs, and the price of the model is unknown.
    #[error(
        "The price of {0} is unknown, and your quota limits costs. Choose another model, or let whoever runs this service \
         add the price to the model catalogue."
    )]
    UnknownPrice(ModelId),
    /// The database failed, so that the use of the quotas is unknown.
    #[error(transparent)]
    Storage(#[from] storage::Error),
}

impl From<QuotaError> for ModelError {
    fn from(error: QuotaError) -> Self {
        match error {
            QuotaError::Exceeded(exceeded) => exceeded.into(),
            QuotaError::Storage(error) => database_failed(&error),
            QuotaError::UnknownPrice(_) => Self::Unavailable(error.to_string()),
        }
    }
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

    /// Returns the quotas of a user, with their use.
    ///
    /// # Errors
    ///
    /// Fails if the database fails.
    pub async fn list(&self, user: UserId) -> Result<Vec<QuotaState>, storage::Error> {
        self.list_kinds(user, |_| true).await
    }

    /// Returns the quotas of some kinds, with their use. Reads the use of these kinds alone.
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
            let used = match kind {
                QuotaKind::TurnsPerHour => self.storage.quotas().count_turns(user, times.now.start_of_hour()).await?,
                QuotaKind::StoredBytes => self.storage.files().count_bytes(user).await?,
                QuotaKind::Connections => self.storage.connections().count(user).await?,
                _ => reservation::used(kind, &present),
            };
            states.push(QuotaState { kind, limit, used, resets_at: kind.period().map(|period| period.end(times.now)) });
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
    /// [`QuotaError::Exceeded`] if the user has begun as many turns in this hour as the quota allows.
    pub async fn check_turns(&self, user: UserId) -> Result<(), QuotaError> {
        self.check_kinds(user, |kind| kind == QuotaKind::TurnsPerHour).await
    }

    async fn check_kinds(&self, user: UserId, is_checked: impl Fn(QuotaKind) -> bool) -> Result<(), QuotaError> {
        let quotas = self.list_kinds(user, is_checked).await?;
        let exceeded = quotas.iter().find(|quota| quota.used >= quota.limit);
        exceeded.map_or(Ok(()), |quota| Err(self.exceeded(quota.kind, quota.limit, QuotaRest::Nothing).into()))
    }

    /// Counts a turn that begins now. Turns of users without a limit are not counted.
    ///
    /// # Errors
    ///
    /// [`QuotaError::Exceeded`] if the user has begun as many turns in this hour as the quota allows.
    pub async fn count_turn(&self, user: UserId) -> Result<CountedTurn, QuotaError> {
        let kind = QuotaKind::TurnsPerHour;
        let Some(limit) = self.limits(user).await?.get(kind) else { return Ok(CountedTurn::default()) };
        let hour = self.clock.now().start_of_hour();
        if !self.storage.quotas().count_turn(user, hour, limit).await? {
            return Err(self.exceeded(kind, limit, QuotaRest::Nothing).into());
        }
        Ok(CountedTurn { hour: Some(hour) })
    }

    /// Takes back the count of a turn that did not begin after all.
    pub async fn uncount_turn(&self, user: UserId, counted: CountedTurn) {
        let Some(hour) = counted.hour else { return };
        if let Err(error) = self.storage.quotas().uncount_turn(user, hour).await {
            tracing::warn!(user_id = %user, %error, "failed to take back the count of a turn; it counts until the full hour");
        }
    }

    /// Checks that a user may call a model of this price now, without a reservation. Their own providers are not limited.
    ///
    /// # Errors
    ///
    /// [`QuotaError::Exceeded`] if a quota is used up.
    pub async fn check(&self, user: UserId, model: &ModelId, price: Option<Price>) -> Result<(), QuotaError> {
        if is_user_provider(&model.provider) {
            return Ok(());
        }
        let is_free = price.is_some_and(|price| price.is_free());
        self.check_kinds(user, |kind| kind.is_of_models() && !(is_free && reservation::is_cost(kind))).await
    }

    /// Reserves tokens and cost for a call. Users' own providers are not limited. Waits for half a minute while the database
    /// is unreachable, so that an answer in progress continues when a standby has taken over.
    ///
    /// # Errors
    ///
    /// [`QuotaError`] if the call is not permitted.
    pub async fn reserve(
        &self,
        user: UserId,
        model: &ModelId,
        call: Uuid,
        expected: &ExpectedUse,
    ) -> Result<Reservation, QuotaError> {
        if is_user_provider(&model.provider) {
            return Ok(Reservation::default());
        }
        let started = Instant::now();
        loop {
            match self.try_reserve(user, model, call, expected).await {
                Err(QuotaError::Storage(error)) if error.is_outage() && started.elapsed() < MAX_OUTAGE_WAIT => {
                    tracing::warn!(user_id = %user, %error, "failed to reserve quota; retrying");
                    tokio::time::sleep(RETRY_INTERVAL).await;
                }
                decided => return decided,
            }
        }
    }

    async fn try_reserve(
        &self,
        user: UserId,
        model: &ModelId,
        call: Uuid,
        expected: &ExpectedUse,
    ) -> Result<Reservation, QuotaError> {
        let limits = self.limits(user).await?;
        if !has_model_quota(&limits) {
            return Ok(Reservation::default());
        }
        let times = self.times();
        let expires_at = times.now.plus_seconds(RESERVATION_SECONDS);
        let decide = |present: &QuotaUse| {
            reservation::decide(&limits, present, expected).map_err(|refusal| match refusal {
                Refusal::Exceeded { kind, limit, rest } => self.exceeded(kind, limit, rest).into(),
                Refusal::UnknownPrice => QuotaError::UnknownPrice(model.clone()),
            })
        };
        self.storage.quotas().reserve(user, call, &times, expires_at, decide).await?
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

    fn exceeded(&self, kind: QuotaKind, limit: u64, rest: QuotaRest) -> QuotaExceeded {
        let now = self.clock.now();
        let end = kind.period().map_or(now, |period| period.end(now));
        let until_reset = Duration::from_millis(end.millis_since(now)).max(Duration::from_secs(1));
        let retry_after = if rest == QuotaRest::Reserved { until_reset.min(RESERVED_RETRY) } else { until_reset };
        QuotaExceeded { kind, limit, rest, retry_after }
    }
}

/// Returns whether model calls are limited.
fn has_model_quota(limits: &QuotaLimits) -> bool {
    limits.iter().any(|(kind, _)| kind.is_of_models())
}
