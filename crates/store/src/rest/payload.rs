//! A body made into rows: every value of its column's type, defaults filled in, rules checked, secrets sealed.

use std::collections::BTreeMap;

use domain::server_url::{has_masked_values, split_query};
use domain::{Timestamp, UserId};

use super::ast::{Body, Record};
use super::cell::Cell;
use super::check;
use super::fault::{Error, Fault};
use super::table::{Column, Default, Kind, Table, URL_QUERY};

/// Values of one row, each with its column.
pub(crate) type Row = Vec<(&'static Column, Cell)>;

/// Seals the secrets of a user's connections. `None` means that a secret could not be sealed.
pub trait ConnectionSealer: Send + Sync {
    /// Seals headers.
    fn seal_headers(&self, headers: &BTreeMap<String, String>) -> Option<Vec<u8>>;
    /// Seals the query of a URL, to be opened together with the masked form of that URL only.
    fn seal_url_query(&self, masked: &str, query: &str) -> Option<Vec<u8>>;
}

/// Who writes, when, and how secrets are sealed.
#[derive(Clone, Copy)]
pub struct Writer<'a> {
    /// The caller.
    pub owner: UserId,
    /// Now.
    pub now: Timestamp,
    /// Seals for this caller.
    pub sealer: &'a dyn ConnectionSealer,
}

impl std::fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("owner", &self.owner).field("now", &self.now).finish_non_exhaustive()
    }
}

/// The columns that the body writes.
pub(crate) fn columns(table: Table, body: &Body) -> Result<Vec<&'static Column>, Fault> {
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

/// Returns the URL of a row to be written that comes without its query, because its values are masked. It may only be
/// written where it stands already.
pub(crate) fn masked_url<'a>(row: &'a [(&'static Column, Cell)]) -> Option<(&'static Column, &'a Cell)> {
    let is_sealed = row.iter().any(|(column, _)| *column == &URL_QUERY);
    let url = row.iter().find(|(column, cell)| column.name == "url" && !cell.is_null())?;
    (!is_sealed).then_some((url.0, &url.1))
}

impl Writer<'_> {
    /// One object as a whole row to insert.
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

    /// One object as values to write into rows.
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

    /// Replaces a connection's URL by its masked form, and adds the sealed query or, where the URL has none, null. A URL
    /// that is masked already stays alone: see [`masked_url`].
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
        // Whose row it is comes before what is in it, and null is nobody's.
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
