//! Calling a tool, and waiting for it no longer than is sensible.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use domain::tool::ToolResult;
use rmcp::RoleClient;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, ErrorCode, ServerResult};
use rmcp::service::{PeerRequestOptions, RequestHandle, ServiceError};
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::asking::Listed;
use crate::client::explain_request;
use crate::connection::Inner;
use crate::elicitation::{Answer, Asker};
use crate::handler::Routes;
use crate::{CallError, Error, tools};
use rounds::Needed;
use time::Time;

mod rounds;
mod time;

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
    /// Who puts the server's questions before the person, if the client offers that
    /// ([`Client::with_questions`](crate::Client::with_questions)).
    pub asker: Option<Arc<dyn Asker>>,
    /// Stops the call and tells the server.
    pub cancel: CancellationToken,
}

impl Default for CallOptions {
    fn default() -> Self {
        Self {
            idle: Duration::from_mins(1),
            total: Duration::from_mins(10),
            on_progress: None,
            asker: None,
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
    let mut params = plain.clone();
    let mut listed_again = false;
    for _ in 0..ROUNDS {
        match round(connection, params, &options, &mut time).await {
            Ok(ServerResult::CreateTaskResult(_)) => {
                return Err(unusable("it answered with a task, which was not offered"));
            }
            Ok(result) => match rounds::needed(result)? {
                Ok(needed) => params = answer(needed, &plain, listed.as_ref(), &options, &mut time).await?,
                Err(result) => return tools::result(result).map_err(Into::into),
            },
            Err(Failed::Visits { visits, error }) => {
                params = plain.clone();
                visit(visits, error, listed.as_ref(), &options, &mut time).await?;
            }
            // The headers mirror parameters as the list of tools says; the server has another list by now. It did
            // not run the call.
            Err(Failed::Call(CallError::Server { code, .. }))
                if code == i64::from(ErrorCode::HEADER_MISMATCH.0) && !listed_again =>
            {
                listed_again = true;
                params = plain.clone();
                tools::list(connection).await?;
            }
            Err(Failed::Call(error)) => return Err(error),
        }
    }
    Err(unusable("it keeps asking to be asked again"))
}

/// The call with the person's answers to what the server needs.
async fn answer(
    needed: Needed,
    plain: &CallToolRequestParams,
    listed: Option<&Listed>,
    options: &CallOptions,
    time: &mut Time,
) -> Result<CallToolRequestParams, CallError> {
    let mut answers = BTreeMap::new();
    for (key, question) in &needed.questions {
        let Some(listed) = listed else { return Err(unusable("it asked for input, which was not offered")) };
        let asked = time.stand_still(listed.answer(question));
        let answer = options.cancel.run_until_cancelled(asked).await.ok_or(CallError::Cancelled)?;
        answers.insert(key.clone(), answer);
    }
    Ok(needed.call_again(plain.clone(), answers))
}

/// Has the person make all visits, or fails as the server did.
async fn visit(
    visits: Vec<Value>,
    error: CallError,
    listed: Option<&Listed>,
    options: &CallOptions,
    time: &mut Time,
) -> Result<(), CallError> {
    let Some(listed) = listed else { return Err(error) };
    for visit in &visits {
        let asked = time.stand_still(listed.visit(visit));
        let answer = options.cancel.run_until_cancelled(asked).await.ok_or(CallError::Cancelled)?;
        if !matches!(answer, Answer::Accept(_)) {
            return Err(error);
        }
    }
    Ok(())
}

fn unusable(why: &str) -> CallError {
    Error::Protocol(why.to_owned()).into()
}

/// Why one round has no result.
enum Failed {
    Call(CallError),
    /// Pages have to be visited first; the error says so too, for those who cannot ask.
    Visits {
        visits: Vec<Value>,
        error: CallError,
    },
}

impl<E: Into<CallError>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self::Call(error.into())
    }
}

async fn round(
    connection: &Inner,
    params: CallToolRequestParams,
    options: &CallOptions,
    time: &mut Time,
) -> Result<ServerResult, Failed> {
    if options.cancel.is_cancelled() {
        return Err(CallError::Cancelled.into());
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
    time.heard();
    wait(connection, pending, options, time, &mut reports).await
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
                pending.answered().await;
                let error = match answer {
                    Ok(Ok(result)) => return Ok(result),
                    Ok(Err(error)) => error,
                    Err(_) => ServiceError::TransportClosed,
                };
                let visits = match &error {
                    ServiceError::McpError(error) => rounds::visits(error),
                    _ => None,
                };
                let error = CallError::from(explain_request(&error, &connection.fault));
                return Err(match visits {
                    Some(visits) => Failed::Visits { visits, error },
                    None => Failed::Call(error),
                });
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
