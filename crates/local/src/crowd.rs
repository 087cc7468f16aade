//! Whether other programs need the processor, and what then.
//!
//! The library's threads wait for each other at the end of every product, some two hundred times a token. Where another
//! program wants one of two cores, most of that is waiting for the system to give the other thread its turn, so that two
//! threads are slower than one (6 and 12 tokens a second; 23 without the other program).

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};

use candle_core::Result;
use candle_core::utils::barrier_pool;

/// How much of the last look counts beside those before it.
const LATEST: f32 = 0.2;

/// How many threads of others want to run, on the average of the last looks.
#[derive(Debug)]
pub(crate) struct Crowd {
    /// The bits of an `f32`.
    others: AtomicU32,
    /// Cores that none of two threads here needs.
    spare: Option<f32>,
}

impl Crowd {
    /// Of this machine. With more threads than two, one alone is the slower way.
    pub(crate) fn new() -> Self {
        let cores = fs::read_to_string("/proc/stat")
            .ok()
            .map(|told| told.lines().filter(|line| line.starts_with("cpu")).count().saturating_sub(1));
        let spare = cores.filter(|_| barrier_pool().n_workers() == 1).map(|cores| cores as f32 - 2.0);
        Self { others: AtomicU32::new(0), spare }
    }

    /// Does `work` with all threads, or with one where the other one would be waited for. `work` gets what is to be called
    /// now and then meanwhile: it looks who wants to run.
    pub(crate) fn compute<T: Send>(&self, work: impl FnOnce(&dyn Fn()) -> Result<T> + Send) -> Result<T> {
        let Some(spare) = self.spare else { return work(&|| {}) };
        if self.others() > spare + 0.5 { on_one_thread(|| work(&|| self.look(1.0))) } else { work(&|| self.look(2.0)) }
    }

    fn others(&self) -> f32 {
        f32::from_bits(self.others.load(Ordering::Relaxed))
    }

    /// Counts who wants to run, but for so many threads of ours.
    fn look(&self, ours: f32) {
        let Some(running) = fs::read_to_string("/proc/loadavg").ok().and_then(|told| running(&told)) else { return };
        let others = self.others() * (1.0 - LATEST) + (running - ours).max(0.0) * LATEST;
        self.others.store(others.to_bits(), Ordering::Relaxed);
    }
}

/// How many threads of all run or wait for a core: `0.20 0.18 0.12 1/80 11206` says that it is one of 80.
fn running(told: &str) -> Option<f32> {
    told.split(' ').nth(3)?.split('/').next()?.parse().ok()
}

/// Does `work` on one of the pool's threads, whose products nobody else takes part in.
fn on_one_thread<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let pool = barrier_pool();
    let (sender, receiver) = sync_channel(1);
    let (work, receiver) = (Mutex::new(Some((work, sender))), Mutex::new(receiver));
    let outcome = Mutex::new(None);
    pool.execute(|thread| {
        if thread == 0 {
            let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some((work, sender)) = work {
                // A panic in the pool would leave it locked. Who asked waits for what is sent.
                let _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
            }
        } else {
            let done = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
            *outcome.lock().unwrap_or_else(PoisonError::into_inner) = done.ok();
        }
    });
    match outcome.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(Ok(result)) => result,
        Some(Err(panic)) => resume_unwind(panic),
        None => candle_core::bail!("the pool of threads did nothing"),
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Tensor};

    use super::*;

    fn crowd(others: f32) -> Crowd {
        Crowd { others: AtomicU32::new(others.to_bits()), spare: Some(0.0) }
    }

    #[test]
    fn what_the_system_tells_of_running_threads_is_read() {
        assert_eq!(running("0.20 0.18 0.12 3/80 11206\n"), Some(3.0));
        assert_eq!(running(""), None);
        assert_eq!(running("0.20 0.18 0.12 x/80"), None);
    }

    #[test]
    fn one_thread_computes_the_same_and_its_faults_are_told() {
        let product = || -> Result<Vec<f32>> {
            let a = Tensor::arange(0f32, 600.0, &Device::Cpu)?.reshape((20, 30))?;
            crate::attention::attend(&a.reshape((1, 20, 3, 10))?, &a.reshape((3, 20, 10))?, &a.reshape((3, 20, 10))?)?
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
    fn others_are_counted_slowly_and_forgotten() {
        let crowd = crowd(0.0);
        let own = |threads: f32| {
            for _ in 0..40 {
                crowd.look(threads);
            }
            crowd.others()
        };
        assert!(own(-1.0) > 1.5, "this thread is one, and none is ours");
        assert!(own(1_000.0) < 0.1, "fewer than ours are none");
    }
}
