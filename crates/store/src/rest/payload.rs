//! Converts a request body to rows: typed values, defaults, validation, encrypted secrets.

use std::collections::BTreeMap;

use domain::server_url::{has_masked_values, split_query};
use domain::{Timestamp, UserId};

use super::ast::{Body, Record};
use super::cell::Cell;
use super::check;
use super::fault::{Error, Fault};
use super::table::{Column, Default, Kind, Table, URL_QUERY};

/// The values of a row with their columns.
pub(crate) type Row = Vec<(&'static Column, Cell)>;

/// Encrypts the secrets of a user's connections. Functions return `None` if the encryption fails.
pub trait ConnectionSealer: Send + Sync {
    /// Encrypts the HTTP headers of a connection, by name.
    fn seal_headers(&self, headers: &BTreeMap<String, String>) -> Option<Vec<u8>>;
    /// Encrypts the query of a URL. It can be decrypted only together with the masked form of that URL.
    fn seal_url_query(&self, masked: &str, query: &str) -> Option<Vec<u8>>;
}

/// The author of a write: the caller, the time and the encryption of secrets.
#[derive(Clone, Copy)]
pub struct Writer<'a> {
    /// Caller.
    pub owner: UserId,
    /// Current time.
    pub now: Timestamp,
    /// Encryption for this caller.
    pub sealer: &'a dyn ConnectionSealer,
}

impl std::fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("owner", &self.owner).field("now", &self.now).finish_non_exhaustive()
    }
}

/// Returns the columns that a body writes.
pub(crate) fn columns(table: Table, body: &Body) -> Result<Vec<&'static Column>, Fault> {
    // Without a list of columns, the first object determines them, as in PostgREST.
    let Some(names) = &body.columns else {
        let Some(first) = body.records.first() else { return Ok(Vec::new()) };
        if !body.records.iter().all(|record| record.keys().eq(first.keys())) {
            return Err(Fault::new("PGRST102", "All object keys must match"));
        }
        return first.keys().map(|name| table.writable(name)).collect();
    };
    let mut columns: Vec<&'static Column> = Vec::with_capacity(names.len());
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
pub(crate) fn masked_url<'a>(row: &'a [(&'static Column, Cell)]) -> Option<(&'static Column, &'a Cell)> {
    let is_sealed = row.iter().any(|(column, _)| *column == &URL_QUERY);
    let url = row.iter().find(|(column, cell)| column.name == "url" && !cell.is_null())?;
    (!is_sealed).then_some((url.0, &url.1))
}

impl Writer<'_> {
    /// Converts an object to a complete row for an insert.
    pub(crate) fn new_row(
        &self,
        table: Table,
        body: &Body,
        given: &[&'static Column],
        record: &Record,
    ) -> Result<Row, Error> {
        let row = table.columns().iter().map(|column| {
            let cell =
                if given.contains(&column) { self.given(table, column, body, record)? } else { self.default(column) };
            self.finish(table, column, cell)
        });
        self.seal_url(table, row.collect::<Result<_, Error>>()?)
    }

    /// Converts an object to values for an update.
    pub(crate) fn changes(
        &self,
        table: Table,
        body: &Body,
        given: &[&'static Column],
        record: &Record,
    ) -> Result<Row, Error> {
        let values = given.iter().map(|column| {
            let cell = self.given(table, column, body, record)?;
            self.finish(table, column, cell)
        });
        self.seal_url(table, values.collect::<Result<_, Error>>()?)
    }

    /// Replaces a connection's URL by its masked form, and adds the encrypted query, or null if the URL has none. A URL
    /// that is already masked stays unchanged, see [`masked_url`].
    fn seal_url(&self, table: Table, mut row: Row) -> Result<Row, Error> {
        let url = row.iter_mut().find(|(column, _)| table == Table::McpServers && column.name == "url");
        let Some((_, Cell::Text(Some(url)))) = url else { return Ok(row) };
        if has_masked_values(url) {
            return Ok(row);
        }
        let sealed = match split_query(url) {
            Some((masked, query)) => {
                let sealed = self.sealer.seal_url_query(&masked, &query).ok_or(Error::Unsealed)?;
                *url = masked;
                Some(sealed)
            }
            None => None,
        };
        row.push((&URL_QUERY, Cell::Bytes(sealed)));
        Ok(row)
    }

    fn given(&self, table: Table, column: &'static Column, body: &Body, record: &Record) -> Result<Cell, Fault> {
        let cell = match record.get(column.name) {
            Some(value) => Cell::from_json(column.kind, value)?,
            None if body.missing_is_default => self.default(column),
            None => Cell::null(column.kind),
        };
        // Ownership is checked before the value, as row-level security would. Null belongs to no user.
        match (column.name, &cell) {
            ("user_id", Cell::Uuid(id)) if *id != Some(self.owner.0) => Err(Fault::row_level_security(table)),
            ("session_id", Cell::Uuid(None)) => Err(Fault::row_level_security(table)),
            _ => Ok(cell),
        }
    }

    fn default(&self, column: &Column) -> Cell {
        match column.default {
            Default::Null => Cell::null(column.kind),
            Default::FreshId => Cell::Uuid(Some(domain::ids::fresh())),
            Default::Caller => Cell::Uuid(Some(self.owner.0)),
            Default::Now => Cell::Time(Some(self.now.0)),
            Default::Text(text) if column.kind == Kind::JsonList => Cell::Json(Some(text.to_owned())),
            Default::Text(text) => Cell::Text(Some(text.to_owned())),
        }
    }

    fn finish(&self, table: Table, column: &'static Column, cell: Cell) -> Result<(&'static Column, Cell), Error> {
        if cell.is_null() {
            return if column.nullable {
                Ok((column, Cell::null(column.kind)))
            } else if column.name == "session_id" {
                Err(Fault::row_level_security(table).into())
            } else {
                Err(Fault::null_in(table, column).into())
            };
        }
        if let (Kind::Sealed, Cell::Json(Some(json))) = (column.kind, &cell) {
            let headers = check::headers(table, column, json)?;
            let sealed = self.sealer.seal_headers(&headers).ok_or(Error::Unsealed)?;
            return Ok((column, Cell::Bytes(Some(sealed))));
        }
        check::value(table, column, &cell)?;
        Ok((column, cell))
    }
}
