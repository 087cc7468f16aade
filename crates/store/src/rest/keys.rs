//! Keys that no two rows share: which one an upsert goes by, and what is taken already.
//!
//! The databases look at a table's keys in different orders. Where a row breaks several, it is found here first, so that
//! both name the same one; what is found is never more than a row of the caller's own.

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

/// Why a masked URL is refused. A secret goes where it was entered for and nowhere else.
const UNKNOWN_QUERY: &str =
    "*** stands for a value that is not shown, and holds for the stored URL only; give the URL with all of its values";

/// The key by which rows conflict; no other than one that the table keeps unique.
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

/// One write cannot merge into the same row twice.
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

/// Refuses a row to be inserted when a key is taken by which the insert does not go. Tells whether the caller has a row
/// of the key by which it goes.
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

/// Refuses values of an update that a row has which is not the one to be written.
pub(super) async fn refuse_taken_by(
    work: &mut Work,
    owner: UserId,
    table: Table,
    values: &[(&'static Column, Cell)],
    filters: &[Filter],
) -> Result<(), Error> {
    let keys = table.unique_keys();
    let touched = keys.iter().filter(|key| values.iter().any(|(column, _)| column.name == key[key.len() - 1]));
    if touched.count() < 2 {
        return Ok(());
    }
    let query = Query { filters: filters.to_vec(), ..Query::default() };
    let page = Statement::page(work.dialect(), owner, table, &query, vec![table.id()], 2)?;
    match ids(&work.fetch(&page, 2).await?).as_slice() {
        [] => Ok(()),
        [one] => refuse_others(work, owner, table, values, Some(*one), None).await,
        _ => Err(Fault::taken(table, keys[0]).into()),
    }
}

/// Refuses a row to be inserted whose URL is masked, unless it merges by `key` into a row of the caller's with that URL.
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

/// The same for values of an update: every row that passes the filters has to have that URL.
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

/// Refuses values of which another row than `mine` has a key, other than `arbiter`.
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

/// The caller's row of these values.
async fn own(
    work: &mut Work,
    owner: UserId,
    table: Table,
    values: &[(&'static Column, Cell)],
    key: Key,
) -> Result<Option<Uuid>, Error> {
    let statement = Statement::own_row(work.dialect(), owner, table, &key_of(values, key));
    Ok(ids(&work.fetch(&statement, 1).await?).first().copied())
}
