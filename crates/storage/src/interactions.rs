//! Interactions: approvals, elicitations and sign-ins that tool calls of turns wait for. The row is the authoritative
//! response, given once; the turn only follows it.

use domain::elicitation::Action;
use domain::permission::Decision;
use domain::text::without_nul;
use domain::{ChatId, InteractionId, InteractionKind, ServerId, Timestamp, TurnId, UserId};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::db_macros::{read, transaction, write};
use crate::named_values::query_named;
use crate::permissions::{Rule, make_rule};
use crate::unreadable::readable;
use crate::{Error, InteractionRepository, JsonText};

const INSERT: &str = "INSERT INTO interactions
      (id, turn_id, user_id, tool_call_id, kind, server_id, tool, url, definition, instructions, resume_state, created_at)
    SELECT :id, id, user_id, :tool_call, :kind, :server, :tool, :url, :definition, :instructions, :resume_state,
      :now
    FROM turns
    WHERE id = :turn AND user_id = :owner AND status = 'running'";

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT i.id, i.turn_id, i.tool_call_id, i.kind, i.server_id, i.tool, i.url, i.definition, i.instructions,
               i.resume_state, i.response, i.arguments, i.content FROM interactions i ",
            $rest
        )
    };
}

const GET: &str = select!("JOIN turns t ON t.id = i.turn_id WHERE i.id = $1 AND i.user_id = $2 AND t.session_id = $3");

const LIST: &str = select!("WHERE i.turn_id = $1 AND i.user_id = $2 ORDER BY i.id");

// Interactions of turns that have ended may still be pending. They are not listed.
const LIST_PENDING_APPROVALS: &str = select!(
    "JOIN turns t ON t.id = i.turn_id
     WHERE i.user_id = $1 AND i.server_id = $2 AND i.tool = $3 AND i.kind = 'approval' AND i.response IS NULL
       AND t.status = 'running'
     ORDER BY i.id"
);

/// Responds only once, and only while the turn is running.
const RESPOND: &str = "UPDATE interactions
    SET response = :response, arguments = :arguments, content = :content, responded_at = :now
    WHERE id = :id AND user_id = :owner AND response IS NULL
      AND EXISTS (SELECT 1 FROM turns WHERE turns.id = interactions.turn_id AND turns.status = 'running')";

/// Deletes the states and contents of a turn that has ended. They are not needed any more and may be sensitive.
pub(crate) const DELETE_OF_TURN: &str =
    "UPDATE interactions SET resume_state = NULL, content = NULL WHERE turn_id = $1 AND user_id = $2";

/// Something that a tool call waits for its user for, pending or answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Interaction {
    /// Its id.
    pub id: InteractionId,
    /// Turn that waits.
    pub turn: TurnId,
    /// Id of the tool call within the turn.
    pub tool_call: String,
    /// What the user is asked for.
    pub request: InteractionRequest,
    /// Response; `None` while it is pending.
    pub response: Option<StoredResponse>,
}

/// Request to a user, by kind.
#[derive(Debug, Clone, PartialEq)]
pub enum InteractionRequest {
    /// Approval of the tool call.
    Approval(ApprovalRequest),
    /// Input for the server, with the state to resume the call from, encrypted. It is deleted when the turn ends.
    Elicitation(Option<Vec<u8>>),
    /// Sign-in to the server, with the state to resume the call from, encrypted. It is deleted when the turn ends.
    SignIn(Option<Vec<u8>>),
}

/// Tool that a user is asked to approve, as it was at that time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRequest {
    /// Connection.
    pub server: ServerId,
    /// Tool.
    pub tool: String,
    /// URL of the server, masked.
    pub url: String,
    /// Definition of the tool that the user is shown, as canonical JSON.
    pub definition: String,
    /// Instructions of the server; empty if it gave none.
    pub instructions: String,
}

/// A user's response to an [`Interaction`].
#[derive(Debug, Clone, PartialEq)]
pub enum StoredResponse {
    /// Decision about an approval.
    Decision(ApprovalDecision),
    /// Answer to an elicitation or a sign-in.
    Answer(SealedAnswer),
}

/// A user's decision about a tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalDecision {
    /// The decision.
    pub decision: Decision,
    /// Arguments edited by the user; `None` if unchanged.
    pub arguments: Option<Map<String, Value>>,
}

/// A user's answer to an elicitation or a sign-in.
#[derive(Debug, Clone, PartialEq)]
pub struct SealedAnswer {
    /// Action of the user.
    pub action: Action,
    /// Submitted form, encrypted. It is deleted when the turn ends.
    pub content: Option<Vec<u8>>,
}

impl Interaction {
    /// Returns the tool that the user is asked to approve; `None` if it is no approval.
    pub fn approval(&self) -> Option<&ApprovalRequest> {
        match &self.request {
            InteractionRequest::Approval(request) => Some(request),
            InteractionRequest::Elicitation(_) | InteractionRequest::SignIn(_) => None,
        }
    }

    /// Returns the encrypted state to resume the call from; `None` for an approval and after the end of the turn.
    pub fn resume_state(&self) -> Option<&[u8]> {
        match &self.request {
            InteractionRequest::Approval(_) => None,
            InteractionRequest::Elicitation(state) | InteractionRequest::SignIn(state) => state.as_deref(),
        }
    }

    /// Returns the decision about an approval, if there is one.
    pub fn decision(&self) -> Option<&ApprovalDecision> {
        match &self.response {
            Some(StoredResponse::Decision(decision)) => Some(decision),
            Some(StoredResponse::Answer(_)) | None => None,
        }
    }

    /// Returns the answer to an elicitation or a sign-in, if there is one.
    pub fn answer(&self) -> Option<&SealedAnswer> {
        match &self.response {
            Some(StoredResponse::Answer(answer)) => Some(answer),
            Some(StoredResponse::Decision(_)) | None => None,
        }
    }
}

impl InteractionRequest {
    /// Returns the kind.
    fn kind(&self) -> InteractionKind {
        match self {
            Self::Approval(_) => InteractionKind::Approval,
            Self::Elicitation(_) => InteractionKind::Elicitation,
            Self::SignIn(_) => InteractionKind::SignIn,
        }
    }
}

#[derive(sqlx::FromRow)]
pub(crate) struct InteractionRow {
    id: Uuid,
    turn_id: Uuid,
    tool_call_id: String,
    kind: String,
    server_id: Option<Uuid>,
    tool: Option<String>,
    url: Option<String>,
    definition: Option<String>,
    instructions: Option<String>,
    resume_state: Option<Vec<u8>>,
    response: Option<String>,
    arguments: Option<JsonText<Map<String, Value>>>,
    content: Option<Vec<u8>>,
}

impl InteractionRow {
    /// Returns the tool of an approval; `None` if a column is missing.
    fn approval(&mut self) -> Option<ApprovalRequest> {
        Some(ApprovalRequest {
            server: ServerId(self.server_id?),
            tool: self.tool.take()?,
            url: self.url.take()?,
            definition: self.definition.take()?,
            instructions: self.instructions.take()?,
        })
    }
}

impl TryFrom<InteractionRow> for Interaction {
    type Error = Error;

    fn try_from(mut row: InteractionRow) -> Result<Self, Error> {
        let corrupt = |what: &str| Error::Corrupt(format!("{what} of an interaction"));
        let kind = InteractionKind::from_word(&row.kind).ok_or_else(|| corrupt("the kind"))?;
        let request = match kind {
            InteractionKind::Approval => {
                InteractionRequest::Approval(row.approval().ok_or_else(|| corrupt("the tool"))?)
            }
            InteractionKind::Elicitation => InteractionRequest::Elicitation(row.resume_state),
            InteractionKind::SignIn => InteractionRequest::SignIn(row.resume_state),
        };
        let response = match (&request, row.response.as_deref()) {
            (_, None) => None,
            (InteractionRequest::Approval(_), Some(word)) => {
                let decision = Decision::from_word(word).ok_or_else(|| corrupt("the decision"))?;
                let arguments = row.arguments.map(|arguments| arguments.0);
                Some(StoredResponse::Decision(ApprovalDecision { decision, arguments }))
            }
            (_, Some(word)) => {
                let action = Action::from_word(word).ok_or_else(|| corrupt("the action"))?;
                Some(StoredResponse::Answer(SealedAnswer { action, content: row.content }))
            }
        };
        Ok(Self {
            id: InteractionId(row.id),
            turn: TurnId(row.turn_id),
            tool_call: row.tool_call_id,
            request,
            response,
        })
    }
}

impl InteractionRepository<'_> {
    /// Stores a pending interaction of a call to `tool`.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the turn has ended.
    pub async fn insert(
        self,
        owner: UserId,
        interaction: &Interaction,
        tool: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        let approval = interaction.approval();
        let text = |part: fn(&ApprovalRequest) -> &String| approval.map(|approval| without_nul(part(approval).clone()));
        let tool_call = without_nul(interaction.tool_call.clone());
        let tool = without_nul(tool.to_owned());
        let url = text(|approval| &approval.url);
        let definition = text(|approval| &approval.definition);
        let instructions = text(|approval| &approval.instructions);
        let inserted = write!(self.storage, |c| query_named!(
            INSERT,
            id = interaction.id.0,
            turn = interaction.turn.0,
            owner = owner.0,
            tool_call = &tool_call,
            kind = interaction.request.kind().as_str(),
            server = approval.map(|approval| approval.server.0),
            tool = &tool,
            url = url.as_deref(),
            definition = definition.as_deref(),
            instructions = instructions.as_deref(),
            resume_state = interaction.resume_state(),
            now = now.0
        )
        .execute(c)
        .await
        .map(|done| done.rows_affected()))?;
        if inserted == 0 { Err(Error::NotFound) } else { Ok(()) }
    }

    /// Returns an [`Interaction`] of a chat.
    pub async fn get(self, owner: UserId, chat: ChatId, id: InteractionId) -> Result<Option<Interaction>, Error> {
        let row = read!(self.storage, |c| sqlx::query_as::<_, InteractionRow>(GET)
            .bind(id.0)
            .bind(owner.0)
            .bind(chat.0)
            .fetch_optional(c)
            .await)?;
        row.map(Interaction::try_from).transpose()
    }

    /// Returns the [`Interaction`]s of a turn, in the order in which they were requested.
    pub async fn list(self, owner: UserId, turn: TurnId) -> Result<Vec<Interaction>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, InteractionRow>(LIST)
            .bind(turn.0)
            .bind(owner.0)
            .fetch_all(c)
            .await)?;
        Ok(readable("interactions", rows, |row| row.id.to_string()))
    }

    /// Returns the pending approvals for a tool of a connection, in all chats of the user.
    pub async fn list_pending_approvals(
        self,
        owner: UserId,
        server: ServerId,
        tool: &str,
    ) -> Result<Vec<Interaction>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, InteractionRow>(LIST_PENDING_APPROVALS)
            .bind(owner.0)
            .bind(server.0)
            .bind(tool)
            .fetch_all(c)
            .await)?;
        rows.into_iter().map(Interaction::try_from).collect()
    }

    /// Stores a response and the permission rule that comes with it, both or neither. Returns `false` and changes
    /// nothing if there already is a response or the turn has ended.
    pub async fn respond(
        self,
        owner: UserId,
        id: InteractionId,
        response: &StoredResponse,
        rule: Option<&Rule>,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let (word, arguments, content) = match response {
            StoredResponse::Decision(decision) => {
                (decision.decision.as_str(), decision.arguments.as_ref().map(JsonText), None)
            }
            StoredResponse::Answer(answer) => (answer.action.as_str(), None, answer.content.as_deref()),
        };
        transaction!(self.storage, |tx| {
            let changed = query_named!(
                RESPOND,
                id = id.0,
                owner = owner.0,
                response = word,
                arguments = arguments.as_ref(),
                content = content,
                now = now.0
            )
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
