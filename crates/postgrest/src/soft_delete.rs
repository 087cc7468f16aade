//! Deletion of chats that can be restored for a while.

use domain::{Timestamp, UserId};
use storage::raw::{SqlDialect, SqlValue};
use storage::trash;

use crate::ast::RowFilter;
use crate::pg_error::PgError;
use crate::statement::Statement;
use crate::table::{RestTable, TableColumn};

/// Builds the statement that marks the caller's matching chats as deleted. Triggers delete their turns, queued messages
/// and search entries.
pub(crate) fn delete_chats(
    dialect: SqlDialect,
    owner: UserId,
    now: Timestamp,
    filters: &[RowFilter],
    returns: Vec<&'static TableColumn>,
) -> Result<Statement, PgError> {
    let mut statement = Statement::new(dialect, owner);
    statement.push("UPDATE ai_chat_sessions SET deleted_at = ");
    statement.bind(SqlValue::Time(Some(now.0)));
    statement.where_own(RestTable::Sessions, filters)?;
    statement.returning(returns);
    Ok(statement)
}

/// Builds the statement that permanently deletes the caller's deleted chat, or the message of one, whose id `row` takes.
/// With the filters of an update, only if it changes a row. Returns `None` if there can be no such chat or message.
pub(crate) fn purge_taken_id(
    dialect: SqlDialect,
    owner: UserId,
    table: RestTable,
    row: &[(&'static TableColumn, SqlValue)],
    filters: Option<&[RowFilter]>,
) -> Result<Option<Statement>, PgError> {
    let Some((_, id)) = row.iter().find(|(column, _)| *column == table.id()) else { return Ok(None) };
    let mut statement = Statement::new(dialect, owner);
    match table {
        RestTable::McpServers => return Ok(None),
        RestTable::Sessions => statement.push(trash::PURGE_CHAT),
        RestTable::Messages => statement.push(trash::PURGE_MESSAGE),
    }
    // The statements call it `$2`.
    statement.raw.add_parameter(id.clone());
    if let Some(filters) = filters {
        statement.push(" AND EXISTS (SELECT 1");
        statement.own_rows(table, filters)?;
        statement.push(")");
    }
    Ok(Some(statement))
}
