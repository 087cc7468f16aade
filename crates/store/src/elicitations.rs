//! Questions to the person that calls wait with. The row is what is answered, once; the run only follows it.

use domain::elicitation::Action;
use domain::text::without_nul;
use domain::{ChatId, ElicitationId, RunId, Timestamp, UserId};
use uuid::Uuid;

use crate::dispatch::{read, write};
use crate::unreadable::readable;
use crate::{Error, Store};

const INSERT: &str = "INSERT INTO elicitations (id, run_id, user_id, tool_call_id, about, created_at)
    SELECT $1, id, user_id, $4, $5, $6 FROM runs WHERE id = $2 AND user_id = $3 AND status = 'running'";

const GET: &str = "SELECT e.id, e.run_id, e.tool_call_id, e.about, e.action, e.content
    FROM elicitations e JOIN runs r ON r.id = e.run_id WHERE e.id = $1 AND e.user_id = $2 AND r.session_id = $3";

const LIST: &str = "SELECT id, run_id, tool_call_id, about, action, content
    FROM elicitations WHERE run_id = $1 AND user_id = $2 ORDER BY id";

const ANSWER: &str = "UPDATE elicitations SET action = $3, content = $4, answered_at = $5
    WHERE id = $1 AND user_id = $2 AND action IS NULL
      AND EXISTS (SELECT 1 FROM runs WHERE runs.id = elicitations.run_id AND runs.status = 'running')";

/// What was asked and filled in is of no use any more when the run has ended.
pub(crate) const FORGET: &str =
    "UPDATE elicitations SET about = NULL, content = NULL WHERE run_id = $1 AND user_id = $2";

/// A question that a person is, or was, asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Elicitation {
    /// Its id.
    pub id: ElicitationId,
    /// The run that waits.
    pub run: RunId,
    /// The call within the run.
    pub tool_call: String,
    /// Where the call goes on, sealed; as long as the run goes on.
    pub about: Option<Vec<u8>>,
    /// What was answered, once it was.
    pub answered: Option<Answered>,
}

/// What a person answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// In a word.
    pub action: Action,
    /// What they filled in, sealed; as long as the run goes on.
    pub content: Option<Vec<u8>>,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    run_id: Uuid,
    tool_call_id: String,
    about: Option<Vec<u8>>,
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
            about: row.about,
            answered: answered.transpose()?,
        })
    }
}

impl Store {
    /// Opens a question. `NotFound` when the run has ended.
    pub async fn insert_elicitation(&self, owner: UserId, asked: &Elicitation, now: Timestamp) -> Result<(), Error> {
        let tool_call = without_nul(asked.tool_call.clone());
        let made = write!(self, |c| sqlx::query(INSERT)
            .bind(asked.id.0)
            .bind(asked.run.0)
            .bind(owner.0)
            .bind(&tool_call)
            .bind(asked.about.as_deref())
            .bind(now.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        if made == 0 { Err(Error::NotFound) } else { Ok(()) }
    }

    /// A question in a chat of the person's.
    pub async fn get_elicitation(
        &self,
        owner: UserId,
        chat: ChatId,
        id: ElicitationId,
    ) -> Result<Option<Elicitation>, Error> {
        let row = read!(self, |c| sqlx::query_as::<_, Row>(GET)
            .bind(id.0)
            .bind(owner.0)
            .bind(chat.0)
            .fetch_optional(c)
            .await)?;
        row.map(Elicitation::try_from).transpose()
    }

    /// The questions of a run, in the order in which they were asked.
    pub async fn list_elicitations(&self, owner: UserId, run: RunId) -> Result<Vec<Elicitation>, Error> {
        let rows = read!(self, |c| sqlx::query_as::<_, Row>(LIST).bind(run.0).bind(owner.0).fetch_all(c).await)?;
        Ok(readable("elicitations", rows, |row| row.id.to_string()))
    }

    /// Answers a question. `false` when it was answered before, or its run has ended: then nothing changes.
    pub async fn answer_elicitation(
        &self,
        owner: UserId,
        id: ElicitationId,
        answered: &Answered,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let changed = write!(self, |c| sqlx::query(ANSWER)
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
