//! Decisions about tool calls that wait for approval. The first decision of any tab or node holds.

use connections::json_schema;
use connections::permissions::text_hash;
use domain::permission::{Decision, Permission};
use domain::tool::ToolDefinition;
use domain::{ApprovalId, ChatId, UserId};
use serde::Serialize;
use serde_json::{Map, Value};
use storage::Storage;
use storage::approvals::{Approval, Decided};
use storage::permissions::Rule;

use super::TurnService;

/// Decision that holds for an approval.
#[derive(Debug, Clone, Serialize)]
pub struct AppliedDecision {
    /// Decision.
    pub decision: Decision,
    /// Arguments of the call, if the user changed them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// Whether this request made the decision, and no earlier one.
    pub first: bool,
}

/// Reason for which no decision was made.
#[derive(Debug, thiserror::Error)]
pub enum DecideError {
    /// The user has no such approval in this chat.
    #[error("approval not found")]
    NotFound,
    /// The changed arguments do not match the tool's schema. The text names the field.
    #[error("{0}")]
    BadArguments(String),
    /// The turn ended before a decision was made.
    #[error("the answer has ended; there is nothing to decide any more")]
    Ended,
    /// The database failed.
    #[error(transparent)]
    Storage(#[from] storage::Error),
}

impl TurnService {
    /// Decides about a tool call that waits for approval, and stores the permission if the decision is "always". If
    /// it is decided already, that decision is returned.
    ///
    /// # Errors
    ///
    /// See [`DecideError`].
    pub async fn decide_approval(
        &self,
        (owner, chat): (UserId, ChatId),
        id: ApprovalId,
        decided: Decided,
    ) -> Result<AppliedDecision, DecideError> {
        let approval = self.load_approval(owner, chat, id).await?;
        if let Some(earlier) = approval.decided {
            return Ok(outcome(earlier, false));
        }
        if let Some(arguments) = &decided.arguments
            && decided.decision != Decision::Deny
        {
            let definition: ToolDefinition = serde_json::from_str(&approval.definition).map_err(unreadable)?;
            json_schema::validate(&definition.input_schema, &Value::Object(arguments.clone()), "arguments")
                .map_err(DecideError::BadArguments)?;
        }
        let rule = (decided.decision == Decision::Always).then(|| Rule {
            server: approval.server,
            tool: approval.tool.clone(),
            permission: Permission::Always,
            url: approval.url.clone(),
            pin: Some(text_hash(approval.definition.clone())),
            instructions: Some(text_hash(approval.instructions.clone())),
        });
        let (home, now) = (self.temporary.store_for(owner, chat), self.clock.now());
        // A permission outlives a temporary chat, so it is stored in the database and not with the approval.
        let with = rule.as_ref().filter(|_| home.is_lasting());
        let first = home.approvals().decide(owner, id, &decided, with, now).await?;
        if let Some(rule) = rule.as_ref().filter(|_| first && !home.is_lasting()) {
            self.storage.permissions().insert(owner, rule, now).await?;
        }
        // Another request may have decided in between. Its decision counts.
        let decided = if first {
            decided
        } else {
            self.load_approval(owner, chat, id).await?.decided.ok_or(DecideError::Ended)?
        };
        // Stored before it is delivered: a call that continues must find its decision after a crash.
        match self.find_by_id(owner, approval.run) {
            Some(turn) => turn.interactions.deliver_decision(id, decided.clone()),
            None => self.notify_nodes(owner).await?,
        }
        if first && decided.decision == Decision::Always {
            self.approve_matching_calls(owner, &approval).await;
        }
        Ok(outcome(decided, first))
    }

    /// Approves ([`approve_call`](Self::approve_call)) the same tool wherever else it waits for approval, in this
    /// chat or another. An approval that cannot be read now stays open and can still be decided on its own.
    async fn approve_matching_calls(&self, owner: UserId, approval: &Approval) {
        let is_alike = |other: &&Approval| {
            (&other.url, &other.definition, &other.instructions)
                == (&approval.url, &approval.definition, &approval.instructions)
        };
        for home in self.temporary.stores(owner).iter().chain([&self.storage]) {
            let open = home.approvals().list_open(owner, approval.server, &approval.tool).await;
            let open = open.inspect_err(|error| tracing::error!(%error, "the pending approvals could not be read"));
            for other in open.unwrap_or_default().iter().filter(is_alike) {
                self.approve_call(home, owner, other).await;
            }
        }
    }

    /// Approves a waiting call whose tool the user has allowed permanently elsewhere.
    pub(super) async fn approve_call(&self, home: &Storage, owner: UserId, approval: &Approval) {
        let decided = Decided { decision: Decision::Always, arguments: None };
        match home.approvals().decide(owner, approval.id, &decided, None, self.clock.now()).await {
            Ok(true) => match self.find_by_id(owner, approval.run) {
                Some(turn) => turn.interactions.deliver_decision(approval.id, decided),
                None => {
                    if let Err(error) = self.notify_nodes(owner).await {
                        tracing::error!(%error, "the other nodes could not be notified of a decision");
                    }
                }
            },
            Ok(false) => {}
            Err(error) => tracing::error!(%error, "a pending approval could not be decided"),
        }
    }

    /// Loads an approval of the user's chat.
    async fn load_approval(&self, owner: UserId, chat: ChatId, id: ApprovalId) -> Result<Approval, DecideError> {
        self.temporary.store_for(owner, chat).approvals().get(owner, chat, id).await?.ok_or(DecideError::NotFound)
    }
}

/// Returns the decision as the response shows it.
fn outcome(decided: Decided, first: bool) -> AppliedDecision {
    AppliedDecision { decision: decided.decision, arguments: decided.arguments, first }
}

/// Maps a stored definition that cannot be decoded to [`storage::Error::Corrupt`].
fn unreadable(error: serde_json::Error) -> DecideError {
    DecideError::Storage(storage::Error::Corrupt(error.to_string()))
}
