//! The other side of the pipe: the process that holds the model.

use std::io::BufRead;
use std::path::Path;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};

use domain::model::ModelError;
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

use crate::error::Halt;
use crate::outlet::Outlet;
use crate::runner::Runner;
use crate::wire::{Order, Report, write};
use crate::worker::Answers;

/// How readily the system ends this process when memory runs out, from -1000 to 1000: long before the program whose
/// model it is.
const EXPENDABLE: &str = "800";

/// Checks the file, reads the weights, then takes orders from the standard input and reports to the standard output, until the input
/// ends. Fails when the pipe breaks; what else goes wrong is reported.
pub fn serve(weights: &Path, check: impl FnOnce() -> Result<(), String>) -> std::io::Result<()> {
    // Where the system knows no such thing, nothing is lost.
    let _ = std::fs::write("/proc/self/oom_score_adj", EXPENDABLE);
    let mut output = std::io::stdout();
    // A pipe that is broken shows with what is written next.
    let progress = |done, total| drop(write(&mut std::io::stdout(), &Report::Loading { done, total }));
    let loaded = check().map_err(ModelError::Unavailable).and_then(|()| Ok(Runner::load(weights, progress)?));
    let mut runner = match loaded {
        Ok(runner) => runner,
        Err(error) => return write(&mut output, &Report::Failed(error)),
    };
    write(&mut output, &Report::Ready)?;

    let gone = CancellationToken::new();
    let current = Arc::new(Mutex::new(CancellationToken::new()));
    let (sender, orders) = channel();
    let (leaving, cancelling) = (gone.clone(), current.clone());
    std::thread::Builder::new().name("orders".to_owned()).spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(Order::Cancel) => cancelling.lock().unwrap_or_else(PoisonError::into_inner).cancel(),
                Ok(order) => {
                    // Made here, so that a cancel that follows at once meets this order and not the one before.
                    let cancel = CancellationToken::new();
                    *cancelling.lock().unwrap_or_else(PoisonError::into_inner) = cancel.clone();
                    if sender.send((order, cancel)).is_err() {
                        break;
                    }
                }
                Err(_) => break,
            }
        }
        leaving.cancel();
    })?;

    for (order, cancel) in orders {
        let (events, mut told) = unbounded_channel();
        let outlet = Outlet::new(events, cancel, gone.clone());
        let result = std::thread::scope(|scope| {
            let teller = scope.spawn(|| -> std::io::Result<()> {
                let mut output = std::io::stdout();
                while let Some(item) = told.blocking_recv() {
                    let report = item.map_or_else(Report::Failed, Report::Event);
                    write(&mut output, &report)?;
                }
                Ok(())
            });
            let result = match &order {
                Order::Answer(request) => runner.answer(request, &outlet),
                Order::Prepare(request) => runner.prepare(request, &outlet),
                Order::Cancel => Ok(()),
            };
            drop(outlet);
            let told = teller.join().unwrap_or_else(|_| Err(std::io::ErrorKind::Other.into()));
            told.map(|()| result)
        })?;
        let report = match result {
            Ok(()) => Report::Done,
            Err(Halt::Cancelled) => Report::Left,
            Err(Halt::Failed(error) | Halt::Broken(error)) => Report::Failed(error),
        };
        write(&mut output, &report)?;
    }
    Ok(())
}
