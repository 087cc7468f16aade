//! The user's tools in the OpenAI-compatible API, where no approval can be requested.

use std::sync::Arc;

use connections::permissions::PermissionCheck;
use connections::{AuditedCall, BoundTool, CallContext, CallOutcome, NonInteractive};
use domain::UserId;
use domain::model::{ModelCall, ModelMessage};
use domain::permission::AllowedBy;
use domain::tool::{Outcome, ToolCall, ToolResult};
use futures_util::future::join_all;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{CompletionError, CompletionService};
use crate::files::model_attachments::AttachmentLoader;
use crate::tool_search::Offer;
use crate::tool_selection::{Selection, Toolset, Wanted};
use crate::turns::{TOOL_DENIED, parse_arguments, tool_result};

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
        let each = |name| Wanted { name, server_name: Some(server.name.clone()) };
        service.connections.enabled_tool_names(server).into_iter().map(each).collect::<Vec<_>>()
    });
    let wanted: Vec<Wanted> = wanted.collect();
    let selection = Selection::resolve(&wanted, &servers, |server| service.connections.enabled_tool_names(server));
    let selection = selection.map_err(anyhow::Error::from)?;
    Ok(Toolset::open(&service.connections, user, &selection).await.for_model())
}

/// A tool call after the check of its permission.
enum Prepared {
    /// Allowed, and ready to run.
    Ready(Box<BoundTool>, Map<String, Value>, AllowedBy),
    /// Rejected, with the reason for the model.
    Refused(String, Outcome),
    /// Result of the built-in tool search.
    Found(ToolResult),
}

/// Runs the tool calls of a step: all of them or, if one needs the user's approval, none.
///
/// # Errors
///
/// [`CompletionError::ApprovalNeeded`] if a tool needs an approval, [`CompletionError::InputNeeded`] if a server requests an
/// elicitation.
pub async fn run(
    service: &CompletionService,
    user: UserId,
    (toolset, offer): (&Toolset, &Offer),
    calls: &[ModelCall],
    attachments: &AttachmentLoader,
    cancel: &CancellationToken,
) -> Result<Vec<ModelMessage>, CompletionError> {
    let mut prepared = Vec::new();
    for call in calls {
        prepared.push(prepare(service, user, (toolset, offer), call).await?);
    }
    // Only after all permissions are checked, so that either all calls are made or none.
    let made = calls.iter().zip(prepared).map(|(call, prepared)| async move {
        let (name, server_name) = toolset.names(&call.name);
        let mut record = ToolCall {
            id: call.id.clone(),
            name,
            server_name,
            arguments: Value::Null,
            result: None,
            error: None,
            outcome: Outcome::Stopped,
            duration_ms: 0,
            app: None,
        };
        let end = match prepared {
            Prepared::Refused(reason, outcome) => CallOutcome::Failed { reason, outcome },
            Prepared::Ready(tool, arguments, by) => {
                let audited = AuditedCall::new(&service.connections, user, &record.server_name, &record.name, by);
                let nobody = Arc::new(NonInteractive::default());
                let context = CallContext::new(cancel.child_token());
                let context = CallContext { interactions: Some(nobody.clone()), ..context };
                let end = service.connections.call_tool(user, &tool, arguments, context).await;
                audited.finish(end.outcome());
                if nobody.was_asked() {
                    return Err(CompletionError::InputNeeded { tool: record.name, server: record.server_name });
                }
                end
            }
            Prepared::Found(result) => CallOutcome::Result(result),
        };
        record.outcome = end.outcome();
        match end {
            CallOutcome::Result(result) => record.result = Some(result),
            CallOutcome::Failed { reason, .. } => record.error = Some(reason),
        }
        Ok(tool_result(&record, call.name.clone(), attachments))
    });
    // All calls are awaited even if one fails, because they have started.
    join_all(made).await.into_iter().collect()
}

/// Checks the permission of one call.
async fn prepare(
    service: &CompletionService,
    user: UserId,
    (toolset, offer): (&Toolset, &Offer),
    call: &ModelCall,
) -> Result<Prepared, CompletionError> {
    let arguments = match parse_arguments(&call.arguments) {
        Ok(arguments) => arguments,
        Err(reason) => {
            let reason = format!("The arguments are not a JSON object: {reason}");
            return Ok(Prepared::Refused(reason, Outcome::Error));
        }
    };
    let Some(tool) = toolset.get(&call.name) else {
        let found = offer.call(toolset, &call.name, arguments).map(Prepared::Found);
        let unknown = || Prepared::Refused(format!("There is no tool called {}.", call.name), Outcome::Error);
        return Ok(found.unwrap_or_else(unknown));
    };
    // The permission applies to the tool as it is now, not as it was when the answer began.
    let tool = service.connections.refresh_tool(user, tool).await;
    let (server, name) = (tool.server.name.clone(), tool.definition.name.clone());
    let denied =
        || AuditedCall::new(&service.connections, user, &server, &name, AllowedBy::Nobody).finish(Outcome::Denied);
    match service.connections.check_permission_or_ask(user, &tool).await {
        PermissionCheck::Allowed(by) => Ok(Prepared::Ready(Box::new(tool), arguments, by)),
        PermissionCheck::Denied => {
            denied();
            Ok(Prepared::Refused(TOOL_DENIED.to_owned(), Outcome::Denied))
        }
        PermissionCheck::Ask { .. } => {
            denied();
            Err(CompletionError::ApprovalNeeded { tool: name, server })
        }
    }
}
