//! The columns that a statement must return for a response, and the response built from them.

use std::cmp::Ordering;

use uuid::Uuid;

use super::ast::{Item, Order, Select};
use super::cell::{Cell, write_string};
use super::fault::Fault;
use super::statement::sortable;
use super::table::{Column, Table};

/// The form of a row as a JSON object.
#[derive(Debug)]
pub(crate) struct Shape {
    /// Columns to fetch; `id` is the first.
    pub(crate) columns: Vec<&'static Column>,
    /// Key of each value in the object, and the index of its column.
    keys: Vec<(String, usize)>,
    order: Vec<Sorting>,
}

#[derive(Debug)]
struct Sorting {
    place: usize,
    descending: bool,
    nulls_first: bool,
}

impl Shape {
    /// Creates the form of a response with these columns. `None` returns only ids.
    pub(crate) fn new(table: Table, select: Option<&Select>, order: &[Order]) -> Result<Self, Fault> {
        let mut shape = Self { columns: vec![table.id()], keys: Vec::new(), order: Vec::new() };
        let Some(select) = select else {
            for term in order {
                sortable(table.readable(&term.column)?)?;
            }
            return Ok(shape);
        };
        let all = [Item::All];
        // A column that is only needed for the order is fetched but not returned.
        let items = if select.items.is_empty() { &all } else { select.items.as_slice() };
        for item in items {
            match item {
                Item::All => {
                    for column in table.columns().iter().filter(|column| column.readable()) {
                        shape.key(column.name.to_owned(), column);
                    }
                }
                Item::Column { name, alias } => {
                    let column = table.readable(name)?;
                    shape.key(alias.clone().unwrap_or_else(|| name.clone()), column);
                }
            }
        }
        for term in order {
            let column = table.readable(&term.column)?;
            sortable(column)?;
            let place = shape.place(column);
            let nulls_first = term.nulls_first.unwrap_or(term.descending);
            shape.order.push(Sorting { place, descending: term.descending, nulls_first });
        }
        Ok(shape)
    }

    fn key(&mut self, key: String, column: &'static Column) {
        let place = self.place(column);
        self.keys.push((key, place));
    }

    fn place(&mut self, column: &'static Column) -> usize {
        self.columns.iter().position(|known| *known == column).unwrap_or_else(|| {
            self.columns.push(column);
            self.columns.len() - 1
        })
    }

    /// Sorts the rows of a write in the requested order. Without one they stay unchanged.
    pub(crate) fn sort(&self, rows: &mut [Vec<Cell>]) {
        rows.sort_by(|a, b| {
            self.order.iter().fold(Ordering::Equal, |so_far, term| so_far.then_with(|| term.order(a, b)))
        });
    }

    /// Converts rows to JSON objects.
    pub(crate) fn json(&self, rows: &[Vec<Cell>]) -> Vec<String> {
        rows.iter().map(|row| self.object(row)).collect()
    }

    fn object(&self, row: &[Cell]) -> String {
        let mut out = String::from("{");
        for (index, (key, place)) in self.keys.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            write_string(&mut out, key);
            out.push(':');
            row[*place].write_json(&mut out);
        }
        out.push('}');
        out
    }
}

impl Sorting {
    fn order(&self, a: &[Cell], b: &[Cell]) -> Ordering {
        let (a, b) = (&a[self.place], &b[self.place]);
        match (a.is_null(), b.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) if self.nulls_first => Ordering::Less,
            (true, false) => Ordering::Greater,
            (false, true) if self.nulls_first => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) if self.descending => b.order(a),
            (false, false) => a.order(b),
        }
    }
}

/// Returns the ids of rows whose first column is `id`.
pub(crate) fn ids(rows: &[Vec<Cell>]) -> Vec<Uuid> {
    rows.iter()
        .filter_map(|row| match row.first() {
            Some(Cell::Uuid(id)) => *id,
            _ => None,
        })
        .collect()
}
