//! What a server may ask of us and tell us, outside of answers.

#![expect(deprecated, reason = "deprecated requests are refused here, not left to defaults that accept them")]

use std::collections::HashMap;
use std::sync::Arc;

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ErrorCode, ErrorData, Implementation, ListRootsResult, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use tokio::sync::{Mutex, mpsc, watch};

use crate::call::Progress;

/// Progress reports on their way to the calls they belong to. The lock is held while a call is handed to the wire,
/// because its token is known only afterwards and a report may be faster.
pub(crate) type Routes = Arc<Mutex<HashMap<ProgressToken, mpsc::Sender<Progress>>>>;

/// Answers a server: pings yes, everything else no. Nothing is offered, so a server that asks breaks the protocol.
#[derive(Debug, Clone)]
pub(crate) struct Handler {
    routes: Routes,
    tools_changed: Arc<watch::Sender<u64>>,
}

impl Handler {
    pub(crate) fn new(routes: Routes, tools_changed: Arc<watch::Sender<u64>>) -> Self {
        Self { routes, tools_changed }
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
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Err(not_offered("elicitation"))
    }

    async fn on_progress(&self, report: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let routes = self.routes.lock().await;
        if let Some(route) = routes.get(&report.progress_token) {
            // A full channel means that newer news is waiting already.
            let progress = Progress { progress: report.progress, total: report.total, message: report.message };
            route.try_send(progress).ok();
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tools_changed.send_modify(|count| *count += 1);
    }

    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("ai-chat-mcp", env!("CARGO_PKG_VERSION")).with_title("AI Chat MCP");
        ClientConfig::new(ClientCapabilities::default(), client)
    }
}
