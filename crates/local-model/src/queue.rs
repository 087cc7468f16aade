//! Fair queue: users take turns, however many requests each of them has.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::UserId;
use tokio_util::sync::CancellationToken;

/// Maximum number of background items; the oldest is dropped for a new one.
const MAX_BACKGROUND_ITEMS: usize = 8;

/// Queue with many producers and one consumer; [`Self::take`] serves the users in turn.
#[derive(Debug)]
pub(crate) struct FairQueue<T> {
    inner: Mutex<Inner<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct Inner<T> {
    /// Waiting users in the order of their turns, each with at least one item.
    users: VecDeque<(UserId, VecDeque<T>)>,
    /// Whether a taken item is being processed.
    is_busy: bool,
    /// Items for when no user waits.
    background: VecDeque<T>,
    /// Cancelled to end the background item in progress.
    interrupt: CancellationToken,
    is_closed: bool,
}

/// Result of [`FairQueue::take`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum QueueItem<T> {
    /// An item that a user waits for.
    Requested(T),
    /// An item to process until [`FairQueue::interrupt`] is cancelled.
    Background(T),
    /// No item arrived in time.
    TimedOut,
    /// The queue is closed.
    Closed,
}

impl<T> FairQueue<T> {
    pub(crate) fn new() -> Self {
        let inner = Inner {
            users: VecDeque::new(),
            is_busy: false,
            background: VecDeque::new(),
            interrupt: CancellationToken::new(),
            is_closed: false,
        };
        Self { inner: Mutex::new(inner), changed: Condvar::new() }
    }

    /// Appends an item for `user`. Returns the item after [`Self::close`].
    pub(crate) fn push(&self, user: UserId, item: T) -> Result<(), T> {
        let mut inner = self.lock();
        if inner.is_closed {
            return Err(item);
        }
        match inner.users.iter_mut().find(|(waiting, _)| *waiting == user) {
            Some((_, items)) => items.push_back(item),
            None => inner.users.push_back((user, VecDeque::from([item]))),
        }
        // Under the lock, so that background work that is taken at the same moment sees it.
        inner.interrupt.cancel();
        self.changed.notify_one();
        Ok(())
    }

    /// Adds an item for when no user waits, unless an equal one is queued already; at most [`MAX_BACKGROUND_ITEMS`]
    /// wait.
    pub(crate) fn push_background(&self, item: T, is_same: impl Fn(&T, &T) -> bool) {
        let mut inner = self.lock();
        if inner.is_closed || inner.background.iter().any(|other| is_same(other, &item)) {
            return;
        }
        // The newest are the most likely to be needed.
        if inner.background.len() == MAX_BACKGROUND_ITEMS {
            inner.background.pop_front();
        }
        inner.background.push_back(item);
        self.changed.notify_one();
    }

    /// Returns the token that is cancelled when a user's item arrives during background work.
    pub(crate) fn interrupt(&self) -> CancellationToken {
        self.lock().interrupt.clone()
    }

    /// Takes the next item, and waits for one for at most `timeout` (`None`: without limit). Its user moves to the
    /// end of the queue. Until the next call, the item counts as in progress.
    pub(crate) fn take(&self, timeout: Option<Duration>) -> QueueItem<T> {
        let mut inner = self.lock();
        // The worker asks for the next item when it has finished the last one.
        inner.is_busy = false;
        loop {
            if inner.is_closed {
                return QueueItem::Closed;
            }
            if let Some((user, mut items)) = inner.users.pop_front() {
                let item = items.pop_front();
                if !items.is_empty() {
                    inner.users.push_back((user, items));
                }
                let Some(item) = item else { continue };
                inner.is_busy = true;
                return QueueItem::Requested(item);
            }
            if let Some(item) = inner.background.pop_front() {
                // The previous token is cancelled for good.
                inner.interrupt = CancellationToken::new();
                // Not counted as busy: a request interrupts it and does not wait for its end.
                return QueueItem::Background(item);
            }
            let Some(timeout) = timeout else {
                inner = self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let (woken, waited) = self.changed.wait_timeout(inner, timeout).unwrap_or_else(PoisonError::into_inner);
            inner = woken;
            // An item may have arrived between the timeout and the lock.
            if waited.timed_out() && inner.users.is_empty() && inner.background.is_empty() && !inner.is_closed {
                return QueueItem::TimedOut;
            }
        }
    }

    /// Returns the number of items that users wait for, without the one in progress.
    pub(crate) fn waiting_items(&self) -> usize {
        self.lock().users.iter().map(|(_, items)| items.len()).sum()
    }

    /// Removes the items that are not `is_wanted` any more, and calls `report` for every other one with the number of
    /// items before it, including the one in progress.
    pub(crate) fn review(&self, is_wanted: impl Fn(&T) -> bool, mut report: impl FnMut(&T, u32)) {
        let mut inner = self.lock();
        for (_, items) in &mut inner.users {
            items.retain(&is_wanted);
        }
        inner.users.retain(|(_, items)| !items.is_empty());
        let mut ahead = u32::from(inner.is_busy);
        // Users take turns, so the first items of all users come before any second one.
        let rounds = inner.users.iter().map(|(_, items)| items.len()).max().unwrap_or(0);
        for round in 0..rounds {
            for item in inner.users.iter().filter_map(|(_, items)| items.get(round)) {
                report(item, ahead);
                ahead += 1;
            }
        }
    }

    /// Drops all items and wakes the consumer.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.is_closed = true;
        inner.users.clear();
        inner.background.clear();
        inner.interrupt.cancel();
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(items: &[(&UserId, &'static str)]) -> FairQueue<&'static str> {
        let queue = FairQueue::new();
        for (user, item) in items {
            queue.push(**user, *item).unwrap();
        }
        queue
    }

    fn taken(queue: &FairQueue<&'static str>) -> &'static str {
        let QueueItem::Requested(item) = queue.take(None) else { panic!("nobody waits") };
        item
    }

    #[test]
    fn counts_items_that_users_wait_for() {
        let (ann, bob) = (UserId::fresh(), UserId::fresh());
        let queue = queue(&[(&ann, "a1"), (&ann, "a2"), (&bob, "b1")]);
        queue.push_background("spare", |_, _| false);
        assert_eq!(queue.waiting_items(), 3);
        taken(&queue);
        assert_eq!(queue.waiting_items(), 2, "without the one in progress");
    }

    #[test]
    fn interrupts_background_items_for_users() {
        let ann = UserId::fresh();
        let queue = queue(&[(&ann, "a1")]);
        let is_same = |one: &&str, other: &&str| one == other;
        queue.push_background("spare", is_same);
        queue.push_background("spare", is_same);
        assert_eq!(taken(&queue), "a1");
        assert_eq!(queue.take(None), QueueItem::Background("spare"));
        let interrupt = queue.interrupt();
        assert!(!interrupt.is_cancelled());
        queue.push(ann, "a2").unwrap();
        assert!(interrupt.is_cancelled(), "somebody came");
        assert_eq!(taken(&queue), "a2");
        assert_eq!(queue.take(Some(Duration::from_millis(1))), QueueItem::TimedOut, "once was enough");
    }

    #[test]
    fn alternates_users() {
        let (ann, bob, cy) = (UserId::fresh(), UserId::fresh(), UserId::fresh());
        let queue = queue(&[(&ann, "a1"), (&ann, "a2"), (&ann, "a3"), (&bob, "b1"), (&cy, "c1"), (&bob, "b2")]);
        let mut shown = Vec::new();
        queue.review(|_| true, |item, ahead| shown.push((*item, ahead)));
        let order = ["a1", "b1", "c1", "a2", "b2", "a3"];
        assert_eq!(shown, order.into_iter().zip(0..).collect::<Vec<_>>());
        let taken: Vec<&str> = order.iter().map(|_| taken(&queue)).collect();
        assert_eq!(taken, order, "what was shown is what happens");
    }

    #[test]
    fn review_drops_unwanted_and_counts_item_in_progress() {
        let (ann, bob) = (UserId::fresh(), UserId::fresh());
        let queue = queue(&[(&ann, "a1"), (&ann, "a2"), (&bob, "b1")]);
        assert_eq!(taken(&queue), "a1");
        let mut shown = Vec::new();
        queue.review(|item| *item != "b1", |item, ahead| shown.push((*item, ahead)));
        assert_eq!(shown, [("a2", 1)]);
    }

    #[test]
    fn close_wakes_consumer_and_rejects_items() {
        let ann = UserId::fresh();
        let queue = std::sync::Arc::new(queue(&[]));
        let taker = std::thread::spawn({
            let queue = queue.clone();
            move || queue.take(None)
        });
        queue.close();
        assert_eq!(taker.join().unwrap(), QueueItem::Closed);
        assert_eq!(queue.push(ann, "late"), Err("late"));
    }
}
