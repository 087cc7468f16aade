//! The thread that thinks, and the handle to it.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use domain::UserId;
use domain::model::{ModelError, ModelEvent, ModelStatus, Request};
use futures_util::StreamExt;
use futures_util::stream::{BoxStream, poll_fn};
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

use crate::apart::Apart;
use crate::error::Halt;
use crate::outlet::Outlet;
use crate::runner::Runner;
use crate::standing;
use crate::worker::{Job, Worker};

/// What an engine is started with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The file of weights (GGUF, of the qwen2 or the llama family). It need not be there yet.
    pub path: PathBuf,
    /// The program that holds the model in a process of its own: called with `model serve` and the path, it runs
    /// [`crate::serve`]. Without one the model is in this process.
    pub program: Option<PathBuf>,
    /// Whether the process of its own is told to compare the file with what it should be (`--verify`).
    pub verify: bool,
    /// Threads of the process of its own; the physical cores without it. In this process the environment variable
    /// `RAYON_NUM_THREADS` says how many.
    pub threads: Option<NonZeroUsize>,
    /// How long nobody may have needed the model before it is let go. Without it the model stays.
    pub idle: Option<Duration>,
}

/// What an engine is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// There is no file of weights at its path.
    Missing,
    /// The file is there and will be read with the first question.
    Idle,
    /// The file is being read.
    Loading,
    /// The model is in memory.
    Ready,
    /// The file could not be read, or the model broke; the next question tries again.
    Failed(String),
}

/// The built-in model: one thread that answers one question at a time, people taking turns.
///
/// Dropping it ends the thread, after the step it is in; answers that are not whole end without a word.
#[derive(Debug)]
pub struct Engine {
    worker: Arc<Worker>,
    path: PathBuf,
    stop: CancellationToken,
}

impl Engine {
    /// Starts the thread and returns at once; the weights are read with the first question. Fails only when the
    /// system has no thread to give.
    pub fn start(settings: Settings) -> std::io::Result<Self> {
        let worker = Arc::new(Worker::new());
        let path = settings.path.clone();
        let thread = std::thread::Builder::new().name("built-in-model".to_owned());
        let working = worker.clone();
        thread.spawn(move || match &settings.program {
            Some(program) => working.work(settings.idle, |out| Apart::start(program, &settings, out)),
            None => working.work(settings.idle, |out| {
                Runner::load(&settings.path, |done, total| out.tell(ModelStatus::Loading { done, total }))
                    .map_err(|error| Halt::Failed(ModelError::from(error)))
            }),
        })?;
        Ok(Self { worker, path, stop: CancellationToken::new() })
    }

    /// Asks the model. Statuses come while the question waits and is read, then one part (words, or one tool call),
    /// then usage and the end.
    ///
    /// When the last messages of the request are results of tools, the answer is made from them, without another
    /// call. `user` takes turns with the other users. After `cancel` the stream ends at once, without
    /// [`ModelEvent::Finish`], and the thread turns to the next question within a second; dropping the stream does
    /// the same.
    pub fn stream(
        &self,
        request: Request,
        user: UserId,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let (sender, mut receiver) = unbounded_channel();
        let outlet = Outlet::new(sender, cancel.clone(), self.stop.clone());
        self.worker.submit(user, Job { request, outlet });
        poll_fn(move |context| receiver.poll_recv(context)).take_until(cancel.cancelled_owned()).boxed()
    }

    /// Has what questions with these instructions and tools begin with read while nobody waits, so that the first answer
    /// comes sooner. Nothing happens without weights.
    pub fn prepare(&self, request: Request) {
        if self.path.is_file() {
            self.worker.submit_spare(Request { messages: Vec::new(), ..request });
        }
    }

    /// Has what every question begins with read while nobody waits and kept beside the weights, where that was not done
    /// before: it takes half a minute, for which the first answer would wait.
    pub fn prepare_once(&self) {
        if self.path.is_file() && standing::is_due(&self.path) {
            self.worker.submit_spare(Request::default());
        }
    }

    /// What the engine is doing.
    pub fn state(&self) -> State {
        match self.worker.state() {
            State::Idle | State::Failed(_) if !self.path.is_file() => State::Missing,
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
