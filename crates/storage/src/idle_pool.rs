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
const UNCHECKED_IDLE_TIME: Duration = Duration::from_secs(1);
/// Maximum time for a connection to answer a check.
const PING_TIMEOUT: Duration = Duration::from_secs(5);
/// Idle time after which a connection returns to the pool, which closes it by its own rules.
const MAX_IDLE_TIME: Duration = Duration::from_mins(1);
/// Maximum age of a connection outside the pool. The pool, which closes old connections, does not see it before.
const MAX_AGE: Duration = Duration::from_mins(10);

/// The connections of a database. Cloning is cheap: all clones share the same connections.
pub(crate) struct IdlePool<DB: Database> {
    shared: Arc<Shared<DB>>,
}

struct Shared<DB: Database> {
    pool: Pool<DB>,
    permits: Arc<Semaphore>,
    /// Number of permits, those in use included.
    total: usize,
    /// Maximum wait for a permit.
    acquire_timeout: Duration,
    /// Idle connections. The most recently used one is last.
    idle: Mutex<Vec<IdleConnection<DB>>>,
}

struct IdleConnection<DB: Database> {
    connection: OpenConnection<DB>,
    used: Instant,
}

/// A connection of the pool. It is closed instead of returned while a transaction is open.
struct OpenConnection<DB: Database> {
    connection: PoolConnection<DB>,
    opened_at: Instant,
    is_in_transaction: bool,
}

impl<DB: Database> Drop for OpenConnection<DB> {
    fn drop(&mut self) {
        // In the pool, an open transaction would keep its locks.
        if self.is_in_transaction {
            self.connection.close_on_drop();
        }
    }
}

impl<DB: Database> Clone for IdlePool<DB> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<DB: Database> fmt::Debug for IdlePool<DB> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("IdlePool").field("pool", &self.shared.pool).finish_non_exhaustive()
    }
}

impl<DB: Database> IdlePool<DB> {
    /// Wraps a pool. `reserved` connections of it are acquired directly through [`Self::pool`].
    pub(crate) fn new(pool: Pool<DB>, reserved: u32) -> Self {
        // At least one, so that a small pool still serves statements.
        let total = pool.options().get_max_connections().saturating_sub(reserved).max(1) as usize;
        let permits = Arc::new(Semaphore::new(total));
        let acquire_timeout = pool.options().get_acquire_timeout();
        Self { shared: Arc::new(Shared { pool, permits, total, acquire_timeout, idle: Mutex::default() }) }
    }

    /// Returns the pool. Connections acquired from it must be included in `reserved` of [`Self::new`].
    pub(crate) fn pool(&self) -> &Pool<DB> {
        &self.shared.pool
    }

    /// Acquires a connection, waiting if all are in use.
    ///
    /// Fails as the pool does: with `PoolTimedOut`, `PoolClosed`, or the error of opening a connection.
    pub(crate) async fn acquire(&self) -> Result<PooledConnection<DB>, sqlx::Error> {
        let shared = &self.shared;
        // A permit per connection limits the wait here, so that the pool itself never has to wait.
        let permit = timeout(shared.acquire_timeout, Arc::clone(&shared.permits).acquire_owned()).await;
        let permit = permit.map_err(|_| sqlx::Error::PoolTimedOut)?.map_err(|_| sqlx::Error::PoolClosed)?;
        // The most recently used connection is the least likely to be broken.
        // In a statement of its own, which releases the lock: a `match` on it would hold the lock during the ping
        // below.
        let idle = shared.idle().pop();
        let connection = match idle {
            Some(IdleConnection { connection, used }) if used.elapsed() < UNCHECKED_IDLE_TIME => Some(connection),
            Some(IdleConnection { mut connection, .. }) => {
                let answers = matches!(timeout(PING_TIMEOUT, connection.connection.ping()).await, Ok(Ok(())));
                if !answers {
                    // The other idle connections were unused for even longer. They return to the pool, which tests each
                    // of them.
                    shared.idle().clear();
                }
                answers.then_some(connection)
            }
            None => None,
        };
        let connection = match connection {
            Some(connection) => connection,
            None => shared.open().await?,
        };
        Ok(PooledConnection { connection, shared: Arc::clone(shared), _permit: permit })
    }

    /// Returns the numbers of connections in use and of idle ones.
    pub(crate) fn count(&self) -> (usize, usize) {
        (self.shared.total - self.shared.permits.available_permits(), self.shared.idle().len())
    }

    /// Waits for the acquired connections and closes all.
    pub(crate) async fn close(&self) {
        // First, so that no connection is acquired or kept behind the two steps that follow.
        self.shared.permits.close();
        self.shared.idle().clear();
        self.shared.pool.close().await;
    }
}

impl<DB: Database> Drop for Shared<DB> {
    fn drop(&mut self) {
        // Dropping a connection spawns a task that returns it to the pool. After the end of the runtime that would
        // panic, so the connections are leaked instead.
        if Handle::try_current().is_err() {
            mem::forget(mem::take(&mut *self.idle()));
        }
    }
}

impl<DB: Database> Shared<DB> {
    async fn open(&self) -> Result<OpenConnection<DB>, sqlx::Error> {
        let connection = self.pool.acquire().await?;
        Ok(OpenConnection { connection, opened_at: Instant::now(), is_in_transaction: false })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<IdleConnection<DB>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An acquired connection. If it is dropped without [`Self::release`], because the work failed or was cancelled, it
/// returns to the pool, which tests it.
pub(crate) struct PooledConnection<DB: Database> {
    connection: OpenConnection<DB>,
    shared: Arc<Shared<DB>>,
    /// Fields are dropped in order of declaration. The permit must be released after the connection is available.
    _permit: OwnedSemaphorePermit,
}

impl<DB: Database> PooledConnection<DB> {
    /// Returns the connection to the idle ones. It must have no running statement and no open transaction.
    pub(crate) fn release(self) {
        let Self { connection, shared, _permit } = self;
        let now = Instant::now();
        let mut idle = shared.idle();
        // After `close` the connection must reach the pool, which waits for it.
        if !shared.permits.is_closed() && now - connection.opened_at < MAX_AGE {
            idle.push(IdleConnection { connection, used: now });
        }
        // At most one per call: the oldest ones leave gradually as others come and go.
        if idle.first().is_some_and(|first| now - first.used > MAX_IDLE_TIME) {
            drop(idle.remove(0));
        }
    }

    /// Closes the connection instead of returning it.
    pub(crate) fn close(mut self) {
        self.connection.connection.close_on_drop();
    }
}

impl<DB: Database> IdlePool<DB>
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    /// [Acquires](Self::acquire) a connection and begins a transaction on it with the statement `statement`.
    pub(crate) async fn begin(&self, statement: &'static str) -> Result<PooledConnection<DB>, sqlx::Error> {
        let mut connection = self.acquire().await?;
        connection.begin(statement).await?;
        Ok(connection)
    }
}

impl<DB: Database> PooledConnection<DB>
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    /// Begins a transaction. If the connection is dropped before [`Self::end`], it is closed, which rolls back.
    async fn begin(&mut self, statement: &'static str) -> Result<(), sqlx::Error> {
        // Set before the statement: if it is cancelled halfway, the transaction may already be open.
        self.connection.is_in_transaction = true;
        self.deref_mut().execute(sqlx::raw_sql(statement)).await.map(|_| ())
    }

    /// Commits or rolls back, and returns the connection to the idle ones.
    pub(crate) async fn end(mut self, commit: bool) -> Result<(), sqlx::Error> {
        let statement = if commit { "COMMIT" } else { "ROLLBACK" };
        self.deref_mut().execute(sqlx::raw_sql(statement)).await?;
        // Only after the statement succeeded: if it fails or is cancelled, the connection is closed.
        self.connection.is_in_transaction = false;
        self.release();
        Ok(())
    }
}

impl<DB: Database> fmt::Debug for PooledConnection<DB> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PooledConnection").finish_non_exhaustive()
    }
}

impl<DB: Database> Deref for PooledConnection<DB> {
    type Target = DB::Connection;

    fn deref(&self) -> &DB::Connection {
        &self.connection.connection
    }
}

impl<DB: Database> DerefMut for PooledConnection<DB> {
    fn deref_mut(&mut self) -> &mut DB::Connection {
        &mut self.connection.connection
    }
}

#[cfg(test)]
mod tests;
