//! Errors of the data API, in the form of PostgreSQL and PostgREST on both databases.

use std::borrow::Cow;

use super::table::{Column, Kind, Table};

/// An error with a code that clients know: five characters of PostgreSQL, or `PGRST…`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Fault {
    /// Code.
    pub code: &'static str,
    /// Message.
    pub message: Cow<'static, str>,
    /// Details.
    pub details: Option<Cow<'static, str>>,
    /// Hint.
    pub hint: Option<Cow<'static, str>>,
}

impl Fault {
    /// Creates an error without details and hint.
    pub fn new(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), details: None, hint: None }
    }

    /// Adds details: the facts behind the message.
    #[must_use]
    pub fn details(mut self, details: impl Into<Cow<'static, str>>) -> Self {
        self.details = Some(details.into());
        self
    }

    /// Adds a hint: a way to avoid the error.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Creates the error for a feature of PostgREST outside the supported subset.
    pub fn unsupported(what: impl Into<Cow<'static, str>>) -> Self {
        Self::new("PGRST127", "Feature not implemented").details(what)
    }

    /// Creates the error for a result that is not exactly one row, as the request demands.
    pub fn not_single(rows: usize) -> Self {
        Self::new("PGRST116", "Cannot coerce the result to a single JSON object")
            .details(format!("The result contains {rows} rows"))
    }

    /// Creates the error for a row that would not belong to the caller.
    pub fn row_level_security(table: Table) -> Self {
        Self::new("42501", format!("new row violates row-level security policy for table \"{}\"", table.name()))
    }

    /// Creates the error for a write by an anonymous caller.
    pub fn no_write_for_anon(table: Table) -> Self {
        Self::new("42501", format!("permission denied for table {}", table.name()))
    }

    /// Creates the error for an operator that the column's type does not have.
    pub(crate) fn no_operator(kind: Kind, operator: &str) -> Self {
        Self::new("42883", format!("operator does not exist: {} {operator} unknown", kind.sql_name()))
            .hint("No operator matches the given name and argument types. You might need to add explicit type casts.")
    }

    pub(crate) fn no_such_column(table: Table, name: &str) -> Self {
        Self::new("42703", format!("column {}.{name} does not exist", table.name()))
    }

    pub(crate) fn no_such_field(table: Table, name: &str) -> Self {
        Self::new("PGRST204", format!("Could not find the '{name}' column of '{}' in the schema cache", table.name()))
    }

    pub(crate) fn bad_literal(code: &'static str, kind: &str, text: &str) -> Self {
        Self::new(code, format!("invalid input syntax for type {kind}: \"{text}\""))
    }

    pub(crate) fn null_in(table: Table, column: &Column) -> Self {
        let message = format!(
            "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
            column.name,
            table.name()
        );
        Self::new("23502", message)
    }

    /// Creates the error for a violated unique key.
    pub(crate) fn taken(table: Table, key: &[&str]) -> Self {
        let name = if key == ["id"] { "pkey".to_owned() } else { format!("{}_key", key.join("_")) };
        Self::new("23505", format!("duplicate key value violates unique constraint \"{}_{name}\"", table.name()))
    }

    pub(crate) fn check(table: Table, column: &Column, rule: &'static str) -> Self {
        let table = table.name();
        let message =
            format!("new row for relation \"{table}\" violates check constraint \"{table}_{}_check\"", column.name);
        Self::new("23514", message).hint(rule)
    }
}

/// An error of the data API.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request is invalid or not permitted.
    #[error(transparent)]
    Refused(#[from] Fault),
    /// The database failed.
    #[error(transparent)]
    Failed(#[from] crate::Error),
    /// A secret could not be encrypted.
    #[error("a secret could not be sealed")]
    Unsealed,
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error.into())
    }
}
