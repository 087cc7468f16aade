//! Calling a tool, and waiting for it no longer than is sensible.

use std::time::Duration;

use domain::tool::ToolResult;
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, ErrorCode, InputRequiredResult, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, ServiceError};
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::client::explain_request;
use crate::connection::Inner;
use crate::handler::Routes;
use crate::{CallError, Error, tools};

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
    /// Stops the call and tells the server.
    pub cancel: CancellationToken,
}

impl Default for CallOptions {
    fn default() -> Self {
        Self {
            idle: Duration::from_mins(1),
            total: Duration::from_mins(10),
            on_progress: None,
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
    let deadline = Instant::now() + options.total;
    let plain = CallToolRequestParams::new(name.to_owned()).with_arguments(arguments);
    let mut params = plain.clone();
    let mut listed_again = false;
    for _ in 0..ROUNDS {
        match round(connection, params, &options, deadline).await {
            Ok(ServerResult::InputRequiredResult(asked)) => params = again(plain.clone(), asked)?,
            Ok(ServerResult::CreateTaskResult(_)) => {
                return Err(unusable("it answered with a task, which was not offered"));
            }
            Ok(result) => return tools::result(result).map_err(Into::into),
            // The headers mirror parameters as the list of tools says; the server has another list by now. It did
            // not run the call.
            Err(CallError::Server { code, .. }) if code == i64::from(ErrorCode::HEADER_MISMATCH.0) && !listed_again => {
                listed_again = true;
                params = plain.clone();
                tools::list(connection).await?;
            }
            Err(error) => return Err(error),
        }
    }
    Err(unusable("it keeps asking to be asked again"))
}

/// The retry of a call that only has to be asked again. One that wants input cannot get it: none was offered.
fn again(plain: CallToolRequestParams, asked: InputRequiredResult) -> Result<CallToolRequestParams, CallError> {
    if asked.input_requests.is_some_and(|requests| !requests.is_empty()) {
        return Err(unusable("it asked for input, which was not offered"));
    }
    Ok(match asked.request_state {
        Some(state) => plain.with_request_state(state),
        None => plain,
    })
}

fn unusable(why: &str) -> CallError {
    Error::Protocol(why.to_owned()).into()
}

async fn round(
    connection: &Inner,
    params: CallToolRequestParams,
    options: &CallOptions,
    deadline: Instant,
) -> Result<ServerResult, CallError> {
    if options.cancel.is_cancelled() {
        return Err(CallError::Cancelled);
    }
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let (route, mut reports) = mpsc::channel(REPORTS);
    let handle = {
        let mut routes = connection.routes.lock().await;
        let handle = connection.peer.send_request_with_option(request, PeerRequestOptions::no_options()).await;
        let handle = handle.map_err(|_| CallError::NotSent(connection.fault.take().unwrap_or(Error::Closed)))?;
        routes.insert(handle.progress_token.clone(), route);
        handle
    };
    let pending = Pending {
        handle: Some(handle),
        reason: "nobody waits for it any more",
        routes: connection.routes.clone(),
        tasks: connection.tasks.clone(),
    };
    wait(connection, pending, options, deadline, &mut reports).await
}

async fn wait(
    connection: &Inner,
    mut pending: Pending,
    options: &CallOptions,
    deadline: Instant,
    reports: &mut mpsc::Receiver<Progress>,
) -> Result<ServerResult, CallError> {
    let mut silent_until = Instant::now() + options.idle;
    let Some(handle) = pending.handle.as_mut() else { return Err(CallError::Cancelled) };
    loop {
        tokio::select! {
            biased;
            answer = &mut handle.rx => {
                pending.answered().await;
                return match answer {
                    Ok(Ok(result)) => Ok(result),
                    Ok(Err(error)) => Err(explain_request(&error, &connection.fault).into()),
                    Err(_) => Err(explain_request(&ServiceError::TransportClosed, &connection.fault).into()),
                };
            }
            () = options.cancel.cancelled() => {
                pending.reason = "the user stopped it";
                return Err(CallError::Cancelled);
            }
            Some(report) = reports.recv() => {
                silent_until = Instant::now() + options.idle;
                if let Some(listener) = &options.on_progress {
                    listener.try_send(report).ok();
                }
            }
            () = sleep_until(silent_until.min(deadline)) => {
                pending.reason = "it took too long";
                let waited = if deadline <= silent_until { options.total } else { options.idle };
                return Err(CallError::Unknown(Error::Timeout(waited)));
            }
        }
    }
}

/// A call that the server has not answered. Let go of, it is cancelled there: a notice in the legacy era, a closed
/// stream in the modern one.
struct Pending {
    handle: Option<RequestHandle<RoleClient>>,
    reason: &'static str,
    routes: Routes,
    tasks: TaskTracker,
}

impl Pending {
    async fn answered(&mut self) {
        if let Some(handle) = self.handle.take() {
            self.routes.lock().await.remove(&handle.progress_token);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let (Some(handle), Ok(runtime)) = (self.handle.take(), Handle::try_current()) else { return };
        let (routes, reason) = (self.routes.clone(), self.reason.to_owned());
        let notice = async move {
            routes.lock().await.remove(&handle.progress_token);
            // A dead wire must not keep the task.
            tokio::time::timeout(NOTICE, handle.cancel(Some(reason))).await.ok();
        };
        self.tasks.spawn_on(notice, &runtime);
    }
}
