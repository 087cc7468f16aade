//! Requests and notifications that a server sends on its own.

#![expect(deprecated, reason = "deprecated requests are refused here, not left to defaults that accept them")]

use std::sync::Arc;

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, CustomNotification,
    CustomRequest, CustomResult, ElicitRequestParams, ElicitResult, ElicitationCapability, ErrorCode, ErrorData,
    FormElicitationCapability, Implementation, JsonObject, ListRootsResult, ProgressNotificationParam, ProtocolVersion,
    ResourceUpdatedNotificationParam, TASKS_EXTENSION_ID, TaskStatusNotificationParams, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::{Map, Value};
use tokio::sync::{broadcast, watch};

use crate::elicitation::ElicitationResponse;
use crate::elicitation_routing::ElicitationRouter;
use crate::error::sanitize_text;
use crate::progress::{ProgressReport, ProgressRouter};
use crate::tasks::RELATED_TASK_KEY;
use crate::tasks::notifications::TaskNotifications;

/// Method of an elicitation. The library passes the request on as a custom one if it cannot read its parameters.
const ELICITATION_METHOD: &str = "elicitation/create";
/// Extension by which servers bring user interfaces for their tools (MCP Apps).
const APPS_EXTENSION_ID: &str = "io.modelcontextprotocol/ui";
/// Media type of a tool's user interface (MCP Apps, 2026-01-26).
pub const APP_MIME_TYPE: &str = "text/html;profile=mcp-app";
/// Notification that a visit has done its work (2025-11-25).
const ELICITATION_COMPLETE_METHOD: &str = "notifications/elicitation/complete";
/// Notification that a task has changed (2025-11-25).
const TASK_STATUS_METHOD: &str = "notifications/tasks/status";
/// Number of resource updates that a slow subscriber may lag behind before its resource counts as changed.
const RESOURCE_UPDATE_CAPACITY: usize = 64;

/// Destinations of a server's messages. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct MessageRoutes {
    pub(crate) progress: ProgressRouter,
    pub(crate) elicitations: ElicitationRouter,
    pub(crate) task_notifications: TaskNotifications,
    /// Number of times that the tool list has changed, or may have.
    pub(crate) tools_changed: Arc<watch::Sender<u64>>,
    /// URIs of the resources that have changed, up to 2025-11-25.
    pub(crate) resource_updates: broadcast::Sender<Arc<str>>,
}

impl Default for MessageRoutes {
    fn default() -> Self {
        Self {
            progress: ProgressRouter::default(),
            elicitations: ElicitationRouter::default(),
            task_notifications: TaskNotifications::default(),
            tools_changed: Arc::new(watch::Sender::new(0)),
            resource_updates: broadcast::Sender::new(RESOURCE_UPDATE_CAPACITY),
        }
    }
}

/// Features that the client declares to servers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ClientFeatures {
    /// Elicitation of input from the user.
    pub(crate) elicitation: bool,
    /// User interfaces of tools (MCP Apps).
    pub(crate) apps: bool,
}

/// Handler of a server's messages. Answers pings and, if declared, elicitations; refuses every other request.
#[derive(Debug, Clone)]
pub(crate) struct ServerMessageHandler {
    routes: MessageRoutes,
    features: ClientFeatures,
}

impl ServerMessageHandler {
    pub(crate) fn new(routes: MessageRoutes, features: ClientFeatures) -> Self {
        Self { routes, features }
    }

    async fn elicit(&self, params: &Value, context: &RequestContext<RoleClient>) -> Result<Value, ErrorData> {
        if !self.features.elicitation {
            return Err(not_offered("elicitation"));
        }
        let task_of_context = || context.meta.get(RELATED_TASK_KEY).and_then(|task| task.get("taskId")?.as_str());
        // Depending on the type of the request, the library leaves `_meta` in the parameters or moves it to the
        // context.
        let task_id = params["_meta"][RELATED_TASK_KEY]["taskId"].as_str().or_else(task_of_context);
        let result = context.ct.run_until_cancelled(self.routes.elicitations.respond(params, task_id)).await;
        Ok(result.unwrap_or_else(|| ElicitationResponse::Cancel.to_result(false)))
    }
}

fn not_offered(feature: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("this client offers no {feature}"), None)
}

impl ClientHandler for ServerMessageHandler {
    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        Err(not_offered("sampling"))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Err(not_offered("roots"))
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let unreadable = |_| ErrorData::invalid_params("the question cannot be read", None);
        let params = serde_json::to_value(&params).map_err(unreadable)?;
        let result = self.elicit(&params, &context).await?;
        serde_json::from_value(result).map_err(|_| ErrorData::internal_error("the answer cannot be written", None))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        match (request.method.as_str(), &request.params) {
            (ELICITATION_METHOD, Some(params)) => self.elicit(params, &context).await.map(CustomResult::new),
            _ => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "this client does not know that", None)),
        }
    }

    async fn on_custom_notification(&self, notification: CustomNotification, _: NotificationContext<RoleClient>) {
        let param = |name: &str| notification.params.as_ref()?.get(name)?.as_str();
        match notification.method.as_str() {
            TASK_STATUS_METHOD => {
                if let Some(id) = param("taskId") {
                    self.routes.task_notifications.notify(id);
                }
            }
            ELICITATION_COMPLETE_METHOD => {
                if let Some(id) = param("elicitationId") {
                    self.routes.elicitations.complete_visit(id);
                }
            }
            _ => {}
        }
    }

    async fn on_progress(&self, report: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let token = report.progress_token;
        let message = report.message.as_deref().map(sanitize_text);
        let report = ProgressReport { progress: report.progress, total: report.total, message };
        self.routes.progress.dispatch(&token, report).await;
    }

    async fn on_task_status(&self, status: TaskStatusNotificationParams, _: NotificationContext<RoleClient>) {
        self.routes.task_notifications.notify(&status.task.task.task_id);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.routes.tools_changed.send_modify(|count| *count += 1);
    }

    async fn on_resource_updated(&self, update: ResourceUpdatedNotificationParam, _: NotificationContext<RoleClient>) {
        // Sending fails only without subscribers.
        let _ = self.routes.resource_updates.send(update.uri.into());
    }

    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("ai-chat-mcp", env!("CARGO_PKG_VERSION")).with_title("AI Chat MCP");
        let mut capabilities = ClientCapabilities::default();
        // Declared to every server; one that does not know the extension ignores it.
        let extensions = [(TASKS_EXTENSION_ID.to_owned(), JsonObject::new())];
        capabilities.extensions = Some(extensions.into());
        if self.features.elicitation {
            let form = FormElicitationCapability::default();
            let url = UrlElicitationCapability::default();
            capabilities.elicitation = Some(ElicitationCapability::new().with_form(form).with_url(url));
        }
        if self.features.apps {
            let extensions = capabilities.extensions.get_or_insert_default();
            extensions.insert(APPS_EXTENSION_ID.to_owned(), apps_settings());
        }
        // The version for `initialize`; discovery negotiates its own.
        ClientConfig::new(capabilities, client).with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}

/// Returns the settings of the MCP Apps extension: the media types that are shown.
fn apps_settings() -> Map<String, Value> {
    Map::from_iter([("mimeTypes".to_owned(), Value::from(vec![APP_MIME_TYPE]))])
}
