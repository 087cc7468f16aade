//! Unique keys: the key that an upsert uses, and values that are already taken.
//!
//! The databases check the keys of a table in different orders. Where a row violates several keys, the violation is
//! found here first, so that both databases report the same one. Only rows of the caller are ever considered.

use std::collections::HashSet;

use domain::UserId;
use uuid::Uuid;

use crate::ast::{ColumnCondition, ComparisonOperator, OnConflict, RowFilter, RowQuery};
use crate::payload::{Row, masked_url};
use crate::pg_error::{PgError, PostgrestError};
use crate::row_shape::ids;
use crate::statement::{Statement, same_names};
use crate::table::{RestTable, TableColumn};
use crate::transaction::RestTransaction;
use storage::raw::SqlValue;

type Key = &'static [&'static str];

/// Reason why a masked URL is rejected: a secret must only be sent to the URL it was entered for.
const UNKNOWN_QUERY: &str =
    "*** stands for a value that is not shown, and holds for the stored URL only; give the URL with all of its values";

/// Returns the key by which rows conflict. It must be a unique key of the table.
pub(crate) fn conflict_key(table: RestTable, conflict: &OnConflict) -> Result<Key, PgError> {
    let known = table.unique_keys();
    match conflict {
        OnConflict::Ignore(names) | OnConflict::Merge(names) if !names.is_empty() => {
            for name in names {
                table.readable(name)?;
            }
            known.iter().copied().find(|known| same_names(known, names)).ok_or_else(|| {
                let message = "there is no unique or exclusion constraint matching the ON CONFLICT specification";
                PgError::new("42P10", message)
            })
        }
        _ => Ok(known[0]),
    }
}

fn key_of(row: &[(&'static TableColumn, SqlValue)], key: &[&str]) -> Vec<(&'static TableColumn, SqlValue)> {
    row.iter().filter(|(column, _)| key.contains(&column.name)).cloned().collect()
}

/// Rejects rows with equal keys, because one write cannot update a row twice.
pub(crate) fn reject_duplicate_keys(rows: &[Row], key: &[&str]) -> Result<(), PgError> {
    let mut seen = HashSet::new();
    for row in rows {
        let values: Vec<SqlValue> = key_of(row, key).into_iter().map(|(_, value)| value).collect();
        if !seen.insert(values) {
            return Err(PgError::new("21000", "ON CONFLICT DO UPDATE command cannot affect row a second time").with_hint(
                "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.",
            ));
        }
    }
    Ok(())
}

/// Rejects a row for an insert if a key other than `arbiter` is taken. Returns the id of the caller's row with the key
/// `arbiter`, if there is one.
pub(crate) async fn reject_taken_keys(
    transaction: &mut RestTransaction,
    owner: UserId,
    table: RestTable,
    row: &[(&'static TableColumn, SqlValue)],
    conflict: &OnConflict,
    arbiter: Key,
) -> Result<Option<Uuid>, PostgrestError> {
    let upsert = !matches!(conflict, OnConflict::Fail);
    let existing = if upsert { find_own_id(transaction, owner, table, row, arbiter).await? } else { None };
    if existing.is_none() || matches!(conflict, OnConflict::Merge(_)) {
        reject_keys_of_other_rows(transaction, owner, table, row, existing, upsert.then_some(arbiter)).await?;
    }
    Ok(existing)
}

/// Rejects values of an update that are taken by another row than the one to be updated.
pub(crate) async fn reject_taken_keys_in_update(
    transaction: &mut RestTransaction,
    owner: UserId,
    table: RestTable,
    values: &[(&'static TableColumn, SqlValue)],
    filters: &[RowFilter],
) -> Result<(), PostgrestError> {
    let keys = table.unique_keys();
    // With a single key the database reports the violation itself.
    let touched = keys.iter().filter(|key| values.iter().any(|(column, _)| column.name == key[key.len() - 1]));
    if touched.count() < 2 {
        return Ok(());
    }
    let query = RowQuery { filters: filters.to_vec(), ..RowQuery::default() };
    let page = Statement::page(transaction.dialect(), owner, table, &query, vec![table.id()], 2)?;
    match ids(&transaction.fetch(&page, 2).await?).as_slice() {
        [] => Ok(()),
        [one] => reject_keys_of_other_rows(transaction, owner, table, values, Some(*one), None).await,
        // Two rows with the same key: the second one would violate it in any case.
        _ => Err(PgError::unique_violation(table, keys[0]).into()),
    }
}

/// Rejects a row for an insert with a masked URL, unless it is merged by `key` into a row of the caller with that URL.
pub(crate) async fn reject_unknown_masked_url(
    transaction: &mut RestTransaction,
    owner: UserId,
    table: RestTable,
    row: &[(&'static TableColumn, SqlValue)],
    key: Option<Key>,
) -> Result<(), PostgrestError> {
    let Some((column, url)) = masked_url(row) else { return Ok(()) };
    if let Some(key) = key {
        let mut same = key_of(row, key);
        same.push((column, url.clone()));
        let statement = Statement::own_row(transaction.dialect(), owner, table, &same);
        if !transaction.fetch(&statement, 1).await?.is_empty() {
            return Ok(());
        }
    }
    Err(PgError::check_violation(table, column, UNKNOWN_QUERY).into())
}

/// Rejects a masked URL in an update, unless all rows that match the filters have that URL.
pub(crate) async fn reject_unknown_masked_url_in_update(
    transaction: &mut RestTransaction,
    owner: UserId,
    table: RestTable,
    values: &[(&'static TableColumn, SqlValue)],
    filters: &[RowFilter],
) -> Result<(), PostgrestError> {
    let Some((column, SqlValue::Text(Some(url)))) = masked_url(values) else { return Ok(()) };
    let other =
        RowFilter::Column(column.name.to_owned(), ColumnCondition::Compare(ComparisonOperator::NotEqual, url.clone()));
    let query = RowQuery { filters: [filters, &[other]].concat(), ..RowQuery::default() };
    let page = Statement::page(transaction.dialect(), owner, table, &query, vec![table.id()], 1)?;
    if transaction.fetch(&page, 1).await?.is_empty() {
        Ok(())
    } else {
        Err(PgError::check_violation(table, column, UNKNOWN_QUERY).into())
    }
}

/// Rejects values if another row than `mine` has one of their keys, except `arbiter`.
async fn reject_keys_of_other_rows(
    transaction: &mut RestTransaction,
    owner: UserId,
    table: RestTable,
    values: &[(&'static TableColumn, SqlValue)],
    mine: Option<Uuid>,
    arbiter: Option<Key>,
) -> Result<(), PostgrestError> {
    let keys = table.unique_keys();
    if keys.len() < 2 {
        return Ok(());
    }
    for key in keys.iter().filter(|key| Some(**key) != arbiter) {
        let other = find_own_id(transaction, owner, table, values, key).await?;
        if other.is_some() && other != mine {
            return Err(PgError::unique_violation(table, key).into());
        }
    }
    Ok(())
}

/// Returns the id of the caller's row with these key values.
async fn find_own_id(
    transaction: &mut RestTransaction,
    owner: UserId,
    table: RestTable,
    values: &[(&'static TableColumn, SqlValue)],
    key: Key,
) -> Result<Option<Uuid>, PostgrestError> {
    // Rows of other users are not searched, so that a conflict with them is not revealed here.
    let statement = Statement::own_row(transaction.dialect(), owner, table, &key_of(values, key));
    Ok(ids(&transaction.fetch(&statement, 1).await?).first().copied())
}
