//! Calling a tool, and waiting for it no longer than is sensible.

use std::sync::Arc;
use std::time::Duration;

use domain::tool::ToolResult;
use rmcp::RoleClient;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, ErrorCode, ProgressToken, ServerResult};
use rmcp::service::{PeerRequestOptions, RequestHandle, ServiceError};
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::client::explain_request;
use crate::connection::Inner;
use crate::elicitation::Asker;
use crate::handler::Routes;
use crate::{CallError, Error, tools};
use long::Task;
use suspended::Needs;
use time::Time;

pub(crate) mod long;
pub(crate) mod rounds;
pub(crate) mod suspended;
mod time;

pub use suspended::{Resumed, Suspended};

/// How often a server may answer a call with "ask me again".
const ROUNDS: usize = 10;
/// Reports on their way to a caller. More than this at once is not progress that anybody could follow.
const REPORTS: usize = 16;
/// For telling the server that a call is cancelled.
const NOTICE: Duration = Duration::from_secs(5);

/// How far a call has come, in the server's words.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Grows as the call proceeds.
    pub progress: f64,
    /// What `progress` grows towards, if that is known.
    pub total: Option<f64>,
    /// What is going on.
    pub message: Option<String>,
}

/// How to wait for a call.
#[derive(Debug, Clone)]
pub struct CallOptions {
    /// The longest silence; each progress report starts it anew. Default 60 s.
    pub idle: Duration,
    /// The longest wait in all. Default 10 minutes.
    pub total: Duration,
    /// Where progress goes. A full channel loses reports and holds nothing up.
    pub on_progress: Option<mpsc::Sender<Progress>>,
    /// Where a call that runs as a task at the server is told of, with what is known of it last, if it can be taken up
    /// again: then a task outlives the future, unless it was cancelled.
    pub on_task: Option<watch::Sender<Option<Task>>>,
    /// The longest time for a task, in the place of `idle` and `total`. Default 24 hours; a server may give it less.
    pub task_total: Duration,
    /// Who puts the server's questions before the person, if the client offers that
    /// ([`Client::with_questions`](crate::Client::with_questions)).
    pub asker: Option<Arc<dyn Asker>>,
    /// Where the call goes on, if the server has answered it with questions before.
    pub resume: Option<Resumed>,
    /// Stops the call and tells the server.
    pub cancel: CancellationToken,
}

impl Default for CallOptions {
    fn default() -> Self {
        Self {
            idle: Duration::from_mins(1),
            total: Duration::from_mins(10),
            on_progress: None,
            on_task: None,
            task_total: Duration::from_hours(24),
            asker: None,
            resume: None,
            cancel: CancellationToken::new(),
        }
    }
}

pub(crate) async fn call(
    connection: &Inner,
    name: &str,
    arguments: Map<String, Value>,
    options: CallOptions,
) -> Result<ToolResult, CallError> {
    let listed = options.asker.clone().map(|asker| connection.asking.list(asker));
    let mut time = Time::new(&options, connection.asking.open());
    let plain = CallToolRequestParams::new(name.to_owned()).with_arguments(arguments);
    let mut params = match &options.resume {
        Some(resumed) => resumed.call_again(plain.clone()),
        None => plain.clone(),
    };
    let mut listed_again = false;
    let as_task = connection.is_long_call(name);
    for number in options.resume.as_ref().map_or(0, Resumed::rounds)..ROUNDS {
        let request = if as_task {
            long::request(&params, &options)
        } else {
            ClientRequest::CallToolRequest(CallToolRequest::new(params))
        };
        let needs = match round(connection, request, &options, &mut time).await {
            Ok(Round { result, reports, route: _route }) => {
                if let Some((task, said)) = long::begun(&result, as_task)? {
                    let begun = (task, Some(said));
                    return long::follow(connection, begun, Duration::ZERO, Some(reports), listed.as_ref(), &options)
                        .await;
                }
                match rounds::needs(result)? {
                    Ok(needs) => needs,
                    Err(result) => return tools::result(result).map_err(Into::into),
                }
            }
            Err(Failed::Visits(needs)) => needs,
            // The headers mirror parameters as the list of tools says; the server has another list by now. It did
            // not run the call.
            Err(Failed::Call(CallError::Server { code, .. }))
                if code == i64::from(ErrorCode::HEADER_MISMATCH.0) && !listed_again =>
            {
                listed_again = true;
                params = plain.clone();
                tools::list(connection).await?;
                continue;
            }
            Err(Failed::Call(error)) => return Err(error),
        };
        let suspended = Arc::new(Suspended::new(number + 1, needs));
        let asked = time.stand_still(suspended.put_to(listed.as_ref()));
        let resumed = options.cancel.run_until_cancelled(asked).await.ok_or(CallError::Cancelled)??;
        params = resumed.call_again(plain.clone());
    }
    Err(unusable("it keeps asking to be asked again"))
}

/// Waits for a task that began `age` ago.
pub(crate) async fn resume(
    connection: &Inner,
    task: Task,
    age: Duration,
    options: CallOptions,
) -> Result<ToolResult, CallError> {
    let listed = options.asker.clone().map(|asker| connection.asking.list(asker));
    long::follow(connection, (task, None), age, None, listed.as_ref(), &options).await
}

fn unusable(why: &str) -> CallError {
    Error::Protocol(why.to_owned()).into()
}

/// What one round brought.
struct Round {
    result: ServerResult,
    /// More may come as long as a task goes on.
    reports: mpsc::Receiver<Progress>,
    /// Open as long as this lives.
    route: Route,
}

/// Why one round has no result.
enum Failed {
    Call(CallError),
    /// Pages have to be visited first.
    Visits(Needs),
}

impl<E: Into<CallError>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self::Call(error.into())
    }
}

async fn round(
    connection: &Inner,
    request: ClientRequest,
    options: &CallOptions,
    time: &mut Time,
) -> Result<Round, Failed> {
    if options.cancel.is_cancelled() {
        return Err(CallError::Cancelled.into());
    }
    let (route, mut reports) = mpsc::channel(REPORTS);
    let handle = {
        let mut routes = connection.routes.lock().await;
        let handle = connection.peer.send_request_with_option(request, PeerRequestOptions::no_options()).await;
        let handle = handle.map_err(|_| CallError::NotSent(connection.fault.take().unwrap_or(Error::Closed)))?;
        routes.insert(handle.progress_token.clone(), route);
        handle
    };
    let route = Route {
        token: handle.progress_token.clone(),
        routes: connection.routes.clone(),
        tasks: connection.tasks.clone(),
    };
    time.heard();
    let result = wait(connection, Pending::new(connection, handle), options, time, &mut reports).await?;
    Ok(Round { result, reports, route })
}

async fn wait(
    connection: &Inner,
    mut pending: Pending,
    options: &CallOptions,
    time: &mut Time,
    reports: &mut mpsc::Receiver<Progress>,
) -> Result<ServerResult, Failed> {
    let Some(handle) = pending.handle.as_mut() else { return Err(CallError::Cancelled.into()) };
    loop {
        tokio::select! {
            biased;
            answer = &mut handle.rx => {
                let fault = connection.fault.of(&handle.id);
                pending.answered();
                let error = match answer {
                    Ok(Ok(result)) => return Ok(result),
                    Ok(Err(error)) => error,
                    Err(_) => ServiceError::TransportClosed,
                };
                return Err(match &error {
                    ServiceError::McpError(error) => rounds::visits(error).map(Failed::Visits),
                    _ => None,
                }
                .unwrap_or_else(|| Failed::Call(explain_request(&error, &fault).into())));
            }
            () = options.cancel.cancelled() => {
                pending.reason = "the user stopped it";
                return Err(CallError::Cancelled.into());
            }
            Some(report) = reports.recv() => {
                time.heard();
                if let Some(listener) = &options.on_progress {
                    listener.try_send(report).ok();
                }
            }
            waited = time.up() => {
                pending.reason = "it took too long";
                return Err(CallError::Unknown(Error::Timeout(waited)).into());
            }
        }
    }
}

/// A request that the server has not answered. Let go of, it is cancelled there: a notice in the legacy era, a closed
/// stream in the modern one.
struct Pending {
    handle: Option<RequestHandle<RoleClient>>,
    reason: &'static str,
    tasks: TaskTracker,
}

impl Pending {
    fn new(connection: &Inner, handle: RequestHandle<RoleClient>) -> Self {
        Self { handle: Some(handle), reason: "nobody waits for it any more", tasks: connection.tasks.clone() }
    }

    fn answered(&mut self) {
        self.handle = None;
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let (Some(handle), Ok(runtime)) = (self.handle.take(), Handle::try_current()) else { return };
        let reason = self.reason.to_owned();
        // A dead wire must not keep the task.
        let notice = async move { drop(tokio::time::timeout(NOTICE, handle.cancel(Some(reason))).await) };
        self.tasks.spawn_on(notice, &runtime);
    }
}

/// The way of a call's progress reports. It is open until this is dropped.
struct Route {
    token: ProgressToken,
    routes: Routes,
    tasks: TaskTracker,
}

impl Drop for Route {
    fn drop(&mut self) {
        if let Ok(mut routes) = self.routes.try_lock() {
            routes.remove(&self.token);
        } else if let Ok(runtime) = Handle::try_current() {
            let (token, routes) = (self.token.clone(), self.routes.clone());
            self.tasks.spawn_on(async move { drop(routes.lock().await.remove(&token)) }, &runtime);
        }
    }
}
