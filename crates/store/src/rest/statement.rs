//! The only builder of statements for the data API.
//!
//! Every statement has the caller as `$1` and reaches only rows for which [`Table::owned`] holds. Names come from the
//! tables' registry and values are bound; no text of a request becomes part of a statement.

use std::fmt::Write;

use domain::UserId;

use super::ast::{Filter, OnConflict, Order, Query};
use super::cell::Cell;
use super::fault::Fault;
use super::table::{Column, Default, Kind, Table};

/// The SQL dialect of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// A statement, its parameters and the columns that it returns.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) sql: String,
    pub(crate) binds: Vec<Cell>,
    pub(crate) returns: Vec<&'static Column>,
    pub(super) dialect: Dialect,
}

/// The column of a counting statement. Both databases return the count as a 64-bit integer, like a time.
static COUNT: Column =
    Column { name: "count", kind: Kind::Time, default: Default::Null, nullable: false, writable: false };

impl Statement {
    pub(super) fn new(dialect: Dialect, owner: UserId) -> Self {
        Self { sql: String::new(), binds: vec![Cell::Uuid(Some(owner.0))], returns: Vec::new(), dialect }
    }

    /// Builds the query for a page of rows that match the filters.
    pub(crate) fn page(
        dialect: Dialect,
        owner: UserId,
        table: Table,
        query: &Query,
        columns: Vec<&'static Column>,
        limit: u64,
    ) -> Result<Self, Fault> {
        let mut statement = Self::new(dialect, owner);
        statement.push("SELECT ");
        statement.column_list(columns);
        statement.own_rows(table, &query.filters)?;
        statement.order(table, &query.order)?;
        statement.push(" LIMIT ");
        statement.bind_count(limit);
        statement.push(" OFFSET ");
        statement.bind_count(query.offset);
        Ok(statement)
    }

    /// Builds the query for the number of rows that match the filters.
    pub(crate) fn count(dialect: Dialect, owner: UserId, table: Table, filters: &[Filter]) -> Result<Self, Fault> {
        let mut statement = Self::new(dialect, owner);
        statement.push("SELECT count(*)");
        statement.own_rows(table, filters)?;
        statement.returns.push(&COUNT);
        Ok(statement)
    }

    /// Builds the query for the caller's row with this key.
    pub(crate) fn own_row(dialect: Dialect, owner: UserId, table: Table, key: &[(&'static Column, Cell)]) -> Self {
        let mut statement = Self::new(dialect, owner);
        statement.push("SELECT id FROM ");
        statement.push(table.name());
        statement.push(" WHERE ");
        statement.push(table.owned());
        for (column, cell) in key {
            statement.push(" AND ");
            statement.push(column.name);
            statement.push(" = ");
            statement.bind(cell.clone());
        }
        statement.returns.push(table.id());
        statement
    }

    /// Builds the insert of one row. Its owner is always the caller, and a message is inserted only into a chat of the
    /// caller. `merge` are the columns to update if the caller has a row with the same key.
    pub(crate) fn insert(
        dialect: Dialect,
        owner: UserId,
        table: Table,
        row: &[(&'static Column, Cell)],
        conflict: &OnConflict,
        merge: &[&'static Column],
        returns: Vec<&'static Column>,
    ) -> Self {
        let mut statement = Self::new(dialect, owner);
        statement.push("INSERT INTO ");
        statement.push(table.name());
        statement.push(" (");
        statement.names(row.iter().map(|(column, _)| *column));
        // A message is inserted by `SELECT`, because `VALUES` has no condition.
        statement.push(if table == Table::Messages { ") SELECT " } else { ") VALUES (" });
        let mut session = None;
        for (index, (column, cell)) in row.iter().enumerate() {
            if index > 0 {
                statement.push(", ");
            }
            if column.name == "user_id" {
                statement.push("$1");
            } else {
                statement.bind(cell.clone());
            }
            if column.name == "session_id" {
                session = Some(statement.binds.len());
            }
        }
        match session {
            Some(parameter) => statement.in_own_session(" WHERE ", parameter),
            None => statement.push(")"),
        }
        statement.on_conflict(table, conflict, merge);
        statement.returning(returns);
        statement
    }

    /// Builds the update of the caller's rows that match the filters.
    pub(crate) fn update(
        dialect: Dialect,
        owner: UserId,
        table: Table,
        values: &[(&'static Column, Cell)],
        filters: &[Filter],
        returns: Vec<&'static Column>,
    ) -> Result<Self, Fault> {
        let mut statement = Self::new(dialect, owner);
        statement.push("UPDATE ");
        statement.push(table.name());
        statement.push(" SET ");
        let mut session = None;
        for (index, (column, cell)) in values.iter().enumerate() {
            if index > 0 {
                statement.push(", ");
            }
            statement.push(column.name);
            statement.push(" = ");
            if column.name == "user_id" {
                statement.push("$1");
            } else {
                statement.bind(cell.clone());
            }
            if column.name == "session_id" {
                session = Some(statement.binds.len());
            }
        }
        statement.where_own(table, filters)?;
        if let Some(parameter) = session {
            statement.in_own_session(" AND ", parameter);
        }
        statement.returning(returns);
        Ok(statement)
    }

    /// Builds the deletion of the caller's rows that match the filters.
    pub(crate) fn delete(
        dialect: Dialect,
        owner: UserId,
        table: Table,
        filters: &[Filter],
        returns: Vec<&'static Column>,
    ) -> Result<Self, Fault> {
        let mut statement = Self::new(dialect, owner);
        statement.push("DELETE FROM ");
        statement.push(table.name());
        statement.where_own(table, filters)?;
        statement.returning(returns);
        Ok(statement)
    }

    pub(super) fn push(&mut self, text: &'static str) {
        self.sql.push_str(text);
    }

    pub(super) fn bind(&mut self, cell: Cell) {
        self.binds.push(cell);
        let number = self.binds.len();
        self.parameter(number);
    }

    fn parameter(&mut self, number: usize) {
        // Writing to a `String` cannot fail.
        let _ = write!(self.sql, "${number}");
    }

    /// Binds a number of rows. It is a 64-bit integer, like a time.
    fn bind_count(&mut self, count: u64) {
        self.bind(Cell::Time(Some(i64::try_from(count).unwrap_or(i64::MAX))));
    }

    fn names(&mut self, columns: impl IntoIterator<Item = &'static Column>) {
        for (index, column) in columns.into_iter().enumerate() {
            if index > 0 {
                self.push(", ");
            }
            self.push(column.name);
        }
    }

    fn column_list(&mut self, columns: Vec<&'static Column>) {
        self.names(columns.iter().copied());
        self.returns = columns;
    }

    fn returning(&mut self, columns: Vec<&'static Column>) {
        self.push(" RETURNING ");
        self.column_list(columns);
    }

    pub(super) fn own_rows(&mut self, table: Table, filters: &[Filter]) -> Result<(), Fault> {
        self.push(" FROM ");
        self.push(table.name());
        self.where_own(table, filters)
    }

    fn where_own(&mut self, table: Table, filters: &[Filter]) -> Result<(), Fault> {
        self.push(" WHERE ");
        self.push(table.owned());
        for filter in filters {
            self.push(" AND ");
            self.filter(table, filter)?;
        }
        Ok(())
    }

    fn in_own_session(&mut self, joint: &'static str, parameter: usize) {
        self.push(joint);
        self.push("EXISTS (SELECT 1 FROM ai_chat_sessions AS target WHERE target.id = ");
        self.parameter(parameter);
        self.push(" AND target.user_id = $1)");
    }

    fn on_conflict(&mut self, table: Table, conflict: &OnConflict, merge: &[&'static Column]) {
        let (OnConflict::Ignore(key) | OnConflict::Merge(key)) = conflict else { return };
        let known = table.unique_keys();
        // The client's names were only compared with the registry. The registry's own names become part of the
        // statement.
        let key = known.iter().find(|known| same_names(known, key)).unwrap_or(&known[0]);
        self.push(" ON CONFLICT (");
        for (index, name) in key.iter().enumerate() {
            if index > 0 {
                self.push(", ");
            }
            self.push(name);
        }
        self.push(")");
        let mut merge = merge.iter().filter(|column| column.name != "user_id").peekable();
        if matches!(conflict, OnConflict::Ignore(_)) || merge.peek().is_none() {
            self.push(" DO NOTHING");
            return;
        }
        self.push(" DO UPDATE SET ");
        for (index, column) in merge.enumerate() {
            if index > 0 {
                self.push(", ");
            }
            self.push(column.name);
            self.push(" = excluded.");
            self.push(column.name);
        }
        // The conflicting row may belong to another user. Then the insert has no effect and returns no row.
        self.push(" WHERE ");
        self.push(table.owned());
    }

    fn order(&mut self, table: Table, order: &[Order]) -> Result<(), Fault> {
        self.push(" ORDER BY ");
        for term in order {
            let column = table.readable(&term.column)?;
            sortable(column)?;
            self.comparable(column);
            self.push(if term.descending { " DESC" } else { " ASC" });
            self.push(match term.nulls_first.unwrap_or(term.descending) {
                // For a column that cannot be null the clause is omitted, because with it SQLite would not use an index
                // for the order.
                _ if !column.nullable => ", ",
                true => " NULLS FIRST, ",
                false => " NULLS LAST, ",
            });
        }
        // The default order also makes the requested one unambiguous.
        self.push("created_at, id");
        Ok(())
    }
}

/// Rejects an order by a column whose type has none.
pub(crate) fn sortable(column: &Column) -> Result<(), Fault> {
    match column.kind {
        Kind::Uuid | Kind::Text | Kind::Time => Ok(()),
        Kind::JsonList | Kind::Sealed => {
            Err(Fault::new("42883", "could not identify an ordering operator for type json")
                .hint("Use an explicit ordering operator or modify the query."))
        }
    }
}

/// Returns whether both lists name the same columns, in any order.
pub(crate) fn same_names(known: &[&str], given: &[String]) -> bool {
    known.len() == given.len() && known.iter().all(|name| given.iter().any(|other| other == name))
}
