//! Converts a request body to rows: typed values, defaults, validation, encrypted secrets.

use std::collections::BTreeMap;

use domain::server_url::{has_masked_values, split_query};
use domain::{Timestamp, UserId};

use crate::ast::{RowObject, WriteBody};
use crate::pg_error::{PgError, PostgrestError};
use crate::table::{ColumnDefault, ColumnType, RestTable, TableColumn, URL_QUERY};
use crate::validation;
use crate::value::parse_json;
use storage::audit_events::NewAuditEvent;
use storage::raw::SqlValue;

/// The values of a row with their columns.
pub(crate) type Row = Vec<(&'static TableColumn, SqlValue)>;

/// Encrypts the secrets of a user's connections. Functions return `None` if the encryption fails.
pub trait ConnectionSealer: Send + Sync {
    /// Encrypts the HTTP headers of a connection, by name.
    fn seal_headers(&self, headers: &BTreeMap<String, String>) -> Option<Vec<u8>>;
    /// Encrypts the query of a URL. It can be decrypted only together with the masked form of that URL.
    fn seal_url_query(&self, masked: &str, query: &str) -> Option<Vec<u8>>;
}

/// The author of a write: the caller, the time, the encryption of secrets, the events to store and the limit.
#[derive(Clone, Copy)]
pub struct WriteContext<'a> {
    /// Caller.
    pub owner: UserId,
    /// Current time.
    pub now: Timestamp,
    /// Encryption for this caller.
    pub sealer: &'a dyn ConnectionSealer,
    /// Audit events to store for each row that is inserted.
    pub events: &'a [NewAuditEvent],
    /// Audit events to store for each connection whose name, URL or headers are changed.
    pub change_events: &'a [NewAuditEvent],
    /// Maximum number of rows that the caller may have in the table after an insert of new ones; `None` for no limit.
    pub max_rows: Option<u64>,
}

impl std::fmt::Debug for WriteContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WriteContext").field("owner", &self.owner).field("now", &self.now).finish_non_exhaustive()
    }
}

/// Returns the columns that a body writes.
pub(crate) fn columns(table: RestTable, body: &WriteBody) -> Result<Vec<&'static TableColumn>, PgError> {
    // Without a list of columns, the first object determines them, as in PostgREST.
    let Some(names) = &body.columns else {
        let Some(first) = body.records.first() else { return Ok(Vec::new()) };
        if !body.records.iter().all(|record| record.keys().eq(first.keys())) {
            return Err(PgError::new("PGRST102", "All object keys must match"));
        }
        return first.keys().map(|name| table.writable(name)).collect();
    };
    let mut columns: Vec<&'static TableColumn> = Vec::with_capacity(names.len());
    for name in names {
        let column = table.writable(name)?;
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    Ok(columns)
}

/// Returns the URL of a row to be written if it comes without its query, because its values are masked. It may be
/// written only to a row that already has this URL.
pub(crate) fn masked_url<'a>(
    row: &'a [(&'static TableColumn, SqlValue)],
) -> Option<(&'static TableColumn, &'a SqlValue)> {
    let is_sealed = row.iter().any(|(column, _)| *column == &URL_QUERY);
    let url = row.iter().find(|(column, value)| column.name == "url" && !value.is_null())?;
    (!is_sealed).then_some((url.0, &url.1))
}

impl WriteContext<'_> {
    /// Converts an object to a complete row for an insert.
    pub(crate) fn new_row(
        &self,
        table: RestTable,
        body: &WriteBody,
        given: &[&'static TableColumn],
        record: &RowObject,
    ) -> Result<Row, PostgrestError> {
        let row = table.columns().iter().map(|column| {
            let value =
                if given.contains(&column) { self.given(table, column, body, record)? } else { self.default(column) };
            self.finish(table, column, value)
        });
        self.seal_url(table, row.collect::<Result<_, PostgrestError>>()?)
    }

    /// Converts an object to values for an update.
    pub(crate) fn changes(
        &self,
        table: RestTable,
        body: &WriteBody,
        given: &[&'static TableColumn],
        record: &RowObject,
    ) -> Result<Row, PostgrestError> {
        let values = given.iter().map(|column| {
            let value = self.given(table, column, body, record)?;
            self.finish(table, column, value)
        });
        self.seal_url(table, values.collect::<Result<_, PostgrestError>>()?)
    }

    /// Replaces a connection's URL by its masked form, and adds the encrypted query, or null if the URL has none. A URL
    /// that is already masked stays unchanged, see [`masked_url`].
    fn seal_url(&self, table: RestTable, mut row: Row) -> Result<Row, PostgrestError> {
        let url = row.iter_mut().find(|(column, _)| table == RestTable::McpServers && column.name == "url");
        let Some((_, SqlValue::Text(Some(url)))) = url else { return Ok(row) };
        if has_masked_values(url) {
            return Ok(row);
        }
        let sealed = match split_query(url) {
            Some((masked, query)) => {
                let sealed = self.sealer.seal_url_query(&masked, &query).ok_or(PostgrestError::Encryption)?;
                *url = masked;
                Some(sealed)
            }
            None => None,
        };
        row.push((&URL_QUERY, SqlValue::Bytes(sealed)));
        Ok(row)
    }

    fn given(
        &self,
        table: RestTable,
        column: &'static TableColumn,
        body: &WriteBody,
        record: &RowObject,
    ) -> Result<SqlValue, PgError> {
        let value = match record.get(column.name) {
            Some(value) => parse_json(column.column_type, value)?,
            None if body.missing_is_default => self.default(column),
            None => SqlValue::null(column.column_type.sql_type()),
        };
        // Ownership is checked before the value, as row-level security would. Null belongs to no user.
        match (column.name, &value) {
            ("user_id", SqlValue::Uuid(id)) if *id != Some(self.owner.0) => Err(PgError::row_level_security(table)),
            ("session_id", SqlValue::Uuid(None)) => Err(PgError::row_level_security(table)),
            _ => Ok(value),
        }
    }

    fn default(&self, column: &TableColumn) -> SqlValue {
        match column.default {
            ColumnDefault::Null => SqlValue::null(column.column_type.sql_type()),
            ColumnDefault::FreshId => SqlValue::Uuid(Some(domain::ids::fresh())),
            ColumnDefault::Caller => SqlValue::Uuid(Some(self.owner.0)),
            ColumnDefault::Now => SqlValue::Time(Some(self.now.0)),
            ColumnDefault::Text(text) if column.column_type == ColumnType::JsonList => {
                SqlValue::Json(Some(text.to_owned()))
            }
            ColumnDefault::Text(text) => SqlValue::Text(Some(text.to_owned())),
        }
    }

    fn finish(
        &self,
        table: RestTable,
        column: &'static TableColumn,
        value: SqlValue,
    ) -> Result<(&'static TableColumn, SqlValue), PostgrestError> {
        if value.is_null() {
            return if column.nullable {
                Ok((column, SqlValue::null(column.column_type.sql_type())))
            } else if column.name == "session_id" {
                // PostgreSQL checks row-level security before constraints, and a message without a chat belongs to no
                // user.
                Err(PgError::row_level_security(table).into())
            } else {
                Err(PgError::not_null_violation(table, column).into())
            };
        }
        if let (ColumnType::Sealed, SqlValue::Json(Some(json))) = (column.column_type, &value) {
            let headers = validation::check_headers(table, column, json)?;
            let sealed = self.sealer.seal_headers(&headers).ok_or(PostgrestError::Encryption)?;
            return Ok((column, SqlValue::Bytes(Some(sealed))));
        }
        validation::check_value(table, column, &value)?;
        Ok((column, value))
    }
}
