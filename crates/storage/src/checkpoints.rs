//! Checkpoints: moves data from SQLite's write-ahead log into the database file, concurrently with the writer.
//!
//! By default SQLite does that within some commit, which then takes many times as long as others, because two of its
//! steps wait for the disk. Here a separate connection does it shortly after a commit, while transactions continue.

use std::time::Duration;

use sqlx::{Executor, Sqlite};

use crate::db_macros::on_connection;
use crate::group_commit::SqliteWriter;
use crate::idle_pool::IdlePool;

/// Delay from a commit to the checkpoint. After a power failure, commits of about this period are lost.
const PAUSE: Duration = Duration::from_millis(500);

/// Size of the log, in pages of 4 KiB, at which a commit writes a checkpoint after all. The log restarts from its
/// beginning only once all of it has been moved, so that it keeps growing under constant writes.
pub(crate) const LATEST: &str = "4000";

/// Moves as much as possible without blocking readers or the writer.
const CHECKPOINT: &str = "PRAGMA wal_checkpoint(PASSIVE)";

/// Writes checkpoints after commits, until cancelled.
pub(crate) async fn keep(connections: &IdlePool<Sqlite>, writer: &SqliteWriter) {
    loop {
        writer.committed().await;
        tokio::time::sleep(PAUSE).await;
        // If it fails, later commits write the checkpoint and report the error.
        drop(on_connection!(connections, |c| c.execute(sqlx::raw_sql(CHECKPOINT)).await).await);
    }
}

#[cfg(test)]
mod tests {
    use crate::{Db, Storage};

    #[tokio::test]
    async fn what_is_written_reaches_the_file_without_many_commits() {
        let folder = tempfile::TempDir::new().unwrap();
        let file = folder.path().join("test.db");
        let storage = Storage::open(&format!("sqlite://{}", file.display())).await.unwrap();
        let Db::Sqlite { write, .. } = &storage.db else { unreachable!("it was opened as such") };
        let length = || file.metadata().unwrap().len();
        let write_much = async {
            let mut transaction = write.begin().await.unwrap();
            let much = sqlx::raw_sql("CREATE TABLE much (bytes BLOB); INSERT INTO much VALUES (zeroblob(1000000))");
            sqlx::Executor::execute(transaction.connection().unwrap(), much).await.unwrap();
            transaction.commit().await.unwrap();
        };
        write_much.await;
        assert!(length() < 1_000_000, "it is in the log");
        tokio::select! {
            () = storage.monitor() => {}
            () = async {
                while length() < 1_000_000 {
                    tokio::time::sleep(super::PAUSE / 10).await;
                }
            } => {}
        }
        storage.close().await;
    }
}
