//! Adaptation to other programs on the CPU.
//!
//! The library's threads synchronize at the end of every matrix product, some two hundred times per token. If another
//! program uses one of two cores, most of that time is waiting for the scheduler, so that two threads are slower than
//! one (6 and 12 tokens per second; 23 without the other program).

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};

use candle_core::Result;
use candle_core::utils::barrier_pool;

use crate::subprocess::THREAD_COUNT_VARIABLE;

/// Weight of the latest sample in the moving average.
const SAMPLE_WEIGHT: f32 = 0.2;

/// Moving average of the number of other programs' runnable threads.
#[derive(Debug)]
pub(crate) struct CpuContention {
    /// The average, as the bits of an `f32`.
    other_threads: AtomicU32,
    /// Number of cores beyond the two that this program uses; `None` to always compute with all threads.
    spare_cores: Option<f32>,
}

impl CpuContention {
    /// Creates the average for this machine. It is used only with two threads: one thread is slower than three or more.
    pub(crate) fn new() -> Self {
        let cores = fs::read_to_string("/proc/stat")
            .ok()
            // All cores of the machine, because `/proc/loadavg` counts the threads on all of them.
            .map(|stat| stat.lines().filter(|line| line.starts_with("cpu")).count().saturating_sub(1));
        // Threads that the operator has asked for are always used.
        let is_adaptive = std::env::var_os(THREAD_COUNT_VARIABLE).is_none() && barrier_pool().n_workers() == 1;
        let spare = cores.filter(|_| is_adaptive).map(|cores| cores as f32 - 2.0);
        Self { other_threads: AtomicU32::new(0), spare_cores: spare }
    }

    /// Runs `work` with all threads, or with one thread while other programs use the CPU. `work` receives a function
    /// to call from time to time, which samples the number of runnable threads.
    pub(crate) fn compute<T: Send>(&self, work: impl FnOnce(&dyn Fn()) -> Result<T> + Send) -> Result<T> {
        let Some(spare) = self.spare_cores else { return work(&|| {}) };
        // Half a thread of tolerance against noise in the samples.
        if self.average() > spare + 0.5 {
            on_one_thread(|| work(&|| self.sample(1.0)))
        } else {
            work(&|| self.sample(2.0))
        }
    }

    fn average(&self) -> f32 {
        f32::from_bits(self.other_threads.load(Ordering::Relaxed))
    }

    /// Samples the number of runnable threads without the `own` ones of this program into the
    /// [average](Self::average).
    fn sample(&self, own: f32) {
        let Some(running) =
            fs::read_to_string("/proc/loadavg").ok().and_then(|loadavg| parse_runnable_threads(&loadavg))
        else {
            return;
        };
        let others = self.average() * (1.0 - SAMPLE_WEIGHT) + (running - own).max(0.0) * SAMPLE_WEIGHT;
        self.other_threads.store(others.to_bits(), Ordering::Relaxed);
    }
}

/// Parses the number of runnable threads from `/proc/loadavg`: 1 of 80 in `0.20 0.18 0.12 1/80 11206`.
fn parse_runnable_threads(loadavg: &str) -> Option<f32> {
    loadavg.split(' ').nth(3)?.split('/').next()?.parse().ok()
}

/// Runs `work` on one thread of the pool, so that the other threads do not take part in its matrix products.
fn on_one_thread<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let pool = barrier_pool();
    let (sender, receiver) = sync_channel(1);
    let (work, receiver) = (Mutex::new(Some((work, sender))), Mutex::new(receiver));
    let outcome = Mutex::new(None);
    pool.execute(|thread| {
        if thread == 0 {
            let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some((work, sender)) = work {
                // A panic in the pool would leave it locked, so it is caught here and resumed by the caller.
                let _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
            }
        } else {
            // The other thread sleeps here and leaves its core to the other program.
            let done = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
            *outcome.lock().unwrap_or_else(PoisonError::into_inner) = done.ok();
        }
    });
    match outcome.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(Ok(result)) => result,
        Some(Err(panic)) => resume_unwind(panic),
        None => candle_core::bail!("the thread pool returned no result"),
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Tensor};

    use super::*;

    fn crowd(others: f32) -> CpuContention {
        CpuContention { other_threads: AtomicU32::new(others.to_bits()), spare_cores: Some(0.0) }
    }

    #[test]
    fn parses_runnable_threads() {
        assert_eq!(parse_runnable_threads("0.20 0.18 0.12 3/80 11206\n"), Some(3.0));
        assert_eq!(parse_runnable_threads(""), None);
        assert_eq!(parse_runnable_threads("0.20 0.18 0.12 x/80"), None);
    }

    #[test]
    fn one_thread_computes_the_same_and_reports_errors() {
        let product = || -> Result<Vec<f32>> {
            let a = Tensor::arange(0f32, 600.0, &Device::Cpu)?.reshape((20, 30))?;
            crate::attention::causal_attention(
                &a.reshape((1, 20, 3, 10))?,
                &a.reshape((3, 20, 10))?,
                &a.reshape((3, 20, 10))?,
            )?
            .flatten_all()?
            .to_vec1()
        };
        let with_all = crowd(0.0).compute(|_| product()).unwrap();
        assert_eq!(crowd(1.0).compute(|_| product()).unwrap(), with_all);
        let failed: Result<()> = on_one_thread(|| candle_core::bail!("too large"));
        assert!(failed.unwrap_err().to_string().contains("too large"));
        let broken = std::panic::catch_unwind(|| on_one_thread(|| -> Result<()> { panic!("broke") }));
        assert!(broken.is_err(), "and nobody waits for ever");
        assert_eq!(on_one_thread(|| Ok(7)).unwrap(), 7);
    }

    #[test]
    fn averages_other_threads_slowly() {
        let crowd = crowd(0.0);
        let own = |threads: f32| {
            for _ in 0..40 {
                crowd.sample(threads);
            }
            crowd.average()
        };
        assert!(own(-1.0) > 1.5, "this thread is one, and none is ours");
        assert!(own(1_000.0) < 0.1, "fewer than ours are none");
    }
}
