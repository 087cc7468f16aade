//! Availability of the database: a circuit breaker. During an outage new requests fail at once instead of waiting for a
//! timeout, and waiting ones are cancelled.

use std::future::Future;
use std::io;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use tokio::sync::{Notify, watch};

use crate::group_commit::SqliteWriter;
use crate::{Db, Error, Storage, checkpoints};

/// Interval of the checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum time for PostgreSQL to answer a ping. It is long enough for a server that is merely busy.
const PING_TIMEOUT: Duration = Duration::from_secs(5);

const DOWN_MESSAGE: &str = "the database is unavailable";

/// The availability of the database, shared by all clones of a [`Storage`].
#[derive(Debug)]
pub(crate) struct Availability {
    is_down: watch::Sender<bool>,
    /// Wakes the check after an error that may mean an outage.
    check_requested: Notify,
}

impl Availability {
    pub(crate) fn new() -> Self {
        Self { is_down: watch::Sender::new(false), check_requested: Notify::new() }
    }

    pub(crate) fn is_down(&self) -> bool {
        *self.is_down.borrow()
    }

    /// Runs `work` while the database is available, and cancels it if an outage is detected. The future is boxed, so
    /// that callers do not contain the large state of a transaction.
    pub(crate) fn guard<T, E, W>(&self, work: W) -> impl Future<Output = Result<T, E>> + use<'_, T, E, W>
    where
        E: From<sqlx::Error> + IsOutage,
        W: Future<Output = Result<T, E>>,
    {
        let work = Box::pin(work);
        async move {
            let mut is_down = self.is_down.subscribe();
            tokio::select! {
                // In this order, so that nothing starts during an outage.
                biased;
                _ = is_down.wait_for(|is_down| *is_down) => {
                    Err(sqlx::Error::Io(io::Error::new(io::ErrorKind::NotConnected, DOWN_MESSAGE)).into())
                }
                result = work => {
                    // One failure does not mean an outage, so that it only requests a check.
                    if let Err(error) = &result && error.is_outage() {
                        self.check_requested.notify_one();
                    }
                    result
                }
            }
        }
    }

    fn set_down(&self, is_down: bool) {
        // Receivers are notified of changes only.
        self.is_down.send_if_modified(|known| std::mem::replace(known, is_down) != is_down);
    }
}

/// An error that may be caused by an outage.
pub(crate) trait IsOutage {
    fn is_outage(&self) -> bool;
}

impl IsOutage for sqlx::Error {
    fn is_outage(&self) -> bool {
        crate::error::is_outage(self)
    }
}

impl IsOutage for Error {
    fn is_outage(&self) -> bool {
        self.is_outage()
    }
}

impl Storage {
    /// Returns a receiver that holds whether the database is unavailable and reports every change.
    pub fn is_down(&self) -> watch::Receiver<bool> {
        self.availability.is_down.subscribe()
    }

    /// Monitors the database until cancelled, and writes checkpoints of a SQLite file.
    ///
    /// PostgreSQL is pinged every second over a separate connection. A SQLite file, which another program may lock, is
    /// checked only after an error.
    pub async fn monitor(&self) {
        match &self.db {
            Db::Sqlite { write, checkpoints: Some(checkpoints), .. } => {
                tokio::join!(self.monitor_file(write), checkpoints::keep(checkpoints, write));
            }
            Db::Sqlite { write, .. } => self.monitor_file(write).await,
            Db::Postgres(connections) => self.monitor_server(&connections.pool().connect_options()).await,
        }
    }

    async fn monitor_file(&self, write: &SqliteWriter) {
        loop {
            self.availability.check_requested.notified().await;
            while let Err(error) = check_write_lock(write).await {
                // Any other error shows that the file can be accessed.
                if !error.is_outage() {
                    break;
                }
                // While it is down, `guard` cancels all other work, so that only this check waits for the lock.
                self.availability.set_down(true);
                tokio::time::sleep(CHECK_INTERVAL).await;
            }
            self.availability.set_down(false);
        }
    }

    async fn monitor_server(&self, options: &PgConnectOptions) {
        let mut connection = None;
        loop {
            match ping(&mut connection, options).await {
                Ok(()) => self.availability.set_down(false),
                // Too many connections: the server is available and has given its slots to others, such as our own
                // pool.
                Err(sqlx::Error::Database(refused)) if refused.code().as_deref() == Some("53300") => {}
                Err(_) => self.availability.set_down(true),
            }
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
    }
}

/// Takes the write lock and releases it. Waits behind the other writers of this process.
async fn check_write_lock(write: &SqliteWriter) -> Result<(), sqlx::Error> {
    write.begin().await?.rollback().await
}

/// Pings the server over the existing connection. A broken connection is no evidence of an outage, so that the result
/// of a new one decides.
async fn ping(connection: &mut Option<PgConnection>, options: &PgConnectOptions) -> Result<(), sqlx::Error> {
    if let Some(known) = connection {
        match tokio::time::timeout(PING_TIMEOUT, known.ping()).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(_)) => *connection = None,
            // A timeout is evidence: a new connection would hang, too.
            Err(_) => {
                *connection = None;
                return Err(sqlx::Error::PoolTimedOut);
            }
        }
    }
    let opening = async {
        let mut opened = PgConnection::connect_with(options).await?;
        // A pooler accepts connections also while its server is gone.
        opened.ping().await?;
        Ok(opened)
    };
    let opened = tokio::time::timeout(PING_TIMEOUT, opening).await;
    *connection = Some(opened.unwrap_or(Err(sqlx::Error::PoolTimedOut))?);
    Ok(())
}
