//! The runtime's threads give their memory back after a rush.
//!
//! The allocator keeps for a thread what that thread allocated and others freed, until it allocates again or ends. When
//! 5,000 streams have ended, that is 60 MB, and threads with nothing to do keep it for good. So they are replaced: a
//! thread that is held up gives its work to a new one, and ends when it is needed no more.

use std::thread;
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

use platform::BackgroundTasks;

/// How long the runtime keeps a thread that it does not need.
pub const KEPT: Duration = Duration::from_secs(5);
/// How often is looked whether a rush is over. Longer than [`KEPT`], or threads would take each other's places in turns and
/// never end.
const EVERY: Duration = Duration::from_secs(10);
/// A rush is over when there are so many tasks fewer than there were.
const RUSH: usize = 500;
/// How often threads are replaced then: what they leave to each other is freed little by little.
const ROUNDS: u32 = 4;
/// How long a thread is held up. Another one has taken its place long before.
const HOLD: Duration = Duration::from_millis(20);

/// Replaces the runtime's threads after each rush, until the app shuts down.
pub async fn renew(tasks: BackgroundTasks) {
    if Handle::current().runtime_flavor() != RuntimeFlavor::MultiThread {
        return;
    }
    let (mut most, mut rounds) = (0, 0);
    loop {
        tokio::select! {
            () = tasks.shutdown_token().cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
        let now = tasks.count();
        if now + RUSH <= most {
            (most, rounds) = (now, ROUNDS);
        }
        most = most.max(now);
        if rounds > 0 {
            rounds -= 1;
            replace(&tasks);
        }
    }
}

/// Holds up as many threads as work on tasks.
#[expect(clippy::disallowed_methods, reason = "a thread that waits for tokio would not be replaced")]
fn replace(tasks: &BackgroundTasks) {
    for _ in 0..Handle::current().metrics().num_workers() {
        tasks.spawn("hold up a thread", async { block_in_place(|| thread::sleep(HOLD)) });
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
            tokio::time::sleep(HOLD).await;
        }
        tasks.stop().await;
    }
}
