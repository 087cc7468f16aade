//! The one writer of a SQLite file. What wants to write while it is busy is gathered, and committed together.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::{Executor, Sqlite, SqliteConnection};
use tokio::sync::{Notify, oneshot};

use crate::connections::{Connections, Lent};

/// Transactions of one commit at most: the first of them waits for the last.
const TOGETHER: usize = 64;
/// How long a transaction waits for its turn.
const PATIENCE: Duration = Duration::from_secs(10);

const BEGIN: &str = "BEGIN IMMEDIATE; SAVEPOINT own";
/// Keeps what one has done and begins the next. It fails when the database has rolled everything back by itself, as it
/// does when the disk is full.
const KEEP: &str = "RELEASE own; SAVEPOINT own";
const UNDO: &str = "ROLLBACK TO own";
const COMMIT: &str = "RELEASE own; COMMIT";
const ROLLBACK: &str = "ROLLBACK";
/// Fails within a transaction.
const PROOF: &str = "BEGIN; ROLLBACK";

/// Hands the connection that writes to one transaction after the other. Each is undone by itself when it fails, and done
/// when the commit of all is.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    connections: Connections<Sqlite>,
    queue: Arc<Mutex<Queue>>,
    /// Something was committed.
    committed: Arc<Notify>,
}

type Place = oneshot::Sender<Result<Turn, sqlx::Error>>;

#[derive(Debug, Default)]
struct Queue {
    waiting: Vec<Place>,
    /// Somebody hands out turns.
    is_served: bool,
}

impl Writer {
    /// Over one connection.
    pub(crate) fn new(connections: Connections<Sqlite>) -> Self {
        Self { connections, queue: Arc::default(), committed: Arc::default() }
    }

    /// Waits for who writes, and closes the connection.
    pub(crate) async fn close(&self) {
        self.connections.close().await;
    }

    /// Waits until something is committed, or returns at once when something was since the last time. For one task only.
    pub(crate) async fn committed(&self) {
        self.committed.notified().await;
    }

    /// Waits for the right to write. At once when nobody else writes.
    pub(crate) async fn enter(&self) -> Result<Turn, sqlx::Error> {
        let (place, turn) = oneshot::channel();
        let is_served = {
            let mut queue = self.queue();
            queue.waiting.push(place);
            std::mem::replace(&mut queue.is_served, true)
        };
        if !is_served {
            let service = Service { writer: self.clone(), has_ended: false };
            // In a task of its own: whoever waits may go away, and what others have done is committed all the same.
            #[expect(
                clippy::disallowed_methods,
                reason = "it ends as soon as nothing waits, and those that wait see it end"
            )]
            drop(tokio::spawn(service.run()));
        }
        match tokio::time::timeout(PATIENCE, turn).await {
            Ok(Ok(turn)) => turn,
            Ok(Err(_)) => Err(sqlx::Error::PoolClosed),
            Err(_) => Err(sqlx::Error::PoolTimedOut),
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to write. What is done with it is undone when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    /// Until it is given back.
    lent: Option<(Lent<Sqlite>, oneshot::Sender<GivenBack>)>,
    end: oneshot::Receiver<Result<(), sqlx::Error>>,
}

#[derive(Debug)]
struct GivenBack {
    connection: Lent<Sqlite>,
    is_kept: bool,
}

impl Turn {
    /// For the statements. Nothing else may be awaited meanwhile: all that write wait for it.
    pub(crate) fn connection(&mut self) -> Result<&mut SqliteConnection, sqlx::Error> {
        self.lent.as_mut().map(|(connection, _)| &mut **connection).ok_or(sqlx::Error::PoolClosed)
    }

    /// Keeps what was done; returns when it is committed.
    pub(crate) async fn keep(self) -> Result<(), sqlx::Error> {
        self.end(true).await
    }

    /// Undoes what was done. Returns when that is committed which was found before: only then it stands.
    pub(crate) async fn undo(self) -> Result<(), sqlx::Error> {
        self.end(false).await
    }

    async fn end(mut self, is_kept: bool) -> Result<(), sqlx::Error> {
        self.give_back(is_kept);
        (&mut self.end).await.unwrap_or(Err(sqlx::Error::PoolClosed))
    }

    fn give_back(&mut self, is_kept: bool) {
        if let Some((connection, back)) = self.lent.take() {
            drop(back.send(GivenBack { connection, is_kept }));
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.give_back(false);
    }
}

/// Hands out turns for as long as somebody waits.
struct Service {
    writer: Writer,
    has_ended: bool,
}

impl Drop for Service {
    fn drop(&mut self) {
        // The runtime may end first. Whoever comes then begins anew.
        if !self.has_ended {
            let mut queue = self.writer.queue();
            queue.waiting.clear();
            queue.is_served = false;
        }
    }
}

impl Service {
    async fn run(mut self) {
        let mut idle = None;
        while let Some(places) = self.next() {
            let connection = match idle.take() {
                Some(connection) => Ok(connection),
                None => self.writer.connections.lend().await,
            };
            match connection {
                Ok(connection) => {
                    idle = together(connection, places).await;
                    self.writer.committed.notify_one();
                }
                Err(error) => refuse(places, error),
            }
        }
        if let Some(connection) = idle {
            connection.give_back();
        }
    }

    /// Those that wait; when there are none, nobody hands out turns any more.
    fn next(&mut self) -> Option<Vec<Place>> {
        let mut queue = self.writer.queue();
        let some = queue.waiting.len().min(TOGETHER);
        self.has_ended = some == 0;
        queue.is_served = some > 0;
        (some > 0).then(|| queue.waiting.drain(..some).collect())
    }
}

/// Runs transactions one after the other and commits them as one. Returns the connection if it can be used again.
async fn together(mut connection: Lent<Sqlite>, places: Vec<Place>) -> Option<Lent<Sqlite>> {
    if let Err(error) = run(&mut connection, BEGIN).await {
        refuse(places, error);
        return clean(connection).await;
    }
    let (mut ends, mut result) = (Vec::with_capacity(places.len()), Ok(()));
    let mut places = places.into_iter();
    while let Some(place) = places.next() {
        let ((back, returned), (tell, end)) = (oneshot::channel(), oneshot::channel());
        // Who does not wait any more drops the turn, and thereby gives it back.
        drop(place.send(Ok(Turn { lent: Some((connection, back)), end })));
        let Ok(given) = returned.await else {
            // A turn is never dropped without giving back.
            return None;
        };
        connection = given.connection;
        ends.push(tell);
        // What the last one keeps, the commit keeps: a lone transaction costs no statement more than one of its own.
        if given.is_kept && places.as_slice().is_empty() {
            break;
        }
        if let Err(error) = run(&mut connection, if given.is_kept { KEEP } else { UNDO }).await {
            // Nothing of what was done together is left, whatever the reason.
            result = Err(sqlx::Error::Io(io::Error::other(error)));
            break;
        }
    }
    if result.is_ok() {
        // It fails, too, when the database has rolled everything back by itself.
        result = run(&mut connection, COMMIT).await.map_err(|error| sqlx::Error::Io(io::Error::other(error)));
    }
    let connection = if result.is_ok() { Some(connection) } else { clean(connection).await };
    let error = result.err();
    for end in ends {
        drop(end.send(error.as_ref().map_or(Ok(()), |error| Err(copy_of(error)))));
    }
    if let Some(error) = error {
        refuse(places, error);
    }
    connection
}

/// Ends what a connection was in the middle of. One that stays in it is closed.
async fn clean(mut connection: Lent<Sqlite>) -> Option<Lent<Sqlite>> {
    // Fails where the database has done so already.
    drop(run(&mut connection, ROLLBACK).await);
    if run(&mut connection, PROOF).await.is_ok() {
        return Some(connection);
    }
    connection.close();
    None
}

async fn run(connection: &mut SqliteConnection, statements: &'static str) -> Result<(), sqlx::Error> {
    connection.execute(sqlx::raw_sql(statements)).await.map(|_| ())
}

fn refuse(places: impl IntoIterator<Item = Place>, error: sqlx::Error) {
    for place in places {
        drop(place.send(Err(copy_of(&error))));
    }
}

/// The same error for another one that it concerns.
fn copy_of(error: &sqlx::Error) -> sqlx::Error {
    match error {
        sqlx::Error::PoolClosed => sqlx::Error::PoolClosed,
        sqlx::Error::PoolTimedOut => sqlx::Error::PoolTimedOut,
        sqlx::Error::WorkerCrashed => sqlx::Error::WorkerCrashed,
        // What it says is for the log; what matters is whether it is worth another try.
        other if crate::error::is_outage(other) => sqlx::Error::Io(io::Error::other(other.to_string())),
        other => sqlx::Error::Protocol(other.to_string()),
    }
}

#[cfg(test)]
mod tests;
