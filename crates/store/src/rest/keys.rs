//! Unique keys: the key that an upsert uses, and values that are already taken.
//!
//! The databases check the keys of a table in different orders. Where a row violates several keys, the violation is
//! found here first, so that both databases report the same one. Only rows of the caller are ever considered.

use std::collections::HashSet;

use domain::UserId;
use uuid::Uuid;

use super::ast::{Comparison, Filter, OnConflict, Query, Test};
use super::cell::Cell;
use super::fault::{Error, Fault};
use super::payload::{Row, masked_url};
use super::rows::ids;
use super::run::Work;
use super::statement::{Statement, same_names};
use super::table::{Column, Table};

type Key = &'static [&'static str];

/// Reason why a masked URL is rejected: a secret must only be sent to the URL it was entered for.
const UNKNOWN_QUERY: &str =
    "*** stands for a value that is not shown, and holds for the stored URL only; give the URL with all of its values";

/// Returns the key by which rows conflict. It must be a unique key of the table.
pub(super) fn arbiter(table: Table, conflict: &OnConflict) -> Result<Key, Fault> {
    let known = table.unique_keys();
    match conflict {
        OnConflict::Ignore(names) | OnConflict::Merge(names) if !names.is_empty() => {
            for name in names {
                table.readable(name)?;
            }
            known.iter().copied().find(|known| same_names(known, names)).ok_or_else(|| {
                let message = "there is no unique or exclusion constraint matching the ON CONFLICT specification";
                Fault::new("42P10", message)
            })
        }
        _ => Ok(known[0]),
    }
}

fn key_of(row: &[(&'static Column, Cell)], key: &[&str]) -> Vec<(&'static Column, Cell)> {
    row.iter().filter(|(column, _)| key.contains(&column.name)).cloned().collect()
}

/// Rejects rows with equal keys, because one write cannot update a row twice.
pub(super) fn refuse_twins(rows: &[Row], key: &[&str]) -> Result<(), Fault> {
    let mut seen = HashSet::new();
    for row in rows {
        let cells: Vec<Cell> = key_of(row, key).into_iter().map(|(_, cell)| cell).collect();
        if !seen.insert(cells) {
            return Err(Fault::new("21000", "ON CONFLICT DO UPDATE command cannot affect row a second time").hint(
                "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.",
            ));
        }
    }
    Ok(())
}

/// Rejects a row for an insert if a key other than `arbiter` is taken. Returns whether the caller has a row with the
/// key `arbiter`.
pub(super) async fn refuse_taken(
    work: &mut Work,
    owner: UserId,
    table: Table,
    row: &[(&'static Column, Cell)],
    conflict: &OnConflict,
    arbiter: Key,
) -> Result<bool, Error> {
    let upsert = !matches!(conflict, OnConflict::Fail);
    let existing = if upsert { own(work, owner, table, row, arbiter).await? } else { None };
    if existing.is_none() || matches!(conflict, OnConflict::Merge(_)) {
        refuse_others(work, owner, table, row, existing, upsert.then_some(arbiter)).await?;
    }
    Ok(existing.is_some())
}

/// Rejects values of an update that are taken by another row than the one to be updated.
pub(super) async fn refuse_taken_by(
    work: &mut Work,
    owner: UserId,
    table: Table,
    values: &[(&'static Column, Cell)],
    filters: &[Filter],
) -> Result<(), Error> {
    let keys = table.unique_keys();
    // With a single key the database reports the violation itself.
    let touched = keys.iter().filter(|key| values.iter().any(|(column, _)| column.name == key[key.len() - 1]));
    if touched.count() < 2 {
        return Ok(());
    }
    let query = Query { filters: filters.to_vec(), ..Query::default() };
    let page = Statement::page(work.dialect(), owner, table, &query, vec![table.id()], 2)?;
    match ids(&work.fetch(&page, 2).await?).as_slice() {
        [] => Ok(()),
        [one] => refuse_others(work, owner, table, values, Some(*one), None).await,
        // Two rows with the same key: the second one would violate it in any case.
        _ => Err(Fault::taken(table, keys[0]).into()),
    }
}

/// Rejects a row for an insert with a masked URL, unless it is merged by `key` into a row of the caller with that URL.
pub(super) async fn refuse_foreign_mask(
    work: &mut Work,
    owner: UserId,
    table: Table,
    row: &[(&'static Column, Cell)],
    key: Option<Key>,
) -> Result<(), Error> {
    let Some((column, url)) = masked_url(row) else { return Ok(()) };
    if let Some(key) = key {
        let mut same = key_of(row, key);
        same.push((column, url.clone()));
        let statement = Statement::own_row(work.dialect(), owner, table, &same);
        if !work.fetch(&statement, 1).await?.is_empty() {
            return Ok(());
        }
    }
    Err(Fault::check(table, column, UNKNOWN_QUERY).into())
}

/// Rejects a masked URL in an update, unless all rows that match the filters have that URL.
pub(super) async fn refuse_foreign_mask_for(
    work: &mut Work,
    owner: UserId,
    table: Table,
    values: &[(&'static Column, Cell)],
    filters: &[Filter],
) -> Result<(), Error> {
    let Some((column, Cell::Text(Some(url)))) = masked_url(values) else { return Ok(()) };
    let other = Filter::Test(column.name.to_owned(), Test::Compare(Comparison::NotEqual, url.clone()));
    let query = Query { filters: [filters, &[other]].concat(), ..Query::default() };
    let page = Statement::page(work.dialect(), owner, table, &query, vec![table.id()], 1)?;
    if work.fetch(&page, 1).await?.is_empty() { Ok(()) } else { Err(Fault::check(table, column, UNKNOWN_QUERY).into()) }
}

/// Rejects values if another row than `mine` has one of their keys, except `arbiter`.
async fn refuse_others(
    work: &mut Work,
    owner: UserId,
    table: Table,
    values: &[(&'static Column, Cell)],
    mine: Option<Uuid>,
    arbiter: Option<Key>,
) -> Result<(), Error> {
    let keys = table.unique_keys();
    if keys.len() < 2 {
        return Ok(());
    }
    for key in keys.iter().filter(|key| Some(**key) != arbiter) {
        let other = own(work, owner, table, values, key).await?;
        if other.is_some() && other != mine {
            return Err(Fault::taken(table, key).into());
        }
    }
    Ok(())
}

/// Returns the id of the caller's row with these key values.
async fn own(
    work: &mut Work,
    owner: UserId,
    table: Table,
    values: &[(&'static Column, Cell)],
    key: Key,
) -> Result<Option<Uuid>, Error> {
    // Rows of other users are not searched, so that a conflict with them is not revealed here.
    let statement = Statement::own_row(work.dialect(), owner, table, &key_of(values, key));
    Ok(ids(&work.fetch(&statement, 1).await?).first().copied())
}
