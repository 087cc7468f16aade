//! Decisions about tool calls that wait for approval. The first decision of any tab or node holds.

use connections::json_schema;
use connections::permissions::text_hash;
use domain::permission::{Decision, Permission};
use domain::tool::ToolDefinition;
use domain::{ChatId, InteractionId, UserId};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use storage::Storage;
use storage::interactions::{ApprovalDecision, ApprovalRequest, Interaction, StoredResponse};
use storage::permissions::Rule;

use super::TurnService;
use super::pending_interactions::InteractionResponse;

/// Decision that holds for an approval.
#[derive(Debug, Clone, Serialize, JsonSchema)]
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
    #[error("the answer has ended; there is nothing left to decide")]
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
        id: InteractionId,
        decision: ApprovalDecision,
    ) -> Result<AppliedDecision, DecideError> {
        let interaction = self.load_approval(owner, chat, id).await?;
        if let Some(earlier) = interaction.decision() {
            self.deliver_again(owner, interaction.turn).await?;
            return Ok(outcome(earlier.clone(), false));
        }
        let approval = interaction.approval().ok_or(DecideError::NotFound)?;
        // Checked against the definition that the user saw, before anything is stored: a typo is reported to the user,
        // not to the server.
        if let Some(arguments) = &decision.arguments
            && decision.decision != Decision::Deny
        {
            let definition: ToolDefinition = serde_json::from_str(&approval.definition).map_err(unreadable)?;
            json_schema::validate(&definition.input_schema, &Value::Object(arguments.clone()), "arguments")
                .map_err(|violation| DecideError::BadArguments(violation.to_string()))?;
        }
        let rule = (decision.decision == Decision::Always).then(|| Rule {
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
        let response = StoredResponse::Decision(decision.clone());
        let first = home.interactions().respond(owner, id, &response, with, now).await?;
        if let Some(rule) = rule.as_ref().filter(|_| first && !home.is_lasting()) {
            self.storage.permissions().insert(owner, std::slice::from_ref(rule), now).await?;
        }
        // Another request may have decided in between. Its decision counts.
        let decision = if first {
            decision
        } else {
            self.load_approval(owner, chat, id).await?.decision().cloned().ok_or(DecideError::Ended)?
        };
        // Stored before it is delivered: a call that continues must find its decision after a crash.
        match self.find_by_id(owner, interaction.turn) {
            Some(turn) => turn.interactions.deliver(id, InteractionResponse::Decision(decision.clone())),
            None => self.notify_nodes(owner).await?,
        }
        if first && decision.decision == Decision::Always {
            self.approve_matching_calls(owner, approval).await;
        }
        Ok(outcome(decision, first))
    }

    /// Approves ([`approve_call`](Self::approve_call)) the same tool wherever else it waits for approval, in this
    /// chat or another. An approval that cannot be read now stays open and can still be decided on its own.
    async fn approve_matching_calls(&self, owner: UserId, approval: &ApprovalRequest) {
        // Same tool, URL, definition and instructions: only what the user has seen in this approval.
        let is_alike = |other: &&Interaction| other.approval() == Some(approval);
        for home in self.temporary.stores(owner).iter().chain([&self.storage]) {
            let open = home.interactions().list_pending_approvals(owner, approval.server, &approval.tool).await;
            let open = open.inspect_err(|error| tracing::error!(%error, "the pending approvals could not be read"));
            for other in open.unwrap_or_default().iter().filter(is_alike) {
                self.approve_call(home, owner, other).await;
            }
        }
    }

    /// Approves a waiting call whose tool the user has allowed permanently elsewhere.
    pub(super) async fn approve_call(&self, home: &Storage, owner: UserId, approval: &Interaction) {
        let decision = ApprovalDecision { decision: Decision::Always, arguments: None };
        let response = StoredResponse::Decision(decision.clone());
        match home.interactions().respond(owner, approval.id, &response, None, self.clock.now()).await {
            Ok(true) => match self.find_by_id(owner, approval.turn) {
                Some(turn) => turn.interactions.deliver(approval.id, InteractionResponse::Decision(decision)),
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
    async fn load_approval(&self, owner: UserId, chat: ChatId, id: InteractionId) -> Result<Interaction, DecideError> {
        let found = self.temporary.store_for(owner, chat).interactions().get(owner, chat, id).await?;
        found.filter(|interaction| interaction.approval().is_some()).ok_or(DecideError::NotFound)
    }
}

/// Returns the decision as the response shows it.
fn outcome(decision: ApprovalDecision, first: bool) -> AppliedDecision {
    AppliedDecision { decision: decision.decision, arguments: decision.arguments, first }
}

/// Maps a stored definition that cannot be decoded to [`storage::Error::Corrupt`].
fn unreadable(error: serde_json::Error) -> DecideError {
    DecideError::Storage(storage::Error::Corrupt(error.to_string()))
}
