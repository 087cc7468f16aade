//! Warm-up of the built-in model: it reads a user's list of tools before the first question.

use connections::ConnectionReady;
use domain::UserId;
use domain::model::{Request, SYSTEM_PROMPT};
use tokio::sync::mpsc;

use super::TurnService;
use crate::tool_search::ToolPresentation;
use crate::tool_selection::Toolset;

/// Prewarms the built-in model for users whose connections become ready, until shutdown.
pub async fn prewarm_on_ready(turns: TurnService, mut ready: mpsc::UnboundedReceiver<ConnectionReady>) {
    let shutdown = turns.tasks.shutdown_token().clone();
    while let Some(Some(ConnectionReady { user })) = shutdown.run_until_cancelled(ready.recv()).await {
        let service = turns.clone();
        turns.tasks.spawn("prewarm model", async move { prewarm_user(&service, user).await });
    }
}

/// Lets the built-in model read the user's tools while it is idle, if it is the user's default model. The first
/// question about them is then answered as fast as any other.
async fn prewarm_user(turns: &TurnService, user: UserId) {
    let Some(model) = turns.models.built_in_by_default() else { return };
    // A user with providers of their own uses those.
    if turns.models.default(user).await.ok().as_ref() != Some(&model) {
        return;
    }
    let Ok(servers) = turns.storage.connections().list(user).await else { return };
    let toolset = Toolset::of_known_tools(&turns.connections, &servers);
    let presentation = ToolPresentation::new(&toolset, turns.models.tool_limits(user, &model).await, "", &[]);
    // If there are too many tools, the selection depends on the question, so there is nothing to read in advance.
    if matches!(presentation, ToolPresentation::All) && !toolset.tools().is_empty() {
        turns.models.prepare(Request {
            system: SYSTEM_PROMPT.to_owned(),
            tools: presentation.specs(&toolset),
            facts: Some(toolset.facts(turns.clock.now())),
            ..Request::default()
        });
    }
}
