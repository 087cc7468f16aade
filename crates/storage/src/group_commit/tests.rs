//! Tests of group commit: common commits, and transactions that fail alone.

use futures_util::FutureExt;
use futures_util::future::join_all;
use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};
use tempfile::TempDir;

use super::*;

async fn open(folder: &TempDir) -> (SqliteWriter, SqlitePool) {
    let options = SqliteConnectOptions::new()
        .filename(folder.path().join("test.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .busy_timeout(Duration::from_millis(50));
    let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options.clone()).await.unwrap();
    sqlx::query("CREATE TABLE said (word TEXT PRIMARY KEY, number INTEGER)").execute(&pool).await.unwrap();
    let read = SqlitePoolOptions::new().connect_with(options.read_only(true)).await.unwrap();
    (SqliteWriter::new(IdlePool::new(pool, 0)), read)
}

async fn say(transaction: &mut WriteTransaction, word: &str) -> Result<(), sqlx::Error> {
    let connection = transaction.connection()?;
    sqlx::query("INSERT INTO said (word) VALUES ($1)").bind(word).execute(connection).await.map(|_| ())
}

async fn said(read: &SqlitePool) -> Vec<String> {
    sqlx::query_scalar("SELECT word FROM said ORDER BY rowid").fetch_all(read).await.unwrap()
}

#[tokio::test]
async fn those_who_wait_are_committed_together_and_in_order() {
    let folder = TempDir::new().unwrap();
    let (writer, read) = open(&folder).await;
    let mut first = writer.begin().await.unwrap();
    say(&mut first, "first").await.unwrap();
    let others = join_all((0..2 * MAX_TRANSACTIONS_PER_COMMIT).map(async |number| {
        let mut transaction = writer.begin().await?;
        say(&mut transaction, &format!("{number}")).await?;
        // Before the common commit, no other connection sees the changes, and no caller gets a result.
        let (seen, together) =
            (said(&read).await.len(), 1 + number / MAX_TRANSACTIONS_PER_COMMIT * MAX_TRANSACTIONS_PER_COMMIT);
        assert_eq!(seen, together);
        transaction.commit().await
    }));
    let first = async {
        assert!(said(&read).await.is_empty());
        first.commit().await
    };
    let (others, first) = tokio::join!(others, first);
    assert!(first.is_ok() && others.iter().all(Result::is_ok));
    let numbers = (0..2 * MAX_TRANSACTIONS_PER_COMMIT).map(|number| number.to_string());
    assert_eq!(said(&read).await, ["first".to_owned()].into_iter().chain(numbers).collect::<Vec<_>>());
}

#[tokio::test]
async fn one_that_fails_or_goes_away_takes_nothing_of_the_others_with_it() {
    let folder = TempDir::new().unwrap();
    let (writer, read) = open(&folder).await;
    let mut first = writer.begin().await.unwrap();
    let twice = |word: &'static str| {
        let writer = writer.clone();
        async move {
            let mut transaction = writer.begin().await?;
            say(&mut transaction, &format!("{word} before")).await?;
            match say(&mut transaction, word).await {
                Ok(()) => transaction.commit().await,
                Err(error) => {
                    transaction.rollback().await?;
                    Err(error)
                }
            }
        }
    };
    let gone = async {
        let mut transaction = writer.begin().await.unwrap();
        say(&mut transaction, "gone").await.unwrap();
        // Dropped without commit or rollback.
        drop(transaction);
    };
    say(&mut first, "taken").await.unwrap();
    // This caller is cancelled before its turn.
    let never = async { writer.begin().now_or_never() };
    let (ended, kept, refused, (), left, other) =
        tokio::join!(async { first.commit().await }, twice("kept"), twice("taken"), gone, never, twice("other"));
    assert!(left.is_none(), "it did not wait for its turn");
    assert!(ended.is_ok() && kept.is_ok() && other.is_ok());
    assert!(matches!(crate::Error::from(refused.unwrap_err()), crate::Error::Conflict(_)));
    assert_eq!(said(&read).await, ["taken", "kept before", "kept", "other before", "other"]);
}

#[tokio::test]
async fn when_the_database_undoes_everything_all_who_wrote_are_told_and_the_next_can_write() {
    let folder = TempDir::new().unwrap();
    let (writer, read) = open(&folder).await;
    let mut first = writer.begin().await.unwrap();
    let lost = async {
        let mut transaction = writer.begin().await?;
        say(&mut transaction, "lost").await?;
        transaction.commit().await
    };
    let undoing = async {
        let mut transaction = writer.begin().await?;
        // SQLite does that by itself when the disk is full.
        sqlx::query("ROLLBACK").execute(transaction.connection()?).await?;
        transaction.rollback().await
    };
    let behind = async {
        let mut transaction = writer.begin().await?;
        say(&mut transaction, "behind").await?;
        transaction.commit().await
    };
    let first = async {
        say(&mut first, "alone").await?;
        first.commit().await
    };
    let (first, lost, undoing, behind) = tokio::join!(first, lost, undoing, behind);
    assert!(first.is_ok());
    for told in [lost, undoing, behind] {
        assert!(crate::error::is_outage(&told.unwrap_err()), "it is worth another try");
    }
    let mut next = writer.begin().await.unwrap();
    say(&mut next, "next").await.unwrap();
    next.commit().await.unwrap();
    assert_eq!(said(&read).await, ["alone", "next"]);
}

#[tokio::test]
async fn while_another_program_writes_all_are_refused_at_once_and_not_one_after_the_other() {
    let folder = TempDir::new().unwrap();
    let (writer, _) = open(&folder).await;
    let options = SqliteConnectOptions::new().filename(folder.path().join("test.db"));
    let other = SqlitePoolOptions::new().connect_with(options).await.unwrap();
    let held = other.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let refused = join_all((0..3).map(|_| writer.begin())).await;
    assert!(refused.iter().all(|turn| turn.as_ref().is_err_and(crate::error::is_outage)));
    held.rollback().await.unwrap();
    writer.begin().await.unwrap().commit().await.unwrap();
    writer.close().await;
    assert!(matches!(writer.begin().await, Err(sqlx::Error::PoolClosed)));
}
