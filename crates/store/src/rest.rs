//! The data API: reads and writes that clients formulate themselves, on their own rows of three tables.
//!
//! The server parses a request into the syntax tree of [`ast`]; the module `statement` builds SQL from it.
//! - A row of another user does not exist for any verb, filter, order, count or upsert. A row cannot be given to
//!   another user, either.
//! - Both databases give the same response, byte for byte. Texts compare and sort by their bytes, `like` is
//!   case-sensitive, `ilike` folds every letter that has a lower case, nulls sort as the largest value, literals are
//!   validated before use, and equal rows are ordered by time of creation and id.
//! - Violations of constraints are found before the statement runs, even where PostgreSQL would only check rows that it
//!   reaches.
//! - `user_id` defaults to the caller.
//! - The query of a connection's URL is encrypted, and `url` shows the masked form ([`domain::server_url`]). A masked
//!   URL can only be written to a row that has it, so that a secret is only ever sent to the URL it was entered for.

pub mod ast;
mod cell;
mod check;
mod condition;
mod fault;
mod keep;
mod keys;
mod pattern;
mod payload;
mod rows;
mod run;
mod statement;
mod table;

use std::collections::HashSet;

use domain::{Timestamp, UserId};
use uuid::Uuid;

use crate::Store;
use ast::{Body, Filter, OnConflict, Order, Outcome, Query};
use cell::Cell;
use rows::{Shape, ids};
use run::Work;
use statement::{Dialect, Statement};

pub use fault::{Error, Fault};
pub use payload::{ConnectionSealer, Writer};
pub use table::{Column, Default, Kind, Table};

/// Maximum number of rows per response and per request body.
pub const MAX_ROWS: usize = 1_000;

/// The result of [`Store::rest_read`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Rows, each a JSON object.
    pub rows: Vec<String>,
    /// Number of rows that match the filters, if a count was requested.
    pub total: Option<u64>,
}

/// The result of a write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// Rows, each a JSON object, if they were requested.
    pub rows: Vec<String>,
    /// Ids of all rows that were written.
    pub ids: Vec<Uuid>,
    /// Number of rows that are new.
    pub inserted: usize,
}

impl Store {
    /// Returns the rows of a query. An anonymous caller (`None`) owns no rows but still receives errors about the
    /// query.
    pub async fn rest_read(&self, owner: Option<UserId>, table: Table, query: &Query) -> Result<Page, Error> {
        let shape = Shape::new(table, Some(&query.select), &query.order)?;
        let limit = query.limit.unwrap_or(u64::MAX).min(MAX_ROWS as u64);
        let caller = owner.unwrap_or(UserId(Uuid::nil()));
        // Built for an anonymous caller, too, so that errors in the query are reported.
        let page = Statement::page(self.dialect(), caller, table, query, shape.columns.clone(), limit)?;
        if owner.is_none() {
            return Ok(Page { rows: Vec::new(), total: query.count.then_some(0) });
        }
        if !query.count {
            return Ok(Page { rows: shape.json(&self.fetch(&page, MAX_ROWS).await?), total: None });
        }
        let count = Statement::count(self.dialect(), caller, table, &query.filters)?;
        // The page and the count come from the same snapshot.
        let mut work = self.begin_reading().await?;
        let result = async {
            let total = match work.fetch(&count, 1).await?.first().map(Vec::as_slice) {
                Some([Cell::Time(Some(total))]) => u64::try_from(*total).unwrap_or(0),
                _ => 0,
            };
            Ok(Page { rows: shape.json(&work.fetch(&page, MAX_ROWS).await?), total: Some(total) })
        }
        .await;
        work.finish(table, result).await
    }

    /// Inserts rows, all or none.
    pub async fn rest_insert(
        &self,
        writer: Writer<'_>,
        table: Table,
        body: &Body,
        conflict: &OnConflict,
        outcome: &Outcome,
    ) -> Result<Written, Error> {
        let key = keys::arbiter(table, conflict)?;
        let shape = Shape::new(table, outcome.select.as_ref(), &outcome.order)?;
        let given = payload::columns(table, body)?;
        let mut rows = Vec::with_capacity(body.records.len());
        for record in &body.records {
            rows.push(writer.new_row(table, body, &given, record)?);
        }
        // PostgreSQL rejects an upsert that changes a row twice. Here each row is a statement of its own.
        if matches!(conflict, OnConflict::Merge(_)) {
            keys::refuse_twins(&rows, key)?;
        }
        let mut work = self.begin_writing().await?;
        let result = async {
            guard_sessions(&mut work, writer.owner, rows.iter().flatten()).await?;
            let mut written: Vec<Vec<Cell>> = Vec::with_capacity(rows.len());
            let mut inserted = 0;
            for row in &rows {
                let existed = keys::refuse_taken(&mut work, writer.owner, table, row, conflict, key).await?;
                if !matches!((existed, conflict), (true, OnConflict::Ignore(_))) {
                    let merges = existed.then_some(key);
                    keys::refuse_foreign_mask(&mut work, writer.owner, table, row, merges).await?;
                }
                let columns = shape.columns.clone();
                // A new URL replaces the encrypted query, too. A masked URL keeps it.
                let mut merge = given.clone();
                if merge.iter().any(|column| column.name == "url") && payload::masked_url(row).is_none() {
                    merge.extend((table == Table::McpServers).then_some(&table::URL_QUERY));
                }
                let insert = Statement::insert(work.dialect(), writer.owner, table, row, conflict, &merge, columns);
                let mut one = work.fetch(&insert, 1).await?;
                match (one.pop(), conflict) {
                    (Some(cells), _) => {
                        inserted += usize::from(!existed);
                        written.push(cells);
                    }
                    (None, OnConflict::Ignore(_)) => {}
                    // The row with this key belongs to another user, or the chat does not exist.
                    (None, _) => return Err(Fault::row_level_security(table).into()),
                }
            }
            Ok((written, inserted))
        }
        .await
        .and_then(|(written, inserted)| Ok(Written { inserted, ..answer(&shape, outcome, written)? }));
        work.finish(table, result).await
    }

    /// Updates the rows that match the filters, all or none.
    pub async fn rest_update(
        &self,
        writer: Writer<'_>,
        table: Table,
        body: &Body,
        filters: &[Filter],
        outcome: &Outcome,
    ) -> Result<Written, Error> {
        let shape = Shape::new(table, outcome.select.as_ref(), &settled(&outcome.order))?;
        let given = payload::columns(table, body)?;
        let values = match body.records.as_slice() {
            [record] => writer.changes(table, body, &given, record)?,
            _ => Vec::new(),
        };
        let statement =
            |dialect: Dialect| Statement::update(dialect, writer.owner, table, &values, filters, shape.columns.clone());
        // Built before the check for an empty update, so that errors in its filters are reported as well.
        let update = statement(self.dialect())?;
        if values.is_empty() {
            return Ok(answer(&shape, outcome, Vec::new())?);
        }
        let mut work = self.begin_writing().await?;
        let result = async {
            guard_sessions(&mut work, writer.owner, values.iter()).await?;
            keys::refuse_taken_by(&mut work, writer.owner, table, &values, filters).await?;
            keys::refuse_foreign_mask_for(&mut work, writer.owner, table, &values, filters).await?;
            Ok(answer(&shape, outcome, work.fetch(&update, most(outcome)).await?)?)
        }
        .await;
        work.finish(table, result).await
    }

    /// Deletes the rows that match the filters. Chats are copied first, so that they can be restored for a while.
    pub async fn rest_delete(
        &self,
        owner: UserId,
        now: Timestamp,
        table: Table,
        filters: &[Filter],
        outcome: &Outcome,
    ) -> Result<Written, Error> {
        let shape = Shape::new(table, outcome.select.as_ref(), &settled(&outcome.order))?;
        let delete = Statement::delete(self.dialect(), owner, table, filters, shape.columns.clone())?;
        let keep = match table {
            Table::Sessions => keep::statements(self.dialect(), owner, now, filters)?,
            Table::McpServers | Table::Messages => Vec::new(),
        };
        let mut work = self.begin_writing().await?;
        let result = async {
            for statement in &keep {
                work.fetch(statement, 0).await?;
            }
            Ok(answer(&shape, outcome, work.fetch(&delete, most(outcome)).await?)?)
        }
        .await;
        work.finish(table, result).await
    }
}

/// Appends the default order to the requested one, so that rows of a write come in the same order as those of a read.
fn settled(order: &[Order]) -> Vec<Order> {
    let by = |column: &str| Order { column: column.to_owned(), descending: false, nulls_first: None };
    order.iter().cloned().chain([by("created_at"), by("id")]).collect()
}

/// Returns the maximum number of rows that a write may return. Ids alone are small, so that they are unlimited.
fn most(outcome: &Outcome) -> usize {
    if outcome.select.is_some() { MAX_ROWS } else { usize::MAX }
}

/// Builds the result of a write. An error rolls it back.
fn answer(shape: &Shape, outcome: &Outcome, mut rows: Vec<Vec<Cell>>) -> Result<Written, Fault> {
    if outcome.single && rows.len() != 1 {
        return Err(Fault::not_single(rows.len()));
    }
    if outcome.max_affected.is_some_and(|most| rows.len() as u64 > most) {
        return Err(Fault::new("PGRST124", "Query result exceeds max-affected preference constraint")
            .details(format!("The query affects {} rows", rows.len())));
    }
    shape.sort(&mut rows);
    let json = if outcome.select.is_some() { shape.json(&rows) } else { Vec::new() };
    Ok(Written { rows: json, ids: ids(&rows), inserted: 0 })
}

/// Rejects values that would put a message into a chat of another user.
async fn guard_sessions<'a>(
    work: &mut Work,
    owner: UserId,
    values: impl Iterator<Item = &'a (&'static Column, Cell)>,
) -> Result<(), Error> {
    // Many messages of one body usually name the same chat, which is checked once.
    let sessions: HashSet<&Cell> =
        values.filter(|(column, _)| column.name == "session_id").map(|(_, session)| session).collect();
    for session in sessions {
        let key = [(Table::Sessions.id(), session.clone())];
        let own = Statement::own_row(work.dialect(), owner, Table::Sessions, &key);
        if work.fetch(&own, 1).await?.is_empty() {
            return Err(Fault::row_level_security(Table::Messages).into());
        }
    }
    Ok(())
}
