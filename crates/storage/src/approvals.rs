//! Approvals of tool calls. The row is the authoritative decision, made once; the turn only follows it.

use domain::permission::Decision;
use domain::text::without_nul;
use domain::{ApprovalId, ChatId, RunId, ServerId, Timestamp, UserId};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::db_macros::{read, transaction, write};
use crate::permissions::{Rule, make_rule};
use crate::unreadable::readable;
use crate::{ApprovalRepository, Error, JsonText};

const INSERT: &str = "INSERT INTO tool_approvals
      (id, run_id, user_id, tool_call_id, server_id, tool, url, definition, instructions, created_at)
    SELECT $1, id, user_id, $4, $5, $6, $7, $8, $9, $10 FROM runs WHERE id = $2 AND user_id = $3 AND status = 'running'";

const GET: &str = "SELECT a.id, a.run_id, a.tool_call_id, a.server_id, a.tool, a.url, a.definition, a.instructions,
      a.decision, a.arguments
    FROM tool_approvals a JOIN runs r ON r.id = a.run_id WHERE a.id = $1 AND a.user_id = $2 AND r.session_id = $3";

const LIST: &str =
    "SELECT id, run_id, tool_call_id, server_id, tool, url, definition, instructions, decision, arguments
    FROM tool_approvals WHERE run_id = $1 AND user_id = $2 ORDER BY id";

// Approvals of turns that have ended may still be undecided. They are not listed.
const LIST_OPEN: &str =
    "SELECT a.id, a.run_id, a.tool_call_id, a.server_id, a.tool, a.url, a.definition, a.instructions,
      a.decision, a.arguments
    FROM tool_approvals a JOIN runs r ON r.id = a.run_id
    WHERE a.user_id = $1 AND a.server_id = $2 AND a.tool = $3 AND a.decision IS NULL AND r.status = 'running'
    ORDER BY a.id";

/// Decides only once, and only while the turn is running.
const DECIDE: &str = "UPDATE tool_approvals SET decision = $3, arguments = $4, decided_at = $5
    WHERE id = $1 AND user_id = $2 AND decision IS NULL
      AND EXISTS (SELECT 1 FROM runs WHERE runs.id = tool_approvals.run_id AND runs.status = 'running')";

/// A tool call that needs or needed the user's approval.
#[derive(Debug, Clone)]
pub struct Approval {
    /// Its id.
    pub id: ApprovalId,
    /// Turn that waits.
    pub run: RunId,
    /// Id of the tool call within the turn.
    pub tool_call: String,
    /// Connection.
    pub server: ServerId,
    /// Tool.
    pub tool: String,
    /// URL of the server at that time, masked.
    pub url: String,
    /// Definition of the tool that the user is shown, as canonical JSON.
    pub definition: String,
    /// Instructions of the server at that time; empty if it gave none.
    pub instructions: String,
    /// Decision; `None` while it is pending.
    pub decided: Option<Decided>,
}

/// A user's decision about a tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    /// The decision.
    pub decision: Decision,
    /// Arguments edited by the user; `None` if unchanged.
    pub arguments: Option<Map<String, Value>>,
}

#[derive(sqlx::FromRow)]
struct ApprovalRow {
    id: Uuid,
    run_id: Uuid,
    tool_call_id: String,
    server_id: Uuid,
    tool: String,
    url: String,
    definition: String,
    instructions: String,
    decision: Option<String>,
    arguments: Option<JsonText<Map<String, Value>>>,
}

impl TryFrom<ApprovalRow> for Approval {
    type Error = Error;

    fn try_from(row: ApprovalRow) -> Result<Self, Error> {
        let arguments = row.arguments.map(|arguments| arguments.0);
        let decided = row.decision.map(|word| match Decision::from_word(&word) {
            Some(decision) => Ok(Decided { decision, arguments }),
            None => Err(Error::Corrupt(format!("the decision {word}"))),
        });
        Ok(Self {
            id: ApprovalId(row.id),
            run: RunId(row.run_id),
            tool_call: row.tool_call_id,
            server: ServerId(row.server_id),
            tool: row.tool,
            url: row.url,
            definition: row.definition,
            instructions: row.instructions,
            decided: decided.transpose()?,
        })
    }
}

impl ApprovalRepository<'_> {
    /// Stores a pending approval.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the turn has ended.
    pub async fn insert(self, owner: UserId, approval: &Approval, now: Timestamp) -> Result<(), Error> {
        let (tool_call, tool) = (without_nul(approval.tool_call.clone()), without_nul(approval.tool.clone()));
        let definition = without_nul(approval.definition.clone());
        let instructions = without_nul(approval.instructions.clone());
        let made = write!(self.storage, |c| sqlx::query(INSERT)
            .bind(approval.id.0)
            .bind(approval.run.0)
            .bind(owner.0)
            .bind(&tool_call)
            .bind(approval.server.0)
            .bind(&tool)
            .bind(&approval.url)
            .bind(&definition)
            .bind(&instructions)
            .bind(now.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        if made == 0 { Err(Error::NotFound) } else { Ok(()) }
    }

    /// Returns an [`Approval`] of a chat.
    pub async fn get(self, owner: UserId, chat: ChatId, id: ApprovalId) -> Result<Option<Approval>, Error> {
        let row = read!(self.storage, |c| sqlx::query_as::<_, ApprovalRow>(GET)
            .bind(id.0)
            .bind(owner.0)
            .bind(chat.0)
            .fetch_optional(c)
            .await)?;
        row.map(Approval::try_from).transpose()
    }

    /// Returns the [`Approval`]s of a turn, in the order in which they were requested.
    pub async fn list(self, owner: UserId, run: RunId) -> Result<Vec<Approval>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, ApprovalRow>(LIST)
            .bind(run.0)
            .bind(owner.0)
            .fetch_all(c)
            .await)?;
        Ok(readable("tool_approvals", rows, |row| row.id.to_string()))
    }

    /// Returns the pending approvals for a tool of a connection, in all chats of the user.
    pub async fn list_open(self, owner: UserId, server: ServerId, tool: &str) -> Result<Vec<Approval>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, ApprovalRow>(LIST_OPEN)
            .bind(owner.0)
            .bind(server.0)
            .bind(tool)
            .fetch_all(c)
            .await)?;
        rows.into_iter().map(Approval::try_from).collect()
    }

    /// Stores a decision and the permission rule that comes with it, both or neither. Returns `false` and changes
    /// nothing if there already is a decision or the turn has ended.
    pub async fn decide(
        self,
        owner: UserId,
        id: ApprovalId,
        decided: &Decided,
        rule: Option<&Rule>,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let arguments = decided.arguments.as_ref().map(JsonText);
        transaction!(self.storage, |tx| {
            let changed = sqlx::query(DECIDE)
                .bind(id.0)
                .bind(owner.0)
                .bind(decided.decision.as_str())
                .bind(arguments.as_ref())
                .bind(now.0)
                .execute(&mut *tx)
                .await?
                .rows_affected();
            // A rule must not result from a decision that came too late.
            if changed == 1
                && let Some(rule) = rule
            {
                make_rule!(tx, owner, rule, now);
            }
            Ok(changed == 1)
        })
    }
}
