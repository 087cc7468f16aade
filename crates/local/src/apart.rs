//! The model in a process of its own: whatever happens to it there, the program goes on, and when the process is gone
//! its memory is free.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use domain::model::{ModelError, Request};

use crate::engine::Settings;
use crate::error::Halt;
use crate::outlet::Outlet;
use crate::wire::{Order, Report, write};
use crate::worker::Answers;

/// How often is looked whether an answer is still wanted while the model says nothing.
const LOOK: Duration = Duration::from_millis(20);

/// What the arithmetic library takes its number of threads from.
const THREADS: &str = "RAYON_NUM_THREADS";

/// The variables of the environment that the process gets.
const HANDED_ON: [&str; 3] = ["PATH", "RUST_LOG", THREADS];

/// The process, and the pipes to it. Dropping it ends the process.
pub(crate) struct Apart {
    process: Child,
    orders: ChildStdin,
    reports: Receiver<Report>,
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
        let (sender, reports) = channel();
        let reader = std::thread::Builder::new().name("built-in-model-reader".to_owned());
        let reading = reader.spawn(move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            // What is no report is the end: a process that writes anything else is not ours.
            for report in lines.map_while(|line| serde_json::from_str(&line).ok()) {
                if sender.send(report).is_err() {
                    break;
                }
            }
        });
        let mut apart = Self { process, orders, reports };
        reading.map_err(unable)?;
        loop {
            // Whoever gives up while it loads ends the loading.
            out.check()?;
            match apart.reports.recv_timeout(LOOK) {
                Ok(Report::Ready) => return Ok(apart),
                Ok(Report::Failed(error)) => return Err(Halt::Failed(error)),
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(apart.broken()),
            }
        }
    }

    fn follow(&mut self, order: &Order, out: &Outlet) -> Result<(), Halt> {
        if write(&mut self.orders, order).is_err() {
            return Err(self.broken());
        }
        let mut is_cancelled = false;
        loop {
            if !is_cancelled && !out.is_wanted() {
                is_cancelled = true;
                if write(&mut self.orders, &Order::Cancel).is_err() {
                    return Err(self.broken());
                }
            }
            match self.reports.recv_timeout(LOOK) {
                Ok(Report::Event(event)) => {
                    // Whoever is gone is seen in the next round.
                    let _ = out.send(event);
                }
                Ok(Report::Done) => return Ok(()),
                Ok(Report::Left) => return Err(Halt::Cancelled),
                Ok(Report::Failed(error)) => return Err(Halt::Failed(error)),
                Ok(Report::Ready) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.broken()),
            }
        }
    }

    /// The process is gone, or about to be: says how it ended.
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
        self.follow(&Order::Answer(request.clone()), out)
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

fn unavailable(reason: String) -> ModelError {
    ModelError::Unavailable(reason)
}
