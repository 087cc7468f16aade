//! Quotas of users: exceptions from the settings (`user_quotas`), what calls in progress may use (`usage_reservations`), and
//! the turns of the present hour (`turn_counts`).

use domain::model::{QuotaKind, QuotaLimits};
use domain::{Timestamp, UserId};
use uuid::Uuid;

use crate::db_macros::{read, transaction, write};
use crate::{Error, QuotaRepository, users};

/// A user's exception from the setting of a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotaException {
    /// There is no limit.
    Unlimited,
    /// This limit, in the unit of its kind.
    Limit(u64),
}

/// The exceptions of a user, in the order of [`QuotaKind::ALL`]. `None`: the setting applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuotaExceptions(pub [Option<QuotaException>; QuotaKind::COUNT]);

impl QuotaExceptions {
    /// Returns the limits of a user, from the settings and these exceptions.
    pub fn over(&self, settings: QuotaLimits) -> QuotaLimits {
        let mut limits = settings;
        for (kind, exception) in QuotaKind::ALL.into_iter().zip(self.0) {
            match exception {
                None => {}
                Some(QuotaException::Unlimited) => limits.set(kind, None),
                Some(QuotaException::Limit(limit)) => limits.set(kind, Some(limit)),
            }
        }
        limits
    }
}

/// Tokens, and a cost in billionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// Input and output tokens.
    pub tokens: u64,
    /// Cost of the calls with a known price.
    pub nanos: u64,
}

/// The use of the configured models by a user, and the reservations of calls in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuotaUse {
    /// Used today.
    pub today: Amount,
    /// Used this month.
    pub month: Amount,
    /// Reserved for calls in progress.
    pub reserved: Amount,
}

/// The times and models that a [`QuotaUse`] is about.
#[derive(Debug, Clone, Copy)]
pub struct QuotaTimes<'a> {
    /// Start of the day.
    pub today: Timestamp,
    /// Start of the month.
    pub month: Timestamp,
    /// Current time.
    pub now: Timestamp,
    /// Models whose names begin with this do not count.
    pub except: &'a str,
}

/// Limit in the database that stands for none.
const UNLIMITED: i64 = -1;

type ExceptionRow = (Option<i64>, Option<i64>, Option<i64>, Option<i64>, Option<i64>, Option<i64>, Option<i64>);

// The columns are in the order of `QuotaKind::ALL`.
const GET: &str =
    "SELECT tokens_per_day, tokens_per_month, cost_nanos_per_day, cost_nanos_per_month, turns_per_hour, stored_bytes,
      connections FROM user_quotas WHERE user_id = $1";

const SET: &str = "INSERT INTO user_quotas (user_id, tokens_per_day, tokens_per_month, cost_nanos_per_day,
      cost_nanos_per_month, turns_per_hour, stored_bytes, connections)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (user_id) DO UPDATE SET tokens_per_day = excluded.tokens_per_day,
      tokens_per_month = excluded.tokens_per_month, cost_nanos_per_day = excluded.cost_nanos_per_day,
      cost_nanos_per_month = excluded.cost_nanos_per_month, turns_per_hour = excluded.turns_per_hour,
      stored_bytes = excluded.stored_bytes, connections = excluded.connections";

const TURNS: &str = "SELECT turns FROM turn_counts WHERE user_id = $1 AND hour = $2";

// One statement, so that turns that begin at the same time are counted one after the other.
const COUNT_TURN: &str = "INSERT INTO turn_counts (user_id, hour, turns) VALUES ($1, $2, 1)
    ON CONFLICT (user_id) DO UPDATE
      SET turns = CASE WHEN turn_counts.hour = excluded.hour THEN turn_counts.turns + 1 ELSE 1 END, hour = excluded.hour
      WHERE turn_counts.hour <> excluded.hour OR turn_counts.turns < $3";

const UNCOUNT_TURN: &str = "UPDATE turn_counts SET turns = turns - 1 WHERE user_id = $1 AND hour = $2 AND turns > 0";

// The casts are for PostgreSQL, whose sums are of type `numeric`. `$2` is the earlier of both starts: a day begins in its
// month.
const USED: &str = "SELECT
      CAST(COALESCE(SUM(CASE WHEN created_at >= $3 THEN input_tokens + output_tokens ELSE 0 END), 0) AS BIGINT),
      CAST(COALESCE(SUM(CASE WHEN created_at >= $3 THEN COALESCE(cost_nanos, 0) ELSE 0 END), 0) AS BIGINT),
      CAST(COALESCE(SUM(input_tokens + output_tokens), 0) AS BIGINT),
      CAST(COALESCE(SUM(COALESCE(cost_nanos, 0)), 0) AS BIGINT)
    FROM model_usage WHERE user_id = $1 AND created_at >= $2 AND model NOT LIKE $4";

const RESERVED: &str = "SELECT CAST(COALESCE(SUM(tokens), 0) AS BIGINT), CAST(COALESCE(SUM(cost_nanos), 0) AS BIGINT)
    FROM usage_reservations r WHERE r.user_id = $1 AND r.expires_at > $2
      AND NOT EXISTS (SELECT 1 FROM model_usage u WHERE u.id = r.id)";

const RESERVE: &str =
    "INSERT INTO usage_reservations (id, user_id, tokens, cost_nanos, expires_at) VALUES ($1, $2, $3, $4, $5)";

const DELETE_SETTLED: &str = "DELETE FROM usage_reservations WHERE user_id = $1
    AND (expires_at <= $2 OR EXISTS (SELECT 1 FROM model_usage u WHERE u.id = usage_reservations.id))";

const RELEASE: &str = "DELETE FROM usage_reservations WHERE id = $1 AND user_id = $2";

/// Reads a [`QuotaUse`] on a connection or in a transaction.
macro_rules! read_use {
    ($connection:expr, $user:expr, $period:expr) => {{
        let period: &QuotaTimes<'_> = $period;
        let used: (i64, i64, i64, i64) = sqlx::query_as(USED)
            .bind($user.0)
            .bind(period.month.0)
            .bind(period.today.0)
            .bind(format!("{}%", period.except))
            .fetch_one(&mut *$connection)
            .await?;
        let reserved: (i64, i64) =
            sqlx::query_as(RESERVED).bind($user.0).bind(period.now.0).fetch_one(&mut *$connection).await?;
        Ok::<_, sqlx::Error>(QuotaUse {
            today: amount(used.0, used.1),
            month: amount(used.2, used.3),
            reserved: amount(reserved.0, reserved.1),
        })
    }};
}

fn amount(tokens: i64, nanos: i64) -> Amount {
    Amount { tokens: u64::try_from(tokens).unwrap_or_default(), nanos: u64::try_from(nanos).unwrap_or_default() }
}

fn to_column(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl QuotaRepository<'_> {
    /// Returns the [`QuotaExceptions`] of a user.
    pub async fn get_exceptions(self, user: UserId) -> Result<QuotaExceptions, Error> {
        let row = read!(self.storage, |c| sqlx::query_as::<_, ExceptionRow>(GET).bind(user.0).fetch_optional(c).await)?;
        let row = row.unwrap_or_default();
        let exception = |column: Option<i64>| {
            column.map(|limit| u64::try_from(limit).map_or(QuotaException::Unlimited, QuotaException::Limit))
        };
        Ok(QuotaExceptions([row.0, row.1, row.2, row.3, row.4, row.5, row.6].map(exception)))
    }

    /// Replaces the exceptions of a user.
    ///
    /// # Errors
    ///
    /// [`Error::MissingReference`] if the user does not exist.
    pub async fn set_exceptions(self, user: UserId, exceptions: QuotaExceptions) -> Result<(), Error> {
        let column = |exception: Option<QuotaException>| {
            exception.map(|exception| match exception {
                QuotaException::Unlimited => UNLIMITED,
                QuotaException::Limit(limit) => to_column(limit),
            })
        };
        let columns = exceptions.0.map(column);
        write!(self.storage, |c| {
            let mut set = sqlx::query(SET).bind(user.0);
            for column in columns {
                set = set.bind(column);
            }
            set.execute(c).await.map(|_| ())
        })?;
        Ok(())
    }

    /// Returns what a user has used and reserved.
    pub async fn get_use(self, user: UserId, period: &QuotaTimes<'_>) -> Result<QuotaUse, Error> {
        Ok(read!(self.storage, |c| async { read_use!(c, user, period) }.await)?)
    }

    /// Reserves for a call what `decide` returns for the present use, or nothing if it returns an error. Reservations of a
    /// user wait for each other, so that calls at the same time do not pass the quota together.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the user does not exist. The inner error is that of `decide`.
    pub async fn reserve<T, E>(
        self,
        user: UserId,
        call: Uuid,
        period: &QuotaTimes<'_>,
        expires_at: Timestamp,
        mut decide: impl FnMut(&QuotaUse) -> Result<(Amount, T), E>,
    ) -> Result<Result<T, E>, Error> {
        transaction!(self.storage, |tx| {
            if sqlx::query(users::LOCK).bind(user.0).execute(&mut *tx).await?.rows_affected() == 0 {
                return Err(Error::NotFound);
            }
            sqlx::query(DELETE_SETTLED).bind(user.0).bind(period.now.0).execute(&mut *tx).await?;
            let present = async { read_use!(tx, user, period) }.await?;
            let (amount, decided) = match decide(&present) {
                Ok(decided) => decided,
                Err(refusal) => return Ok(Err(refusal)),
            };
            let insert = sqlx::query(RESERVE).bind(call).bind(user.0);
            let insert = insert.bind(to_column(amount.tokens)).bind(to_column(amount.nanos)).bind(expires_at.0);
            insert.execute(&mut *tx).await?;
            Ok(Ok(decided))
        })
    }

    /// Returns the number of counted turns that a user has begun in the hour that starts at `hour`.
    pub async fn count_turns(self, user: UserId, hour: Timestamp) -> Result<u64, Error> {
        let turns = read!(self.storage, |c| sqlx::query_scalar::<_, i64>(TURNS)
            .bind(user.0)
            .bind(hour.0)
            .fetch_optional(c)
            .await)?;
        Ok(turns.and_then(|turns| u64::try_from(turns).ok()).unwrap_or_default())
    }

    /// Counts a turn in the hour that starts at `hour`, if the user has begun fewer than `limit` turns in it. Returns
    /// whether it was counted.
    ///
    /// # Errors
    ///
    /// [`Error::MissingReference`] if the user does not exist.
    pub async fn count_turn(self, user: UserId, hour: Timestamp, limit: u64) -> Result<bool, Error> {
        let counted = write!(self.storage, |c| sqlx::query(COUNT_TURN)
            .bind(user.0)
            .bind(hour.0)
            .bind(to_column(limit))
            .execute(c)
            .await
            .map(|counted| counted.rows_affected()))?;
        Ok(counted == 1)
    }

    /// Takes back the count of a turn that did not begin after all.
    pub async fn uncount_turn(self, user: UserId, hour: Timestamp) -> Result<(), Error> {
        write!(self.storage, |c| sqlx::query(UNCOUNT_TURN).bind(user.0).bind(hour.0).execute(c).await.map(|_| ()))?;
        Ok(())
    }

    /// Ends the reservation of a call that has used nothing.
    pub async fn release(self, user: UserId, call: Uuid) -> Result<(), Error> {
        write!(self.storage, |c| sqlx::query(RELEASE).bind(call).bind(user.0).execute(c).await.map(|_| ()))?;
        Ok(())
    }
}
