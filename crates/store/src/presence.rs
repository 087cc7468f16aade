//! Availability of the database: a circuit breaker. During an outage new requests fail at once instead of waiting for a
//! timeout, and waiting ones are cancelled.

use std::future::Future;
use std::io;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use tokio::sync::{Notify, watch};

use crate::writer::Writer;
use crate::{Db, Error, Store, checkpoints};

/// Interval of the checks.
const EVERY: Duration = Duration::from_secs(1);
/// Maximum time for PostgreSQL to answer a ping. It is long enough for a server that is merely busy.
const PATIENCE: Duration = Duration::from_secs(5);

const GONE: &str = "the database is away";

/// The availability of the database, shared by all clones of a [`Store`].
#[derive(Debug)]
pub(crate) struct Presence {
    is_away: watch::Sender<bool>,
    /// Wakes the check after an error that may mean an outage.
    suspicion: Notify,
}

impl Presence {
    pub(crate) fn new() -> Self {
        Self { is_away: watch::Sender::new(false), suspicion: Notify::new() }
    }

    pub(crate) fn is_away(&self) -> bool {
        *self.is_away.borrow()
    }

    /// Runs `work` while the database is available, and cancels it if an outage is detected. The future is boxed, so
    /// that callers do not contain the large state of a transaction.
    pub(crate) fn attend<T, E, W>(&self, work: W) -> impl Future<Output = Result<T, E>> + use<'_, T, E, W>
    where
        E: From<sqlx::Error> + Doubtful,
        W: Future<Output = Result<T, E>>,
    {
        let work = Box::pin(work);
        async move {
            let mut is_away = self.is_away.subscribe();
            tokio::select! {
                // In this order, so that nothing starts during an outage.
                biased;
                _ = is_away.wait_for(|is_away| *is_away) => {
                    Err(sqlx::Error::Io(io::Error::new(io::ErrorKind::NotConnected, GONE)).into())
                }
                result = work => {
                    if let Err(error) = &result && error.is_doubtful() {
                        self.suspicion.notify_one();
                    }
                    result
                }
            }
        }
    }

    fn tell(&self, is_away: bool) {
        // Receivers are notified of changes only.
        self.is_away.send_if_modified(|known| std::mem::replace(known, is_away) != is_away);
    }
}

/// An error that may be caused by an outage.
pub(crate) trait Doubtful {
    fn is_doubtful(&self) -> bool;
}

impl Doubtful for sqlx::Error {
    fn is_doubtful(&self) -> bool {
        crate::error::is_outage(self)
    }
}

impl Doubtful for Error {
    fn is_doubtful(&self) -> bool {
        self.is_outage()
    }
}

impl Store {
    /// Returns a receiver that holds whether the database is unavailable and reports every change.
    pub fn is_away(&self) -> watch::Receiver<bool> {
        self.presence.is_away.subscribe()
    }

    /// Monitors the database until cancelled, and writes checkpoints of a SQLite file.
    ///
    /// PostgreSQL is pinged every second over a separate connection. A SQLite file, which another program may lock, is
    /// checked only after an error.
    pub async fn keep_watch(&self) {
        match &self.db {
            Db::Sqlite { write, checkpoints: Some(checkpoints), .. } => {
                tokio::join!(self.watch_file(write), checkpoints::keep(checkpoints, write));
            }
            Db::Sqlite { write, .. } => self.watch_file(write).await,
            Db::Postgres(connections) => self.watch_server(&connections.pool().connect_options()).await,
        }
    }

    async fn watch_file(&self, write: &Writer) {
        loop {
            self.presence.suspicion.notified().await;
            while let Err(error) = may_write(write).await {
                // Any other error shows that the file can be accessed.
                if !error.is_doubtful() {
                    break;
                }
                self.presence.tell(true);
                tokio::time::sleep(EVERY).await;
            }
            self.presence.tell(false);
        }
    }

    async fn watch_server(&self, options: &PgConnectOptions) {
        let mut connection = None;
        loop {
            match answers(&mut connection, options).await {
                Ok(()) => self.presence.tell(false),
                // Too many connections: the server is available and has given its slots to others, such as our own
                // pool.
                Err(sqlx::Error::Database(refused)) if refused.code().as_deref() == Some("53300") => {}
                Err(_) => self.presence.tell(true),
            }
            tokio::time::sleep(EVERY).await;
        }
    }
}

/// Takes the write lock and releases it. Waits behind the other writers of this process.
async fn may_write(write: &Writer) -> Result<(), sqlx::Error> {
    write.enter().await?.undo().await
}

/// Pings the server over the existing connection. A broken connection is no evidence of an outage, so that the result
/// of a new one decides.
async fn answers(connection: &mut Option<PgConnection>, options: &PgConnectOptions) -> Result<(), sqlx::Error> {
    if let Some(known) = connection {
        match tokio::time::timeout(PATIENCE, known.ping()).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(_)) => *connection = None,
            // A timeout is evidence: a new connection would hang, too.
            Err(_) => {
                *connection = None;
                return Err(sqlx::Error::PoolTimedOut);
            }
        }
    }
    let made = tokio::time::timeout(PATIENCE, PgConnection::connect_with(options)).await;
    *connection = Some(made.unwrap_or(Err(sqlx::Error::PoolTimedOut))?);
    Ok(())
}
