//! Release of the memory that idle runtime threads hold after a peak of load.
//!
//! The allocator caches for each thread the memory that the thread allocated and others freed, until the thread
//! allocates again or ends. After 5,000 streams have ended, that is 60 MB, and idle threads would hold it forever. So
//! the threads are replaced: `block_in_place` hands a thread's work to a new thread, and the old one ends when it is
//! idle.

use std::thread;
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

use platform::BackgroundTasks;

/// Time after which the runtime ends an idle thread.
pub const IDLE_THREAD_LIFETIME: Duration = Duration::from_secs(5);
/// Interval of checks for the end of a peak. It is longer than [`IDLE_THREAD_LIFETIME`], or the threads would replace each other in
/// turn and never end.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);
/// Decrease in the number of tasks that counts as the end of a peak.
const PEAK_TASKS: usize = 500;
/// Number of times that the threads are replaced then. The caches that they leave to each other are freed gradually.
const REPLACEMENT_ROUNDS: u32 = 4;
/// Time for which a thread is blocked. It is replaced long before.
const BLOCK_TIME: Duration = Duration::from_millis(20);

/// Replaces the runtime's threads after each peak of load, until shutdown.
pub async fn renew(tasks: BackgroundTasks) {
    if Handle::current().runtime_flavor() != RuntimeFlavor::MultiThread {
        return;
    }
    let (mut most, mut rounds) = (0, 0);
    loop {
        tokio::select! {
            () = tasks.shutdown_token().cancelled() => return,
            () = tokio::time::sleep(CHECK_INTERVAL) => {}
        }
        // The number of tasks measures the load: a stream is one task.
        let now = tasks.count();
        if now + PEAK_TASKS <= most {
            (most, rounds) = (now, REPLACEMENT_ROUNDS);
        }
        most = most.max(now);
        if rounds > 0 {
            rounds -= 1;
            replace(&tasks);
        }
    }
}

/// Blocks as many threads as there are workers.
#[expect(clippy::disallowed_methods, reason = "a thread that waits for tokio would not be replaced")]
fn replace(tasks: &BackgroundTasks) {
    for _ in 0..Handle::current().metrics().num_workers() {
        tasks.spawn("hold up a thread", async { block_in_place(|| thread::sleep(BLOCK_TIME)) });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::thread::ThreadId;

    use super::*;

    /// The threads that run so many tasks.
    async fn at_work(tasks: &BackgroundTasks) -> HashSet<ThreadId> {
        let mut threads = HashSet::new();
        for _ in 0..50 {
            threads.extend(tasks.spawn_and_wait("tell", async { thread::current().id() }).await);
        }
        threads
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn others_work_after_threads_were_replaced() {
        let tasks = BackgroundTasks::default();
        let before = at_work(&tasks).await;
        while !at_work(&tasks).await.is_disjoint(&before) {
            replace(&tasks);
            tokio::time::sleep(BLOCK_TIME).await;
        }
        tasks.stop().await;
    }
}
