//! Errors in the form of PostgreSQL and PostgREST, the same on both databases.

use std::borrow::Cow;

use crate::table::{ColumnType, RestTable, TableColumn};

/// An error with a code that clients know: five characters of PostgreSQL, or `PGRST…`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct PgError {
    /// Code.
    pub code: &'static str,
    /// Message.
    pub message: Cow<'static, str>,
    /// Details.
    pub details: Option<Cow<'static, str>>,
    /// Hint.
    pub hint: Option<Cow<'static, str>>,
}

impl PgError {
    /// Creates an error without details and hint.
    pub fn new(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), details: None, hint: None }
    }

    /// Adds details: the facts behind the message.
    #[must_use]
    pub fn with_details(mut self, details: impl Into<Cow<'static, str>>) -> Self {
        self.details = Some(details.into());
        self
    }

    /// Adds a hint: a way to avoid the error.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Creates the error for a feature of PostgREST outside the supported subset.
    pub fn not_implemented(what: impl Into<Cow<'static, str>>) -> Self {
        Self::new("PGRST127", "Feature not implemented").with_details(what)
    }

    /// Creates the error for a result that is not exactly one row, as the request demands.
    pub fn not_single_row(rows: usize) -> Self {
        Self::new("PGRST116", "Cannot coerce the result to a single JSON object")
            .with_details(format!("The result contains {rows} rows"))
    }

    /// Creates the error for a row that would not belong to the caller.
    pub fn row_level_security(table: RestTable) -> Self {
        Self::new("42501", format!("new row violates row-level security policy for table \"{}\"", table.name()))
    }

    /// Creates the error for more rows than the caller may have, with the code of an exception that a trigger raises.
    pub(crate) fn too_many_rows(table: RestTable, most: u64) -> Self {
        let noun = match table {
            RestTable::McpServers => "connections",
            RestTable::Sessions => "chats",
            RestTable::Messages => "messages",
        };
        Self::new("P0001", format!("You can have at most {most} {noun}. Delete one first."))
    }

    /// Creates the error for a write by an anonymous caller.
    pub fn permission_denied(table: RestTable) -> Self {
        Self::new("42501", format!("permission denied for table {}", table.name()))
    }

    /// Creates the error for an operator that the column's type does not have.
    pub(crate) fn missing_operator(column_type: ColumnType, operator: &str) -> Self {
        Self::new("42883", format!("operator does not exist: {} {operator} unknown", column_type.sql_name())).with_hint(
            "No operator matches the given name and argument types. You might need to add explicit type casts.",
        )
    }

    pub(crate) fn unknown_column(table: RestTable, name: &str) -> Self {
        Self::new("42703", format!("column {}.{name} does not exist", table.name()))
    }

    pub(crate) fn unknown_field(table: RestTable, name: &str) -> Self {
        Self::new("PGRST204", format!("Could not find the '{name}' column of '{}' in the schema cache", table.name()))
    }

    pub(crate) fn invalid_literal(code: &'static str, column_type: &str, text: &str) -> Self {
        Self::new(code, format!("invalid input syntax for type {column_type}: \"{text}\""))
    }

    pub(crate) fn not_null_violation(table: RestTable, column: &TableColumn) -> Self {
        let message = format!(
            "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
            column.name,
            table.name()
        );
        Self::new("23502", message)
    }

    /// Creates the error for a violated unique key.
    pub(crate) fn unique_violation(table: RestTable, key: &[&str]) -> Self {
        // The names that PostgreSQL gives to unnamed constraints.
        let name = if key == ["id"] { "pkey".to_owned() } else { format!("{}_key", key.join("_")) };
        Self::new("23505", format!("duplicate key value violates unique constraint \"{}_{name}\"", table.name()))
    }

    pub(crate) fn check_violation(table: RestTable, column: &TableColumn, rule: &'static str) -> Self {
        let table = table.name();
        let message =
            format!("new row for relation \"{table}\" violates check constraint \"{table}_{}_check\"", column.name);
        Self::new("23514", message).with_hint(rule)
    }
}

/// The reason why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum PostgrestError {
    /// The request is invalid or not permitted.
    #[error(transparent)]
    Rejected(#[from] PgError),
    /// The database failed.
    #[error(transparent)]
    Storage(storage::Error),
    /// A secret could not be encrypted.
    #[error("cannot encrypt a secret")]
    Encryption,
}

impl From<storage::Error> for PostgrestError {
    fn from(error: storage::Error) -> Self {
        match error {
            storage::Error::TooManyRows(max_rows) => {
                PgError::new("54000", format!("more than {max_rows} rows would be returned"))
                    .with_hint("narrow the filters, or use Prefer: return=minimal")
                    .into()
            }
            other => Self::Storage(other),
        }
    }
}
