//! Temporary chats: a database in memory that holds a single chat, so that nothing of it is ever written to disk.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use domain::{ChatId, NodeId, Timestamp, UserId};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};

use crate::availability::Availability;
use crate::db_macros::transaction;
use crate::group_commit::SqliteWriter;
use crate::idle_pool::IdlePool;
use crate::notify_batch::NotifyBatch;
use crate::{Db, Error, OpenError, Storage, migrate};

/// Maximum size of a temporary chat in pages of 4 KiB: 32 MiB. Beyond it, writes fail like on a full disk.
const PAGES: &str = "8192";

const INSERT_OWNER: &str = "INSERT INTO users
      (id, is_anonymous, user_metadata, app_metadata, identity_id, created_at, updated_at)
    VALUES ($1, 1, '{}', '{}', $1, $2, $2)";

const INSERT_CHAT: &str =
    "INSERT INTO ai_chat_sessions (id, user_id, title, created_at, updated_at) VALUES ($1, $2, '', $3, $3)";

impl Storage {
    /// Opens an empty database in memory with one chat of the owner. Its data is deleted with the last clone.
    ///
    /// # Errors
    ///
    /// [`OpenError::Migration`] if the schema cannot be created.
    pub async fn in_memory(owner: UserId, chat: ChatId, now: Timestamp) -> Result<Self, OpenError> {
        let failed = |reason: &dyn std::fmt::Display| OpenError::Migration(reason.to_string());
        let options = SqliteConnectOptions::from_str("sqlite::memory:")
            .map_err(|error| failed(&error))?
            // Neither a journal nor a temporary table may reach the disk.
            .journal_mode(SqliteJournalMode::Memory)
            .foreign_keys(true)
            .pragma("temp_store", "MEMORY")
            .pragma("max_page_count", PAGES);
        // The database exists only inside its connection, which therefore must not be closed before the pool is.
        let pool = SqlitePoolOptions::new()
            .max_connections(1)
            .min_connections(1)
            .idle_timeout(None)
            .max_lifetime(None)
            .test_before_acquire(false)
            .connect_with(options)
            .await
            .map_err(|error| failed(&error))?;
        migrate::sqlite(&pool, Path::new(":memory:")).await?;
        // One connection serves for both reading and writing.
        let connections = IdlePool::new(pool, 0);
        let db = Db::Sqlite { read: connections.clone(), write: SqliteWriter::new(connections), checkpoints: None };
        let storage = Self {
            db,
            node: NodeId::fresh(),
            is_lasting: false,
            availability: Arc::new(Availability::new()),
            notify_batch: NotifyBatch::default(),
            listener: None,
            objects: None,
            _lock: None,
        };
        storage.insert_only_chat(owner, chat, now).await.map_err(|error| failed(&error))?;
        Ok(storage)
    }

    /// Returns whether the data outlives this process.
    pub fn is_lasting(&self) -> bool {
        self.is_lasting
    }

    async fn insert_only_chat(&self, owner: UserId, chat: ChatId, now: Timestamp) -> Result<(), Error> {
        transaction!(self, |tx| {
            sqlx::query(INSERT_OWNER).bind(owner.0).bind(now.0).execute(&mut *tx).await?;
            sqlx::query(INSERT_CHAT).bind(chat.0).bind(owner.0).bind(now.0).execute(&mut *tx).await?;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_has_its_one_chat_and_none_is_a_file() {
        let (owner, chat, other) = (UserId::fresh(), ChatId::fresh(), ChatId::fresh());
        let storage = Storage::in_memory(owner, chat, Timestamp(1)).await.unwrap();
        let second = Storage::in_memory(owner, other, Timestamp(1)).await.unwrap();
        assert!(storage.chats().get(owner, chat).await.unwrap().is_some());
        assert!(storage.chats().get(owner, other).await.unwrap().is_none());
        assert!(second.chats().get(owner, other).await.unwrap().is_some());
        assert!(!storage.is_lasting() && !storage.is_shared());
        for database in [&storage, &second] {
            let Db::Sqlite { read, .. } = &database.db else { panic!("not in memory") };
            let query = sqlx::query_as("SELECT file FROM pragma_database_list");
            let file: (String,) = query.fetch_one(&mut *read.acquire().await.unwrap()).await.unwrap();
            assert!(!Path::new(&file.0).exists(), "{} is a file", file.0);
        }
    }
}
