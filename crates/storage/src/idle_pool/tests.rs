//! Tests of the idle connections: reuse, checks, and connections that are dropped inside a transaction.

use std::sync::atomic::{AtomicUsize, Ordering};

use sqlx::Sqlite;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use tempfile::TempDir;

use super::*;

/// Opens a pool with at most `most` connections to one file, and a counter of the connections returned to the pool.
async fn open(folder: &TempDir, most: u32) -> (IdlePool<Sqlite>, Arc<AtomicUsize>) {
    let returns = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&returns);
    let options = SqliteConnectOptions::new().filename(folder.path().join("test.db")).create_if_missing(true);
    let pool = SqlitePoolOptions::new()
        .max_connections(most)
        .acquire_timeout(Duration::from_millis(300))
        .after_release(move |_, _| {
            counted.fetch_add(1, Ordering::Relaxed);
            Box::pin(async { Ok(true) })
        })
        .connect_with(options)
        .await
        .unwrap();
    (IdlePool::new(pool, 0), returns)
}

async fn run(lent: &mut PooledConnection<Sqlite>, statement: &'static str) {
    lent.execute(sqlx::raw_sql(statement)).await.unwrap();
}

#[tokio::test]
async fn one_that_is_given_back_is_used_again_without_the_pool() {
    let folder = TempDir::new().unwrap();
    let (connections, returns) = open(&folder, 5).await;
    run(&mut connections.acquire().await.unwrap(), "SELECT 1").await;
    // It was dropped, and so returned to the pool.
    while connections.pool().num_idle() < 1 {
        tokio::task::yield_now().await;
    }
    let mut first = connections.acquire().await.unwrap();
    run(&mut first, "CREATE TEMP TABLE mine (number)").await;
    first.release();
    for _ in 0..3 {
        let mut again = connections.acquire().await.unwrap();
        run(&mut again, "INSERT INTO mine VALUES (1)").await;
        again.release();
    }
    assert_eq!((returns.load(Ordering::Relaxed), connections.pool().size()), (1, 1));
}

#[tokio::test]
async fn one_that_was_not_used_for_a_while_is_asked_first() {
    let folder = TempDir::new().unwrap();
    let (connections, _) = open(&folder, 1).await;
    connections.acquire().await.unwrap().release();
    tokio::time::sleep(UNCHECKED_IDLE_TIME).await;
    run(&mut connections.acquire().await.unwrap(), "SELECT 1").await;
}

#[tokio::test]
async fn who_finds_none_waits_for_one_and_not_for_ever() {
    let folder = TempDir::new().unwrap();
    let (connections, _) = open(&folder, 2).await;
    let (first, _second) = (connections.acquire().await.unwrap(), connections.acquire().await.unwrap());
    assert!(matches!(connections.acquire().await, Err(sqlx::Error::PoolTimedOut)));
    let give_back = async {
        tokio::task::yield_now().await;
        first.release();
    };
    let (third, ()) = tokio::join!(connections.acquire(), give_back);
    assert!(third.is_ok());
    assert_eq!(connections.pool().size(), 2);
}

#[tokio::test]
async fn what_a_dropped_transaction_did_does_not_stand() {
    let folder = TempDir::new().unwrap();
    let (connections, _) = open(&folder, 1).await;
    let mut lent = connections.acquire().await.unwrap();
    run(&mut lent, "CREATE TABLE said (word TEXT)").await;
    lent.release();
    for (word, ending) in [("kept", Some(true)), ("undone", Some(false)), ("dropped", None)] {
        let mut lent = connections.acquire().await.unwrap();
        lent.begin("BEGIN").await.unwrap();
        sqlx::query("INSERT INTO said (word) VALUES ($1)").bind(word).execute(&mut *lent).await.unwrap();
        match ending {
            Some(is_kept) => lent.end(is_kept).await.unwrap(),
            None => drop(lent),
        }
    }
    let mut lent = connections.acquire().await.unwrap();
    let said: Vec<String> = sqlx::query_scalar("SELECT word FROM said").fetch_all(&mut *lent).await.unwrap();
    assert_eq!(said, ["kept"]);
}

#[tokio::test]
async fn nobody_gets_one_behind_the_end() {
    let folder = TempDir::new().unwrap();
    let (connections, _) = open(&folder, 2).await;
    let lent = connections.acquire().await.unwrap();
    connections.acquire().await.unwrap().release();
    let ((), ()) = tokio::join!(connections.close(), async { lent.release() });
    assert!(matches!(connections.acquire().await, Err(sqlx::Error::PoolClosed)));
    assert_eq!(connections.pool().size(), 0);
}

#[test]
fn they_may_outlive_the_runtime() {
    let folder = TempDir::new().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let connections = runtime.block_on(async {
        let (connections, _) = open(&folder, 1).await;
        connections.acquire().await.unwrap().release();
        connections
    });
    drop(runtime);
    drop(connections);
}
