//! Moving what was written from SQLite's log into its file, beside the one who writes.
//!
//! SQLite does so by itself after some commit or other, which then takes many times as long as others, as two of its steps wait for the disk.
//! Here that is done by a connection of its own, shortly after something was written. Meanwhile others go on writing.

use std::time::Duration;

use sqlx::{Executor, Sqlite};

use crate::connections::Connections;
use crate::dispatch::lent;
use crate::writer::Writer;

/// From a commit to the next time. A machine that loses its power loses what was committed within about this time.
const PAUSE: Duration = Duration::from_millis(500);

/// Pages of the log at which a commit does it by itself all the same, in SQLite's terms (4 KiB each): the log begins anew only when all of it was
/// moved, and while many write it grows meanwhile.
pub(crate) const LATEST: &str = "4000";

/// As much as there is without holding up anybody.
const CHECKPOINT: &str = "PRAGMA wal_checkpoint(PASSIVE)";

/// Moves what is written, for ever.
pub(crate) async fn keep(connections: &Connections<Sqlite>, writer: &Writer) {
    loop {
        writer.committed().await;
        tokio::time::sleep(PAUSE).await;
        // Where it fails, commits do it, and say what is wrong.
        drop(lent!(connections, |c| c.execute(sqlx::raw_sql(CHECKPOINT)).await).await);
    }
}

#[cfg(test)]
mod tests {
    use crate::{Db, Store};

    #[tokio::test]
    async fn what_is_written_reaches_the_file_without_many_commits() {
        let folder = tempfile::TempDir::new().unwrap();
        let file = folder.path().join("test.db");
        let store = Store::open(&format!("sqlite://{}", file.display())).await.unwrap();
        let Db::Sqlite { write, .. } = &store.db else { unreachable!("it was opened as such") };
        let length = || file.metadata().unwrap().len();
        let write_much = async {
            let mut turn = write.enter().await.unwrap();
            let much = sqlx::raw_sql("CREATE TABLE much (bytes BLOB); INSERT INTO much VALUES (zeroblob(1000000))");
            sqlx::Executor::execute(turn.connection().unwrap(), much).await.unwrap();
            turn.keep().await.unwrap();
        };
        write_much.await;
        assert!(length() < 1_000_000, "it is in the log");
        tokio::select! {
            () = store.keep_watch() => {}
            () = async {
                while length() < 1_000_000 {
                    tokio::time::sleep(super::PAUSE / 10).await;
                }
            } => {}
        }
        store.close().await;
    }
}
