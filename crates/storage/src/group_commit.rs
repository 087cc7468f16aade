//! The only writer of a SQLite file, with group commit: transactions that arrive while another one runs are committed
//! together.
//!
//! SQLite allows one writer at a time, and each commit waits for the disk. One task holds the write connection and
//! passes it to the waiting transactions in turn. Each runs in a savepoint, so that it can be rolled back alone. A
//! single commit then covers all of them.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::{Executor, Sqlite, SqliteConnection};
use tokio::sync::{Notify, oneshot};

use crate::idle_pool::{IdlePool, PooledConnection};

/// Maximum number of transactions per commit. The first of them waits for the last.
const MAX_TRANSACTIONS_PER_COMMIT: usize = 64;
/// Maximum wait of a transaction for its turn.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(10);

const BEGIN: &str = "BEGIN IMMEDIATE; SAVEPOINT own";
/// Keeps the changes of one transaction and begins the next. Fails if SQLite has rolled back everything by itself, as
/// it does when the disk is full.
const RELEASE: &str = "RELEASE own; SAVEPOINT own";
const UNDO: &str = "ROLLBACK TO own";
const COMMIT: &str = "RELEASE own; COMMIT";
const ROLLBACK: &str = "ROLLBACK";
/// Fails inside a transaction, and so proves that none is open.
const PROVE_NO_TRANSACTION: &str = "BEGIN; ROLLBACK";

/// Passes the write connection to one transaction after the other. Each is rolled back alone if it fails, and is
/// durable once the common commit has succeeded.
#[derive(Debug, Clone)]
pub(crate) struct SqliteWriter {
    connections: IdlePool<Sqlite>,
    queue: Arc<Mutex<Queue>>,
    /// Notified after every commit.
    committed: Arc<Notify>,
}

/// Channel to a waiting transaction: sends it the connection, or an error.
type WaitingSender = oneshot::Sender<Result<WriteTransaction, sqlx::Error>>;

#[derive(Debug, Default)]
struct Queue {
    waiting: Vec<WaitingSender>,
    /// Whether a task processes the queue.
    is_processed: bool,
}

impl SqliteWriter {
    /// Creates a writer over a single connection.
    pub(crate) fn new(connections: IdlePool<Sqlite>) -> Self {
        Self { connections, queue: Arc::default(), committed: Arc::default() }
    }

    /// Waits for the running transactions and closes the connection.
    pub(crate) async fn close(&self) {
        self.connections.close().await;
    }

    /// Waits for the next commit. Returns at once if there was one since the last call. Only one task may wait.
    pub(crate) async fn committed(&self) {
        self.committed.notified().await;
    }

    /// Waits for the write connection, which is available at once if no other transaction runs.
    ///
    /// Fails with `PoolTimedOut` after [`BEGIN_TIMEOUT`], or with `PoolClosed`.
    pub(crate) async fn begin(&self) -> Result<WriteTransaction, sqlx::Error> {
        let (sender, receiver) = oneshot::channel();
        let is_processed = {
            let mut queue = self.queue();
            queue.waiting.push(sender);
            std::mem::replace(&mut queue.is_processed, true)
        };
        if !is_processed {
            let committer = Committer { writer: self.clone(), has_ended: false };
            // The queue is processed by a task of its own, because a waiting caller may be cancelled while others rely
            // on the commit.
            #[expect(
                clippy::disallowed_methods,
                reason = "it ends as soon as nothing waits, and those that wait see it end"
            )]
            drop(tokio::spawn(committer.run()));
        }
        match tokio::time::timeout(BEGIN_TIMEOUT, receiver).await {
            Ok(Ok(begun)) => begun,
            // The task that processes the queue has ended without a result, for instance with the runtime.
            Ok(Err(_)) => Err(sqlx::Error::PoolClosed),
            Err(_) => Err(sqlx::Error::PoolTimedOut),
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A transaction that holds the write connection. Dropping it rolls back its changes.
#[derive(Debug)]
pub(crate) struct WriteTransaction {
    /// The connection and the channel by which it is returned; `None` once it is returned.
    lent: Option<(PooledConnection<Sqlite>, oneshot::Sender<ReturnedConnection>)>,
    end: oneshot::Receiver<Result<(), sqlx::Error>>,
}

#[derive(Debug)]
struct ReturnedConnection {
    connection: PooledConnection<Sqlite>,
    commit: bool,
}

impl WriteTransaction {
    /// Returns the connection for statements. Nothing else may be awaited in between, because all writers wait for it.
    pub(crate) fn connection(&mut self) -> Result<&mut SqliteConnection, sqlx::Error> {
        self.lent.as_mut().map(|(connection, _)| &mut **connection).ok_or(sqlx::Error::PoolClosed)
    }

    /// Keeps the changes. Returns once they are committed.
    pub(crate) async fn commit(self) -> Result<(), sqlx::Error> {
        self.end(true).await
    }

    /// Rolls back the changes. Returns once the preceding transactions are committed: what this one has read is only
    /// then durable.
    pub(crate) async fn rollback(self) -> Result<(), sqlx::Error> {
        self.end(false).await
    }

    async fn end(mut self, commit: bool) -> Result<(), sqlx::Error> {
        self.return_connection(commit);
        (&mut self.end).await.unwrap_or(Err(sqlx::Error::PoolClosed))
    }

    fn return_connection(&mut self, commit: bool) {
        if let Some((connection, back)) = self.lent.take() {
            drop(back.send(ReturnedConnection { connection, commit }));
        }
    }
}

impl Drop for WriteTransaction {
    fn drop(&mut self) {
        self.return_connection(false);
    }
}

/// The task that processes the queue until it is empty.
struct Committer {
    writer: SqliteWriter,
    has_ended: bool,
}

impl Drop for Committer {
    fn drop(&mut self) {
        // The runtime may end before the task does. Waiting callers get an error, and the next caller starts a new
        // task.
        if !self.has_ended {
            let mut queue = self.writer.queue();
            queue.waiting.clear();
            queue.is_processed = false;
        }
    }
}

impl Committer {
    async fn run(mut self) {
        let mut idle = None;
        while let Some(waiting) = self.next() {
            let connection = match idle.take() {
                Some(connection) => Ok(connection),
                None => self.writer.connections.acquire().await,
            };
            match connection {
                Ok(connection) => {
                    idle = run_group(connection, waiting).await;
                    // Wakes the checkpoints.
                    self.writer.committed.notify_one();
                }
                Err(error) => fail_all(waiting, error),
            }
        }
        if let Some(connection) = idle {
            connection.release();
        }
    }

    /// Takes the next transactions from the queue. If there are none, marks the queue as not being processed, in the
    /// same critical section, so that no new entry is missed.
    fn next(&mut self) -> Option<Vec<WaitingSender>> {
        let mut queue = self.writer.queue();
        let some = queue.waiting.len().min(MAX_TRANSACTIONS_PER_COMMIT);
        self.has_ended = some == 0;
        queue.is_processed = some > 0;
        (some > 0).then(|| queue.waiting.drain(..some).collect())
    }
}

/// Runs transactions one after the other and commits them together. Returns the connection if it is still usable.
async fn run_group(
    mut connection: PooledConnection<Sqlite>,
    waiting: Vec<WaitingSender>,
) -> Option<PooledConnection<Sqlite>> {
    // Another program may hold the lock. All waiting transactions fail together, not each after its own timeout.
    if let Err(error) = run(&mut connection, BEGIN).await {
        fail_all(waiting, error);
        return close_transaction(connection).await;
    }
    // In the order of arrival, one at a time: SQLite has one connection that writes, and the next transaction sees what
    // the one before has written.
    let (mut ends, mut result) = (Vec::with_capacity(waiting.len()), Ok(()));
    let mut waiting = waiting.into_iter();
    while let Some(sender) = waiting.next() {
        let ((back, returned), (tell, end)) = (oneshot::channel(), oneshot::channel());
        // A caller that no longer waits drops the transaction, which returns the connection at once.
        drop(sender.send(Ok(WriteTransaction { lent: Some((connection, back)), end })));
        let Ok(given) = returned.await else {
            // This cannot happen: dropping a transaction returns its connection.
            return None;
        };
        connection = given.connection;
        ends.push(tell);
        // The commit also keeps the changes of the last transaction, so that a lone transaction needs no more
        // statements than without group commit.
        if given.commit && waiting.as_slice().is_empty() {
            break;
        }
        if let Err(error) = run(&mut connection, if given.commit { RELEASE } else { UNDO }).await {
            // After this error nothing of the group remains, whatever the reason.
            result = Err(sqlx::Error::Io(io::Error::other(error)));
            break;
        }
    }
    if result.is_ok() {
        // The commit also fails if SQLite has rolled back everything by itself.
        result = run(&mut connection, COMMIT).await.map_err(|error| sqlx::Error::Io(io::Error::other(error)));
    }
    let connection = if result.is_ok() { Some(connection) } else { close_transaction(connection).await };
    let error = result.err();
    // Callers learn the result only now: their changes are durable together or not at all.
    for end in ends {
        // A caller that was cancelled does not listen any more; its changes were kept or undone with the others.
        drop(end.send(error.as_ref().map_or(Ok(()), |error| Err(copy_error(error)))));
    }
    if let Some(error) = error {
        fail_all(waiting, error);
    }
    connection
}

/// Ends an open transaction. Closes the connection if that fails.
async fn close_transaction(mut connection: PooledConnection<Sqlite>) -> Option<PooledConnection<Sqlite>> {
    // Fails if SQLite has already rolled back, which does not matter.
    drop(run(&mut connection, ROLLBACK).await);
    if run(&mut connection, PROVE_NO_TRANSACTION).await.is_ok() {
        return Some(connection);
    }
    connection.close();
    None
}

async fn run(connection: &mut SqliteConnection, statements: &'static str) -> Result<(), sqlx::Error> {
    connection.execute(sqlx::raw_sql(statements)).await.map(|_| ())
}

fn fail_all(waiting: impl IntoIterator<Item = WaitingSender>, error: sqlx::Error) {
    for sender in waiting {
        drop(sender.send(Err(copy_error(&error))));
    }
}

/// Copies an error for each caller that it concerns; `sqlx::Error` cannot be cloned.
fn copy_error(error: &sqlx::Error) -> sqlx::Error {
    match error {
        sqlx::Error::PoolClosed => sqlx::Error::PoolClosed,
        sqlx::Error::PoolTimedOut => sqlx::Error::PoolTimedOut,
        sqlx::Error::WorkerCrashed => sqlx::Error::WorkerCrashed,
        // Callers only distinguish whether a retry may succeed. The text is for the log.
        other if crate::error::is_outage(other) => sqlx::Error::Io(io::Error::other(other.to_string())),
        other => sqlx::Error::Protocol(other.to_string()),
    }
}

#[cfg(test)]
mod tests;
