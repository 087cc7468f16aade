//! A transaction of one request, whose errors on either database are those of PostgreSQL.

use storage::Storage;
use storage::audit_events::NewAuditEvent;
use storage::raw::{RawTransaction, SqlDialect, SqlValue};

use crate::pg_error::{PgError, PostgrestError};
use crate::statement::Statement;
use crate::table::RestTable;

/// A transaction of one request.
pub(crate) struct RestTransaction {
    raw: RawTransaction,
    dialect: SqlDialect,
}

impl RestTransaction {
    /// Begins a reading transaction. All its statements see the same snapshot.
    pub(crate) async fn begin_reading(storage: &Storage) -> Result<Self, PostgrestError> {
        Ok(Self { raw: storage.begin_reading().await?, dialect: storage.dialect() })
    }

    /// Begins a writing transaction.
    pub(crate) async fn begin_writing(storage: &Storage) -> Result<Self, PostgrestError> {
        Ok(Self { raw: storage.begin_writing().await?, dialect: storage.dialect() })
    }

    pub(crate) fn dialect(&self) -> SqlDialect {
        self.dialect
    }

    /// Runs a statement. Fails if it returns more than `max_rows` rows.
    pub(crate) async fn fetch(
        &mut self,
        statement: &Statement,
        max_rows: usize,
    ) -> Result<Vec<Vec<SqlValue>>, PostgrestError> {
        Ok(self.raw.fetch(&statement.raw, max_rows).await?)
    }

    /// Stores events of the audit log.
    pub(crate) async fn insert_audit_events(&mut self, events: &[NewAuditEvent]) -> Result<(), PostgrestError> {
        Ok(self.raw.insert_audit_events(events).await?)
    }

    /// Commits after success and rolls back after an error.
    pub(crate) async fn finish<T>(
        self,
        table: RestTable,
        result: Result<T, PostgrestError>,
    ) -> Result<T, PostgrestError> {
        let ended = if result.is_ok() { self.raw.commit().await } else { self.raw.rollback().await };
        // The error of the request takes precedence over that of the rollback.
        let value = result.map_err(|error| translate(table, error))?;
        ended?;
        Ok(value)
    }
}

/// Runs a single query outside of a transaction.
pub(crate) async fn fetch_once(
    storage: &Storage,
    statement: &Statement,
    max_rows: usize,
) -> Result<Vec<Vec<SqlValue>>, PostgrestError> {
    Ok(storage.fetch_raw(&statement.raw, max_rows).await?)
}

/// Translates a violated constraint of either database into the error of PostgreSQL.
fn translate(table: RestTable, error: PostgrestError) -> PostgrestError {
    match &error {
        PostgrestError::Storage(storage::Error::Conflict(constraint)) => {
            // SQLite reports the columns, PostgreSQL the name of the constraint.
            let is_name = constraint.contains("name_key") || constraint.contains("mcp_servers.name");
            PgError::unique_violation(table, if is_name { &["user_id", "name"] } else { &["id"] }).into()
        }
        PostgrestError::Storage(storage::Error::MissingReference) => {
            let name = table.name();
            let message = format!("insert, update or delete on table \"{name}\" violates a foreign key constraint");
            PgError::new("23503", message).into()
        }
        _ => error,
    }
}
