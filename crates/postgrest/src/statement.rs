//! The only builder of statements.
//!
//! Every statement has the caller as `$1` and reaches only rows for which [`RestTable::ownership_condition`] holds. Names come from the
//! tables' registry and values are bound; no text of a request becomes part of a statement.

use domain::UserId;
use storage::raw::{RawStatement, SqlDialect, SqlType, SqlValue};

use crate::ast::{OnConflict, OrderTerm, RowFilter, RowQuery};
use crate::pg_error::PgError;
use crate::table::{ColumnType, RestTable, TableColumn};

/// A statement for one dialect, whose first parameter is the caller.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) raw: RawStatement,
    pub(crate) dialect: SqlDialect,
}

impl Statement {
    pub(crate) fn new(dialect: SqlDialect, owner: UserId) -> Self {
        let mut raw = RawStatement::default();
        raw.add_parameter(SqlValue::Uuid(Some(owner.0)));
        Self { raw, dialect }
    }

    /// Builds the query for a page of rows that match the filters.
    pub(crate) fn page(
        dialect: SqlDialect,
        owner: UserId,
        table: RestTable,
        query: &RowQuery,
        columns: Vec<&'static TableColumn>,
        limit: u64,
    ) -> Result<Self, PgError> {
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

    /// Builds the statement that makes other writers with a limit for the owner wait for the end of the transaction.
    pub(crate) fn lock_owner(dialect: SqlDialect, owner: UserId) -> Self {
        let mut statement = Self::new(dialect, owner);
        statement.push(storage::users::LOCK);
        statement
    }

    /// Builds the query for the number of rows that match the filters.
    pub(crate) fn count(
        dialect: SqlDialect,
        owner: UserId,
        table: RestTable,
        filters: &[RowFilter],
    ) -> Result<Self, PgError> {
        let mut statement = Self::new(dialect, owner);
        statement.push("SELECT count(*)");
        statement.own_rows(table, filters)?;
        statement.raw.set_columns(vec![SqlType::Integer]);
        Ok(statement)
    }

    /// Builds the query for the caller's row with this key.
    pub(crate) fn own_row(
        dialect: SqlDialect,
        owner: UserId,
        table: RestTable,
        key: &[(&'static TableColumn, SqlValue)],
    ) -> Self {
        let mut statement = Self::new(dialect, owner);
        statement.push("SELECT id FROM ");
        statement.push(table.name());
        statement.push(" WHERE ");
        statement.push(table.ownership_condition());
        for (column, value) in key {
            statement.push(" AND ");
            statement.push(column.name);
            statement.push(" = ");
            statement.bind(value.clone());
        }
        statement.raw.set_columns(vec![SqlType::Uuid]);
        statement
    }

    /// Builds the query for the number of connections that match the filters and have another name, URL or secret than
    /// these values. Returns `None` if the values contain none of them. Secrets that are written again count as other
    /// ones, because they are encrypted.
    pub(crate) fn count_changed_connections(
        dialect: SqlDialect,
        owner: UserId,
        filters: &[RowFilter],
        values: &[(&'static TableColumn, SqlValue)],
    ) -> Result<Option<Self>, PgError> {
        let mut statement = Self::new(dialect, owner);
        statement.push("SELECT count(*)");
        statement.own_rows(RestTable::McpServers, filters)?;
        let mut joint = " AND (";
        for (column, value) in values {
            let is_secret = column.column_type == ColumnType::Sealed;
            if !is_secret && !matches!(column.name, "name" | "url") {
                continue;
            }
            statement.push(joint);
            joint = " OR ";
            if is_secret && !value.is_null() {
                statement.push("TRUE");
                continue;
            }
            statement.push(column.name);
            if is_secret {
                statement.push(" IS NOT NULL");
            } else {
                statement.push(" <> ");
                statement.bind(value.clone());
            }
        }
        statement.push(")");
        statement.raw.set_columns(vec![SqlType::Integer]);
        Ok((joint == " OR ").then_some(statement))
    }

    /// Builds the insert of one row. Its owner is always the caller, and a message is inserted only into a chat of the
    /// caller. `merge` are the columns to update if the caller has a row with the same key.
    pub(crate) fn insert(
        dialect: SqlDialect,
        owner: UserId,
        table: RestTable,
        row: &[(&'static TableColumn, SqlValue)],
        conflict: &OnConflict,
        merge: &[&'static TableColumn],
        returns: Vec<&'static TableColumn>,
    ) -> Self {
        let mut statement = Self::new(dialect, owner);
        statement.push("INSERT INTO ");
        statement.push(table.name());
        statement.push(" (");
        statement.names(row.iter().map(|(column, _)| *column));
        // A message is inserted by `SELECT`, because `VALUES` has no condition.
        statement.push(if table == RestTable::Messages { ") SELECT " } else { ") VALUES (" });
        let mut session = None;
        for (index, (column, value)) in row.iter().enumerate() {
            if index > 0 {
                statement.push(", ");
            }
            if column.name == "user_id" {
                // Never the value of the request, although it was compared with the caller before.
                statement.push("$1");
                continue;
            }
            let parameter = statement.bind(value.clone());
            if column.name == "session_id" {
                session = Some(parameter);
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
        dialect: SqlDialect,
        owner: UserId,
        table: RestTable,
        values: &[(&'static TableColumn, SqlValue)],
        filters: &[RowFilter],
        returns: Vec<&'static TableColumn>,
    ) -> Result<Self, PgError> {
        let mut statement = Self::new(dialect, owner);
        statement.push("UPDATE ");
        statement.push(table.name());
        statement.push(" SET ");
        let mut session = None;
        for (index, (column, value)) in values.iter().enumerate() {
            if index > 0 {
                statement.push(", ");
            }
            statement.push(column.name);
            statement.push(" = ");
            if column.name == "user_id" {
                statement.push("$1");
                continue;
            }
            let parameter = statement.bind(value.clone());
            if column.name == "session_id" {
                session = Some(parameter);
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
        dialect: SqlDialect,
        owner: UserId,
        table: RestTable,
        filters: &[RowFilter],
        returns: Vec<&'static TableColumn>,
    ) -> Result<Self, PgError> {
        let mut statement = Self::new(dialect, owner);
        statement.push("DELETE FROM ");
        statement.push(table.name());
        statement.where_own(table, filters)?;
        statement.returning(returns);
        Ok(statement)
    }

    pub(crate) fn push(&mut self, sql: &'static str) {
        self.raw.push(sql);
    }

    /// Appends a parameter with this value. Returns its number.
    pub(crate) fn bind(&mut self, value: SqlValue) -> usize {
        self.raw.bind(value)
    }

    fn bind_count(&mut self, count: u64) {
        self.bind(SqlValue::Integer(Some(i64::try_from(count).unwrap_or(i64::MAX))));
    }

    fn names(&mut self, columns: impl IntoIterator<Item = &'static TableColumn>) {
        for (index, column) in columns.into_iter().enumerate() {
            if index > 0 {
                self.push(", ");
            }
            self.push(column.name);
        }
    }

    fn column_list(&mut self, columns: Vec<&'static TableColumn>) {
        self.names(columns.iter().copied());
        self.raw.set_columns(columns.iter().map(|column| column.column_type.sql_type()).collect());
    }

    pub(crate) fn returning(&mut self, columns: Vec<&'static TableColumn>) {
        self.push(" RETURNING ");
        self.column_list(columns);
    }

    pub(crate) fn own_rows(&mut self, table: RestTable, filters: &[RowFilter]) -> Result<(), PgError> {
        self.push(" FROM ");
        self.push(table.name());
        self.where_own(table, filters)
    }

    pub(crate) fn where_own(&mut self, table: RestTable, filters: &[RowFilter]) -> Result<(), PgError> {
        self.push(" WHERE ");
        self.push(table.ownership_condition());
        for filter in filters {
            self.push(" AND ");
            self.filter(table, filter)?;
        }
        Ok(())
    }

    fn in_own_session(&mut self, joint: &'static str, parameter: usize) {
        self.push(joint);
        self.push("EXISTS (SELECT 1 FROM existing_chats AS target WHERE target.id = ");
        self.raw.push_parameter(parameter);
        self.push(" AND target.user_id = $1)");
    }

    fn on_conflict(&mut self, table: RestTable, conflict: &OnConflict, merge: &[&'static TableColumn]) {
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
        // The owner of a row never changes.
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
        self.push(table.ownership_condition());
    }

    fn order(&mut self, table: RestTable, order: &[OrderTerm]) -> Result<(), PgError> {
        self.push(" ORDER BY ");
        for term in order {
            let column = table.readable(&term.column)?;
            check_sortable(column)?;
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
pub(crate) fn check_sortable(column: &TableColumn) -> Result<(), PgError> {
    match column.column_type {
        ColumnType::Uuid | ColumnType::Text | ColumnType::Time => Ok(()),
        ColumnType::JsonList | ColumnType::Sealed => {
            Err(PgError::new("42883", "could not identify an ordering operator for type json")
                .with_hint("Use an explicit ordering operator or modify the query."))
        }
    }
}

/// Returns whether both lists name the same columns, in any order.
pub(crate) fn same_names(known: &[&str], given: &[String]) -> bool {
    known.len() == given.len() && known.iter().all(|name| given.iter().any(|other| other == name))
}
