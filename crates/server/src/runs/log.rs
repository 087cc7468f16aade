//! The frames of one run, for any number of viewers.
//!
//! Every frame is encoded once. A viewer holds a cursor and is handed everything behind it as one piece, so replay and
//! live are one path, a slow viewer holds nobody up, and nothing can be skipped.

use std::sync::{Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use serde::Serialize;
use tokio::sync::watch;

/// The line that ends a stream.
const DONE: &[u8] = b"data: [DONE]\n\n";

/// An append-only log of server-sent events, numbered from 1.
#[derive(Debug)]
pub struct RunLog {
    frames: Mutex<Vec<Bytes>>,
    head: watch::Sender<Head>,
}

/// How far the log has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Head {
    frames: usize,
    closed: bool,
    /// Closed in the middle: the run goes on in another process.
    left: bool,
}

impl Default for RunLog {
    fn default() -> Self {
        Self { frames: Mutex::default(), head: watch::Sender::new(Head::default()) }
    }
}

impl RunLog {
    /// Appends one event and returns its number and its JSON text.
    pub fn append(&self, event: &impl Serialize) -> (u64, String) {
        let json = serde_json::to_string(event).unwrap_or_default();
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        let number = frames.len() + 1;
        frames.push(Bytes::from(format!("id: {number}\ndata: {json}\n\n")));
        self.head.send_modify(|head| head.frames = number);
        (number as u64, json)
    }

    /// A log that goes on: the events that a former process has written, with their numbers. Those between them, which
    /// were only for the moment, are gone.
    pub fn restore(events: impl IntoIterator<Item = (u64, String)>) -> Self {
        let mut frames = Vec::new();
        for (number, json) in events {
            let index = usize::try_from(number).unwrap_or_default().saturating_sub(1).max(frames.len());
            frames.resize(index, Bytes::new());
            frames.push(Bytes::from(format!("id: {}\ndata: {json}\n\n", index + 1)));
        }
        let head = Head { frames: frames.len(), ..Head::default() };
        Self { frames: Mutex::new(frames), head: watch::Sender::new(head) }
    }

    /// Lets the viewers go without an end: the run goes on when the program runs again, and they come back for it.
    pub fn leave(&self) {
        self.head.send_modify(|head| {
            head.closed = true;
            head.left = true;
        });
    }

    /// Says that nothing follows.
    pub fn close(&self) {
        self.head.send_modify(|head| head.closed = true);
    }

    /// Follows from after event `after` (0 for all).
    pub fn follow(&self, after: u64) -> Cursor {
        Cursor { next: usize::try_from(after).unwrap_or(usize::MAX), head: self.head.subscribe(), ended: false }
    }

    /// Waits until nothing follows.
    pub async fn closed(&self) {
        let mut head = self.head.subscribe();
        // The sender lives as long as `self`.
        drop(head.wait_for(|head| head.closed).await);
    }

    /// The next piece for a viewer, as soon as there is one; `None` after the end was handed out.
    pub async fn next(&self, cursor: &mut Cursor) -> Option<Bytes> {
        if cursor.ended {
            return None;
        }
        let next = cursor.next;
        let head = *cursor.head.wait_for(|head| head.frames > next || head.closed).await.ok()?;
        let frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        let new = frames.get(next..head.frames).unwrap_or_default();
        cursor.next = head.frames.max(next);
        cursor.ended = head.closed;
        if let ([only], false) = (new, head.closed) {
            return Some(only.clone());
        }
        let mut piece = BytesMut::with_capacity(new.iter().map(Bytes::len).sum::<usize>() + DONE.len());
        for frame in new {
            piece.extend_from_slice(frame);
        }
        if head.closed && !head.left {
            piece.extend_from_slice(DONE);
        }
        (!piece.is_empty()).then(|| piece.freeze())
    }
}

/// Where a viewer is.
#[derive(Debug)]
pub struct Cursor {
    next: usize,
    head: watch::Receiver<Head>,
    ended: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    async fn read(log: &RunLog, after: u64) -> String {
        let mut cursor = log.follow(after);
        let mut text = String::new();
        while let Some(piece) = log.next(&mut cursor).await {
            text.push_str(std::str::from_utf8(&piece).unwrap());
        }
        text
    }

    #[tokio::test]
    async fn a_cursor_past_the_end_gets_the_end() {
        let log = RunLog::default();
        log.append(&1);
        log.close();
        assert_eq!(read(&log, 9).await, "data: [DONE]\n\n");
    }

    #[tokio::test]
    async fn a_log_goes_on_under_the_numbers_that_it_had() {
        let log = RunLog::restore([(1, "1".to_owned()), (4, "4".to_owned())]);
        log.append(&5);
        log.close();
        assert_eq!(read(&log, 1).await, "id: 4\ndata: 4\n\nid: 5\ndata: 5\n\ndata: [DONE]\n\n");
    }

    #[tokio::test]
    async fn a_viewer_that_is_left_alone_is_not_told_that_it_is_over() {
        let log = RunLog::default();
        log.append(&1);
        log.leave();
        assert_eq!(read(&log, 0).await, "id: 1\ndata: 1\n\n");
        assert_eq!(read(&log, 1).await, "");
    }

    proptest! {
        /// Whatever a viewer has seen already, it gets exactly the rest.
        #[test]
        fn replay_from_anywhere_gives_the_rest(events in prop::collection::vec(any::<u16>(), 0..20), after in 0u64..25) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let log = RunLog::default();
            for event in &events {
                log.append(event);
            }
            log.close();
            let want: Vec<String> = events
                .iter()
                .enumerate()
                .skip(after as usize)
                .map(|(index, event)| format!("id: {}\ndata: {event}\n\n", index + 1))
                .collect();
            prop_assert_eq!(runtime.block_on(read(&log, after)), want.concat() + "data: [DONE]\n\n");
        }
    }
}
