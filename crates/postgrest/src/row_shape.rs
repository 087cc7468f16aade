//! The columns that a statement must return for a response, and the response built from them.

use std::cmp::Ordering;

use uuid::Uuid;

use crate::ast::{OrderTerm, SelectItem, SelectList};
use crate::pg_error::PgError;
use crate::statement::check_sortable;
use crate::table::{RestTable, TableColumn};
use crate::value::{compare, write_json, write_string};
use storage::raw::SqlValue;

/// The form of a row as a JSON object.
#[derive(Debug)]
pub(crate) struct RowShape {
    /// Columns to fetch; `id` is the first.
    pub(crate) columns: Vec<&'static TableColumn>,
    /// Key of each value in the object, and the index of its column.
    keys: Vec<(String, usize)>,
    order: Vec<SortKey>,
}

#[derive(Debug)]
struct SortKey {
    place: usize,
    descending: bool,
    nulls_first: bool,
}

impl RowShape {
    /// Creates the form of a response with these columns. `None` returns only ids.
    pub(crate) fn new(table: RestTable, select: Option<&SelectList>, order: &[OrderTerm]) -> Result<Self, PgError> {
        let mut shape = Self { columns: vec![table.id()], keys: Vec::new(), order: Vec::new() };
        // Errors in the order are reported even if no rows are returned.
        let Some(select) = select else {
            for term in order {
                check_sortable(table.readable(&term.column)?)?;
            }
            return Ok(shape);
        };
        let all = [SelectItem::All];
        // A column that is only needed for the order is fetched but not returned.
        let items = if select.items.is_empty() { &all } else { select.items.as_slice() };
        for item in items {
            match item {
                SelectItem::All => {
                    for column in table.columns().iter().filter(|column| column.readable()) {
                        shape.key(column.name.to_owned(), column);
                    }
                }
                SelectItem::Column { name, alias } => {
                    let column = table.readable(name)?;
                    shape.key(alias.clone().unwrap_or_else(|| name.clone()), column);
                }
            }
        }
        for term in order {
            let column = table.readable(&term.column)?;
            check_sortable(column)?;
            let place = shape.place(column);
            let nulls_first = term.nulls_first.unwrap_or(term.descending);
            shape.order.push(SortKey { place, descending: term.descending, nulls_first });
        }
        Ok(shape)
    }

    fn key(&mut self, key: String, column: &'static TableColumn) {
        let place = self.place(column);
        self.keys.push((key, place));
    }

    fn place(&mut self, column: &'static TableColumn) -> usize {
        self.columns.iter().position(|known| *known == column).unwrap_or_else(|| {
            self.columns.push(column);
            self.columns.len() - 1
        })
    }

    /// Sorts the rows of a write in the requested order. Without one they stay unchanged.
    pub(crate) fn sort(&self, rows: &mut [Vec<SqlValue>]) {
        rows.sort_by(|a, b| {
            self.order.iter().fold(Ordering::Equal, |so_far, term| so_far.then_with(|| term.compare(a, b)))
        });
    }

    /// Converts rows to JSON objects.
    pub(crate) fn json(&self, rows: &[Vec<SqlValue>]) -> Vec<String> {
        rows.iter().map(|row| self.object(row)).collect()
    }

    fn object(&self, row: &[SqlValue]) -> String {
        let mut out = String::from("{");
        for (index, (key, place)) in self.keys.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            write_string(&mut out, key);
            out.push(':');
            write_json(&row[*place], &mut out);
        }
        out.push('}');
        out
    }
}

impl SortKey {
    fn compare(&self, a: &[SqlValue], b: &[SqlValue]) -> Ordering {
        let (a, b) = (&a[self.place], &b[self.place]);
        match (a.is_null(), b.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) if self.nulls_first => Ordering::Less,
            (true, false) => Ordering::Greater,
            (false, true) if self.nulls_first => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) if self.descending => compare(b, a),
            (false, false) => compare(a, b),
        }
    }
}

/// Returns the ids of rows whose first column is `id`.
pub(crate) fn ids(rows: &[Vec<SqlValue>]) -> Vec<Uuid> {
    rows.iter()
        .filter_map(|row| match row.first() {
            Some(SqlValue::Uuid(id)) => *id,
            _ => None,
        })
        .collect()
}
