//! The user's tools in the OpenAI-compatible API, where no approval can be requested.

use std::sync::Arc;

use connections::permissions::PermissionCheck;
use connections::{AuditedCall, BoundTool, CallContext, CallOutcome, NonInteractive};
use domain::UserId;
use domain::model::{ModelCall, ModelMessage, ToolSpec};
use domain::permission::AllowedBy;
use domain::tool::{Outcome, ToolCall};
use futures_util::future::{BoxFuture, join_all};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{CompletionError, CompletionService};
use crate::agent_loop::{self, ResolvedCall, ToolExecutionError, ToolExecutor};
use crate::files::model_attachments::AttachmentLoader;
use crate::tool_search::ToolPresentation;
use crate::tool_selection::{RequestedTool, ToolSelection, Toolset};
use crate::turns::{TOOL_DENIED, tool_result};

/// Returns all tools that the user's connections offer models now.
///
/// # Errors
///
/// Fails if the database fails.
pub async fn list_tools(service: &CompletionService, user: UserId) -> Result<Toolset, CompletionError> {
    let servers = service.connections.list_servers(user).await.map_err(anyhow::Error::from)?;
    // Connections of the same name are left out, because a call could not tell them apart.
    let is_unique = |name: &str| servers.iter().filter(|server| server.name == name).count() == 1;
    let wanted = servers.iter().filter(|server| is_unique(&server.name)).flat_map(|server| {
        let each = |name| RequestedTool { name, server_name: Some(server.name.clone()) };
        service.connections.enabled_tool_names(server).into_iter().map(each).collect::<Vec<_>>()
    });
    let wanted: Vec<RequestedTool> = wanted.collect();
    let selection = ToolSelection::resolve(&wanted, &servers, |server| service.connections.enabled_tool_names(server));
    let selection = selection.map_err(anyhow::Error::from)?;
    Ok(Toolset::open(&service.connections, user, &selection).await.for_model())
}

/// Executor of the user's tools for a client of the API.
pub struct ApiToolExecutor<'a> {
    /// Service that answers the request.
    pub service: &'a CompletionService,
    /// User on behalf of whom the calls are made.
    pub user: UserId,
    /// The user's tools.
    pub toolset: Toolset,
    /// How the tools are presented to the model.
    pub presentation: ToolPresentation,
    /// Files that the model accepts.
    pub attachments: AttachmentLoader,
    /// Ends the calls when it is cancelled.
    pub cancel: &'a CancellationToken,
}

/// A tool call after the check of its permission.
enum CheckedCall {
    /// Allowed, and ready to run.
    Ready(Box<BoundTool>, Map<String, Value>, AllowedBy),
    /// Ended without a call of a tool.
    Ended(CallOutcome),
}

impl ToolExecutor for ApiToolExecutor<'_> {
    fn specs(&self) -> Vec<ToolSpec> {
        self.presentation.specs(&self.toolset)
    }

    /// Makes all calls of a step or, if one of them needs the user's approval, none.
    fn execute<'a>(&'a self, calls: &'a [ModelCall]) -> BoxFuture<'a, Result<Vec<ModelMessage>, ToolExecutionError>> {
        Box::pin(async move {
            let mut checked = Vec::new();
            for call in calls {
                checked.push(self.check(call).await?);
            }
            // Only after all permissions are checked, so that either all calls are made or none.
            let made = calls.iter().zip(checked).map(|(call, (mut record, checked))| async move {
                let outcome = match checked {
                    CheckedCall::Ready(tool, arguments, by) => self.call(&record, &tool, arguments, by).await?,
                    CheckedCall::Ended(outcome) => outcome,
                };
                record.outcome = outcome.outcome();
                match outcome {
                    CallOutcome::Result(result) => record.result = Some(result),
                    CallOutcome::Failed { reason, .. } => record.error = Some(reason),
                }
                Ok(tool_result(&record, call.name.clone(), &self.attachments))
            });
            // All calls are awaited even if one fails, because they have started.
            join_all(made).await.into_iter().collect()
        })
    }
}

impl ApiToolExecutor<'_> {
    /// Checks the permission of one call.
    async fn check(&self, call: &ModelCall) -> Result<(ToolCall, CheckedCall), ToolExecutionError> {
        let (connections, user) = (&self.service.connections, self.user);
        let (record, resolved) = agent_loop::resolve(&self.toolset, Some(&self.presentation), call);
        let (tool, arguments) = match resolved {
            ResolvedCall::Tool(tool, arguments) => (tool, arguments),
            ResolvedCall::Search(found) => return Ok((record, CheckedCall::Ended(CallOutcome::Result(found)))),
            ResolvedCall::Invalid(reason) => return Ok((record, CheckedCall::Ended(CallOutcome::rejected(reason)))),
        };
        // The permission applies to the tool as it is now, not as it was when the answer began.
        let tool = connections.refresh_tool(user, tool).await;
        let (server, name) = (tool.server.name.clone(), tool.definition.name.clone());
        let denied = || AuditedCall::new(connections, user, &server, &name, AllowedBy::Nobody).finish(Outcome::Denied);
        match connections.check_permission_or_ask(user, &tool).await {
            PermissionCheck::Allowed(by) => Ok((record, CheckedCall::Ready(Box::new(tool), arguments, by))),
            PermissionCheck::Denied => {
                denied();
                let reason = TOOL_DENIED.to_owned();
                Ok((record, CheckedCall::Ended(CallOutcome::Failed { reason, outcome: Outcome::Denied })))
            }
            PermissionCheck::Ask { .. } => {
                denied();
                Err(ToolExecutionError::ApprovalNeeded { tool: name, server })
            }
        }
    }

    /// Makes a call that is allowed.
    async fn call(
        &self,
        record: &ToolCall,
        tool: &BoundTool,
        arguments: Map<String, Value>,
        by: AllowedBy,
    ) -> Result<CallOutcome, ToolExecutionError> {
        let (connections, user) = (&self.service.connections, self.user);
        let audited = AuditedCall::new(connections, user, &record.server_name, &record.name, by);
        let interactions = Arc::new(NonInteractive::default());
        let context = CallContext::new(self.cancel.child_token());
        let context = CallContext { interactions: Some(interactions.clone()), ..context };
        let outcome = connections.call_tool(user, tool, arguments, context).await;
        audited.finish(outcome.outcome());
        if interactions.was_asked() {
            let (tool, server) = (record.name.clone(), record.server_name.clone());
            return Err(ToolExecutionError::InputNeeded { tool, server });
        }
        Ok(outcome)
    }
}
