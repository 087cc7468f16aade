//! A call that an app makes: through the same permission as the model's. Where the person is to be asked, the page asks them
//! beside the app and comes back with what they said about the definition that they saw.

use domain::permission::{AllowedBy, Decision, Permission};
use domain::tool::{Outcome, ToolResult};
use domain::{Timestamp, UserId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::permissions::Rule;
use store::servers::Server;
use tokio_util::sync::CancellationToken;

use super::AppError;
use crate::app::App;
use crate::tools::permission::{Audited, Verdict, pin, pin_of, place};
use crate::tools::{CallEnd, Tools, Watcher};

/// What a person said when the page asked them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AppConsent {
    /// What they said.
    pub decision: Decision,
    /// Names what they saw, as [`Asked::pin`] does.
    pub pin: String,
}

/// What a person is to be asked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Asked {
    /// The tool in its canonical form. What it says of itself is the server's claim.
    pub definition: Value,
    /// What the person had allowed for good, where the server has changed it since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The instructions of the server, where it has changed them since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Instructions>,
    /// The hash of what they see, to be sent back.
    pub pin: String,
}

/// How a server wants to be used: when the person allowed its tools, and now. Empty for nothing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Instructions {
    /// What it said.
    pub before: String,
    /// What it says.
    pub now: String,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum AppCall {
    /// The tool answered.
    Result {
        /// With this.
        result: ToolResult,
        /// After so many milliseconds.
        duration_ms: u64,
    },
    /// The tool gave no answer; a whole sentence.
    Failed(String),
    /// It was not made: the person is to be asked first.
    Ask(Asked),
    /// It was not made: the person said no, now or for good.
    Denied,
}

impl Tools {
    /// Calls a tool for an app of the same server.
    pub async fn call_for_app(
        &self,
        app: &App,
        user: UserId,
        server: &Server,
        (name, arguments): (&str, Map<String, Value>),
        consent: Option<AppConsent>,
    ) -> Result<AppCall, AppError> {
        let tool = self.find(app, user, server, name).await?;
        let refuse = || Audited::new(app, user, &server.name, name, AllowedBy::Nobody).end(Outcome::Denied);
        if !tool.definition.meta.is_for_apps() {
            refuse();
            return Err(AppError::NotForApps(name.to_owned()));
        }
        let definition = pin(&tool.definition);
        let seen = pin_of(format!("{}\n{}\n{}", place(&tool), definition.text, tool.instructions)).hash;
        // What they said about something else is no answer.
        let said = consent.filter(|consent| consent.pin == seen).map(|consent| consent.decision);
        let verdict = match self.look_up(app, user, &tool).await {
            Ok(verdict) => verdict,
            Err(error) => {
                tracing::error!(%error, "a permission could not be read");
                return Ok(AppCall::Failed("What you allow could not be read from the database.".to_owned()));
            }
        };
        let by = match (verdict, said) {
            (Verdict::Never, _) | (Verdict::Ask(_), Some(Decision::Deny)) => {
                refuse();
                return Ok(AppCall::Denied);
            }
            (Verdict::Allowed(by), _) => by,
            (Verdict::Ask(_), Some(Decision::Once)) => AllowedBy::Once,
            (Verdict::Ask(_), Some(Decision::Always)) => {
                let url = place(&tool).to_owned();
                let rule = Rule {
                    server: server.id,
                    tool: name.to_owned(),
                    permission: Permission::Always,
                    url,
                    pin: Some(definition),
                    instructions: Some(pin_of(tool.instructions.to_string())),
                };
                if let Err(error) = app.store.insert_permission(user, &rule, app.clock.now()).await {
                    tracing::error!(%error, "a permission could not be stored");
                    return Ok(AppCall::Failed("The permission could not be stored.".to_owned()));
                }
                AllowedBy::Always
            }
            (Verdict::Ask(changed), None) => {
                let now = tool.instructions.to_string();
                return Ok(AppCall::Ask(Asked {
                    definition: serde_json::from_str(&definition.text).unwrap_or_default(),
                    before: changed.definition,
                    instructions: changed.instructions.map(|before| Instructions { before, now }),
                    pin: seen,
                }));
            }
        };
        let audited = Audited::new(app, user, &server.name, name, by);
        let began: Timestamp = app.clock.now();
        // Whoever closes the app while the tool runs drops this future, and with it the call.
        let end = self.call(app, user, &tool, arguments, Watcher::of_end(CancellationToken::new())).await;
        audited.end(end.outcome());
        Ok(match end {
            CallEnd::Result(result) => AppCall::Result { result, duration_ms: app.clock.now().millis_since(began) },
            CallEnd::Failed { reason, .. } => AppCall::Failed(reason),
        })
    }
}
