//! What a server may ask of us and tell us, outside of answers.

#![expect(deprecated, reason = "deprecated requests are refused here, not left to defaults that accept them")]

use std::collections::HashMap;
use std::sync::Arc;

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, CustomNotification,
    CustomRequest, CustomResult, ElicitRequestParams, ElicitResult, ElicitationCapability, ErrorCode, ErrorData,
    FormElicitationCapability, Implementation, JsonObject, ListRootsResult, ProgressNotificationParam, ProgressToken,
    ProtocolVersion, ResourceUpdatedNotificationParam, TASKS_EXTENSION_ID, TaskStatusNotificationParams,
    UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::{Map, Value};
use tokio::sync::{Mutex, broadcast, mpsc, watch};

use crate::asking::Asking;
use crate::call::Progress;
use crate::call::long::{RELATED, Told};
use crate::elicitation::Answer;
use crate::error::quote;

/// Progress reports on their way to the calls they belong to. The lock is held while a call is handed to the wire,
/// because its token is known only afterwards and a report may be faster.
pub(crate) type Routes = Arc<Mutex<HashMap<ProgressToken, mpsc::Sender<Progress>>>>;

/// The resources that servers of the older revisions say have changed, by their addresses.
pub(crate) type Updates = broadcast::Sender<Arc<str>>;

/// The method of a question, which the library does not know when it cannot read its parameters.
const ELICIT: &str = "elicitation/create";
/// The extension by which servers bring pages for their tools.
const APPS: &str = "io.modelcontextprotocol/ui";
/// The kind of page that there is for now.
pub const APP_MIME_TYPE: &str = "text/html;profile=mcp-app";
/// Told by servers of 2025-11-25 when a visit is done.
const VISITED: &str = "notifications/elicitation/complete";
/// Told by servers of 2025-11-25 when a task changed.
const TASK_CHANGED: &str = "notifications/tasks/status";

/// Answers a server: pings yes; questions to the person, if the client offers to put them; everything else no.
#[derive(Debug, Clone)]
pub(crate) struct Handler {
    routes: Routes,
    tools_changed: Arc<watch::Sender<u64>>,
    updates: Updates,
    asking: Option<Asking>,
    told: Told,
    shows_apps: bool,
}

/// What a client offers to its servers.
#[derive(Debug)]
pub(crate) struct Offers {
    /// Who puts their questions; without, none are offered to be put.
    pub(crate) asking: Option<Asking>,
    /// Whether the pages of their tools are shown.
    pub(crate) shows_apps: bool,
}

impl Handler {
    /// Answers what a server asks, and hands on what it tells.
    pub(crate) fn new(
        routes: Routes,
        tools_changed: Arc<watch::Sender<u64>>,
        updates: Updates,
        Offers { asking, shows_apps }: Offers,
        told: Told,
    ) -> Self {
        Self { routes, tools_changed, updates, asking, told, shows_apps }
    }

    async fn ask(&self, params: &Value, context: &RequestContext<RoleClient>) -> Result<Value, ErrorData> {
        let Some(asking) = &self.asking else { return Err(not_offered("elicitation")) };
        let of_context = || context.meta.get(RELATED).and_then(|task| task.get("taskId")?.as_str());
        let task = params["_meta"][RELATED]["taskId"].as_str().or_else(of_context);
        let answer = context.ct.run_until_cancelled(asking.answer(params, task)).await;
        Ok(answer.unwrap_or_else(|| Answer::Cancel.to_result(false)))
    }
}

fn not_offered(what: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("this client offers no {what}"), None)
}

impl ClientHandler for Handler {
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
        let answer = self.ask(&to_value(&params)?, &context).await?;
        serde_json::from_value(answer).map_err(|_| ErrorData::internal_error("the answer cannot be written", None))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        match (request.method.as_str(), &request.params) {
            (ELICIT, Some(params)) => self.ask(params, &context).await.map(CustomResult::new),
            _ => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "this client does not know that", None)),
        }
    }

    async fn on_custom_notification(&self, notification: CustomNotification, _: NotificationContext<RoleClient>) {
        let field = |name: &str| notification.params.as_ref()?.get(name)?.as_str();
        if let (TASK_CHANGED, Some(id)) = (notification.method.as_str(), field("taskId")) {
            self.told.tell(id);
        }
        let id = field("elicitationId");
        if let (VISITED, Some(id), Some(asking)) = (notification.method.as_str(), id, &self.asking) {
            asking.done(id);
        }
    }

    async fn on_progress(&self, report: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let routes = self.routes.lock().await;
        if let Some(route) = routes.get(&report.progress_token) {
            // A full channel means that newer news is waiting already.
            let progress = Progress {
                progress: report.progress,
                total: report.total,
                message: report.message.as_deref().map(quote),
            };
            route.try_send(progress).ok();
        }
    }

    async fn on_task_status(&self, report: TaskStatusNotificationParams, _: NotificationContext<RoleClient>) {
        self.told.tell(&report.task.task.task_id);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tools_changed.send_modify(|count| *count += 1);
    }

    async fn on_resource_updated(&self, update: ResourceUpdatedNotificationParam, _: NotificationContext<RoleClient>) {
        // With nobody to hear it there is nothing to do.
        self.updates.send(update.uri.into()).ok();
    }

    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("ai-chat-mcp", env!("CARGO_PKG_VERSION")).with_title("AI Chat MCP");
        let mut capabilities = ClientCapabilities::default();
        let extensions = [(TASKS_EXTENSION_ID.to_owned(), JsonObject::new())];
        capabilities.extensions = Some(extensions.into());
        if self.asking.is_some() {
            let form = FormElicitationCapability::default();
            let url = UrlElicitationCapability::default();
            capabilities.elicitation = Some(ElicitationCapability::new().with_form(form).with_url(url));
        }
        if self.shows_apps {
            capabilities.extensions.get_or_insert_default().insert(APPS.to_owned(), apps_settings());
        }
        // What `initialize` asks for; discovery has versions of its own.
        ClientConfig::new(capabilities, client).with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}

/// Which pages of a server are shown (MCP Apps, 2026-01-26).
fn apps_settings() -> Map<String, Value> {
    Map::from_iter([("mimeTypes".to_owned(), Value::from(vec![APP_MIME_TYPE]))])
}

fn to_value(params: &ElicitRequestParams) -> Result<Value, ErrorData> {
    serde_json::to_value(params).map_err(|_| ErrorData::invalid_params("the question cannot be read", None))
}
