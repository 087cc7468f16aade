//! The model in a process of its own: whatever happens to it there, the program goes on, and when the process is gone
//! its memory is free.

mod check;

use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use domain::model::{ModelError, ModelMessage, ModelStatus, Request};

use crate::engine::Settings;
use crate::error::Halt;
use crate::outlet::Outlet;
use crate::wire::{Order, Report, write};
use crate::worker::Answers;
use check::{Answered, fit_to_show, reports};

/// How often is looked whether an answer is still wanted while the model says nothing.
const LOOK: Duration = Duration::from_millis(20);

/// How long the process may take to leave what nobody wants any more: many times what a slow machine needs for one step.
const GRACE: Duration = Duration::from_secs(30);

/// Reports that may wait to be read.
const AHEAD: usize = 64;

/// What the arithmetic library takes its number of threads from.
const THREADS: &str = "RAYON_NUM_THREADS";

/// The variables of the environment that the process gets.
const HANDED_ON: [&str; 3] = ["PATH", "RUST_LOG", THREADS];

/// The process, and the pipes to it. Dropping it ends the process.
pub(crate) struct Apart {
    process: Child,
    orders: ChildStdin,
    reports: Receiver<Report>,
    grace: Duration,
}

impl Apart {
    /// Starts `program` with the arguments `model serve` and the file of weights, and waits until the model is in
    /// memory.
    pub(crate) fn start(program: &Path, settings: &Settings, out: &Outlet) -> Result<Self, Halt> {
        let mut command = Command::new(program);
        command.args(["model", "serve"]).arg(&settings.path).stdin(Stdio::piped()).stdout(Stdio::piped());
        if settings.verify {
            command.arg("--verify");
        }
        // It needs no key of anybody's.
        command.env_clear().envs(HANDED_ON.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        if let Some(threads) = settings.threads {
            command.env(THREADS, threads.to_string());
        }
        let unable = |error| Halt::Failed(unavailable(format!("the built-in model could not be started: {error}")));
        let mut process = command.spawn().map_err(unable)?;
        let (Some(orders), Some(stdout)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(unable(std::io::ErrorKind::BrokenPipe.into()));
        };
        let (sender, receiver) = sync_channel(AHEAD);
        let reader = std::thread::Builder::new().name("built-in-model-reader".to_owned());
        let reading = reader.spawn(move || {
            for report in reports(stdout) {
                if sender.send(report).is_err() {
                    break;
                }
            }
        });
        let mut apart = Self { process, orders, reports: receiver, grace: GRACE };
        reading.map_err(unable)?;
        loop {
            // Whoever gives up while it loads ends the loading.
            out.check()?;
            match apart.reports.recv_timeout(LOOK) {
                Ok(Report::Loading { done, total }) => out.tell(ModelStatus::Loading { done, total }),
                Ok(Report::Ready) => return Ok(apart),
                Ok(Report::Failed(error)) => {
                    return Err(fit_to_show(error).map_or_else(|| apart.broken(), Halt::Failed));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(_) | Err(RecvTimeoutError::Disconnected) => return Err(apart.broken()),
            }
        }
    }

    fn follow(&mut self, order: &Order, out: &Outlet) -> Result<(), Halt> {
        if write(&mut self.orders, order).is_err() {
            return Err(self.broken());
        }
        let mut answered = Answered::default();
        let mut cancelled: Option<Instant> = None;
        loop {
            match cancelled {
                None if !out.is_wanted() => {
                    cancelled = Some(Instant::now());
                    if write(&mut self.orders, &Order::Cancel).is_err() {
                        return Err(self.broken());
                    }
                }
                Some(since) if since.elapsed() > self.grace => return Err(self.broken()),
                _ => {}
            }
            match self.reports.recv_timeout(LOOK) {
                Ok(Report::Event(event)) => match answered.admit(event) {
                    // Whoever is gone is seen in the next round.
                    Some(event) => drop(out.send(event)),
                    None => return Err(self.broken()),
                },
                Ok(Report::Done) if matches!(order, Order::Prepare(_)) || answered.is_whole() => return Ok(()),
                Ok(Report::Left) if cancelled.is_some() => return Err(Halt::Cancelled),
                Ok(Report::Failed(error)) => {
                    return Err(fit_to_show(error).map_or_else(|| self.broken(), Halt::Failed));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Report::Loading { .. } | Report::Ready | Report::Done | Report::Left)
                | Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.broken());
                }
            }
        }
    }

    /// The process is gone, or talks nonsense, and then it goes now: says how it ended.
    fn broken(&mut self) -> Halt {
        let _ = self.process.kill();
        let how = self.process.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        tracing::error!(how, "the process of the built-in model ended");
        Halt::Broken(unavailable(format!(
            "The built-in model broke down ({how}), perhaps for lack of memory. It is started again with the next \
             question."
        )))
    }
}

impl Answers for Apart {
    fn answer(&mut self, request: &Request, out: &Outlet) -> Result<(), Halt> {
        self.follow(&Order::Answer(without_files(request)), out)
    }

    fn prepare(&mut self, request: &Request, out: &Outlet) -> Result<(), Halt> {
        self.follow(&Order::Prepare(request.clone()), out)
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A request without the files in it, which no built-in model can read.
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

fn unavailable(reason: String) -> ModelError {
    ModelError::Unavailable(reason)
}

#[cfg(test)]
mod tests;
