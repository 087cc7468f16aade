//! Calls that run as tasks at their server. They outlive connections and restarts of this server.

use std::time::Duration;

use domain::tool::{Outcome, ToolCall};
use domain::{ServerId, Timestamp, UserId};
use mcp::{CallError, Connection, Task};
use platform::metrics;
use storage::servers::Server;
use tokio::time::Instant;
use tracing::Instrument;

use crate::pool::{NO_TOOLS, UnusableConnection};
use crate::tool_call::{CallFailure, metrics_origin};
use crate::tool_call_span::{begin_tool_call_span, record_outcome};
use crate::{CallContext, CallOutcome, ConnectionService, OpenedConnection};

/// Maximum time that the server of a task may be unreachable.
const MAX_UNREACHABLE: Duration = Duration::from_mins(10);
/// Duration of an attempt from which on its connection counts as good, so that earlier failures no longer count.
const STABLE_AFTER: Duration = Duration::from_secs(45);
/// Pause before the first retry; it doubles with each.
const FIRST_RETRY_PAUSE: Duration = Duration::from_secs(1);
/// Maximum pause before a retry.
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(30);

/// A call that runs as a task at its server.
#[derive(Debug)]
pub struct RunningTask<'a> {
    /// Connection of the call.
    pub server: ServerId,
    /// URL of the server when the call was made.
    pub url: &'a str,
    /// The task.
    pub task: Task,
    /// Time of the call.
    pub started_at: Timestamp,
}

impl ConnectionService {
    /// Resumes a call that ran as a task when its process stopped, and waits for the result. The call is not made again.
    pub async fn resume_task(
        &self,
        user: UserId,
        call: &ToolCall,
        running: RunningTask<'_>,
        context: CallContext<'_>,
    ) -> CallOutcome {
        let span = begin_tool_call_span(&call.name, Some(running.url), &call.arguments);
        let (origin, started_at) = (metrics_origin(running.url), running.started_at);
        let outcome = self.poll_task(user, running, context).instrument(span.clone()).await;
        record_outcome(&span, &outcome);
        let duration = Duration::from_millis(self.clock.now().millis_since(started_at));
        metrics::record_tool_call(&origin, outcome.outcome(), duration);
        outcome
    }

    /// Waits for the result of a task, over as many connections as needed.
    pub(crate) async fn poll_task(
        &self,
        user: UserId,
        running: RunningTask<'_>,
        mut context: CallContext<'_>,
    ) -> CallOutcome {
        let cancel = context.cancel.clone();
        let mut pause = FIRST_RETRY_PAUSE;
        let mut unreachable_since: Option<Instant> = None;
        loop {
            let attempt_started = Instant::now();
            // Read again for each attempt: a task can run for hours, in which the user may change or remove the
            // connection.
            let server = match self.storage.connections().get(user, running.server).await {
                // Another server would not know the task, or worse, know another one by this id.
                Ok(Some(server)) if server.url == running.url => server,
                Ok(_) => {
                    return unknown(
                        "The connection was removed or changed while its server worked on the call.".into(),
                    );
                }
                Err(error) => {
                    tracing::error!(%error, "could not read the connection of a task");
                    return unknown("The connection could not be read from the database.".into());
                }
            };
            let reason = match self.connection_with_tools(user, &server).await {
                Err(reason) => format!("The server {} {reason}.", server.name),
                Ok(connection) => {
                    let _in_use = self.keep_open(user, &server);
                    // From the start of the call, not of this attempt, so that no number of restarts extends the time
                    // limit.
                    let age = Duration::from_millis(self.clock.now().millis_since(running.started_at));
                    let poll = |options| connection.resume_task(running.task.clone(), age, options);
                    let error = match context.run(poll).await {
                        Ok(result) => return CallOutcome::Result(result),
                        Err(error) => error,
                    };
                    let reason = CallFailure { server: &server.name, error: &error }.to_string();
                    let is_transient = matches!(&error, CallError::Unknown(error) if error.is_transient());
                    if !is_transient || cancel.is_cancelled() {
                        return CallOutcome::Failed { reason, outcome: error.outcome() };
                    }
                    if connection.is_closed() {
                        self.pool.mark_disconnected(user, &server, &error.to_string()).await;
                    }
                    reason
                }
            };
            // An attempt that polled for a while has reached the server, so that the outage begins with its end.
            if attempt_started.elapsed() > STABLE_AFTER {
                (unreachable_since, pause) = (None, FIRST_RETRY_PAUSE);
            }
            if unreachable_since.get_or_insert(attempt_started).elapsed() > MAX_UNREACHABLE {
                return unknown(reason);
            }
            if cancel.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return CallOutcome::stopped(Outcome::Stopped);
            }
            pause = (pause * 2).min(MAX_RETRY_PAUSE);
        }
    }

    /// Opens a connection to a server that has tools of its own.
    async fn connection_with_tools(&self, user: UserId, server: &Server) -> Result<Connection, UnusableConnection> {
        match self.pool.open(user, server).await? {
            OpenedConnection { connection: Some(connection), .. } => Ok(connection),
            OpenedConnection { reason, .. } => Err(UnusableConnection(reason.unwrap_or_else(|| NO_TOOLS.to_owned()))),
        }
    }
}

/// Returns the outcome of a task whose result will not be known.
fn unknown(reason: String) -> CallOutcome {
    CallOutcome::Failed { reason, outcome: Outcome::Unknown }
}
