//! Running a tool by hand, from its form.

use axum::Json;
use axum::extract::State;
use domain::permission::AllowedBy;
use domain::tool::Outcome;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::error::ApiError;
use super::extract::{JsonBody, SignedIn};
use crate::app::App;
use crate::tools::permission::{Audited, Verdict};
use crate::tools::{CallEnd, Selection, Wanted, Watcher};

/// The body.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolRun {
    server_name: String,
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

/// Calls the tool and answers with what it gave back.
pub async fn run(
    State(app): State<App>,
    caller: SignedIn,
    JsonBody(body): JsonBody<ToolRun>,
) -> Result<Json<Value>, ApiError> {
    let servers = app.store.list_servers(caller.user).await?;
    let wanted = [Wanted { name: body.name.clone(), server_name: Some(body.server_name.clone()) }];
    let selection = Selection::resolve(&wanted, &servers, |server| app.tools.offered(server))
        .map_err(|_| ApiError::NotFound("connection"))?;
    let toolset = app.tools.open(&app, caller.user, &selection).await;
    let Some(tool) = toolset.find(&body.server_name, &body.name) else {
        let message = toolset.notices.join(" ");
        return Err(if toolset.is_a_server_away {
            ApiError::Upstream { code: "tool_failed", message }
        } else {
            ApiError::Unprocessable { code: "unknown_tool", message }
        });
    };
    // Pressing Run is a consent to this call, whatever the rule for the assistant is; only `never` stands above it.
    if app.tools.look_up(&app, caller.user, tool).await? == Verdict::Never {
        Audited::new(&app, caller.user, &body.server_name, &body.name, AllowedBy::Nobody).end(Outcome::Denied);
        let message = "you do not allow this tool; change its permission first".to_owned();
        return Err(ApiError::Unprocessable { code: "tool_not_allowed", message });
    }
    let audited = Audited::new(&app, caller.user, &body.server_name, &body.name, AllowedBy::Form);
    let began = app.clock.now();
    // Who closes the sheet while the tool runs drops this future, and with it the call.
    let watcher = Watcher::of_end(CancellationToken::new());
    let end = app.tools.call(&app, caller.user, tool, body.arguments, watcher).await;
    audited.end(end.outcome());
    match end {
        CallEnd::Result(result) => {
            let duration = app.clock.now().millis_since(began);
            Ok(Json(json!({ "result": result, "durationMs": duration })))
        }
        CallEnd::Failed { reason, .. } => Err(ApiError::Upstream { code: "tool_failed", message: reason }),
    }
}
