//! Idle connections in front of a pool that opens, tests and closes them.
//!
//! The pool tests every connection when it is returned, and on PostgreSQL also when it is acquired: two round trips in
//! addition to the single one that most statements need. Here, recently used connections skip both checks.

use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::{Connection, Database, Executor, Pool};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

/// Maximum idle time after which a connection is used without a check.
const FRESH: Duration = Duration::from_secs(1);
/// Maximum time for a connection to answer a check.
const PATIENCE: Duration = Duration::from_secs(5);
/// Idle time after which a connection returns to the pool, which closes it by its own rules.
const UNUSED: Duration = Duration::from_mins(1);
/// Maximum age of a connection outside the pool. The pool, which closes old connections, does not see it before.
const OUT: Duration = Duration::from_mins(10);

/// The connections of a database. Cloning is cheap: all clones share the same connections.
pub(crate) struct Connections<DB: Database> {
    shared: Arc<Shared<DB>>,
}

struct Shared<DB: Database> {
    pool: Pool<DB>,
    places: Arc<Semaphore>,
    /// Maximum wait for a permit.
    longest_wait: Duration,
    /// Idle connections. The most recently used one is last.
    at_hand: Mutex<Vec<AtHand<DB>>>,
}

struct AtHand<DB: Database> {
    connection: Guarded<DB>,
    used: Instant,
}

/// A connection of the pool. It is closed instead of returned while a transaction is open.
struct Guarded<DB: Database> {
    connection: PoolConnection<DB>,
    taken: Instant,
    is_in_transaction: bool,
}

impl<DB: Database> Drop for Guarded<DB> {
    fn drop(&mut self) {
        // In the pool, an open transaction would keep its locks.
        if self.is_in_transaction {
            self.connection.close_on_drop();
        }
    }
}

impl<DB: Database> Clone for Connections<DB> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<DB: Database> fmt::Debug for Connections<DB> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Connections").field("pool", &self.shared.pool).finish_non_exhaustive()
    }
}

impl<DB: Database> Connections<DB> {
    /// Wraps a pool. `for_others` connections of it are acquired directly through [`Self::pool`].
    pub(crate) fn over(pool: Pool<DB>, for_others: u32) -> Self {
        // At least one, so that a small pool still serves statements.
        let places = pool.options().get_max_connections().saturating_sub(for_others).max(1);
        let places = Arc::new(Semaphore::new(places as usize));
        let longest_wait = pool.options().get_acquire_timeout();
        Self { shared: Arc::new(Shared { pool, places, longest_wait, at_hand: Mutex::default() }) }
    }

    /// Returns the pool. Connections acquired from it must be included in `for_others` of [`Self::over`].
    pub(crate) fn pool(&self) -> &Pool<DB> {
        &self.shared.pool
    }

    /// Acquires a connection, waiting if all are in use.
    ///
    /// Fails as the pool does: with `PoolTimedOut`, `PoolClosed`, or the error of opening a connection.
    pub(crate) async fn lend(&self) -> Result<Lent<DB>, sqlx::Error> {
        let shared = &self.shared;
        // A permit per connection limits the wait here, so that the pool itself never has to wait.
        let place = timeout(shared.longest_wait, Arc::clone(&shared.places).acquire_owned()).await;
        let place = place.map_err(|_| sqlx::Error::PoolTimedOut)?.map_err(|_| sqlx::Error::PoolClosed)?;
        // The most recently used connection is the least likely to be broken.
        let at_hand = shared.at_hand().pop();
        let connection = match at_hand {
            Some(AtHand { connection, used }) if used.elapsed() < FRESH => Some(connection),
            Some(AtHand { mut connection, .. }) => {
                let answers = matches!(timeout(PATIENCE, connection.connection.ping()).await, Ok(Ok(())));
                if !answers {
                    // The other idle connections were unused for even longer. They return to the pool, which tests each
                    // of them.
                    shared.at_hand().clear();
                }
                answers.then_some(connection)
            }
            None => None,
        };
        let connection = match connection {
            Some(connection) => connection,
            None => shared.acquire().await?,
        };
        Ok(Lent { connection, shared: Arc::clone(shared), _place: place })
    }

    /// Waits for the acquired connections and closes all.
    pub(crate) async fn close(&self) {
        self.shared.places.close();
        self.shared.at_hand().clear();
        self.shared.pool.close().await;
    }
}

impl<DB: Database> Drop for Shared<DB> {
    fn drop(&mut self) {
        // Dropping a connection spawns a task that returns it to the pool. After the end of the runtime that would
        // panic, so the connections are leaked instead.
        if Handle::try_current().is_err() {
            mem::forget(mem::take(&mut *self.at_hand()));
        }
    }
}

impl<DB: Database> Shared<DB> {
    async fn acquire(&self) -> Result<Guarded<DB>, sqlx::Error> {
        let connection = self.pool.acquire().await?;
        Ok(Guarded { connection, taken: Instant::now(), is_in_transaction: false })
    }

    fn at_hand(&self) -> MutexGuard<'_, Vec<AtHand<DB>>> {
        self.at_hand.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An acquired connection. If it is dropped without [`Self::give_back`], because the work failed or was cancelled, it
/// returns to the pool, which tests it.
pub(crate) struct Lent<DB: Database> {
    connection: Guarded<DB>,
    shared: Arc<Shared<DB>>,
    /// Fields are dropped in order of declaration. The permit must be released after the connection is available.
    _place: OwnedSemaphorePermit,
}

impl<DB: Database> Lent<DB> {
    /// Returns the connection to the idle ones. It must have no running statement and no open transaction.
    pub(crate) fn give_back(self) {
        let Self { connection, shared, _place } = self;
        let now = Instant::now();
        let mut at_hand = shared.at_hand();
        // After `close` the connection must reach the pool, which waits for it.
        if !shared.places.is_closed() && now - connection.taken < OUT {
            at_hand.push(AtHand { connection, used: now });
        }
        // At most one per call: the oldest ones leave gradually as others come and go.
        if at_hand.first().is_some_and(|first| now - first.used > UNUSED) {
            drop(at_hand.remove(0));
        }
    }

    /// Closes the connection instead of returning it.
    pub(crate) fn close(mut self) {
        self.connection.connection.close_on_drop();
    }
}

impl<DB: Database> Connections<DB>
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    /// [Acquires](Self::lend) a connection and begins a transaction on it with the statement `words`.
    pub(crate) async fn begin(&self, words: &'static str) -> Result<Lent<DB>, sqlx::Error> {
        let mut lent = self.lend().await?;
        lent.begin(words).await?;
        Ok(lent)
    }
}

impl<DB: Database> Lent<DB>
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    /// Begins a transaction. If the connection is dropped before [`Self::end`], it is closed, which rolls back.
    async fn begin(&mut self, words: &'static str) -> Result<(), sqlx::Error> {
        // Set before the statement: if it is cancelled halfway, the transaction may already be open.
        self.connection.is_in_transaction = true;
        self.deref_mut().execute(sqlx::raw_sql(words)).await.map(|_| ())
    }

    /// Commits or rolls back, and returns the connection to the idle ones.
    pub(crate) async fn end(mut self, is_kept: bool) -> Result<(), sqlx::Error> {
        let words = if is_kept { "COMMIT" } else { "ROLLBACK" };
        self.deref_mut().execute(sqlx::raw_sql(words)).await?;
        self.connection.is_in_transaction = false;
        self.give_back();
        Ok(())
    }
}

impl<DB: Database> fmt::Debug for Lent<DB> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Lent").finish_non_exhaustive()
    }
}

impl<DB: Database> Deref for Lent<DB> {
    type Target = DB::Connection;

    fn deref(&self) -> &DB::Connection {
        &self.connection.connection
    }
}

impl<DB: Database> DerefMut for Lent<DB> {
    fn deref_mut(&mut self) -> &mut DB::Connection {
        &mut self.connection.connection
    }
}

#[cfg(test)]
mod tests;
