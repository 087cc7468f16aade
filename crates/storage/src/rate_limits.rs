//! Limits that all nodes count together: of requests and emails (`rate_limits`), and of attempts to prove an identity
//! (`login_attempts`). Keys are hashes, so that the tables contain neither accounts nor addresses.

use domain::Timestamp;

use crate::db_macros::{read, transaction, write};
use crate::named_values::query_named;
use crate::{Error, RateLimitRepository};

/// Largest difference that the clocks of two nodes may have. A time that is further in the future than a limit allows was
/// written before the clock was set back, and counts as none, so that no user waits for the difference.
const MAX_CLOCK_SKEW_SECONDS: i64 = 5 * 60;
const MICROSECONDS_PER_SECOND: i64 = 1_000_000;

/// A limit: a bucket with room for a number of requests, which is filled at a steady rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateQuota {
    /// Time in which one more request is allowed, in seconds.
    pub interval_seconds: i64,
    /// Number of requests that are allowed at once.
    pub burst: i64,
}

impl RateQuota {
    fn interval_micros(self) -> i64 {
        self.interval_seconds * MICROSECONDS_PER_SECOND
    }
}

/// Attempts at one account, from one network address or from all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AttemptRecord {
    /// Number of failures since the last success.
    pub failures: u32,
    /// Time of the last attempt.
    pub last_attempt: Timestamp,
    /// Time of the last successful attempt.
    pub last_success: Option<Timestamp>,
}

/// Keys of the records of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptKeys {
    /// Of the account and the network address.
    pub at_address: Vec<u8>,
    /// Of the account and all network addresses.
    pub at_account: Vec<u8>,
}

/// The records of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptRecords {
    /// From the network address of an attempt.
    pub at_address: AttemptRecord,
    /// From all addresses.
    pub at_account: AttemptRecord,
}

#[derive(sqlx::FromRow)]
struct AttemptRow {
    failures: i64,
    last_attempt: i64,
    last_success: Option<i64>,
}

impl AttemptRow {
    /// Returns the record, without times that are too far in the future.
    fn at(self, now: Timestamp) -> AttemptRecord {
        let is_past = |time: i64| time <= now.plus_seconds(MAX_CLOCK_SKEW_SECONDS).0;
        AttemptRecord {
            failures: u32::try_from(self.failures).unwrap_or(u32::MAX),
            last_attempt: Timestamp(if is_past(self.last_attempt) { self.last_attempt } else { 0 }),
            last_success: self.last_success.filter(|time| is_past(*time)).map(Timestamp),
        }
    }
}

// `free_at` is the time at which the whole bucket is full again: the theoretical arrival time of the generic cell rate
// algorithm. One statement, so that requests at the same time are counted one after the other, on every node.
const COUNT: &str = "INSERT INTO rate_limits (key, free_at) VALUES (:key, :next)
    ON CONFLICT (key) DO UPDATE SET free_at = CASE
        WHEN rate_limits.free_at > :now AND rate_limits.free_at <= :possible THEN rate_limits.free_at + :interval
        ELSE :next END
      WHERE rate_limits.free_at <= :latest OR rate_limits.free_at > :possible";

const GET: &str = "SELECT free_at FROM rate_limits WHERE key = $1";

const CANCEL: &str = "DELETE FROM rate_limits WHERE key = $1";

const DELETE_FULL: &str = "DELETE FROM rate_limits WHERE free_at <= $1";

// Creates and locks the row of an account: on PostgreSQL, attempts at the account wait for each other.
const LOCK_ACCOUNT: &str = "INSERT INTO login_attempts (key, failures, last_attempt) VALUES ($1, 0, 0)
    ON CONFLICT (key) DO UPDATE SET failures = login_attempts.failures";

const GET_ATTEMPTS: &str = "SELECT failures, last_attempt, last_success FROM login_attempts WHERE key = $1";

const SET_ATTEMPTS: &str = "INSERT INTO login_attempts (key, failures, last_attempt, last_success)
    VALUES (:key, :failures, :last_attempt, :last_success)
    ON CONFLICT (key) DO UPDATE SET failures = excluded.failures, last_attempt = excluded.last_attempt,
      last_success = excluded.last_success";

const DELETE_ATTEMPTS: &str = "DELETE FROM login_attempts WHERE key = $1";

const DELETE_OLD_ATTEMPTS: &str = "DELETE FROM login_attempts
    WHERE last_attempt <= $1 AND (last_success IS NULL OR last_success <= $2)";

/// Stores a record in a transaction.
macro_rules! set_attempts {
    ($tx:ident, $key:expr, $record:expr) => {{
        let record: AttemptRecord = $record;
        query_named!(
            SET_ATTEMPTS,
            key = $key.as_slice(),
            failures = i64::from(record.failures),
            last_attempt = record.last_attempt.0,
            last_success = record.last_success.map(|time| time.0)
        )
        .execute(&mut *$tx)
        .await?;
    }};
}

impl RateLimitRepository<'_> {
    /// Counts a request under a key. Returns the time from which another one is allowed if this one is not.
    ///
    /// # Errors
    ///
    /// [`Error::Database`].
    pub async fn count(self, key: &[u8], quota: RateQuota, now: Timestamp) -> Result<Option<Timestamp>, Error> {
        let interval = quota.interval_micros();
        // The bucket is full at the latest after this time.
        let longest = interval * quota.burst;
        let counted = write!(self.storage, |c| query_named!(
            COUNT,
            key = key,
            next = now.0 + interval,
            now = now.0,
            interval = interval,
            latest = now.0 + longest - interval,
            possible = now.plus_seconds(MAX_CLOCK_SKEW_SECONDS).0 + longest
        )
        .execute(c)
        .await
        .map(|done| done.rows_affected()))?;
        if counted == 1 {
            return Ok(None);
        }
        let free_at = read!(self.storage, |c| sqlx::query_scalar::<_, i64>(GET).bind(key).fetch_optional(c).await)?;
        // Another request may have deleted it in the meantime.
        Ok(Some(Timestamp(free_at.unwrap_or_default() - longest + interval)))
    }

    /// Forgets what is counted under a key.
    pub async fn cancel(self, key: &[u8]) -> Result<(), Error> {
        write!(self.storage, |c| sqlx::query(CANCEL).bind(key).execute(c).await.map(|_| ()))?;
        Ok(())
    }

    /// Begins an attempt at an account: stores what `decide` returns for the records, or nothing if it returns an error.
    /// Attempts at an account wait for each other, on every node.
    ///
    /// # Errors
    ///
    /// [`Error::Database`]. The inner error is that of `decide`.
    pub async fn begin_attempt<E>(
        self,
        keys: &AttemptKeys,
        now: Timestamp,
        mut decide: impl FnMut(AttemptRecords) -> Result<AttemptRecords, E>,
    ) -> Result<Result<(), E>, Error> {
        let record = |row: Option<AttemptRow>| row.map_or_else(AttemptRecord::default, |row| row.at(now));
        transaction!(self.storage, |tx| {
            let (address, account) = (keys.at_address.as_slice(), keys.at_account.as_slice());
            sqlx::query(LOCK_ACCOUNT).bind(account).execute(&mut *tx).await?;
            let get = sqlx::query_as::<_, AttemptRow>(GET_ATTEMPTS).bind(account);
            let at_account = record(get.fetch_optional(&mut *tx).await?);
            let get = sqlx::query_as::<_, AttemptRow>(GET_ATTEMPTS).bind(address);
            let at_address = record(get.fetch_optional(&mut *tx).await?);
            let counted = match decide(AttemptRecords { at_address, at_account }) {
                Ok(counted) => counted,
                Err(refusal) => return Ok(Err(refusal)),
            };
            set_attempts!(tx, keys.at_address, counted.at_address);
            set_attempts!(tx, keys.at_account, counted.at_account);
            Ok(Ok(()))
        })
    }

    /// Records the success of an attempt, and forgets the failures at the account from all addresses.
    pub async fn succeed_attempt(self, keys: &AttemptKeys, now: Timestamp) -> Result<(), Error> {
        transaction!(self.storage, |tx| {
            // In the order of `begin_attempt`, so that neither waits for the other's second row.
            sqlx::query(DELETE_ATTEMPTS).bind(keys.at_account.as_slice()).execute(&mut *tx).await?;
            let record = AttemptRecord { failures: 0, last_attempt: now, last_success: Some(now) };
            set_attempts!(tx, keys.at_address, record);
            Ok(())
        })
    }

    /// Deletes what no longer limits anything: full buckets, and attempts whose last one is not after `attempted` and whose
    /// last success is not after `succeeded`. Returns the number of rows.
    pub async fn delete_old(self, now: Timestamp, attempted: Timestamp, succeeded: Timestamp) -> Result<u64, Error> {
        transaction!(self.storage, |tx| {
            let full = sqlx::query(DELETE_FULL).bind(now.0).execute(&mut *tx).await?.rows_affected();
            let old = sqlx::query(DELETE_OLD_ATTEMPTS).bind(attempted.0).bind(succeeded.0);
            Ok(full + old.execute(&mut *tx).await?.rows_affected())
        })
    }
}
