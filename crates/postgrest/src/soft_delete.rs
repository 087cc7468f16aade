//! Copies chats before they are deleted, so that they can be restored.

use domain::{Timestamp, UserId};

use crate::ast::RowFilter;
use crate::pg_error::PgError;
use crate::statement::Statement;
use crate::table::RestTable;
use storage::raw::SqlDialect;
use storage::raw::SqlValue;

/// Builds the statements that copy the caller's matching chats and their messages. They must run in order, before the
/// chats are deleted.
pub(crate) fn copy_statements(
    dialect: SqlDialect,
    owner: UserId,
    now: Timestamp,
    filters: &[RowFilter],
) -> Result<Vec<Statement>, PgError> {
    // A chat with the same id may have been deleted earlier and created again.
    let mut older = Statement::new(dialect, owner);
    older.push("DELETE FROM deleted_sessions WHERE user_id = $1 AND id IN (SELECT id");
    older.own_rows(RestTable::Sessions, filters)?;
    older.push(")");

    let mut chats = Statement::new(dialect, owner);
    chats.push(
        "INSERT INTO deleted_sessions (user_id, id, title, created_at, updated_at, deleted_at)
         SELECT user_id, id, title, created_at, updated_at, ",
    );
    chats.bind(SqlValue::Time(Some(now.0)));
    chats.own_rows(RestTable::Sessions, filters)?;
    if dialect == SqlDialect::Postgres {
        // The lock prevents new messages between the copy and the deletion.
        chats.push(" FOR UPDATE");
    }

    let mut messages = Statement::new(dialect, owner);
    // All messages, inactive ones included, so that a restored chat has its branches.
    messages.push(
        "INSERT INTO deleted_messages
           (user_id, session_id, id, role, content, tool_calls, parts, status, error, model, created_at, parent_id,
            inactive_since)
         SELECT $1, session_id, id, role, content, tool_calls, parts, status, error, model, created_at, parent_id, inactive_since
         FROM ai_chat_messages
         WHERE session_id IN (SELECT id FROM deleted_sessions WHERE user_id = $1 AND deleted_at = ",
    );
    messages.bind(SqlValue::Time(Some(now.0)));
    messages.push(")");
    Ok(vec![older, chats, messages])
}
