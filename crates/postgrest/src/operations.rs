//! The four operations on rows: read, insert, update and delete.

use std::collections::HashSet;

use domain::{Timestamp, UserId};
use storage::Storage;
use storage::audit_events::NewAuditEvent;
use storage::raw::{SqlDialect, SqlValue};
use uuid::Uuid;

use crate::ast::{
    ColumnCondition, ComparisonOperator, OnConflict, OrderTerm, RowFilter, RowQuery, WriteBody, WriteOptions,
};
use crate::payload::{self, Row, WriteContext};
use crate::pg_error::{PgError, PostgrestError};
use crate::row_shape::{RowShape, ids};
use crate::statement::Statement;
use crate::table::{RestTable, TableColumn, URL_QUERY};
use crate::transaction::{RestTransaction, fetch_once};
use crate::{MAX_ROWS, soft_delete, unique_keys};

/// The result of [`read_rows`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowPage {
    /// Rows, each a JSON object.
    pub rows: Vec<String>,
    /// Number of rows that match the filters, if a count was requested.
    pub total: Option<u64>,
}

/// The result of a write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WrittenRows {
    /// Rows, each a JSON object, if they were requested.
    pub rows: Vec<String>,
    /// Ids of all rows that were written.
    pub ids: Vec<Uuid>,
    /// Number of rows that are new.
    pub inserted: usize,
}

/// Returns the rows of a query. An anonymous caller (`None`) owns no rows but still receives errors about the
/// query.
pub async fn read_rows(
    storage: &Storage,
    owner: Option<UserId>,
    table: RestTable,
    query: &RowQuery,
) -> Result<RowPage, PostgrestError> {
    let shape = RowShape::new(table, Some(&query.select), &query.order)?;
    let limit = query.limit.unwrap_or(u64::MAX).min(MAX_ROWS as u64);
    // The nil id, which no user has.
    let caller = owner.unwrap_or(UserId(Uuid::nil()));
    // Built for an anonymous caller, too, so that errors in the query are reported.
    let page = Statement::page(storage.dialect(), caller, table, query, shape.columns.clone(), limit)?;
    if owner.is_none() {
        return Ok(RowPage { rows: Vec::new(), total: query.count.then_some(0) });
    }
    if !query.count {
        return Ok(RowPage { rows: shape.json(&fetch_once(storage, &page, MAX_ROWS).await?), total: None });
    }
    // The page and the count come from the same snapshot.
    let mut transaction = RestTransaction::begin_reading(storage).await?;
    let result = async {
        let total = count_rows(&mut transaction, caller, table, &query.filters).await?;
        Ok(RowPage { rows: shape.json(&transaction.fetch(&page, MAX_ROWS).await?), total: Some(total) })
    }
    .await;
    transaction.finish(table, result).await
}

/// Returns the number of the owner's rows that match the filters.
async fn count_rows(
    transaction: &mut RestTransaction,
    owner: UserId,
    table: RestTable,
    filters: &[RowFilter],
) -> Result<u64, PostgrestError> {
    let count = Statement::count(transaction.dialect(), owner, table, filters)?;
    fetch_count(transaction, &count).await
}

/// Returns the number of connections that a write of these values changes, in name, URL or secrets; 0 if no event reports
/// them.
async fn count_changed_connections(
    transaction: &mut RestTransaction,
    context: WriteContext<'_>,
    filters: &[RowFilter],
    values: &[(&'static TableColumn, SqlValue)],
) -> Result<u64, PostgrestError> {
    if context.change_events.is_empty() {
        return Ok(0);
    }
    match Statement::count_changed_connections(transaction.dialect(), context.owner, filters, values)? {
        Some(count) => fetch_count(transaction, &count).await,
        None => Ok(0),
    }
}

/// Returns the result of a statement that counts rows.
async fn fetch_count(transaction: &mut RestTransaction, count: &Statement) -> Result<u64, PostgrestError> {
    Ok(match transaction.fetch(count, 1).await?.first().map(Vec::as_slice) {
        Some([SqlValue::Integer(Some(total))]) => u64::try_from(*total).unwrap_or(0),
        _ => 0,
    })
}

/// Returns the filter for the row with this id.
fn with_id(id: Uuid) -> RowFilter {
    RowFilter::Column("id".to_owned(), ColumnCondition::Compare(ComparisonOperator::Equal, id.to_string()))
}

/// Inserts rows, all or none.
pub async fn insert_rows(
    storage: &Storage,
    context: WriteContext<'_>,
    table: RestTable,
    body: &WriteBody,
    conflict: &OnConflict,
    options: &WriteOptions,
) -> Result<WrittenRows, PostgrestError> {
    // Everything that needs no database comes first, so that an invalid request does not wait for the write lock.
    let key = unique_keys::conflict_key(table, conflict)?;
    let shape = RowShape::new(table, options.select.as_ref(), &options.order)?;
    let given = payload::columns(table, body)?;
    let mut rows = Vec::with_capacity(body.records.len());
    for record in &body.records {
        rows.push(context.new_row(table, body, &given, record)?);
    }
    // PostgreSQL rejects an upsert that changes a row twice. Here each row is a statement of its own.
    if matches!(conflict, OnConflict::Merge(_)) {
        unique_keys::reject_duplicate_keys(&rows, key)?;
    }
    let mut transaction = RestTransaction::begin_writing(storage).await?;
    let result = async {
        // Inserts of a user wait for each other, so that together they do not pass the limit.
        if context.max_rows.is_some() {
            transaction.fetch(&Statement::lock_owner(transaction.dialect(), context.owner), 0).await?;
        }
        // Before the keys, so that a foreign chat is reported as one whatever else is wrong.
        check_chat_ownership(&mut transaction, context.owner, rows.iter().flatten()).await?;
        let mut written: Vec<Vec<SqlValue>> = Vec::with_capacity(rows.len());
        let (mut inserted, mut changed) = (0, 0);
        for row in &rows {
            // A fresh id cannot be that of a deleted row.
            if given.contains(&table.id())
                && let Some(purge) =
                    soft_delete::purge_taken_id(transaction.dialect(), context.owner, table, row, None)?
            {
                transaction.fetch(&purge, 0).await?;
            }
            let existing =
                unique_keys::reject_taken_keys(&mut transaction, context.owner, table, row, conflict, key).await?;
            let existed = existing.is_some();
            if !matches!((existed, conflict), (true, OnConflict::Ignore(_))) {
                let merges = existed.then_some(key);
                unique_keys::reject_unknown_masked_url(&mut transaction, context.owner, table, row, merges).await?;
            }
            let columns = shape.columns.clone();
            // A new URL replaces the encrypted query, too. A masked URL keeps it.
            let mut merge = given.clone();
            if merge.iter().any(|column| column.name == "url") && payload::masked_url(row).is_none() {
                merge.extend((table == RestTable::McpServers).then_some(&URL_QUERY));
            }
            if let (Some(id), OnConflict::Merge(_)) = (existing, conflict) {
                let merged: Row = row.iter().filter(|(column, _)| merge.contains(column)).cloned().collect();
                changed += count_changed_connections(&mut transaction, context, &[with_id(id)], &merged).await?;
            }
            let insert = Statement::insert(transaction.dialect(), context.owner, table, row, conflict, &merge, columns);
            let mut one = transaction.fetch(&insert, 1).await?;
            match (one.pop(), conflict) {
                (Some(values), _) => {
                    // PostgREST answers 200 instead of 201 to an upsert that has only merged.
                    inserted += usize::from(!existed);
                    written.push(values);
                }
                (None, OnConflict::Ignore(_)) => {}
                // The row with this key belongs to another user, or the chat does not exist.
                (None, _) => return Err(PgError::row_level_security(table).into()),
            }
        }
        if let Some(most) = context.max_rows.filter(|_| inserted > 0)
            && count_rows(&mut transaction, context.owner, table, &[]).await? > most
        {
            return Err(PgError::too_many_rows(table, most).into());
        }
        for _ in 0..inserted {
            transaction.insert_audit_events(context.events).await?;
        }
        for _ in 0..changed {
            transaction.insert_audit_events(context.change_events).await?;
        }
        Ok((written, inserted))
    }
    .await
    .and_then(|(written, inserted)| Ok(WrittenRows { inserted, ..build_result(&shape, options, written)? }));
    transaction.finish(table, result).await
}

/// Updates the rows that match the filters, all or none.
pub async fn update_rows(
    storage: &Storage,
    context: WriteContext<'_>,
    table: RestTable,
    body: &WriteBody,
    filters: &[RowFilter],
    options: &WriteOptions,
) -> Result<WrittenRows, PostgrestError> {
    let shape = RowShape::new(table, options.select.as_ref(), &with_default_order(&options.order))?;
    let given = payload::columns(table, body)?;
    let values = match body.records.as_slice() {
        [record] => context.changes(table, body, &given, record)?,
        _ => Vec::new(),
    };
    let statement =
        |dialect: SqlDialect| Statement::update(dialect, context.owner, table, &values, filters, shape.columns.clone());
    // Built before the check for an empty update, so that errors in its filters are reported as well.
    let update = statement(storage.dialect())?;
    if values.is_empty() {
        return Ok(build_result(&shape, options, Vec::new())?);
    }
    let mut transaction = RestTransaction::begin_writing(storage).await?;
    let result = async {
        check_chat_ownership(&mut transaction, context.owner, values.iter()).await?;
        let dialect = transaction.dialect();
        if let Some(purge) = soft_delete::purge_taken_id(dialect, context.owner, table, &values, Some(filters))? {
            transaction.fetch(&purge, 0).await?;
        }
        unique_keys::reject_taken_keys_in_update(&mut transaction, context.owner, table, &values, filters).await?;
        unique_keys::reject_unknown_masked_url_in_update(&mut transaction, context.owner, table, &values, filters)
            .await?;
        // Before the update, after which the rows may match the filters no more.
        let changed = count_changed_connections(&mut transaction, context, filters, &values).await?;
        let written = build_result(&shape, options, transaction.fetch(&update, max_returned_rows(options)).await?)?;
        for _ in 0..changed {
            transaction.insert_audit_events(context.change_events).await?;
        }
        Ok(written)
    }
    .await;
    transaction.finish(table, result).await
}

/// Deletes the rows that match the filters, and stores audit events for each. Chats are only marked as deleted, so that they
/// can be restored for a while.
pub async fn delete_rows(
    storage: &Storage,
    owner: UserId,
    now: Timestamp,
    table: RestTable,
    filters: &[RowFilter],
    options: &WriteOptions,
    events: &[NewAuditEvent],
) -> Result<WrittenRows, PostgrestError> {
    let shape = RowShape::new(table, options.select.as_ref(), &with_default_order(&options.order))?;
    let (dialect, columns) = (storage.dialect(), shape.columns.clone());
    let delete = match table {
        RestTable::Sessions => soft_delete::delete_chats(dialect, owner, now, filters, columns)?,
        RestTable::McpServers | RestTable::Messages => Statement::delete(dialect, owner, table, filters, columns)?,
    };
    let mut transaction = RestTransaction::begin_writing(storage).await?;
    let result = async {
        let deleted = build_result(&shape, options, transaction.fetch(&delete, max_returned_rows(options)).await?)?;
        for _ in &deleted.ids {
            transaction.insert_audit_events(events).await?;
        }
        Ok(deleted)
    }
    .await;
    transaction.finish(table, result).await
}

/// Appends the default order to the requested one, so that rows of a write come in the same order as those of a read.
fn with_default_order(order: &[OrderTerm]) -> Vec<OrderTerm> {
    let by = |column: &str| OrderTerm { column: column.to_owned(), descending: false, nulls_first: None };
    order.iter().cloned().chain([by("created_at"), by("id")]).collect()
}

/// Returns the maximum number of rows that a write may return. Ids alone are small, so that they are unlimited.
fn max_returned_rows(options: &WriteOptions) -> usize {
    if options.select.is_some() { MAX_ROWS } else { usize::MAX }
}

/// Builds the result of a write. An error rolls it back.
fn build_result(
    shape: &RowShape,
    options: &WriteOptions,
    mut rows: Vec<Vec<SqlValue>>,
) -> Result<WrittenRows, PgError> {
    if options.single && rows.len() != 1 {
        return Err(PgError::not_single_row(rows.len()));
    }
    if options.max_affected.is_some_and(|most| rows.len() as u64 > most) {
        return Err(PgError::new("PGRST124", "Query result exceeds max-affected preference constraint")
            .with_details(format!("The query affects {} rows", rows.len())));
    }
    // `RETURNING` has no order of its own on either database.
    shape.sort(&mut rows);
    let json = if options.select.is_some() { shape.json(&rows) } else { Vec::new() };
    Ok(WrittenRows { rows: json, ids: ids(&rows), inserted: 0 })
}

/// Rejects values that would put a message into a chat of another user.
async fn check_chat_ownership<'a>(
    transaction: &mut RestTransaction,
    owner: UserId,
    values: impl Iterator<Item = &'a (&'static TableColumn, SqlValue)>,
) -> Result<(), PostgrestError> {
    // Many messages of one body usually name the same chat, which is checked once.
    let sessions: HashSet<&SqlValue> =
        values.filter(|(column, _)| column.name == "session_id").map(|(_, session)| session).collect();
    for session in sessions {
        let key = [(RestTable::Sessions.id(), session.clone())];
        let own = Statement::own_row(transaction.dialect(), owner, RestTable::Sessions, &key);
        if transaction.fetch(&own, 1).await?.is_empty() {
            return Err(PgError::row_level_security(RestTable::Messages).into());
        }
    }
    Ok(())
}
