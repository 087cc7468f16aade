//! Whether the database is there. While it is not, what is asked of it fails at once instead of after a long wait, and
//! what waited already is let go.

use std::future::Future;
use std::io;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use tokio::sync::{Notify, watch};

use crate::writer::Writer;
use crate::{Db, Error, Store, checkpoints};

/// Between two looks at the database.
const EVERY: Duration = Duration::from_secs(1);
/// How long a server may take to answer the smallest question. Longer than one that is only busy needs.
const PATIENCE: Duration = Duration::from_secs(5);

const GONE: &str = "the database is away";

/// What is known of the database, for all clones of a store.
#[derive(Debug)]
pub(crate) struct Presence {
    is_away: watch::Sender<bool>,
    /// Something failed as if it were away.
    suspicion: Notify,
}

impl Presence {
    pub(crate) fn new() -> Self {
        Self { is_away: watch::Sender::new(false), suspicion: Notify::new() }
    }

    pub(crate) fn is_away(&self) -> bool {
        *self.is_away.borrow()
    }

    /// Does something with the database, for as long as it is there. It is boxed, so that callers do not carry the many
    /// states of a transaction in their own.
    pub(crate) fn attend<T, E, W>(&self, work: W) -> impl Future<Output = Result<T, E>> + use<'_, T, E, W>
    where
        E: From<sqlx::Error> + Doubtful,
        W: Future<Output = Result<T, E>>,
    {
        let work = Box::pin(work);
        async move {
            let mut is_away = self.is_away.subscribe();
            tokio::select! {
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
        self.is_away.send_if_modified(|known| std::mem::replace(known, is_away) != is_away);
    }
}

/// An error that may mean that the database is away.
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

impl Doubtful for crate::rest::Error {
    fn is_doubtful(&self) -> bool {
        matches!(self, Self::Failed(error) if error.is_outage())
    }
}

impl Store {
    /// Whether the database is known to be away, and every change of it.
    pub fn is_away(&self) -> watch::Receiver<bool> {
        self.presence.is_away.subscribe()
    }

    /// Looks after the database until it is cancelled: finds out when it goes away and when it is back. A server is asked
    /// every second, over a connection of its own; a file that another program has locked is tried once something failed, and
    /// what is written to it is moved out of its log.
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
                // The server is there and has given its places to others, such as our own pool.
                Err(sqlx::Error::Database(refused)) if refused.code().as_deref() == Some("53300") => {}
                Err(_) => self.presence.tell(true),
            }
            tokio::time::sleep(EVERY).await;
        }
    }
}

/// Takes the right to write and gives it back. It waits behind our own writers.
async fn may_write(write: &Writer) -> Result<(), sqlx::Error> {
    write.enter().await?.undo().await
}

/// Asks the server over the connection that is there. One that was lost for itself says nothing: then a new one decides.
async fn answers(connection: &mut Option<PgConnection>, options: &PgConnectOptions) -> Result<(), sqlx::Error> {
    if let Some(known) = connection {
        match tokio::time::timeout(PATIENCE, known.ping()).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(_)) => *connection = None,
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
