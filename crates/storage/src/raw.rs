//! Raw access to both databases, for a crate that builds statements of its own (`postgrest`).
//!
//! A statement is built from constants and bound values: [`RawStatement::push`] takes only a `&'static str`, so no text
//! of a request can become SQL. Unlike all other functions of [`Storage`], the ones here do not filter by an owner. The
//! builder of the statement has to.

use std::fmt::Write as _;

use futures_util::TryStreamExt;
use sqlx::{AssertSqlSafe, Postgres, Row as _, Sqlite};
use tracing::Span;
use uuid::Uuid;

use crate::audit_events::{NewAuditEvent, insert_events};
use crate::db_macros::{postgres_read, sqlite_read};
use crate::db_spans::{POSTGRESQL, SQLITE, create_span};
use crate::group_commit::WriteTransaction;
use crate::idle_pool::PooledConnection;
use crate::{Db, Error, Storage};

/// The SQL dialect of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlDialect {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
}

/// The type of a [`SqlValue`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlType {
    /// `uuid`, on SQLite a blob of 16 bytes.
    Uuid,
    /// Text.
    Text,
    /// A time in microseconds since 1970, stored as a 64-bit integer.
    Time,
    /// A 64-bit integer.
    Integer,
    /// JSON, stored as text.
    Json,
    /// Bytes.
    Bytes,
}

/// A value of a column or a parameter. `None` is null.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SqlValue {
    /// Value of [`SqlType::Uuid`].
    Uuid(Option<Uuid>),
    /// Value of [`SqlType::Text`].
    Text(Option<String>),
    /// Value of [`SqlType::Time`].
    Time(Option<i64>),
    /// Value of [`SqlType::Integer`].
    Integer(Option<i64>),
    /// Value of [`SqlType::Json`].
    Json(Option<String>),
    /// Value of [`SqlType::Bytes`].
    Bytes(Option<Vec<u8>>),
}

impl SqlValue {
    /// Returns the null of a type.
    pub fn null(sql_type: SqlType) -> Self {
        match sql_type {
            SqlType::Uuid => Self::Uuid(None),
            SqlType::Text => Self::Text(None),
            SqlType::Time => Self::Time(None),
            SqlType::Integer => Self::Integer(None),
            SqlType::Json => Self::Json(None),
            SqlType::Bytes => Self::Bytes(None),
        }
    }

    /// Returns whether the value is null.
    pub fn is_null(&self) -> bool {
        match self {
            Self::Uuid(value) => value.is_none(),
            Self::Text(value) | Self::Json(value) => value.is_none(),
            Self::Time(value) | Self::Integer(value) => value.is_none(),
            Self::Bytes(value) => value.is_none(),
        }
    }
}

/// A statement with its parameters and the types of the columns that it returns.
#[derive(Debug, Default)]
pub struct RawStatement {
    sql: String,
    parameters: Vec<SqlValue>,
    columns: Vec<SqlType>,
}

impl RawStatement {
    /// Appends a constant text.
    pub fn push(&mut self, sql: &'static str) {
        self.sql.push_str(sql);
    }

    /// Adds a parameter without appending it to the text. Returns its number, the first is 1.
    pub fn add_parameter(&mut self, value: SqlValue) -> usize {
        self.parameters.push(value);
        self.parameters.len()
    }

    /// Appends the parameter with this number: `$n`.
    pub fn push_parameter(&mut self, number: usize) {
        // Writing to a `String` cannot fail.
        let _ = write!(self.sql, "${number}");
    }

    /// Adds a parameter and appends it. Returns its number.
    pub fn bind(&mut self, value: SqlValue) -> usize {
        let number = self.add_parameter(value);
        self.push_parameter(number);
        number
    }

    /// Sets the types of the returned columns.
    pub fn set_columns(&mut self, columns: Vec<SqlType>) {
        self.columns = columns;
    }

    /// Returns the text, for tests and logs.
    pub fn sql(&self) -> &str {
        &self.sql
    }
}

/// A transaction of raw statements. If it is dropped instead of ended, it is rolled back.
#[derive(Debug)]
pub struct RawTransaction {
    connection: Kind,
    /// Ends with the transaction.
    _span: Span,
}

#[derive(Debug)]
enum Kind {
    SqliteRead(PooledConnection<Sqlite>),
    SqliteWrite(WriteTransaction),
    Postgres(PooledConnection<Postgres>),
}

/// Runs a [`RawStatement`] on a connection of either database.
macro_rules! fetch {
    ($connection:expr, $statement:expr, $max_rows:expr) => {{
        let statement: &RawStatement = $statement;
        let max_rows: usize = $max_rows;
        // The text consists of constants and numbers of parameters only, see `RawStatement::push`.
        let mut query = sqlx::query(AssertSqlSafe(statement.sql.as_str()));
        for value in &statement.parameters {
            query = match value {
                SqlValue::Uuid(id) => query.bind(*id),
                SqlValue::Time(number) | SqlValue::Integer(number) => query.bind(*number),
                SqlValue::Text(text) | SqlValue::Json(text) => query.bind(text.as_deref()),
                SqlValue::Bytes(bytes) => query.bind(bytes.as_deref()),
            };
        }
        let mut stream = query.fetch($connection);
        let mut rows: Vec<Vec<SqlValue>> = Vec::new();
        while let Some(row) = stream.try_next().await? {
            // Counted while streaming, so that a large result never occupies memory.
            if rows.len() == max_rows {
                return Err(Error::TooManyRows(max_rows));
            }
            let mut values = Vec::with_capacity(statement.columns.len());
            for (index, column) in statement.columns.iter().enumerate() {
                values.push(match column {
                    SqlType::Uuid => SqlValue::Uuid(row.try_get(index)?),
                    SqlType::Text => SqlValue::Text(row.try_get(index)?),
                    SqlType::Time => SqlValue::Time(row.try_get(index)?),
                    SqlType::Integer => SqlValue::Integer(row.try_get(index)?),
                    SqlType::Json => SqlValue::Json(row.try_get(index)?),
                    SqlType::Bytes => SqlValue::Bytes(row.try_get(index)?),
                });
            }
            rows.push(values);
        }
        Ok(rows)
    }};
}

impl Storage {
    /// Returns the dialect of this database.
    pub fn dialect(&self) -> SqlDialect {
        match self.db {
            Db::Sqlite { .. } => SqlDialect::Sqlite,
            Db::Postgres(_) => SqlDialect::Postgres,
        }
    }

    /// Runs a single query.
    ///
    /// # Errors
    ///
    /// [`Error::TooManyRows`] if it returns more than `max_rows`.
    pub async fn fetch_raw(&self, statement: &RawStatement, max_rows: usize) -> Result<Vec<Vec<SqlValue>>, Error> {
        match &self.db {
            Db::Sqlite { read, .. } => sqlite_read!(read, |c| async { fetch!(c, statement, max_rows) }.await),
            Db::Postgres(connections) => {
                postgres_read!(self, connections, |c| async { fetch!(c, statement, max_rows) }.await)
            }
        }
    }

    /// Begins a reading transaction. All its statements see the same snapshot.
    pub async fn begin_reading(&self) -> Result<RawTransaction, Error> {
        let span = self.transaction_span();
        let connection = match &self.db {
            // SQLite takes the snapshot with the first statement.
            Db::Sqlite { read, .. } => Kind::SqliteRead(read.begin("BEGIN").await?),
            Db::Postgres(connections) => {
                let begin = connections.begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
                Kind::Postgres(self.availability.guard(begin).await?)
            }
        };
        Ok(RawTransaction { connection, _span: span })
    }

    /// Begins a writing transaction. On SQLite it holds the only writer: nothing but its statements may be awaited
    /// before its end.
    pub async fn begin_writing(&self) -> Result<RawTransaction, Error> {
        let span = self.transaction_span();
        let connection = match &self.db {
            Db::Sqlite { write, .. } => Kind::SqliteWrite(self.availability.guard(write.begin()).await?),
            Db::Postgres(connections) => Kind::Postgres(self.availability.guard(connections.begin("BEGIN")).await?),
        };
        Ok(RawTransaction { connection, _span: span })
    }

    /// Creates the span of a transaction from its begin to its end.
    fn transaction_span(&self) -> Span {
        let system = match self.db {
            Db::Sqlite { .. } => SQLITE,
            Db::Postgres(_) => POSTGRESQL,
        };
        create_span(system, concat!(module_path!(), " transaction"))
    }
}

impl RawTransaction {
    /// Runs a statement.
    ///
    /// # Errors
    ///
    /// [`Error::TooManyRows`] if it returns more than `max_rows`. [`Error::Conflict`] and [`Error::MissingReference`]
    /// if it violates a constraint.
    pub async fn fetch(&mut self, statement: &RawStatement, max_rows: usize) -> Result<Vec<Vec<SqlValue>>, Error> {
        match &mut self.connection {
            Kind::SqliteRead(connection) => fetch!(&mut **connection, statement, max_rows),
            Kind::SqliteWrite(transaction) => fetch!(transaction.connection()?, statement, max_rows),
            Kind::Postgres(connection) => fetch!(&mut **connection, statement, max_rows),
        }
    }

    /// Stores events of the audit log.
    pub async fn insert_audit_events(&mut self, events: &[NewAuditEvent]) -> Result<(), Error> {
        match &mut self.connection {
            Kind::SqliteRead(connection) => {
                let connection = &mut **connection;
                insert_events!(connection, events);
            }
            Kind::SqliteWrite(transaction) => {
                let connection = transaction.connection()?;
                insert_events!(connection, events);
            }
            Kind::Postgres(connection) => {
                let connection = &mut **connection;
                insert_events!(connection, events);
            }
        }
        Ok(())
    }

    /// Commits. Returns once the changes are durable.
    pub async fn commit(self) -> Result<(), Error> {
        match self.connection {
            Kind::SqliteRead(connection) => connection.end(true).await?,
            Kind::SqliteWrite(transaction) => transaction.commit().await?,
            Kind::Postgres(connection) => connection.end(true).await?,
        }
        Ok(())
    }

    /// Rolls back.
    pub async fn rollback(self) -> Result<(), Error> {
        match self.connection {
            Kind::SqliteRead(connection) => connection.end(false).await?,
            Kind::SqliteWrite(transaction) => transaction.rollback().await?,
            Kind::Postgres(connection) => connection.end(false).await?,
        }
        Ok(())
    }
}
