//! Rows that this version cannot read, such as those with an enum value of a newer version: servers skip them, and
//! [`Storage::list_unreadable_rows`] finds them.

use futures_util::TryStreamExt;
use serde::de::IgnoredAny;
use serde_json::Value;
use sqlx::Row as _;
use uuid::Uuid;

use crate::auth_codes::Challenge;
use crate::auth_sessions::SessionRow;
use crate::chats::MessageRow;
use crate::db_macros::read;
use crate::identities::IdentityRow;
use crate::interactions::{Interaction, InteractionRow};
use crate::model_settings::settings_of;
use crate::object_storage::BucketLocation;
use crate::one_time_tokens::{OneTimeToken, TokenRow};
use crate::passkeys::{Passkey, PasskeyRow, read_sign_count};
use crate::permissions::{AuditEntry, AuditRow, Rule, RuleRow};
use crate::queue::QueuedRow;
use crate::tool_lists::ToolListRow;
use crate::tool_tasks::{TaskRow, ToolTask};
use crate::turns::TurnRow;
use crate::users::UserRow;
use crate::{Error, JsonText, Storage};
use domain::attachment::Attachment;

/// Rows of a table that this version cannot read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableRows {
    /// Table that holds them.
    pub table: &'static str,
    /// Column of [`UnreadableRows::first`]: `id`, or another one where rows have no id of their own.
    pub key: &'static str,
    /// Lowest id of such a row, which is the oldest; `None` if not even their ids can be read.
    pub first: Option<Uuid>,
    /// Number of rows.
    pub count: u64,
}

/// Checks of texts whose formats the storage does not know.
#[derive(Debug, Clone, Copy)]
pub struct TextFormats {
    /// Returns whether all events of a journal entry can be read.
    pub is_journal_entry: fn(&str) -> bool,
    /// Returns whether a kind of model provider is known.
    pub is_provider_kind: fn(&str) -> bool,
}

impl UnreadableRows {
    fn add(&mut self, id: Option<Uuid>) {
        self.count += 1;
        self.first = self.first.into_iter().chain(id).min();
    }
}

// The first column of each statement is the key that is reported.
const USERS: &str = "SELECT id, email, password_hash, email_confirmed_at, proven_email, confirmation_sent_at,
      recovery_sent_at, new_email, email_change_sent_at, email_change_confirmed, reauthentication_sent_at, invited_at,
      banned_until, last_sign_in_at, is_anonymous, user_metadata, app_metadata, identity_id, deleted_at, created_at,
      updated_at
    FROM users";
const IDENTITIES: &str = "SELECT id, user_id, issuer, subject, identity_data, last_sign_in_at, created_at, updated_at
    FROM identities";
const AUTH_SESSIONS: &str = "SELECT id, user_id, refresh_counter, refreshed_at, confirmed_at, aal, amr, user_agent,
      created_at
    FROM auth_sessions";
const AUTH_CODES: &str = "SELECT user_id, challenge, challenge_method FROM auth_codes";
const ONE_TIME_TOKENS: &str = "SELECT id, user_id, kind, email, link_hash, code_hash, challenge, challenge_method,
      expires_at, from_sign_up
    FROM one_time_tokens";
const PASSKEYS: &str = "SELECT id, user_id, credential_id, public_key, sign_count, backup_eligible, friendly_name,
      created_at, last_used_at
    FROM passkeys";
const FACTOR_CREDENTIALS: &str = "SELECT factor_id, sign_count FROM factor_credentials";
const MCP_SERVERS: &str = "SELECT id, disabled_tools, tools FROM mcp_servers";
const TOOL_LISTS: &str = "SELECT server_id, url, tools, server_info, listed_at FROM tool_lists";
const TOOL_PERMISSIONS: &str = "SELECT p.server_id, p.tool, p.permission, p.url, p.definition_hash, p.definition,
      i.hash AS instructions_hash, i.instructions
    FROM tool_permissions p LEFT JOIN server_instructions i ON i.server_id = p.server_id";
const TOOL_AUDIT: &str = "SELECT id, server_name, tool, allowed_by, outcome, created_at FROM tool_audit";
const CHAT_SETTINGS: &str = "SELECT session_id, settings FROM chat_settings WHERE settings IS NOT NULL";
const MESSAGES: &str = "SELECT id, role, content, tool_calls, parts, created_at FROM ai_chat_messages";
const QUEUED_MESSAGES: &str = "SELECT id, content, parts, tools FROM queued_messages";
const SHARES: &str = "SELECT id, messages FROM chat_shares";
const ATTACHMENTS: &str = "SELECT id, attachment FROM attachments";
const TURNS: &str = "SELECT id, session_id, user_id, message_id, model, tools, created_at, is_waiting FROM turns";
const TURN_JOURNAL: &str = "SELECT turn_id, payload FROM turn_journal";
const INTERACTIONS: &str = "SELECT id, turn_id, tool_call_id, kind, server_id, tool, url, definition, instructions,
      resume_state, response, arguments, content
    FROM interactions";
const TOOL_TASKS: &str = "SELECT turn_id, tool_call_id, server_id, url, allowed_by, task, form, ttl_ms, created_at
    FROM tool_tasks";
const MODEL_DEFAULTS: &str = "SELECT user_id, settings FROM model_defaults";
const MODEL_PROVIDERS: &str = "SELECT id, kind FROM model_providers";
const OBJECT_STORAGE: &str = "SELECT id, location FROM object_storage";

/// The columns of a message that hold JSON. The list of tool calls is for clients only.
#[derive(sqlx::FromRow)]
struct MessageColumns {
    #[sqlx(flatten)]
    _message: MessageRow,
    #[sqlx(rename = "tool_calls")]
    _tool_calls: JsonText<IgnoredAny>,
}

/// Reads the rows of a table one after the other, so that they never occupy memory together, and adds those that do not
/// become a `$row`, or of which `$is_readable` is false, to a list.
macro_rules! examine {
    ($list:ident, $connection:expr, $table:literal, $key:literal, $sql:ident, $row:ty, |$name:pat_param| $is_readable:expr) => {{
        let mut unreadable = UnreadableRows { table: $table, key: $key, first: None, count: 0 };
        let mut rows = sqlx::query($sql).fetch(&mut *$connection);
        while let Some(row) = rows.try_next().await? {
            let is_readable = <$row as sqlx::FromRow<'_, _>>::from_row(&row).is_ok_and(|$name| $is_readable);
            if !is_readable {
                unreadable.add(row.try_get(0).ok());
            }
        }
        if unreadable.count > 0 {
            $list.push(unreadable);
        }
    }};
}

/// Examines the tables of accounts.
macro_rules! examine_accounts {
    ($list:ident, $c:ident) => {{
        examine!($list, $c, "users", "id", USERS, UserRow, |_| true);
        examine!($list, $c, "identities", "id", IDENTITIES, IdentityRow, |_| true);
        examine!($list, $c, "auth_sessions", "id", AUTH_SESSIONS, SessionRow, |_| true);
        examine!($list, $c, "auth_codes", "user_id", AUTH_CODES, (Uuid, String, String), |(_, text, method)| {
            Challenge::from_columns(text, &method).is_ok()
        });
        examine!($list, $c, "one_time_tokens", "id", ONE_TIME_TOKENS, TokenRow, |row| {
            OneTimeToken::try_from(row).is_ok()
        });
        examine!($list, $c, "passkeys", "id", PASSKEYS, PasskeyRow, |row| Passkey::try_from(row).is_ok());
        examine!($list, $c, "factor_credentials", "factor_id", FACTOR_CREDENTIALS, (Uuid, i64), |(_, count)| {
            read_sign_count(count).is_ok()
        });
    }};
}

/// Examines the tables of connections and of models.
macro_rules! examine_settings {
    ($list:ident, $c:ident, $formats:expr) => {{
        type Tools = (Uuid, JsonText<Vec<String>>, JsonText<Value>);
        examine!($list, $c, "mcp_servers", "id", MCP_SERVERS, Tools, |_| true);
        examine!($list, $c, "tool_lists", "server_id", TOOL_LISTS, ToolListRow, |_| true);
        examine!($list, $c, "tool_permissions", "server_id", TOOL_PERMISSIONS, RuleRow, |row| {
            Rule::try_from(row).is_ok()
        });
        examine!($list, $c, "tool_audit", "id", TOOL_AUDIT, AuditRow, |row| AuditEntry::try_from(row).is_ok());
        examine!($list, $c, "chat_settings", "session_id", CHAT_SETTINGS, (Uuid, String), |(_, json)| {
            settings_of(&json).is_ok()
        });
        examine!($list, $c, "model_defaults", "user_id", MODEL_DEFAULTS, (Uuid, String), |(_, json)| {
            settings_of(&json).is_ok()
        });
        examine!($list, $c, "model_providers", "id", MODEL_PROVIDERS, (Uuid, String), |(_, kind)| {
            ($formats.is_provider_kind)(&kind)
        });
        examine!($list, $c, "object_storage", "id", OBJECT_STORAGE, (Uuid, String), |(_, location)| {
            location.parse::<BucketLocation>().is_ok()
        });
    }};
}

/// Examines the tables of chats and turns.
macro_rules! examine_chats {
    ($list:ident, $c:ident, $formats:expr) => {{
        examine!($list, $c, "ai_chat_messages", "id", MESSAGES, MessageColumns, |_| true);
        examine!($list, $c, "queued_messages", "id", QUEUED_MESSAGES, QueuedRow, |_| true);
        examine!($list, $c, "chat_shares", "id", SHARES, (Uuid, JsonText<IgnoredAny>), |_| true);
        examine!($list, $c, "attachments", "id", ATTACHMENTS, (Uuid, JsonText<Attachment>), |_| true);
        examine!($list, $c, "turns", "id", TURNS, TurnRow, |_| true);
        examine!($list, $c, "turn_journal", "turn_id", TURN_JOURNAL, (Uuid, String), |(_, entry)| {
            ($formats.is_journal_entry)(&entry)
        });
        examine!($list, $c, "interactions", "id", INTERACTIONS, InteractionRow, |row| {
            Interaction::try_from(row).is_ok()
        });
        examine!($list, $c, "tool_tasks", "turn_id", TOOL_TASKS, TaskRow, |row| ToolTask::try_from(row).is_ok());
    }};
}

impl Storage {
    /// Returns the tables with rows that the repositories cannot read, of all users. It reads every row of the tables
    /// that hold JSON or names of kinds.
    ///
    /// # Errors
    ///
    /// [`Error::Database`] if a table cannot be read.
    pub async fn list_unreadable_rows(&self, formats: TextFormats) -> Result<Vec<UnreadableRows>, Error> {
        Ok(read!(self, |c| async {
            let mut list = Vec::new();
            examine_accounts!(list, c);
            examine_settings!(list, c, formats);
            examine_chats!(list, c, formats);
            Ok::<_, sqlx::Error>(list)
        }
        .await)?)
    }
}

/// Converts the readable rows. Logs the others with their id and skips them, so that a single row cannot prevent the
/// start of a server or the recovery of a node.
pub(crate) fn readable<R, T>(table: &'static str, rows: Vec<R>, id: impl Fn(&R) -> String) -> Vec<T>
where
    T: TryFrom<R, Error = Error>,
{
    let convert = |row: R| {
        let id = id(&row);
        T::try_from(row).inspect_err(|error| tracing::error!(table, id, %error, "a row could not be read")).ok()
    };
    rows.into_iter().filter_map(convert).collect()
}
