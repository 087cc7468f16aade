//! The model in a subprocess: a crash there does not affect the program, and its memory is free once it has ended.

mod validation;

use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use domain::model::{ModelError, ModelMessage, ModelStatus, Request};

use crate::engine::EngineSettings;
use crate::error::InferenceError;
use crate::ipc::{IpcRequest, IpcResponse, write_message};
use crate::output_sink::OutputSink;
use crate::worker::RequestHandler;
use validation::{ResponseValidator, read_responses, sanitize_error};

/// Interval of the check for cancellation while the model sends nothing.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Time for the process to stop after a cancellation, many times what a slow machine needs for one step.
const CANCEL_GRACE_PERIOD: Duration = Duration::from_secs(30);

/// Capacity of the channel for responses from the process.
const MAX_PENDING_RESPONSES: usize = 64;

/// Environment variable with the arithmetic library's number of threads.
pub(crate) const THREAD_COUNT_VARIABLE: &str = "RAYON_NUM_THREADS";

/// Environment variables that the process inherits.
const INHERITED_VARIABLES: [&str; 3] = ["PATH", "RUST_LOG", THREAD_COUNT_VARIABLE];

/// Process of the model and the pipes to it. Dropping it kills the process.
pub(crate) struct ModelProcess {
    process: Child,
    requests: ChildStdin,
    responses: Receiver<IpcResponse>,
    grace_period: Duration,
}

impl ModelProcess {
    /// Starts `program` with the arguments `model serve` and the weight file, and waits until the model is loaded.
    pub(crate) fn start(program: &Path, settings: &EngineSettings, out: &OutputSink) -> Result<Self, InferenceError> {
        let mut command = Command::new(program);
        // Standard error is inherited, so that the process logs to where the program does.
        command.args(["model", "serve"]).arg(&settings.weights_path).stdin(Stdio::piped()).stdout(Stdio::piped());
        if settings.verify_checksum {
            command.arg("--verify");
        }
        // The environment of the program holds API keys, which the process does not need.
        command.env_clear().envs(INHERITED_VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        if let Some(threads) = settings.threads {
            command.env(THREAD_COUNT_VARIABLE, threads.to_string());
        }
        let start_error = |error| {
            InferenceError::Failed(unavailable_error(format!("the built-in model could not be started: {error}")))
        };
        let mut process = command.spawn().map_err(start_error)?;
        let (Some(requests), Some(stdout)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(start_error(std::io::ErrorKind::BrokenPipe.into()));
        };
        // A thread reads the pipe, because blocking reads cannot be combined with the check for cancellation.
        // Bounded: a process that writes without end is stopped by its full pipe.
        let (sender, receiver) = sync_channel(MAX_PENDING_RESPONSES);
        let reader = std::thread::Builder::new().name("built-in-model-reader".to_owned());
        let reader_started = reader.spawn(move || {
            for response in read_responses(stdout) {
                if sender.send(response).is_err() {
                    break;
                }
            }
        });
        // Owned before the next step that can fail, so that the process is killed in that case.
        let mut process = Self { process, requests, responses: receiver, grace_period: CANCEL_GRACE_PERIOD };
        reader_started.map_err(start_error)?;
        loop {
            // Cancelling the request also cancels loading: returning drops the process.
            out.check_cancelled()?;
            match process.responses.recv_timeout(POLL_INTERVAL) {
                Ok(IpcResponse::Loading { done, total }) => out.send_status(ModelStatus::Loading { done, total }),
                Ok(IpcResponse::Ready) => return Ok(process),
                Ok(IpcResponse::Failed(error)) => {
                    return Err(sanitize_error(error).map_or_else(|| process.end_unusable(), InferenceError::Failed));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(_) | Err(RecvTimeoutError::Disconnected) => return Err(process.end_unusable()),
            }
        }
    }

    /// Sends a request and forwards the events of its response, checked by [`ResponseValidator`], until it is
    /// complete.
    fn run_request(&mut self, request: &IpcRequest, out: &OutputSink) -> Result<(), InferenceError> {
        if write_message(&mut self.requests, request).is_err() {
            return Err(self.end_unusable());
        }
        // The subprocess parses untrusted weights and texts, so its responses are checked like any other input.
        let mut validator = ResponseValidator::default();
        let mut cancelled_at: Option<Instant> = None;
        loop {
            match cancelled_at {
                None if !out.is_wanted() => {
                    cancelled_at = Some(Instant::now());
                    if write_message(&mut self.requests, &IpcRequest::Cancel).is_err() {
                        return Err(self.end_unusable());
                    }
                }
                Some(since) if since.elapsed() > self.grace_period => return Err(self.end_unusable()),
                _ => {}
            }
            match self.responses.recv_timeout(POLL_INTERVAL) {
                Ok(IpcResponse::Event(event)) => match validator.accept(event) {
                    // A failed send means that the request was cancelled, which the next iteration notices.
                    Some(event) => drop(out.send(event)),
                    None => return Err(self.end_unusable()),
                },
                Ok(IpcResponse::Done) if matches!(request, IpcRequest::Prepare(_)) || validator.is_complete() => {
                    return Ok(());
                }
                Ok(IpcResponse::Cancelled) if cancelled_at.is_some() => return Err(InferenceError::Cancelled),
                Ok(IpcResponse::Failed(error)) => {
                    return Err(sanitize_error(error).map_or_else(|| self.end_unusable(), InferenceError::Failed));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(IpcResponse::Loading { .. } | IpcResponse::Ready | IpcResponse::Done | IpcResponse::Cancelled)
                | Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.end_unusable());
                }
            }
        }
    }

    /// Kills a process that has ended, hangs or sends invalid responses, and returns an error with its exit status.
    fn end_unusable(&mut self) -> InferenceError {
        let _ = self.process.kill();
        let status = self.process.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        tracing::error!(status, "process of the built-in model ended");
        InferenceError::Unusable(unavailable_error(format!(
            "The built-in model stopped unexpectedly ({status}), perhaps for lack of memory. It is started again with the next \
             message."
        )))
    }
}

impl RequestHandler for ModelProcess {
    fn answer(&mut self, request: &Request, out: &OutputSink) -> Result<(), InferenceError> {
        self.run_request(&IpcRequest::Answer(without_files(request)), out)
    }

    fn prepare(&mut self, request: &Request, out: &OutputSink) -> Result<(), InferenceError> {
        self.run_request(&IpcRequest::Prepare(request.clone()), out)
    }
}

impl Drop for ModelProcess {
    fn drop(&mut self) {
        let _ = self.process.kill();
        // Collects the exit status; otherwise the process would stay as a zombie.
        let _ = self.process.wait();
    }
}

/// Returns the request without files, which the built-in model cannot read.
fn without_files(request: &Request) -> Request {
    let mut request = request.clone();
    for message in &mut request.messages {
        let (ModelMessage::User { files, .. }
        | ModelMessage::Assistant { files, .. }
        | ModelMessage::ToolResult { files, .. }) = message;
        files.clear();
    }
    request
}

fn unavailable_error(reason: String) -> ModelError {
    ModelError::Unavailable(reason)
}

#[cfg(test)]
mod tests;
