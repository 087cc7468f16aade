//! Tool calls of apps, with the same permissions as those of models. If the user must be asked, the call returns what to
//! ask; the client shows it beside the app and repeats the call with the user's decision.

use domain::UserId;
use domain::permission::{AllowedBy, Decision, Permission};
use domain::tool::{Outcome, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use storage::audit_events::AuditEventKind;
use storage::permissions::Rule;
use storage::servers::Server;
use tokio_util::sync::CancellationToken;

use super::AppError;
use crate::permissions::{PermissionCheck, binding_url, definition_hash, definition_json, text_hash};
use crate::{AuditedCall, CallContext, CallOutcome, ConnectionService};

/// The user's decision on a [`ConsentRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct AppConsent {
    /// The decision.
    pub decision: Decision,
    /// Hash of what the user saw: [`ConsentRequest::hash`].
    #[serde(rename = "pin")]
    pub hash: String,
}

/// A question to the user before a call, answered with an [`AppConsent`].
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ConsentRequest {
    /// The definition in its canonical form. Its texts are claims of the server.
    pub definition: Value,
    /// The definition that the user had allowed, if the server has changed it since.
    #[serde(rename = "before", skip_serializing_if = "Option::is_none")]
    pub allowed_definition: Option<Value>,
    /// The instructions of the server, if they have changed since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<ChangedInstructions>,
    /// Hash of what the user sees, for [`AppConsent::hash`].
    #[serde(rename = "pin")]
    pub hash: String,
}

/// Instructions of a server when the user allowed its tools, and now. Empty if there were none.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ChangedInstructions {
    /// Instructions when the user allowed the tools.
    pub before: String,
    /// Current instructions.
    pub now: String,
}

/// Outcome of an app's call.
#[derive(Debug, Clone, PartialEq)]
pub enum AppCallOutcome {
    /// The tool returned a result.
    Result {
        /// The result.
        result: ToolResult,
        /// Duration of the call, in milliseconds.
        duration_ms: u64,
    },
    /// The call failed, for this reason.
    Failed(String),
    /// The call was not made: the user must be asked first.
    Ask(ConsentRequest),
    /// The call was not made: the user denied it, now or by a rule.
    Denied,
}

impl ConnectionService {
    /// Calls a tool for an app of the same server.
    pub async fn call_for_app(
        &self,
        user: UserId,
        server: &Server,
        (name, arguments): (&str, Map<String, Value>),
        consent: Option<AppConsent>,
    ) -> Result<AppCallOutcome, AppError> {
        let tool = self.find_tool(user, server, name).await?;
        let audit_denied =
            || AuditedCall::new(self, user, &server.name, name, AllowedBy::Nobody).finish(Outcome::Denied);
        // Checked here, because the page of the app is not trusted to call only what it may.
        if !tool.definition.meta.is_for_apps() {
            audit_denied();
            return Err(AppError::NotForApps(name.to_owned()));
        }
        let definition = definition_hash(&tool.definition);
        let shown = format!("{}\n{}\n{}", binding_url(&tool), definition.text, tool.instructions);
        // The server can change the tool between the question and the answer; the hash binds the answer to what was
        // shown.
        let hash = text_hash(shown).hash;
        // A decision on anything else than the current definition does not count.
        let decision = consent.filter(|consent| consent.hash == hash).map(|consent| consent.decision);
        let check = match self.check_permission(user, &tool).await {
            Ok(check) => check,
            Err(error) => {
                tracing::error!(%error, "could not read the permission for a call of an app");
                let reason = "What you allow could not be read from the database.";
                return Ok(AppCallOutcome::Failed(reason.to_owned()));
            }
        };
        let allowed_by = match (check, decision) {
            (PermissionCheck::Denied, _) | (PermissionCheck::Ask(_), Some(Decision::Deny)) => {
                audit_denied();
                return Ok(AppCallOutcome::Denied);
            }
            (PermissionCheck::Allowed(allowed_by), _) => allowed_by,
            (PermissionCheck::Ask(_), Some(Decision::Once)) => AllowedBy::Once,
            (PermissionCheck::Ask(_), Some(Decision::Always)) => {
                let rule = Rule {
                    server: server.id,
                    tool: name.to_owned(),
                    permission: Permission::Always,
                    url: binding_url(&tool).to_owned(),
                    pin: Some(definition),
                    instructions: Some(text_hash(tool.instructions.to_string())),
                };
                let events = self.audit.by_user(user, AuditEventKind::ToolAllowed);
                let stored = self.storage.permissions().insert_with(user, &[rule], self.clock.now(), &events).await;
                if let Err(error) = stored {
                    tracing::error!(%error, "could not store a permission");
                    return Ok(AppCallOutcome::Failed("The permission could not be stored.".to_owned()));
                }
                AllowedBy::Always
            }
            (PermissionCheck::Ask(changed), None) => {
                let now = tool.instructions.to_string();
                return Ok(AppCallOutcome::Ask(ConsentRequest {
                    definition: definition_json(&definition),
                    allowed_definition: changed.definition,
                    instructions: changed.instructions.map(|before| ChangedInstructions { before, now }),
                    hash,
                }));
            }
        };
        let audited = AuditedCall::new(self, user, &server.name, name, allowed_by);
        let started_at = self.clock.now();
        // When the user closes the app, this future is dropped, and the call with it.
        let context = CallContext::new(CancellationToken::new());
        let outcome = self.call_tool(user, &tool, arguments, context).await;
        audited.finish(outcome.outcome());
        Ok(match outcome {
            CallOutcome::Result(result) => {
                AppCallOutcome::Result { result, duration_ms: self.clock.now().millis_since(started_at) }
            }
            CallOutcome::Failed { reason, .. } => AppCallOutcome::Failed(reason),
        })
    }
}
