//! Calling a tool over the connection of its owner: opened if need be, tried again where that is safe, and held while the
//! person signs in.

use domain::UserId;
use domain::tool::{Outcome, ToolResult};
use mcp::{CallError, CallOptions};
use serde_json::{Map, Value};
use store::servers::Server;

use super::{BoundTool, Inquirer, Opened, Origin, Tools, Watcher, output};
use crate::app::App;

/// What is said of a call that was not waited for.
pub(super) const STOPPED: &str = "It was stopped.";

/// What came of a call.
#[derive(Debug, Clone)]
pub enum CallEnd {
    /// The tool answered, be it with a failure of its own.
    Result(ToolResult),
    /// The tool gave no answer.
    Failed {
        /// In words for people and for the model.
        reason: String,
        /// Whether it may have run.
        outcome: Outcome,
    },
}

impl CallEnd {
    /// What came of it, in a word.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Result(result) if result.is_error => Outcome::Error,
            Self::Result(_) => Outcome::Done,
            Self::Failed { outcome, .. } => *outcome,
        }
    }

    /// A call that has no result.
    pub fn of(server: &str, error: &CallError) -> Self {
        Self::Failed { reason: in_words(server, error), outcome: error.outcome() }
    }

    /// A call that was not waited for.
    fn stopped(outcome: Outcome) -> Self {
        Self::Failed { reason: STOPPED.to_owned(), outcome }
    }

    /// A call that was never made.
    pub fn refused(reason: String) -> Self {
        Self::Failed { reason, outcome: Outcome::Error }
    }
}

impl Tools {
    /// Calls a tool. It never fails otherwise than by saying so.
    pub async fn call(
        &self,
        app: &App,
        user: UserId,
        tool: &BoundTool,
        arguments: Map<String, Value>,
        mut watcher: Watcher<'_>,
    ) -> CallEnd {
        let (cancel, began) = (watcher.cancel.clone(), app.clock.now());
        let name = &tool.definition.name;
        // A turn can outlast the connection it began with.
        match app.store.get_server(user, tool.server.id).await {
            Ok(Some(now)) if now.disabled_tools.contains(name) => {
                return CallEnd::refused(format!("The tool {name} is switched off."));
            }
            Ok(Some(now)) if now.has_same_target(&tool.server) => {}
            Ok(_) => {
                return CallEnd::refused(format!("The connection {} was removed or changed.", tool.server.name));
            }
            Err(error) => {
                tracing::error!(%error, "a connection could not be read");
                return CallEnd::refused("The connection could not be read from the database.".to_owned());
            }
        }
        if tool.origin == Origin::Fallback {
            return tokio::select! {
                result = app.builtin_servers.google_drive().call_tool(user, name, arguments) => CallEnd::Result(result),
                () = cancel.cancelled() => CallEnd::stopped(Outcome::Unknown),
            };
        }
        let _in_use = self.pool.in_use(user, &tool.server);
        let (mut last_try, mut came_back) = (false, false);
        loop {
            let connection = match self.pool.open(app, user, &tool.server).await {
                // What the person has allowed is what the server said before they went to sign in.
                Ok(opened) if came_back && !tool.is_still_so(&opened) => {
                    let problem =
                        format!("The server {} describes {name} in another way since then.", tool.server.name);
                    return CallEnd::refused(format!("{problem} The tool was not called."));
                }
                Ok(Opened { connection: Some(connection), .. }) => connection,
                Ok(Opened { reason, .. }) => {
                    let reason = reason.unwrap_or_else(|| "offers no tools".to_owned());
                    return CallEnd::refused(format!("The server {} {reason}.", tool.server.name));
                }
                Err(reason) => {
                    if self.pool.challenge(&tool.server).is_some() {
                        let asked = self.signed_in(user, &tool.server, watcher.asker.as_deref(), false);
                        match cancel.run_until_cancelled(asked).await {
                            Some(true) => {
                                came_back = true;
                                continue;
                            }
                            Some(false) => {}
                            None => return CallEnd::stopped(Outcome::Stopped),
                        }
                    }
                    return CallEnd::refused(format!("The server {} {reason}.", tool.server.name));
                }
            };
            let resume = watcher.resume.clone();
            let call = |options| connection.call_tool(name, arguments.clone(), CallOptions { resume, ..options });
            let called = watcher.attend(call).await;
            let error = match called {
                Ok(result) => return CallEnd::Result(output::checked(&tool.definition, result)),
                Err(error) => error,
            };
            if let (Some(task), CallError::Unknown(passing)) = (watcher.task(), &error)
                && passing.is_transient()
            {
                let place = (tool.server.id, tool.server.url.as_str());
                return self.resume(app, user, place, (task, began), watcher).await;
            }
            // A server that was restarted has forgotten us. A call that never reached the tool is made once more, over
            // a new connection.
            let never_sent = matches!(error, CallError::NotSent(_));
            let lacks_rights = matches!(error, CallError::NotSent(mcp::Error::InsufficientScope { .. }));
            // With the same sign-in it would be turned away again.
            if let Some(challenge) = error.challenge()
                && (lacks_rights || last_try)
                && let Some(reason) = self.pool.demand_sign_in(app, user, &tool.server, challenge, lacks_rights)
            {
                let asked = self.signed_in(user, &tool.server, watcher.asker.as_deref(), lacks_rights);
                match cancel.run_until_cancelled(asked).await {
                    Some(true) => {
                        (last_try, came_back) = (false, true);
                        continue;
                    }
                    Some(false) => {}
                    None => return CallEnd::stopped(Outcome::Stopped),
                }
                return CallEnd::refused(format!("The server {} {reason}.", tool.server.name));
            }
            if never_sent || connection.is_closed() {
                self.pool.lose(app, user, &tool.server, &error.to_string()).await;
            }
            if last_try || !never_sent || cancel.is_cancelled() {
                return CallEnd::of(&tool.server.name, &error);
            }
            last_try = true;
        }
    }

    async fn signed_in(
        &self,
        user: UserId,
        server: &Server,
        asker: Option<&dyn Inquirer>,
        additional_scopes: bool,
    ) -> bool {
        match asker {
            Some(asker) => self.await_sign_in(user, server, asker, additional_scopes).await,
            None => false,
        }
    }
}

/// Why a call has no result, as a sentence.
pub(super) fn in_words(server: &str, error: &CallError) -> String {
    match error {
        CallError::Cancelled => STOPPED.to_owned(),
        error => format!("The server {server} {error}."),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn why_a_call_has_no_result_is_a_sentence() {
        let said = |error: CallError| in_words("weather", &error);
        let late = mcp::Error::Timeout(Duration::from_mins(1));
        assert_eq!(said(CallError::Unknown(late)), "The server weather did not answer within 60 s.");
        assert_eq!(
            said(CallError::NotSent(mcp::Error::ConnectionRefused)),
            "The server weather refused the connection."
        );
        assert_eq!(said(CallError::Cancelled), "It was stopped.");
    }
}
