//! Who watches a call while it goes on, and calls that run as tasks at their server, which outlive connections and this
//! program.

use std::sync::Arc;
use std::time::Duration;

use domain::tool::{Outcome, ToolResult};
use domain::{Timestamp, UserId};
use mcp::{CallError, CallOptions, Connection, ElicitationHandler, ProgressReport, ResumedCall, Task};
use store::servers::Server;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::call::{STOPPED, in_words};
use super::{CallEnd, Inquirer, Opened, Tools};
use crate::app::App;

/// Progress reports on their way to the viewers.
const REPORTS: usize = 16;
/// How long a server that works on a task may be away, from one end to the other.
const PATIENCE: Duration = Duration::from_mins(10);
/// A connection that was good for this long was not the trouble.
const GOOD: Duration = Duration::from_secs(45);
/// Waits between attempts to reach it again; each is twice the one before.
const WAITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// Who watches a call.
pub struct Watcher<'a> {
    /// Hears how far it has come.
    pub on_progress: Box<dyn FnMut(ProgressReport) + Send + 'a>,
    /// Is told when it runs as a task, if they can take it up again; otherwise the task ends with whoever waits for it.
    pub on_task: Option<watch::Sender<Option<Task>>>,
    /// Asks the person what the call needs to know; without, it fails when it has to be asked.
    pub asker: Option<Arc<dyn Inquirer>>,
    /// Where it goes on, if its server has asked before.
    pub resume: Option<ResumedCall>,
    /// Stops it.
    pub cancel: CancellationToken,
}

impl Watcher<'_> {
    /// Who only waits for the end.
    pub fn of_end(cancel: CancellationToken) -> Self {
        Self { on_progress: Box::new(|_| {}), on_task: None, asker: None, resume: None, cancel }
    }

    /// Watches what `call` does with the options that it is given.
    pub(super) async fn attend<C>(&mut self, call: impl FnOnce(CallOptions) -> C) -> Result<ToolResult, CallError>
    where
        C: Future<Output = Result<ToolResult, CallError>>,
    {
        let (sender, mut reports) = mpsc::channel(REPORTS);
        let options = CallOptions {
            on_progress: Some(sender),
            on_task: self.on_task.clone(),
            elicitation_handler: self.asker.clone().map(|asker| asker as Arc<dyn ElicitationHandler>),
            cancel: self.cancel.child_token(),
            ..CallOptions::default()
        };
        let mut call = std::pin::pin!(call(options));
        loop {
            tokio::select! {
                biased;
                result = &mut call => return result,
                Some(progress) = reports.recv() => (self.on_progress)(progress),
            }
        }
    }

    /// The task that the call runs as, if it does.
    pub(super) fn task(&self) -> Option<Task> {
        self.on_task.as_ref().and_then(|task| task.borrow().clone())
    }
}

impl Tools {
    /// Goes on waiting for a call that runs as a task at its server since `began`, over as many connections as it takes.
    /// The call is not made again, and `tool` only names it.
    pub async fn resume(
        &self,
        app: &App,
        user: UserId,
        (server, url): (domain::ServerId, &str),
        (task, began): (Task, Timestamp),
        mut watcher: Watcher<'_>,
    ) -> CallEnd {
        let cancel = watcher.cancel.clone();
        let (mut wait, most) = WAITS;
        let mut trouble: Option<Instant> = None;
        loop {
            let began_attempt = Instant::now();
            let server = match app.store.get_server(user, server).await {
                Ok(Some(server)) if server.url == url => server,
                Ok(_) => {
                    return lost("The connection was removed or changed while its server worked on the call.".into());
                }
                Err(error) => {
                    tracing::error!(%error, "a connection could not be read");
                    return lost("The connection could not be read from the database.".into());
                }
            };
            let reason = match self.reopened(app, user, &server).await {
                Err(reason) => format!("The server {} {reason}.", server.name),
                Ok(connection) => {
                    let _in_use = self.pool.in_use(user, &server);
                    let age = Duration::from_millis(app.clock.now().millis_since(began));
                    let resumed = watcher.attend(|options| connection.resume_task(task.clone(), age, options)).await;
                    let error = match resumed {
                        Ok(result) => return CallEnd::Result(result),
                        Err(error) => error,
                    };
                    let reason = in_words(&server.name, &error);
                    let is_passing = matches!(&error, CallError::Unknown(error) if error.is_transient());
                    if !is_passing || cancel.is_cancelled() {
                        return CallEnd::Failed { reason, outcome: error.outcome() };
                    }
                    if connection.is_closed() {
                        self.pool.lose(app, user, &server, &error.to_string()).await;
                    }
                    reason
                }
            };
            if began_attempt.elapsed() > GOOD {
                (trouble, wait) = (None, WAITS.0);
            }
            if trouble.get_or_insert(began_attempt).elapsed() > PATIENCE {
                return lost(reason);
            }
            if cancel.run_until_cancelled(tokio::time::sleep(wait)).await.is_none() {
                return CallEnd::Failed { reason: STOPPED.to_owned(), outcome: Outcome::Stopped };
            }
            wait = (wait * 2).min(most);
        }
    }

    async fn reopened(&self, app: &App, user: UserId, server: &Server) -> Result<Connection, String> {
        match self.pool.open(app, user, server).await? {
            Opened { connection: Some(connection), .. } => Ok(connection),
            Opened { reason, .. } => Err(reason.unwrap_or_else(|| "offers no tools".to_owned())),
        }
    }
}

/// The end of a call of which nobody knows any more whether it ran to its end.
fn lost(reason: String) -> CallEnd {
    CallEnd::Failed { reason, outcome: Outcome::Unknown }
}
