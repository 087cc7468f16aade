//! The data API: questions and writes that a client words itself, over a person's own rows of three tables.
//!
//! The server parses a request into the syntax tree of [`ast`]; the one builder in `statement` makes SQL of it.
//! - A row of somebody else is absent: for every verb, filter, order, count and upsert. A row cannot be given away either.
//! - Both databases answer alike, byte for byte. Texts compare and sort by their bytes, `like` minds case, `ilike` folds
//!   every letter that has one lower case, nulls sort as if larger than everything, literals are checked before they are
//!   used, and equal rows follow by time of creation and id.
//! - What a write breaks is found before the database is asked, also where PostgreSQL would look only at rows it reaches.
//! - `user_id` is the caller when a row does not name it.
//! - The query of a connection's URL is sealed, and `url` shows the masked form ([`domain::server_url`]). A masked URL can only
//!   be written into a row that has it: a secret goes where it was entered for and nowhere else.

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

/// The most rows of one answer, and of one body.
pub const MAX_ROWS: usize = 1_000;

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The rows, each a JSON object.
    pub rows: Vec<String>,
    /// How many rows pass the filters, when that was asked.
    pub total: Option<u64>,
}

/// What a write did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// The rows, each a JSON object, when they were asked for.
    pub rows: Vec<String>,
    /// The ids of all rows that were written.
    pub ids: Vec<Uuid>,
    /// How many of them are new.
    pub inserted: usize,
}

impl Store {
    /// Answers a question. Nobody (`None`) owns nothing, and learns all the same what is wrong with the question.
    pub async fn rest_read(&self, owner: Option<UserId>, table: Table, query: &Query) -> Result<Page, Error> {
        let shape = Shape::new(table, Some(&query.select), &query.order)?;
        let limit = query.limit.unwrap_or(u64::MAX).min(MAX_ROWS as u64);
        let caller = owner.unwrap_or(UserId(Uuid::nil()));
        let page = Statement::page(self.dialect(), caller, table, query, shape.columns.clone(), limit)?;
        if owner.is_none() {
            return Ok(Page { rows: Vec::new(), total: query.count.then_some(0) });
        }
        if !query.count {
            return Ok(Page { rows: shape.json(&self.fetch(&page, MAX_ROWS).await?), total: None });
        }
        let count = Statement::count(self.dialect(), caller, table, &query.filters)?;
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

    /// Puts rows in, all or none.
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
                    // The row of that key is somebody else's, or the chat is gone.
                    (None, _) => return Err(Fault::row_level_security(table).into()),
                }
            }
            Ok((written, inserted))
        }
        .await
        .and_then(|(written, inserted)| Ok(Written { inserted, ..answer(&shape, outcome, written)? }));
        work.finish(table, result).await
    }

    /// Writes values into the rows that pass the filters.
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
        // Also a write of nothing has filters that may be wrong.
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

    /// Removes the rows that pass the filters. Chats are kept aside for a while, from where they can come back.
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

/// The order that was asked for, then the one in which a page without an order comes.
fn settled(order: &[Order]) -> Vec<Order> {
    let by = |column: &str| Order { column: column.to_owned(), descending: false, nulls_first: None };
    order.iter().cloned().chain([by("created_at"), by("id")]).collect()
}

/// How many rows a write may return. Ids alone are small.
fn most(outcome: &Outcome) -> usize {
    if outcome.select.is_some() { MAX_ROWS } else { usize::MAX }
}

/// The answer to a write, or why it must be undone.
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

/// Refuses values that put a message into a chat which is not the caller's.
async fn guard_sessions<'a>(
    work: &mut Work,
    owner: UserId,
    values: impl Iterator<Item = &'a (&'static Column, Cell)>,
) -> Result<(), Error> {
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
