//! Users' permissions for tools, and the audit log of tool calls.

use domain::permission::{AllowedBy, Permission};
use domain::text::without_nul;
use domain::tool::Outcome;
use domain::{ServerId, Timestamp, UserId};
use uuid::Uuid;

use crate::audit_events::{NewAuditEvent, insert_events};
use crate::db_macros::{read, transaction, write};
use crate::named_values::query_named;
use crate::{Error, PermissionRepository};

// `INSERT … SELECT` inserts nothing if the connection does not belong to the user. Many statements of this crate are of
// this form: the check and the write are one step.
pub(crate) const UPSERT: &str = "INSERT INTO tool_permissions
      (server_id, tool, user_id, permission, url, definition_hash, definition, updated_at)
    SELECT id, :tool, user_id, :permission, :url, :definition_hash, :definition, :now FROM mcp_servers
    WHERE id = :server AND user_id = :owner
    ON CONFLICT (server_id, tool) DO UPDATE SET permission = excluded.permission, url = excluded.url,
      definition_hash = excluded.definition_hash, definition = excluded.definition, updated_at = excluded.updated_at";

pub(crate) const PIN_INSTRUCTIONS: &str = "INSERT INTO server_instructions
      (server_id, user_id, hash, instructions, updated_at)
    SELECT id, user_id, :hash, :instructions, :now FROM mcp_servers WHERE id = :server AND user_id = :owner
    ON CONFLICT (server_id) DO UPDATE SET hash = excluded.hash, instructions = excluded.instructions,
      updated_at = excluded.updated_at";

const GET: &str = "SELECT p.server_id, p.tool, p.permission, p.url, p.definition_hash, p.definition,
      i.hash AS instructions_hash, i.instructions
    FROM tool_permissions p LEFT JOIN server_instructions i ON i.server_id = p.server_id
    WHERE p.server_id = $1 AND p.tool = $2 AND p.user_id = $3";

const LIST: &str = "SELECT p.server_id, p.tool, p.permission, p.url, p.definition_hash, p.definition,
      i.hash AS instructions_hash, i.instructions
    FROM tool_permissions p LEFT JOIN server_instructions i ON i.server_id = p.server_id
    WHERE p.user_id = $1 ORDER BY p.server_id, p.tool";

const INSERT_AUDIT: &str = "INSERT INTO tool_audit (id, user_id, server_name, tool, allowed_by, outcome, created_at)
    VALUES (:id, :owner, :server_name, :tool, :allowed_by, :outcome, :created_at)";

// Pages continue after an id, not after an offset, so that new entries do not shift them.
const LIST_AUDIT: &str = "SELECT id, server_name, tool, allowed_by, outcome, created_at FROM tool_audit
    WHERE user_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3";

/// Stores a permission rule within a transaction, in place of the previous one, together with the server's
/// instructions. Returns the number of rows written: 0 if the connection does not belong to the owner.
///
/// A macro, because the transaction has another type for each database.
macro_rules! make_rule {
    ($tx:expr, $owner:expr, $rule:expr, $now:expr) => {{
        let (owner, rule, now) = ($owner, $rule, $now);
        if let Some(seen) = &rule.instructions {
            $crate::named_values::query_named!(
                $crate::permissions::PIN_INSTRUCTIONS,
                server = rule.server.0,
                owner = owner.0,
                hash = &seen.hash,
                instructions = domain::text::without_nul(seen.text.clone()),
                now = now.0
            )
            .execute(&mut *$tx)
            .await?;
        }
        $crate::named_values::query_named!(
            $crate::permissions::UPSERT,
            server = rule.server.0,
            owner = owner.0,
            tool = domain::text::without_nul(rule.tool.clone()),
            permission = rule.permission.as_str(),
            url = &rule.url,
            definition_hash = rule.pin.as_ref().map(|pin| pin.hash.as_str()),
            definition = rule.pin.as_ref().map(|pin| pin.text.as_str()),
            now = now.0
        )
        .execute(&mut *$tx)
        .await?
        .rows_affected()
    }};
}

pub(crate) use make_rule;

/// A text that a user has approved, with its hash. Part of a [`Rule`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// SHA-256 hash of `text`, hexadecimal.
    pub hash: String,
    /// Tool definition as canonical JSON, or the instructions of a server.
    pub text: String,
}

/// A user's permission rule for a tool of a connection.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Connection.
    pub server: ServerId,
    /// Tool.
    pub tool: String,
    /// Permission.
    pub permission: Permission,
    /// URL of the server at that time, masked. The rule does not apply to another URL.
    pub url: String,
    /// Definition of the tool that was approved; only with [`Permission::Always`].
    pub pin: Option<Pin>,
    /// Instructions of the server at the last [`Permission::Always`] for any of its tools.
    pub instructions: Option<Pin>,
}

#[derive(sqlx::FromRow)]
pub(crate) struct RuleRow {
    server_id: Uuid,
    tool: String,
    permission: String,
    url: String,
    definition_hash: Option<String>,
    definition: Option<String>,
    instructions_hash: Option<String>,
    instructions: Option<String>,
}

impl TryFrom<RuleRow> for Rule {
    type Error = Error;

    fn try_from(row: RuleRow) -> Result<Self, Error> {
        let permission = Permission::from_word(&row.permission)
            .ok_or_else(|| Error::Corrupt(format!("the permission {}", row.permission)))?;
        let pin = |(hash, text)| Pin { hash, text };
        Ok(Self {
            server: ServerId(row.server_id),
            tool: row.tool,
            permission,
            url: row.url,
            pin: row.definition_hash.zip(row.definition).map(pin),
            instructions: row.instructions_hash.zip(row.instructions).map(pin),
        })
    }
}

/// An entry of the audit log: one tool call.
#[derive(Debug, Clone)]
pub struct AuditEntry {
    /// Its id. Ids sort by time.
    pub id: Uuid,
    /// Name of the connection at that time.
    pub server_name: String,
    /// Tool.
    pub tool: String,
    /// Permission or approval that allowed the call.
    pub allowed_by: AllowedBy,
    /// Outcome of the call.
    pub outcome: Outcome,
    /// Time at which the call ended.
    pub created_at: Timestamp,
}

#[derive(sqlx::FromRow)]
pub(crate) struct AuditRow {
    id: Uuid,
    server_name: String,
    tool: String,
    allowed_by: String,
    outcome: String,
    created_at: i64,
}

impl TryFrom<AuditRow> for AuditEntry {
    type Error = Error;

    fn try_from(row: AuditRow) -> Result<Self, Error> {
        let corrupt = |what: &str, word: &str| Error::Corrupt(format!("the {what} {word}"));
        Ok(Self {
            allowed_by: AllowedBy::from_word(&row.allowed_by).ok_or_else(|| corrupt("consent", &row.allowed_by))?,
            outcome: Outcome::from_word(&row.outcome).ok_or_else(|| corrupt("outcome", &row.outcome))?,
            id: row.id,
            server_name: row.server_name,
            tool: row.tool,
            created_at: Timestamp(row.created_at),
        })
    }
}

impl PermissionRepository<'_> {
    /// Returns the user's [`Rule`] for a tool.
    pub async fn get(self, owner: UserId, server: ServerId, tool: &str) -> Result<Option<Rule>, Error> {
        let tool = without_nul(tool.to_owned());
        let row = read!(self.storage, |c| sqlx::query_as::<_, RuleRow>(GET)
            .bind(server.0)
            .bind(&tool)
            .bind(owner.0)
            .fetch_optional(c)
            .await)?;
        row.map(Rule::try_from).transpose()
    }

    /// Returns all [`Rule`]s of a user.
    pub async fn list(self, owner: UserId) -> Result<Vec<Rule>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, RuleRow>(LIST).bind(owner.0).fetch_all(c).await)?;
        // An unreadable rule is an error here: without it, the default permission would apply.
        rows.into_iter().map(Rule::try_from).collect()
    }

    /// Stores rules in place of the previous ones: all or none.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if a connection does not belong to the owner.
    pub async fn insert(self, owner: UserId, rules: &[Rule], now: Timestamp) -> Result<(), Error> {
        self.insert_with(owner, rules, now, &[]).await
    }

    /// Stores rules as [`insert`](Self::insert) does, and audit events.
    ///
    /// # Errors
    ///
    /// Those of [`insert`](Self::insert).
    pub async fn insert_with(
        self,
        owner: UserId,
        rules: &[Rule],
        now: Timestamp,
        events: &[NewAuditEvent],
    ) -> Result<(), Error> {
        transaction!(self.storage, |tx| {
            for rule in rules {
                if make_rule!(tx, owner, rule, now) == 0 {
                    return Err(Error::NotFound);
                }
            }
            insert_events!(tx, events);
            Ok(())
        })
    }

    /// Adds an entry to the audit log.
    pub async fn insert_audit(self, owner: UserId, entry: &AuditEntry) -> Result<(), Error> {
        let (server_name, tool) = (without_nul(entry.server_name.clone()), without_nul(entry.tool.clone()));
        write!(self.storage, |c| query_named!(
            INSERT_AUDIT,
            id = entry.id,
            owner = owner.0,
            server_name = &server_name,
            tool = &tool,
            allowed_by = entry.allowed_by.as_str(),
            outcome = entry.outcome.as_str(),
            created_at = entry.created_at.0
        )
        .execute(c)
        .await
        .map(|done| done.rows_affected()))?;
        Ok(())
    }

    /// Returns the newest `limit` entries of the audit log, newest first, starting before the entry `before`.
    pub async fn list_audit(self, owner: UserId, before: Option<Uuid>, limit: i64) -> Result<Vec<AuditEntry>, Error> {
        // Ids are UUIDs of version 7, so that the largest UUID is later than any entry.
        let before = before.unwrap_or(Uuid::max());
        let rows = read!(self.storage, |c| sqlx::query_as::<_, AuditRow>(LIST_AUDIT)
            .bind(owner.0)
            .bind(before)
            .bind(limit)
            .fetch_all(c)
            .await)?;
        rows.into_iter().map(AuditEntry::try_from).collect()
    }
}
