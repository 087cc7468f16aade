//! Handle to the worker thread of the built-in model.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use domain::UserId;
use domain::model::{ModelError, ModelEvent, ModelStatus, Request, Usage};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream, poll_fn};
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

use crate::error::InferenceError;
use crate::output_sink::{OutputSink, text_response};
use crate::pipeline::InferencePipeline;
use crate::prefix_files;
use crate::subprocess::ModelProcess;
use crate::tool_overview::answer_from_list;
use crate::worker::{InferenceJob, InferenceWorker};

/// Settings of an [`Engine`].
#[derive(Debug, Clone)]
pub struct EngineSettings {
    /// Path of the weight file (GGUF, of the qwen2 or the llama family). The file may be missing at the start.
    pub weights_path: PathBuf,
    /// Program that runs the model in a subprocess: it is called with `model serve` and the path, and calls
    /// [`crate::run_subprocess`]. With `None`, the model runs in this process.
    pub subprocess_program: Option<PathBuf>,
    /// Whether the subprocess verifies the checksum of the weight file (`--verify`).
    pub verify_checksum: bool,
    /// Number of threads of the subprocess; `None` for the number of physical cores. A model in this process takes it
    /// from the environment variable `RAYON_NUM_THREADS`.
    pub threads: Option<NonZeroUsize>,
    /// Time without requests after which the model is unloaded; `None` to keep it loaded.
    pub idle_timeout: Option<Duration>,
}

/// State of an [`Engine`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineState {
    /// The weight file is missing.
    Missing,
    /// The weight file exists and is loaded with the next request.
    Idle,
    /// The weight file is being loaded.
    Loading,
    /// The model is in memory.
    Ready,
    /// Loading or inference failed, with the reason; the next request tries again.
    Failed(String),
}

/// The built-in model: one thread that answers one request at a time, taking turns between users.
///
/// Dropping the engine ends the thread after its current step; unfinished responses end without [`ModelEvent::Finish`].
#[derive(Debug)]
pub struct Engine {
    worker: Arc<InferenceWorker>,
    path: PathBuf,
    stop: CancellationToken,
}

impl Engine {
    /// Starts the thread and returns at once; the weights are loaded with the first request. Fails only when the system
    /// cannot start a thread.
    pub fn start(settings: EngineSettings) -> std::io::Result<Self> {
        let worker = Arc::new(InferenceWorker::new());
        let path = settings.weights_path.clone();
        let thread = std::thread::Builder::new().name("built-in-model".to_owned());
        let thread_worker = worker.clone();
        thread.spawn(move || match &settings.subprocess_program {
            Some(program) => {
                thread_worker.run(settings.idle_timeout, |out| ModelProcess::start(program, &settings, out));
            }
            None => thread_worker.run(settings.idle_timeout, |out| {
                InferencePipeline::load(&settings.weights_path, |done, total| {
                    out.send_status(ModelStatus::Loading { done, total });
                })
                .map_err(|error| InferenceError::Failed(ModelError::from(error)))
            }),
        })?;
        Ok(Self { worker, path, stop: CancellationToken::new() })
    }

    /// Sends a request and streams the response: statuses while the request waits and is read, then one part (text or
    /// one tool call), then the usage and the end. A question about the tools themselves is
    /// [answered](answer_from_list) at once.
    ///
    /// `user` takes turns with the other users. After `cancel` the stream ends at once, without
    /// [`ModelEvent::Finish`], and the thread takes the next request within a second; dropping the stream does the
    /// same.
    pub fn stream(
        &self,
        request: Request,
        user: UserId,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        // Needs no model: it is neither loaded nor waited for.
        if let Some(text) = answer_from_list(&request) {
            return stream::iter(text_response(text, Usage::default()).map(Ok)).boxed();
        }
        let (sender, mut receiver) = unbounded_channel();
        // Unbounded, because the worker thread must not block on a slow reader; a response is small.
        let sink = OutputSink::new(sender, cancel.clone(), self.stop.clone());
        self.worker.submit(user, InferenceJob { request, sink });
        poll_fn(move |context| receiver.poll_recv(context)).take_until(cancel.cancelled_owned()).boxed()
    }

    /// Reads the prompt prefix of requests with these instructions and tools while the engine is idle, so that the
    /// first response begins sooner. Does nothing without weights.
    pub fn prepare(&self, request: Request) {
        if self.path.is_file() {
            self.worker.submit_background(Request { messages: Vec::new(), ..request });
        }
    }

    /// Reads the prefixes that all prompts share while the engine is idle and stores them next to the weights, unless
    /// they are stored already. It takes half a minute that the first response would otherwise wait for.
    pub fn prepare_once(&self) {
        if self.path.is_file() && prefix_files::has_missing_files(&self.path) {
            self.worker.submit_background(Request::default());
        }
    }

    /// Returns the number of requests that wait while another one is answered.
    pub fn waiting_requests(&self) -> usize {
        self.worker.waiting_requests()
    }

    /// Returns what the engine is doing.
    pub fn state(&self) -> EngineState {
        match self.worker.state() {
            EngineState::Idle | EngineState::Failed(_) if !self.path.is_file() => EngineState::Missing,
            state => state,
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop.cancel();
        self.worker.close();
    }
}

#[cfg(test)]
mod tests {
    use domain::model::{ChatFacts, ModelMessage, ServerFacts, ToolFacts};

    use super::*;

    #[tokio::test]
    async fn lists_tools_without_a_model() {
        let engine = Engine::start(EngineSettings {
            weights_path: PathBuf::from("/nowhere/model.gguf"),
            subprocess_program: None,
            verify_checksum: false,
            threads: None,
            idle_timeout: None,
        })
        .unwrap();
        let tool = ToolFacts { name: "add".to_owned(), description: "Adds.".to_owned() };
        let server = ServerFacts { name: "sums".to_owned(), tool_count: 1, tools: vec![tool] };
        let facts = Some(ChatFacts { date: "Friday, 27 November 2026".to_owned(), servers: vec![server] });
        let ask = async |text: &str, facts: Option<ChatFacts>| {
            let request = Request { messages: vec![ModelMessage::user(text)], facts, ..Request::default() };
            engine.stream(request, UserId::fresh(), CancellationToken::new()).collect::<Vec<_>>().await
        };
        let events = ask("What tools do you have?", facts.clone()).await;
        let has_list = |event: &Result<ModelEvent, ModelError>| matches!(event, Ok(ModelEvent::Delta { text, .. }) if text.contains("**sums** (1 tool)") && text.contains("- `add`: Adds."));
        assert!(events.iter().any(has_list), "{events:?}");
        assert_eq!(events.last(), Some(&Ok(ModelEvent::Finish(domain::model::FinishReason::Stop))));
        for (text, facts) in [("What tools does a carpenter have?", facts), ("What tools do you have?", None)] {
            let events = ask(text, facts).await;
            assert!(matches!(events.last(), Some(Err(_))), "the model would be needed: {events:?}");
        }
    }
}
