//! Tool calls: sending, waiting with deadlines, and repeating with the input that a server requires.

use std::sync::Arc;
use std::time::Duration;

use domain::tool::ToolResult;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, ErrorCode, ServerResult};
use rmcp::service::{PeerRequestOptions, ServiceError};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use self::deadlines::CallDeadlines;
use self::options::CallOptions;
use crate::answer_retry::AnswerRetry;
use crate::input_required::{MAX_ROUNDS, ServerReply, required_visits};
use crate::library_errors::explain_request_error;
use crate::progress::{ProgressReport, ProgressRoute};
use crate::session::{PendingRequest, Session};
use crate::suspended_call::{RequiredInput, SuspendedCall};
use crate::tasks::polling::{self, StartedTask};
use crate::tasks::{self, Task};
use crate::{CallError, Error, tools};

mod deadlines;
pub(crate) mod options;

/// Capacity of a call's progress channel; more reports at once are not progress that a user could follow.
const PROGRESS_CHANNEL_CAPACITY: usize = 16;

/// Calls a tool and waits for its result.
///
/// # Errors
///
/// A [`CallError`] that says whether the tool may have run.
pub(crate) async fn call_tool(
    session: &Session,
    name: &str,
    arguments: Map<String, Value>,
    options: CallOptions,
) -> Result<ToolResult, CallError> {
    let elicitations = &session.routes.elicitations;
    let eliciting = options.elicitation_handler.clone().map(|handler| elicitations.register(handler));
    let mut deadlines = CallDeadlines::new(&options, elicitations.subscribe_open());
    let original = CallToolRequestParams::new(name.to_owned()).with_arguments(arguments);
    let mut params = match &options.resume {
        Some(resumed) => resumed.apply_to(original.clone()),
        None => original.clone(),
    };
    let mut relisted = false;
    let as_task = session.task_tools.contains(name);
    let first_round = options.resume.as_ref().map_or(0, |resumed| resumed.round);
    for round in first_round..MAX_ROUNDS {
        let request = if as_task {
            tasks::task_call_request(&params, options.task_timeout)
        } else {
            ClientRequest::CallToolRequest(CallToolRequest::new(params))
        };
        let has_answers = round > first_round;
        let required = match send_round(session, request, has_answers, &options, &mut deadlines).await {
            Ok(Received { result, progress, _route }) => {
                if let Some((task, state)) = tasks::parse_started_task(&result, as_task)? {
                    let started = StartedTask { task, state: Some(state), age: Duration::ZERO };
                    return polling::wait_for_task(session, started, Some(progress), eliciting.as_ref(), &options)
                        .await;
                }
                match ServerReply::parse(result)? {
                    ServerReply::InputRequired(required) => required,
                    ServerReply::Complete(result) => return tools::parse_result(*result).map_err(Into::into),
                }
            }
            Err(RoundError::VisitsRequired(required)) => required,
            // Headers mirror parameters as the tool list says (2026-07-28). A mismatch means that the server has
            // another list by now and did not run the call.
            Err(RoundError::Call(CallError::Server { code, .. }))
                if code == i64::from(ErrorCode::HEADER_MISMATCH.0) && !relisted =>
            {
                relisted = true;
                params = original.clone();
                tools::list_tools(session).await?;
                continue;
            }
            // The server has seen the call, so that the caller must not make it again from its beginning.
            Err(RoundError::Call(CallError::NotSent(error @ Error::Renewal(_)))) if has_answers => {
                return Err(CallError::Unknown(error));
            }
            Err(RoundError::Call(error)) => return Err(error),
        };
        let suspended = Arc::new(SuspendedCall { round: round + 1, required });
        let input = deadlines.pause_during(suspended.collect_during_call(eliciting.as_ref()));
        let resumed = options.cancel.run_until_cancelled(input).await.ok_or(CallError::Cancelled)??;
        params = resumed.apply_to(original.clone());
    }
    Err(Error::Protocol("it keeps asking to be asked again".to_owned()).into())
}

/// Waits for the result of a task that was started `age` ago.
pub(crate) async fn resume_task(
    session: &Session,
    task: Task,
    age: Duration,
    options: CallOptions,
) -> Result<ToolResult, CallError> {
    let handler = options.elicitation_handler.clone();
    let eliciting = handler.map(|handler| session.routes.elicitations.register(handler));
    let started = StartedTask { task, state: None, age };
    polling::wait_for_task(session, started, None, eliciting.as_ref(), &options).await
}

/// Response to one round of a call.
struct Received {
    result: ServerResult,
    /// Further progress, for as long as a task runs.
    progress: mpsc::Receiver<ProgressReport>,
    /// Keeps the progress channel registered.
    _route: ProgressRoute,
}

/// Reason why a round of a call has no result.
enum RoundError {
    Call(CallError),
    /// The user has to visit pages first.
    VisitsRequired(RequiredInput),
}

impl<E: Into<CallError>> From<E> for RoundError {
    fn from(error: E) -> Self {
        Self::Call(error.into())
    }
}

/// Sends one round of a call and waits for the response. A round with answers that cannot be sent for the moment is sent
/// later.
async fn send_round(
    session: &Session,
    request: ClientRequest,
    has_answers: bool,
    options: &CallOptions,
    deadlines: &mut CallDeadlines,
) -> Result<Received, RoundError> {
    let retry = AnswerRetry::new(has_answers);
    loop {
        let error = match send_and_wait(session, request.clone(), options, deadlines).await {
            Err(RoundError::Call(CallError::NotSent(error))) => error,
            response => return response,
        };
        match options.cancel.run_until_cancelled(retry.wait_to_repeat(&error)).await {
            Some(true) => {}
            Some(false) => return Err(CallError::NotSent(error).into()),
            None => return Err(CallError::Cancelled.into()),
        }
    }
}

async fn send_and_wait(
    session: &Session,
    request: ClientRequest,
    options: &CallOptions,
    deadlines: &mut CallDeadlines,
) -> Result<Received, RoundError> {
    // Before anything is sent, so that the outcome is certain.
    if options.cancel.is_cancelled() {
        return Err(CallError::Cancelled.into());
    }
    let (sender, mut progress) = mpsc::channel(PROGRESS_CHANNEL_CAPACITY);
    let sending = session.peer.send_request_with_option(request, PeerRequestOptions::no_options());
    let sent = session.routes.progress.register(sender, session.background.clone(), sending).await;
    let (handle, route) =
        sent.map_err(|_| CallError::NotSent(session.transport_errors.take().unwrap_or(Error::Closed)))?;
    // Time in which the request waited to be sent does not count.
    deadlines.restart_idle();
    let pending = PendingRequest::new(session, handle);
    let result = wait_for_result(session, pending, options, deadlines, &mut progress).await?;
    Ok(Received { result, progress, _route: route })
}

async fn wait_for_result(
    session: &Session,
    mut pending: PendingRequest,
    options: &CallOptions,
    deadlines: &mut CallDeadlines,
    progress: &mut mpsc::Receiver<ProgressReport>,
) -> Result<ServerResult, RoundError> {
    loop {
        tokio::select! {
            // In this order: a result that is there is never lost to a cancellation or a deadline.
            biased;
            response = pending.response(session) => {
                return response.map_err(|(error, transport_errors)| {
                    match &error {
                        ServiceError::McpError(error) => required_visits(error).map(RoundError::VisitsRequired),
                        _ => None,
                    }
                    .unwrap_or_else(|| RoundError::Call(explain_request_error(&error, &transport_errors).into()))
                });
            }
            () = options.cancel.cancelled() => {
                pending.set_cancel_reason("the user stopped it");
                return Err(CallError::Cancelled.into());
            }
            Some(report) = progress.recv() => {
                deadlines.restart_idle();
                if let Some(listener) = &options.on_progress {
                    // A full channel drops the report: progress is only informative.
                    let _ = listener.try_send(report);
                }
            }
            timeout = deadlines.expired() => {
                pending.set_cancel_reason("it took too long");
                return Err(CallError::Unknown(Error::Timeout(timeout)).into());
            }
        }
    }
}
