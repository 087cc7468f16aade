//! Tool calls: over the connection of the user, repeated only where that is safe, and held while the user signs in.

use std::fmt;

use domain::UserId;
use domain::tool::{Outcome, ToolResult};
use mcp::{CallError, CallOptions};
use platform::metrics;
use serde_json::{Map, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;
use url::Url;

use crate::call_context::CallContext;
use crate::output_validation::validate_output;
use crate::pool::NO_TOOLS;
use crate::task_calls::RunningTask;
use crate::tool_call_span::{begin_tool_call_span, record_outcome};
use crate::{BoundTool, ConnectionService, OpenedConnection, ToolSource};

/// Reason of a call that was cancelled.
pub(crate) const STOPPED_REASON: &str = "It was stopped.";

/// Name of the built-in tools in metrics, in place of an origin.
const FALLBACK_ORIGIN: &str = "built-in";

/// Outcome of a tool call.
#[derive(Debug, Clone)]
pub enum CallOutcome {
    /// The tool returned a result, which may be an error of its own.
    Result(ToolResult),
    /// The tool returned no result.
    Failed {
        /// Reason, for users and models.
        reason: String,
        /// Whether the tool may have run.
        outcome: Outcome,
    },
}

impl CallOutcome {
    /// Returns the outcome without its result or reason.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Result(result) if result.is_error => Outcome::Error,
            Self::Result(_) => Outcome::Done,
            Self::Failed { outcome, .. } => *outcome,
        }
    }

    /// Creates the outcome of a call that failed.
    pub fn from_error(server: &str, error: &CallError) -> Self {
        let reason = CallFailure { server, error }.to_string();
        Self::Failed { reason, outcome: error.outcome() }
    }

    /// Creates the outcome of a call that was cancelled.
    pub(crate) fn stopped(outcome: Outcome) -> Self {
        Self::Failed { reason: STOPPED_REASON.to_owned(), outcome }
    }

    /// Creates the outcome of a call that was not made.
    pub fn rejected(reason: String) -> Self {
        Self::Failed { reason, outcome: Outcome::Error }
    }
}

/// A failed call of a server, as a sentence.
pub(crate) struct CallFailure<'a> {
    pub server: &'a str,
    pub error: &'a CallError,
}

impl fmt::Display for CallFailure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.error {
            CallError::Cancelled => f.write_str(STOPPED_REASON),
            error => write!(f, "The server {} {error}.", self.server),
        }
    }
}

/// Returns the origin of a server for metrics: without path and query, which may name a user.
pub(crate) fn metrics_origin(url: &str) -> String {
    Url::parse(url).map_or_else(|_| String::new(), |url| url.origin().ascii_serialization())
}

impl ConnectionService {
    /// Calls a tool. Every failure is part of the outcome.
    pub async fn call_tool(
        &self,
        user: UserId,
        tool: &BoundTool,
        arguments: Map<String, Value>,
        context: CallContext<'_>,
    ) -> CallOutcome {
        let started = Instant::now();
        let url = (tool.source == ToolSource::Server).then_some(tool.server.url.as_str());
        let span = begin_tool_call_span(&tool.definition.name, url, &arguments);
        let outcome = self.call(user, tool, arguments, context).instrument(span.clone()).await;
        record_outcome(&span, &outcome);
        let origin = url.map_or_else(|| FALLBACK_ORIGIN.to_owned(), metrics_origin);
        metrics::record_tool_call(&origin, outcome.outcome(), started.elapsed());
        outcome
    }

    async fn call(
        &self,
        user: UserId,
        tool: &BoundTool,
        arguments: Map<String, Value>,
        mut context: CallContext<'_>,
    ) -> CallOutcome {
        let (cancel, started_at) = (context.cancel.clone(), self.clock.now());
        let name = &tool.definition.name;
        let server = &tool.server;
        // The connection may have changed since the turn began.
        match self.storage.connections().get(user, server.id).await {
            Ok(Some(current)) if current.disabled_tools.contains(name) => {
                return CallOutcome::rejected(format!("The tool {name} is switched off."));
            }
            Ok(Some(current)) if current.has_same_target(server) => {}
            Ok(_) => {
                return CallOutcome::rejected(format!("The connection {} was removed or changed.", server.name));
            }
            Err(error) => {
                tracing::error!(%error, "could not read the connection of a tool call");
                return CallOutcome::rejected("The connection could not be read from the database.".to_owned());
            }
        }
        if tool.source == ToolSource::Fallback {
            return self.call_fallback(user, name, arguments, &cancel).await;
        }
        // Before the connection is opened, so that maintenance does not close it as idle in between, or during a long
        // call.
        let _in_use = self.keep_open(user, server);
        let (mut is_last_try, mut has_signed_in) = (false, false);
        loop {
            let connection = match self.pool.open(user, server).await {
                // The user has allowed the definition from before the sign-in only.
                Ok(opened) if has_signed_in && !tool.is_unchanged(&opened) => {
                    let problem = format!("The server {} describes {name} in another way since then.", server.name);
                    return CallOutcome::rejected(format!("{problem} The tool was not called."));
                }
                Ok(OpenedConnection { connection: Some(connection), .. }) => connection,
                Ok(OpenedConnection { reason, .. }) => {
                    let reason = reason.unwrap_or_else(|| NO_TOOLS.to_owned());
                    return CallOutcome::rejected(format!("The server {} {reason}.", server.name));
                }
                Err(reason) => {
                    if self.pool.challenge(server).is_some() {
                        // Nothing was sent yet, so that the call can wait for the sign-in and then be made for the
                        // first time.
                        let sign_in = self.request_sign_in(user, server, context.interactions.as_deref(), false);
                        match cancel.run_until_cancelled(sign_in).await {
                            Some(true) => {
                                has_signed_in = true;
                                continue;
                            }
                            Some(false) => {}
                            None => return CallOutcome::stopped(Outcome::Stopped),
                        }
                    }
                    return CallOutcome::rejected(format!("The server {} {reason}.", server.name));
                }
            };
            let resume = context.resume.clone();
            let call = |options| connection.call_tool(name, arguments.clone(), CallOptions { resume, ..options });
            let error = match context.run(call).await {
                Ok(result) => return CallOutcome::Result(validate_output(&tool.definition, result)),
                Err(error) => error,
            };
            // The task goes on at the server whatever became of this connection. Polling it over a new one repeats
            // nothing.
            if let (Some(task), CallError::Unknown(cause)) = (context.task(), &error)
                && cause.is_transient()
            {
                let running = RunningTask { server: server.id, url: &server.url, task, started_at };
                return self.poll_task(user, running, context).await;
            }
            let never_sent = matches!(error, CallError::NotSent(_));
            let lacks_scopes = matches!(error, CallError::NotSent(mcp::Error::InsufficientScope { .. }));
            // Missing scopes: a retry with the same token would be rejected again. Any other challenge counts only when a
            // new connection was challenged as well.
            if let Some(challenge) = error.challenge()
                && (lacks_scopes || is_last_try)
                && let Some(reason) = self.pool.require_sign_in(user, server, challenge, lacks_scopes)
            {
                let sign_in = self.request_sign_in(user, server, context.interactions.as_deref(), lacks_scopes);
                match cancel.run_until_cancelled(sign_in).await {
                    Some(true) => {
                        (is_last_try, has_signed_in) = (false, true);
                        continue;
                    }
                    Some(false) => {}
                    None => return CallOutcome::stopped(Outcome::Stopped),
                }
                return CallOutcome::rejected(format!("The server {} {reason}.", server.name));
            }
            if never_sent || connection.is_closed() {
                self.pool.mark_disconnected(user, server, &error.to_string()).await;
            }
            // Only a call that has not reached the tool is repeated, once and over a new connection: a restarted server
            // does not know the old session.
            if is_last_try || !never_sent || cancel.is_cancelled() {
                return CallOutcome::from_error(&server.name, &error);
            }
            is_last_try = true;
        }
    }

    /// Calls a fallback tool.
    async fn call_fallback(
        &self,
        user: UserId,
        name: &str,
        arguments: Map<String, Value>,
        cancel: &CancellationToken,
    ) -> CallOutcome {
        let Some(fallback) = &self.pool.fallback else {
            return CallOutcome::rejected(format!("The tool {name} is switched off."));
        };
        tokio::select! {
            result = fallback.call(user, name, arguments) => CallOutcome::Result(result),
            // Dropping the future can end the tool at any point, so that it may have had its effect.
            () = cancel.cancelled() => CallOutcome::stopped(Outcome::Unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn describes_failed_call_as_sentence() {
        let describe = |error: CallError| CallFailure { server: "weather", error: &error }.to_string();
        let late = mcp::Error::Timeout(Duration::from_mins(1));
        assert_eq!(describe(CallError::Unknown(late)), "The server weather did not answer within 60 s.");
        assert_eq!(
            describe(CallError::NotSent(mcp::Error::ConnectionRefused)),
            "The server weather refused the connection."
        );
        assert_eq!(describe(CallError::Cancelled), "It was stopped.");
    }
}
