//! Connections at hand, over a pool that opens, tests and closes them.
//!
//! The pool asks every connection whether it is still there, when it is given back and on PostgreSQL when it is taken, too: two round
//! trips beside the one that most statements take. What has just done its work does it again without being asked.

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

/// How long after its work a connection is taken for alive without being asked.
const FRESH: Duration = Duration::from_secs(1);
/// How long it may take to say so.
const PATIENCE: Duration = Duration::from_secs(5);
/// For how long one that nobody needs stays at hand. Then the pool has it, and closes it in its own time.
const UNUSED: Duration = Duration::from_mins(1);
/// For how long one stays out of the pool's sight, which closes those that have become old.
const OUT: Duration = Duration::from_mins(10);

/// What statements run on. Cheap to clone; all clones share the same connections.
pub(crate) struct Connections<DB: Database> {
    shared: Arc<Shared<DB>>,
}

struct Shared<DB: Database> {
    pool: Pool<DB>,
    places: Arc<Semaphore>,
    /// How long somebody waits for a place.
    longest_wait: Duration,
    /// The one used last is the last.
    at_hand: Mutex<Vec<AtHand<DB>>>,
}

struct AtHand<DB: Database> {
    connection: Guarded<DB>,
    used: Instant,
}

/// A connection of the pool, which never gets it back in the middle of a transaction.
struct Guarded<DB: Database> {
    connection: PoolConnection<DB>,
    taken: Instant,
    is_in_transaction: bool,
}

impl<DB: Database> Drop for Guarded<DB> {
    fn drop(&mut self) {
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
    /// Over a pool, so many of whose connections others take.
    pub(crate) fn over(pool: Pool<DB>, for_others: u32) -> Self {
        let places = pool.options().get_max_connections().saturating_sub(for_others).max(1);
        let places = Arc::new(Semaphore::new(places as usize));
        let longest_wait = pool.options().get_acquire_timeout();
        Self { shared: Arc::new(Shared { pool, places, longest_wait, at_hand: Mutex::default() }) }
    }

    /// What opens them. Whoever takes one from it has to be among the `others` of [`Self::over`].
    pub(crate) fn pool(&self) -> &Pool<DB> {
        &self.shared.pool
    }

    /// Waits for one. It fails as the pool does: with `PoolTimedOut`, `PoolClosed`, or what opening one came to.
    pub(crate) async fn lend(&self) -> Result<Lent<DB>, sqlx::Error> {
        let shared = &self.shared;
        let place = timeout(shared.longest_wait, Arc::clone(&shared.places).acquire_owned()).await;
        let place = place.map_err(|_| sqlx::Error::PoolTimedOut)?.map_err(|_| sqlx::Error::PoolClosed)?;
        let at_hand = shared.at_hand().pop();
        let connection = match at_hand {
            Some(AtHand { connection, used }) if used.elapsed() < FRESH => Some(connection),
            Some(AtHand { mut connection, .. }) => {
                let answers = matches!(timeout(PATIENCE, connection.connection.ping()).await, Ok(Ok(())));
                if !answers {
                    // The others have not been used for longer. The pool looks at each of them.
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

    /// Waits for those that are lent, and closes all.
    pub(crate) async fn close(&self) {
        self.shared.places.close();
        self.shared.at_hand().clear();
        self.shared.pool.close().await;
    }
}

impl<DB: Database> Drop for Shared<DB> {
    fn drop(&mut self) {
        // They go back to the pool in tasks, for which there is no place behind the end of the runtime.
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

/// A connection for one piece of work. Dropped without [`Self::give_back`], as when the work failed or was given up, it goes to
/// the pool, which tests it.
pub(crate) struct Lent<DB: Database> {
    connection: Guarded<DB>,
    shared: Arc<Shared<DB>>,
    /// Dropped last: it is for the next when the connection is.
    _place: OwnedSemaphorePermit,
}

impl<DB: Database> Lent<DB> {
    /// For who comes next. No statement of it is under way, and no transaction open.
    pub(crate) fn give_back(self) {
        let Self { connection, shared, _place } = self;
        let now = Instant::now();
        let mut at_hand = shared.at_hand();
        if !shared.places.is_closed() && now - connection.taken < OUT {
            at_hand.push(AtHand { connection, used: now });
        }
        if at_hand.first().is_some_and(|first| now - first.used > UNUSED) {
            drop(at_hand.remove(0));
        }
    }

    /// Closes it.
    pub(crate) fn close(mut self) {
        self.connection.connection.close_on_drop();
    }
}

impl<DB: Database> Connections<DB>
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    /// [Waits](Self::lend) for one, and begins a transaction on it in these words.
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
    /// When it is dropped before [`Self::end`], the connection is closed, and nothing of what was done stands.
    async fn begin(&mut self, words: &'static str) -> Result<(), sqlx::Error> {
        self.connection.is_in_transaction = true;
        self.deref_mut().execute(sqlx::raw_sql(words)).await.map(|_| ())
    }

    /// Keeps what was done, or undoes it.
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
