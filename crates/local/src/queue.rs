//! Who is answered next: people take turns, however many questions each of them has.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::UserId;
use tokio_util::sync::CancellationToken;

/// What is done while nobody waits, at most: the oldest of more is forgotten.
const SPARE: usize = 8;

/// A queue that many push into and one takes from.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    inner: Mutex<Inner<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct Inner<T> {
    /// The people who wait, in the order of their turns, each with at least one question.
    people: VecDeque<(UserId, VecDeque<T>)>,
    /// Something that was taken is being worked on.
    busy: bool,
    /// What can be done while nobody waits.
    spare: VecDeque<T>,
    /// Ends what is being done of that.
    interrupt: CancellationToken,
    closed: bool,
}

/// What the taker gets.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken<T> {
    /// Somebody waits for this.
    Wanted(T),
    /// Nobody waits; this can be done until [`Queue::interrupt`] is cancelled.
    Spare(T),
    /// Nothing came in time.
    Nothing,
    /// The queue is closed.
    Closed,
}

impl<T> Queue<T> {
    pub(crate) fn new() -> Self {
        let inner = Inner {
            people: VecDeque::new(),
            busy: false,
            spare: VecDeque::new(),
            interrupt: CancellationToken::new(),
            closed: false,
        };
        Self { inner: Mutex::new(inner), changed: Condvar::new() }
    }

    /// Adds an item at the end of `user`'s own row. After [`Self::close`] it is given back.
    pub(crate) fn push(&self, user: UserId, item: T) -> Result<(), T> {
        let mut inner = self.lock();
        if inner.closed {
            return Err(item);
        }
        match inner.people.iter_mut().find(|(person, _)| *person == user) {
            Some((_, row)) => row.push_back(item),
            None => inner.people.push_back((user, VecDeque::from([item]))),
        }
        inner.interrupt.cancel();
        self.changed.notify_one();
        Ok(())
    }

    /// Adds something that is done while nobody waits. The same that waits already is enough.
    pub(crate) fn push_spare(&self, item: T, is_same: impl Fn(&T, &T) -> bool) {
        let mut inner = self.lock();
        if inner.closed || inner.spare.iter().any(|other| is_same(other, &item)) {
            return;
        }
        if inner.spare.len() == SPARE {
            inner.spare.pop_front();
        }
        inner.spare.push_back(item);
        self.changed.notify_one();
    }

    /// Ends what is done while nobody waits: cancelled as soon as somebody comes.
    pub(crate) fn interrupt(&self) -> CancellationToken {
        self.lock().interrupt.clone()
    }

    /// Waits at most `patience` (for ever without) for an item and takes it; the person it belongs to goes to the end.
    /// Until the next call the item counts as being worked on.
    pub(crate) fn take(&self, patience: Option<Duration>) -> Taken<T> {
        let mut inner = self.lock();
        inner.busy = false;
        loop {
            if inner.closed {
                return Taken::Closed;
            }
            if let Some((user, mut row)) = inner.people.pop_front() {
                let item = row.pop_front();
                if !row.is_empty() {
                    inner.people.push_back((user, row));
                }
                let Some(item) = item else { continue };
                inner.busy = true;
                return Taken::Wanted(item);
            }
            if let Some(item) = inner.spare.pop_front() {
                inner.interrupt = CancellationToken::new();
                return Taken::Spare(item);
            }
            let Some(patience) = patience else {
                inner = self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let (woken, waited) = self.changed.wait_timeout(inner, patience).unwrap_or_else(PoisonError::into_inner);
            inner = woken;
            if waited.timed_out() && inner.people.is_empty() && inner.spare.is_empty() && !inner.closed {
                return Taken::Nothing;
            }
        }
    }

    /// Shows every waiting item with the number of those before it, the one that is worked on among them, after
    /// forgetting those that are not `wanted` any more.
    pub(crate) fn review(&self, wanted: impl Fn(&T) -> bool, mut show: impl FnMut(&T, u32)) {
        let mut inner = self.lock();
        for (_, row) in &mut inner.people {
            row.retain(&wanted);
        }
        inner.people.retain(|(_, row)| !row.is_empty());
        let mut ahead = u32::from(inner.busy);
        let rounds = inner.people.iter().map(|(_, row)| row.len()).max().unwrap_or(0);
        for round in 0..rounds {
            for item in inner.people.iter().filter_map(|(_, row)| row.get(round)) {
                show(item, ahead);
                ahead += 1;
            }
        }
    }

    /// Forgets everything that waits, and lets the taker go.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.closed = true;
        inner.people.clear();
        inner.spare.clear();
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

    fn queue(items: &[(&UserId, &'static str)]) -> Queue<&'static str> {
        let queue = Queue::new();
        for (user, item) in items {
            queue.push(**user, *item).unwrap();
        }
        queue
    }

    fn taken(queue: &Queue<&'static str>) -> &'static str {
        let Taken::Wanted(item) = queue.take(None) else { panic!("nobody waits") };
        item
    }

    #[test]
    fn what_nobody_waits_for_is_done_last_and_left_when_somebody_comes() {
        let ann = UserId::fresh();
        let queue = queue(&[(&ann, "a1")]);
        let is_same = |one: &&str, other: &&str| one == other;
        queue.push_spare("spare", is_same);
        queue.push_spare("spare", is_same);
        assert_eq!(taken(&queue), "a1");
        assert_eq!(queue.take(None), Taken::Spare("spare"));
        let interrupt = queue.interrupt();
        assert!(!interrupt.is_cancelled());
        queue.push(ann, "a2").unwrap();
        assert!(interrupt.is_cancelled(), "somebody came");
        assert_eq!(taken(&queue), "a2");
        assert_eq!(queue.take(Some(Duration::from_millis(1))), Taken::Nothing, "once was enough");
    }

    #[test]
    fn people_take_turns() {
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
    fn the_unwanted_leave_and_the_busy_one_counts() {
        let (ann, bob) = (UserId::fresh(), UserId::fresh());
        let queue = queue(&[(&ann, "a1"), (&ann, "a2"), (&bob, "b1")]);
        assert_eq!(taken(&queue), "a1");
        let mut shown = Vec::new();
        queue.review(|item| *item != "b1", |item, ahead| shown.push((*item, ahead)));
        assert_eq!(shown, [("a2", 1)]);
    }

    #[test]
    fn a_closed_queue_lets_the_taker_go_and_takes_nothing() {
        let ann = UserId::fresh();
        let queue = std::sync::Arc::new(queue(&[]));
        let taker = std::thread::spawn({
            let queue = queue.clone();
            move || queue.take(None)
        });
        queue.close();
        assert_eq!(taker.join().unwrap(), Taken::Closed);
        assert_eq!(queue.push(ann, "late"), Err("late"));
    }
}
