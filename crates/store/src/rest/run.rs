//! Runs statements of the builder on either database, and translates the errors of both into those of PostgreSQL.

use futures_util::TryStreamExt;
use sqlx::error::ErrorKind;
use sqlx::{AssertSqlSafe, Postgres, Row as _, Sqlite};

use super::cell::Cell;
use super::fault::{Error, Fault};
use super::statement::{Dialect, Statement};
use super::table::{Kind, Table};
use crate::connections::Lent;
use crate::dispatch::lent;
use crate::writer::Turn;
use crate::{Db, Store};

/// A transaction on one of the databases.
pub(crate) enum Work {
    /// Reading transaction.
    Sqlite(Lent<Sqlite>),
    /// Writing transaction.
    SqliteTurn(Turn),
    Postgres(Lent<Postgres>),
}

macro_rules! fetch {
    ($connection:expr, $statement:expr, $most:expr) => {{
        let statement: &Statement = $statement;
        // The statement's text consists of constants only, see `Statement`.
        let mut query = sqlx::query(AssertSqlSafe(statement.sql.as_str()));
        for cell in &statement.binds {
            query = match cell {
                Cell::Uuid(id) => query.bind(*id),
                Cell::Time(micros) => query.bind(*micros),
                Cell::Text(text) | Cell::Json(text) => query.bind(text.as_deref()),
                Cell::Bytes(bytes) => query.bind(bytes.as_deref()),
            };
        }
        let mut stream = query.fetch($connection);
        let mut rows: Vec<Vec<Cell>> = Vec::new();
        while let Some(row) = stream.try_next().await? {
            // Counted while streaming, so that a large result never occupies memory.
            if rows.len() == $most {
                let message = format!("more than {} rows would be returned", $most);
                return Err(Fault::new("54000", message)
                    .hint("narrow the filters, or use Prefer: return=minimal")
                    .into());
            }
            let mut cells = Vec::with_capacity(statement.returns.len());
            for (index, column) in statement.returns.iter().enumerate() {
                cells.push(match column.kind {
                    Kind::Uuid => Cell::Uuid(row.try_get(index)?),
                    Kind::Text => Cell::Text(row.try_get(index)?),
                    Kind::Time => Cell::Time(row.try_get(index)?),
                    Kind::JsonList => Cell::Json(row.try_get(index)?),
                    Kind::Sealed => Cell::Bytes(row.try_get(index)?),
                });
            }
            rows.push(cells);
        }
        Ok(rows)
    }};
}

impl Store {
    pub(crate) fn dialect(&self) -> Dialect {
        match self.db {
            Db::Sqlite { .. } => Dialect::Sqlite,
            Db::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Runs a single query.
    pub(crate) async fn fetch(&self, statement: &Statement, most: usize) -> Result<Vec<Vec<Cell>>, Error> {
        match &self.db {
            Db::Sqlite { read, .. } => Box::pin(lent!(read, |c| async { fetch!(c, statement, most) }.await)).await,
            Db::Postgres(connections) => {
                self.presence.attend(lent!(connections, |c| async { fetch!(c, statement, most) }.await)).await
            }
        }
    }

    /// Begins a reading transaction. All its statements see the same snapshot.
    pub(crate) async fn begin_reading(&self) -> Result<Work, Error> {
        Ok(match &self.db {
            // SQLite takes the snapshot with the first statement.
            Db::Sqlite { read, .. } => Work::Sqlite(read.begin("BEGIN").await?),
            Db::Postgres(connections) => {
                let begin = connections.begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
                Work::Postgres(self.presence.attend(begin).await?)
            }
        })
    }

    /// Begins a writing transaction.
    pub(crate) async fn begin_writing(&self) -> Result<Work, Error> {
        Ok(match &self.db {
            Db::Sqlite { write, .. } => Work::SqliteTurn(self.presence.attend(write.enter()).await?),
            Db::Postgres(connections) => Work::Postgres(self.presence.attend(connections.begin("BEGIN")).await?),
        })
    }
}

impl Work {
    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) | Self::SqliteTurn(_) => Dialect::Sqlite,
            Self::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Runs a statement. Fails if it returns more than `most` rows.
    pub(crate) async fn fetch(&mut self, statement: &Statement, most: usize) -> Result<Vec<Vec<Cell>>, Error> {
        match self {
            Self::Sqlite(lent) => fetch!(&mut **lent, statement, most),
            Self::SqliteTurn(turn) => fetch!(turn.connection()?, statement, most),
            Self::Postgres(lent) => fetch!(&mut **lent, statement, most),
        }
    }

    /// Commits after success and rolls back after an error.
    pub(crate) async fn finish<T>(self, table: Table, result: Result<T, Error>) -> Result<T, Error> {
        let done = match (self, &result) {
            (Self::Sqlite(lent), result) => lent.end(result.is_ok()).await,
            (Self::SqliteTurn(turn), Ok(_)) => turn.keep().await,
            (Self::SqliteTurn(turn), Err(_)) => turn.undo().await,
            (Self::Postgres(lent), result) => lent.end(result.is_ok()).await,
        };
        // The error of the request takes precedence over that of the rollback.
        let value = result.map_err(|error| explained(table, error))?;
        done?;
        Ok(value)
    }
}

/// Translates an error of either database into that of PostgreSQL.
fn explained(table: Table, error: Error) -> Error {
    let Error::Failed(failed) = &error else { return error };
    let name = table.name();
    match failed {
        crate::Error::Conflict(rule) => {
            // SQLite reports the columns, PostgreSQL the name of the constraint.
            let is_name = rule.contains("name_key") || rule.contains("mcp_servers.name");
            Fault::taken(table, if is_name { &["user_id", "name"] } else { &["id"] }).into()
        }
        crate::Error::Database(sqlx::Error::Database(refused)) => match refused.kind() {
            ErrorKind::ForeignKeyViolation => {
                let message = format!("insert, update or delete on table \"{name}\" violates a foreign key constraint");
                Fault::new("23503", message).into()
            }
            _ => error,
        },
        _ => error,
    }
}
