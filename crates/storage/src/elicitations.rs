//! Elicitations: questions of MCP servers to the user, on which tool calls wait. The row is the authoritative response,
//! given once; the turn only follows it.

use domain::elicitation::Action;
use domain::text::without_nul;
use domain::{ChatId, ElicitationId, RunId, Timestamp, UserId};
use uuid::Uuid;

use crate::db_macros::{read, write};
use crate::unreadable::readable;
use crate::{ElicitationRepository, Error};

const INSERT: &str = "INSERT INTO elicitations (id, run_id, user_id, tool_call_id, resume_state, created_at)
    SELECT $1, id, user_id, $4, $5, $6 FROM runs WHERE id = $2 AND user_id = $3 AND status = 'running'";

const GET: &str = "SELECT e.id, e.run_id, e.tool_call_id, e.resume_state, e.action, e.content
    FROM elicitations e JOIN runs r ON r.id = e.run_id WHERE e.id = $1 AND e.user_id = $2 AND r.session_id = $3";

const LIST: &str = "SELECT id, run_id, tool_call_id, resume_state, action, content
    FROM elicitations WHERE run_id = $1 AND user_id = $2 ORDER BY id";

/// Responds only once, and only while the turn is running.
const ANSWER: &str = "UPDATE elicitations SET action = $3, content = $4, answered_at = $5
    WHERE id = $1 AND user_id = $2 AND action IS NULL
      AND EXISTS (SELECT 1 FROM runs WHERE runs.id = elicitations.run_id AND runs.status = 'running')";

/// Deletes questions and responses of a turn that has ended. They are not needed any more and may be sensitive.
pub(crate) const FORGET: &str =
    "UPDATE elicitations SET resume_state = NULL, content = NULL WHERE run_id = $1 AND user_id = $2";

/// An elicitation, pending or answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Elicitation {
    /// Its id.
    pub id: ElicitationId,
    /// Turn that waits.
    pub run: RunId,
    /// Id of the tool call within the turn.
    pub tool_call: String,
    /// State for resuming the tool call, encrypted. It is deleted when the turn ends.
    pub resume_state: Option<Vec<u8>>,
    /// Response; `None` while it is pending.
    pub answered: Option<Answered>,
}

/// A user's response to an [`Elicitation`].
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// Action of the user.
    pub action: Action,
    /// Submitted form, encrypted. It is deleted when the turn ends.
    pub content: Option<Vec<u8>>,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    run_id: Uuid,
    tool_call_id: String,
    resume_state: Option<Vec<u8>>,
    action: Option<String>,
    content: Option<Vec<u8>>,
}

impl TryFrom<Row> for Elicitation {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let content = row.content;
        let answered = row.action.map(|word| match Action::from_word(&word) {
            Some(action) => Ok(Answered { action, content }),
            None => Err(Error::Corrupt(format!("the action {word}"))),
        });
        Ok(Self {
            id: ElicitationId(row.id),
            run: RunId(row.run_id),
            tool_call: row.tool_call_id,
            resume_state: row.resume_state,
            answered: answered.transpose()?,
        })
    }
}

impl ElicitationRepository<'_> {
    /// Stores a pending elicitation.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the turn has ended.
    pub async fn insert(self, owner: UserId, asked: &Elicitation, now: Timestamp) -> Result<(), Error> {
        let tool_call = without_nul(asked.tool_call.clone());
        let made = write!(self.storage, |c| sqlx::query(INSERT)
            .bind(asked.id.0)
            .bind(asked.run.0)
            .bind(owner.0)
            .bind(&tool_call)
            .bind(asked.resume_state.as_deref())
            .bind(now.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        if made == 0 { Err(Error::NotFound) } else { Ok(()) }
    }

    /// Returns an [`Elicitation`] of a chat.
    pub async fn get(self, owner: UserId, chat: ChatId, id: ElicitationId) -> Result<Option<Elicitation>, Error> {
        let row = read!(self.storage, |c| sqlx::query_as::<_, Row>(GET)
            .bind(id.0)
            .bind(owner.0)
            .bind(chat.0)
            .fetch_optional(c)
            .await)?;
        row.map(Elicitation::try_from).transpose()
    }

    /// Returns the elicitations of a turn, in the order in which they were requested.
    pub async fn list(self, owner: UserId, run: RunId) -> Result<Vec<Elicitation>, Error> {
        let rows =
            read!(self.storage, |c| sqlx::query_as::<_, Row>(LIST).bind(run.0).bind(owner.0).fetch_all(c).await)?;
        Ok(readable("elicitations", rows, |row| row.id.to_string()))
    }

    /// Stores a response. Returns `false` and changes nothing if there already is one or the turn has ended.
    pub async fn answer(
        self,
        owner: UserId,
        id: ElicitationId,
        answered: &Answered,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let changed = write!(self.storage, |c| sqlx::query(ANSWER)
            .bind(id.0)
            .bind(owner.0)
            .bind(answered.action.as_str())
            .bind(answered.content.as_deref())
            .bind(now.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(changed == 1)
    }
}
