//! Main function of the subprocess that runs the model.

use std::io::BufRead;
use std::path::Path;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};

use domain::model::ModelError;
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

use crate::error::InferenceError;
use crate::ipc::{IpcRequest, IpcResponse, write_message};
use crate::output_sink::OutputSink;
use crate::pipeline::InferencePipeline;
use crate::worker::RequestHandler;

/// Priority for the kernel's out-of-memory killer, from -1000 to 1000: this process is killed long before the program.
const OOM_SCORE_ADJUSTMENT: &str = "800";

/// Verifies and loads the weight file, then reads requests from standard input and writes responses to standard
/// output until the input ends.
///
/// # Errors
/// Returns an error when the pipe breaks; every other failure is sent as a response.
pub fn run_subprocess(weights: &Path, check: impl FnOnce() -> Result<(), ModelError>) -> std::io::Result<()> {
    // Only Linux has this file; elsewhere the default priority applies.
    let _ = std::fs::write("/proc/self/oom_score_adj", OOM_SCORE_ADJUSTMENT);
    let mut output = std::io::stdout();
    // A broken pipe is noticed at the next write.
    let progress = |done, total| drop(write_message(&mut std::io::stdout(), &IpcResponse::Loading { done, total }));
    let loaded = check().and_then(|()| Ok(InferencePipeline::load(weights, progress)?));
    let mut pipeline = match loaded {
        Ok(pipeline) => pipeline,
        Err(error) => return write_message(&mut output, &IpcResponse::Failed(error)),
    };
    write_message(&mut output, &IpcResponse::Ready)?;

    let input_ended = CancellationToken::new();
    let current_request = Arc::new(Mutex::new(CancellationToken::new()));
    let (sender, requests) = channel();
    let (ending, cancelling) = (input_ended.clone(), current_request.clone());
    std::thread::Builder::new().name("requests".to_owned()).spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(IpcRequest::Cancel) => cancelling.lock().unwrap_or_else(PoisonError::into_inner).cancel(),
                Ok(request) => {
                    // Created before the request is queued, so that a cancellation right after it hits this request.
                    let cancel = CancellationToken::new();
                    *cancelling.lock().unwrap_or_else(PoisonError::into_inner) = cancel.clone();
                    if sender.send((request, cancel)).is_err() {
                        break;
                    }
                }
                // A line that cannot be read means that the parent process is gone or is another version.
                Err(_) => break,
            }
        }
        // The parent process has ended: the request in progress has no reader.
        ending.cancel();
    })?;

    for (request, cancel) in requests {
        let (events, mut output_items) = unbounded_channel();
        let sink = OutputSink::new(events, cancel, input_ended.clone());
        let result = std::thread::scope(|scope| {
            // A thread of its own: inference does not wait for the pipe.
            let writer = scope.spawn(|| -> std::io::Result<()> {
                let mut output = std::io::stdout();
                while let Some(item) = output_items.blocking_recv() {
                    let response = item.map_or_else(IpcResponse::Failed, IpcResponse::Event);
                    write_message(&mut output, &response)?;
                }
                Ok(())
            });
            let result = match &request {
                IpcRequest::Answer(request) => pipeline.answer(request, &sink),
                IpcRequest::Prepare(request) => pipeline.prepare(request, &sink),
                IpcRequest::Cancel => Ok(()),
            };
            // Closes the channel, which ends the writer.
            drop(sink);
            let written = writer.join().unwrap_or_else(|_| Err(std::io::ErrorKind::Other.into()));
            written.map(|()| result)
        })?;
        let response = match result {
            Ok(()) => IpcResponse::Done,
            Err(InferenceError::Cancelled) => IpcResponse::Cancelled,
            Err(InferenceError::Failed(error) | InferenceError::Unusable(error)) => IpcResponse::Failed(error),
        };
        write_message(&mut output, &response)?;
    }
    Ok(())
}
