//! Progress reports, from the connection to the calls that they belong to.

use std::collections::HashMap;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::ProgressToken;
use rmcp::service::RequestHandle;
use tokio::runtime::Handle;
use tokio::sync::{Mutex, mpsc};
use tokio_util::task::TaskTracker;

/// Progress of a call, as the server reports it.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgressReport {
    /// Current value; grows as the call proceeds.
    pub progress: f64,
    /// Final value of `progress`, if the server knows it.
    pub total: Option<f64>,
    /// Text of the server, sanitized.
    pub message: Option<String>,
}

/// Progress channels of the calls in flight on a connection, by progress token. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProgressRouter(Arc<Mutex<HashMap<ProgressToken, mpsc::Sender<ProgressReport>>>>);

/// Registration of a call with a [`ProgressRouter`]; removed on drop.
pub(crate) struct ProgressRoute {
    token: ProgressToken,
    router: ProgressRouter,
    background: TaskTracker,
}

impl ProgressRouter {
    /// Sends a request and registers `reports` for its progress.
    pub(crate) async fn register<E>(
        &self,
        reports: mpsc::Sender<ProgressReport>,
        background: TaskTracker,
        request: impl Future<Output = Result<RequestHandle<RoleClient>, E>>,
    ) -> Result<(RequestHandle<RoleClient>, ProgressRoute), E> {
        // The token is known only after the request was sent, and a report may arrive before that returns. Holding the
        // lock makes such a report wait in `dispatch`.
        let mut routes = self.0.lock().await;
        let handle = request.await?;
        let token = handle.progress_token.clone();
        routes.insert(token.clone(), reports);
        drop(routes);
        Ok((handle, ProgressRoute { token, router: self.clone(), background }))
    }

    /// Hands a report to its call, if that still listens.
    pub(crate) async fn dispatch(&self, token: &ProgressToken, report: ProgressReport) {
        if let Some(route) = self.0.lock().await.get(token) {
            // A full channel already holds more recent progress than anyone has read: this report may be lost.
            let _ = route.try_send(report);
        }
    }
}

impl Drop for ProgressRoute {
    fn drop(&mut self) {
        // `drop` cannot wait for the lock, which `register` holds while a request is being sent.
        if let Ok(mut routes) = self.router.0.try_lock() {
            routes.remove(&self.token);
        } else if let Ok(runtime) = Handle::try_current() {
            let (token, router) = (self.token.clone(), self.router.clone());
            self.background.spawn_on(async move { drop(router.0.lock().await.remove(&token)) }, &runtime);
        }
    }
}
