//! The event log of one turn, in memory, for any number of subscribers.
//!
//! Every event is encoded once, as a frame of the server-sent event stream. A subscriber holds a cursor and receives
//! everything after it, so replay and live delivery are one code path, a slow subscriber delays nobody, and no event
//! can be skipped.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use domain::json::to_json_text;
use serde::Serialize;
use tokio::sync::watch;

/// Frame that ends a stream.
const STREAM_END: &[u8] = b"data: [DONE]\n\n";

/// Size of a chunk for a subscriber in bytes, unless a single event is larger. It bounds the memory that a subscriber
/// holds which does not read.
const MAX_CHUNK_BYTES: usize = 32 * 1024;

/// Size of an event in bytes up to which a subscriber gets a copy. The copy is freed once it is sent; sharing a frame
/// instead allocates a reference count that stays with the event.
const MAX_COPIED_BYTES: usize = 4 * 1024;

/// Sequence numbers that are skipped when a log is restored in another process. It exceeds the number of events that
/// can have been published but not written, so that no number is used for two events.
pub const SEQ_GAP: u64 = 1_000_000;

/// Append-only log of server-sent events, numbered from 1.
#[derive(Debug)]
pub struct EventLog {
    frames: Mutex<Frames>,
    head: watch::Sender<Head>,
    /// Bytes of all logs together.
    total_bytes: Arc<AtomicUsize>,
}

#[derive(Debug, Default)]
struct Frames {
    /// Frames with their sequence numbers, in ascending order.
    all: Vec<(u64, Bytes)>,
    /// Sequence number of the last frame, or the end of a gap after it.
    last: u64,
    /// Numbers of events that are withheld until they are written. Later events are withheld as well, so that the
    /// order is kept.
    withheld: BTreeSet<u64>,
    /// Whether withheld events stay withheld until the log is closed.
    is_frozen: bool,
    bytes: usize,
}

impl Frames {
    fn push(&mut self, number: u64, json: &str) {
        // Allocated with the exact length, because a turn has thousands of frames.
        let frame = Bytes::from([format!("id: {number}\ndata: ").as_str(), json, "\n\n"].concat());
        self.bytes += frame.len();
        self.all.push((number, frame));
        self.last = number;
    }

    /// Returns the number of frames that subscribers may receive: those before the first withheld event.
    fn visible(&self) -> usize {
        let first = self.withheld.first();
        first.map_or(self.all.len(), |first| self.all.partition_point(|(number, _)| number < first))
    }

    /// Returns the index of the frame after event `after`. If the log does not contain that event (its number was
    /// published by a previous process and lost in a crash), it is 0: the subscriber replays the turn from the
    /// beginning.
    fn index_after(&self, after: u64) -> usize {
        self.all.binary_search_by_key(&after, |(number, _)| *number).map_or(0, |index| index + 1)
    }
}

/// Progress of the log, watched by subscribers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Head {
    /// Number of frames that subscribers may receive.
    frames: usize,
    closed: bool,
    /// Whether the log was closed before its end, because the turn continues in another process.
    is_continued_elsewhere: bool,
}

impl Default for EventLog {
    fn default() -> Self {
        Self::with_total(&Arc::default())
    }
}

impl Drop for EventLog {
    fn drop(&mut self) {
        let bytes = self.bytes();
        self.total_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl EventLog {
    /// Creates an empty log whose size is added to `total_bytes`.
    pub fn with_total(total_bytes: &Arc<AtomicUsize>) -> Self {
        let head = watch::Sender::new(Head::default());
        Self { frames: Mutex::default(), head, total_bytes: Arc::clone(total_bytes) }
    }

    /// Returns the size of all frames in bytes.
    pub fn bytes(&self) -> usize {
        self.frames().bytes
    }

    /// Appends an event, and returns its sequence number and its JSON text.
    pub fn append(&self, event: &impl Serialize) -> (u64, String) {
        self.push(event, false)
    }

    /// Appends an event that is withheld from subscribers until it is [released](Self::commit).
    pub fn append_uncommitted(&self, event: &impl Serialize) -> (u64, String) {
        self.push(event, true)
    }

    fn push(&self, event: &impl Serialize, is_withheld: bool) -> (u64, String) {
        let json = to_json_text(event);
        let mut frames = self.frames();
        let number = frames.last + 1;
        let before = frames.bytes;
        frames.push(number, &json);
        self.total_bytes.fetch_add(frames.bytes - before, Ordering::Relaxed);
        if is_withheld {
            frames.withheld.insert(number);
        }
        // Under the lock of the frames, so that subscribers never see a count that decreases.
        self.head.send_modify(|head| head.frames = frames.visible());
        (number, json)
    }

    /// Publishes a withheld event, unless the log is [frozen](Self::freeze_withheld).
    pub fn commit(&self, number: u64) {
        let mut frames = self.frames();
        if !frames.is_frozen {
            frames.withheld.remove(&number);
        }
        self.head.send_modify(|head| head.frames = frames.visible());
    }

    /// Keeps the events that are withheld now or later from subscribers until the log is [closed](Self::close).
    pub fn freeze_withheld(&self) {
        self.frames().is_frozen = true;
    }

    /// Appends an event with a number from another node. Events up to the last number are ignored, so that reading
    /// twice is harmless.
    pub fn append_at(&self, number: u64, json: &str) {
        let mut frames = self.frames();
        if number > frames.last {
            let before = frames.bytes;
            frames.push(number, json);
            self.total_bytes.fetch_add(frames.bytes - before, Ordering::Relaxed);
        }
        self.head.send_modify(|head| head.frames = frames.visible());
    }

    /// Removes the last event, if it is withheld by [`append_uncommitted`](Self::append_uncommitted). No subscriber
    /// has seen it, so its number can be used again.
    pub fn rollback(&self, number: u64) {
        let mut frames = self.frames();
        if frames.last == number && frames.withheld.remove(&number) {
            let taken = frames.all.pop().map_or(0, |(_, frame)| frame.len());
            frames.bytes -= taken;
            self.total_bytes.fetch_sub(taken, Ordering::Relaxed);
            frames.last = number - 1;
        }
    }

    /// Restores the log of a previous process from the events that it wrote.
    ///
    /// Transient events and events that were lost in the crash are missing. New events are numbered from [`SEQ_GAP`]
    /// after the last one.
    pub fn restore(events: impl IntoIterator<Item = (u64, String)>, total_bytes: &Arc<AtomicUsize>) -> Self {
        let mut frames = Frames::default();
        for (number, json) in events {
            if number > frames.last {
                frames.push(number, &json);
            }
        }
        frames.last += SEQ_GAP;
        let head = Head { frames: frames.all.len(), ..Head::default() };
        total_bytes.fetch_add(frames.bytes, Ordering::Relaxed);
        Self { frames: Mutex::new(frames), head: watch::Sender::new(head), total_bytes: Arc::clone(total_bytes) }
    }

    /// Disconnects the subscribers without the end of the stream that [`close`](Self::close) sends: the turn
    /// continues in another process, and they reconnect to it.
    pub fn disconnect(&self) {
        self.head.send_modify(|head| {
            head.is_continued_elsewhere = !head.closed || head.is_continued_elsewhere;
            head.closed = true;
        });
    }

    /// Closes the log. The answer is stored by then, and all withheld events with it, so they are published now.
    pub fn close(&self) {
        let mut frames = self.frames();
        frames.withheld.clear();
        self.head.send_modify(|head| {
            head.frames = frames.visible();
            head.closed = true;
        });
    }

    /// Returns a cursor after event `after` (0 for the beginning), or at the beginning if there is no such event, for
    /// [`next`](Self::next).
    pub fn follow(&self, after: u64) -> Cursor {
        Cursor { next: self.frames().index_after(after), head: self.head.subscribe(), ended: false }
    }

    /// Waits until the log is closed.
    pub async fn closed(&self) {
        let mut head = self.head.subscribe();
        // `wait_for` fails only if the sender is dropped, and that lives as long as `self`.
        drop(head.wait_for(|head| head.closed).await);
    }

    /// Waits for the next chunk for a subscriber: at most 32 KiB, or one event. Returns `None` after the end of the
    /// stream was returned.
    pub async fn next(&self, cursor: &mut Cursor) -> Option<Bytes> {
        if cursor.ended {
            return None;
        }
        let next = cursor.next;
        // Copied, so that the lock of the watch is released before the frames are locked: `push` takes them in the
        // opposite order.
        let head = *cursor.head.wait_for(|head| head.frames > next || head.closed).await.ok()?;
        let frames = self.frames();
        let new = frames.all.get(next..head.frames).unwrap_or_default();
        let (mut taken, mut length) = (0, 0);
        for (_, frame) in new {
            if taken > 0 && length + frame.len() > MAX_CHUNK_BYTES {
                break;
            }
            (taken, length) = (taken + 1, length + frame.len());
        }
        let new = &new[..taken];
        cursor.next = next + taken;
        cursor.ended = head.closed && cursor.next >= head.frames;
        let end = if cursor.ended && !head.is_continued_elsewhere { STREAM_END } else { &[] };
        // A single large event is shared, not copied; see `MAX_COPIED_BYTES`.
        if let ([(_, only)], []) = (new, end)
            && length > MAX_COPIED_BYTES
        {
            return Some(only.clone());
        }
        let mut piece = Vec::with_capacity(length + end.len());
        for (_, frame) in new {
            piece.extend_from_slice(frame);
        }
        piece.extend_from_slice(end);
        (!piece.is_empty()).then(|| Bytes::from(piece))
    }

    fn frames(&self) -> MutexGuard<'_, Frames> {
        self.frames.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Position of a subscriber in a [`EventLog`].
#[derive(Debug)]
pub struct Cursor {
    next: usize,
    head: watch::Receiver<Head>,
    ended: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use proptest::prelude::*;

    async fn read(log: &EventLog, after: u64) -> String {
        let mut cursor = log.follow(after);
        let mut text = String::new();
        while let Some(piece) = log.next(&mut cursor).await {
            text.push_str(std::str::from_utf8(&piece).unwrap());
        }
        text
    }

    #[tokio::test]
    async fn a_log_goes_on_behind_all_numbers_that_a_viewer_can_know() {
        let log = EventLog::restore([(1, "1".to_owned()), (4, "4".to_owned())], &Arc::default());
        let (next, _) = log.append(&5);
        assert!(next > SEQ_GAP);
        log.close();
        let end = format!("id: {next}\ndata: 5\n\ndata: [DONE]\n\n");
        assert_eq!(read(&log, next).await, "data: [DONE]\n\n");
        assert_eq!(read(&log, 4).await, end);
        assert_eq!(read(&log, 1).await, format!("id: 4\ndata: 4\n\n{end}"));
        let whole = format!("id: 1\ndata: 1\n\nid: 4\ndata: 4\n\n{end}");
        for told_and_lost in [0, 5, 900, 3, next + 1] {
            assert_eq!(read(&log, told_and_lost).await, whole);
        }
    }

    #[tokio::test]
    async fn a_log_that_goes_on_twice_keeps_its_numbers() {
        let first = EventLog::restore([(1, "1".to_owned())], &Arc::default());
        let (second, json) = first.append(&2);
        let log = EventLog::restore([(1, "1".to_owned()), (second, json)], &Arc::default());
        let (third, _) = log.append(&3);
        log.close();
        assert!(third > second + SEQ_GAP);
        assert_eq!(read(&log, second).await, format!("id: {third}\ndata: 3\n\ndata: [DONE]\n\n"));
    }

    #[tokio::test]
    async fn what_is_kept_back_keeps_back_what_follows_it() {
        let log = EventLog::default();
        log.append(&1);
        let (second, _) = log.append_uncommitted(&2);
        let (third, _) = log.append_uncommitted(&3);
        log.append(&4);
        let mut cursor = log.follow(0);
        assert_eq!(log.next(&mut cursor).await.unwrap(), "id: 1\ndata: 1\n\n");
        log.commit(third);
        assert!(log.next(&mut cursor).now_or_never().is_none());
        log.commit(second);
        assert_eq!(log.next(&mut cursor).await.unwrap(), "id: 2\ndata: 2\n\nid: 3\ndata: 3\n\nid: 4\ndata: 4\n\n");
        log.freeze_withheld();
        let (fifth, _) = log.append_uncommitted(&5);
        log.commit(fifth);
        assert!(log.next(&mut cursor).now_or_never().is_none());
        log.close();
        assert_eq!(log.next(&mut cursor).await.unwrap(), "id: 5\ndata: 5\n\ndata: [DONE]\n\n");
    }

    #[tokio::test]
    async fn a_viewer_that_is_left_alone_is_not_told_that_it_is_over() {
        let log = EventLog::default();
        log.append(&1);
        log.disconnect();
        assert_eq!(read(&log, 0).await, "id: 1\ndata: 1\n\n");
        assert_eq!(read(&log, 1).await, "");
    }

    #[tokio::test]
    async fn who_is_far_behind_is_handed_little_at_a_time_and_all_in_the_end() {
        let held = Arc::default();
        let log = EventLog::with_total(&held);
        let (small, large) = ("s".repeat(1000), "l".repeat(10 * MAX_CHUNK_BYTES));
        for _ in 0..500 {
            log.append(&small);
        }
        log.append(&large);
        log.append(&small);
        log.close();
        let (mut behind, mut pieces) = (log.follow(0), Vec::new());
        while let Some(piece) = log.next(&mut behind).await {
            pieces.push(piece);
        }
        let is_large = |piece: &&Bytes| piece.len() > MAX_CHUNK_BYTES + STREAM_END.len();
        let larger: Vec<&Bytes> = pieces.iter().filter(is_large).collect();
        assert_eq!(larger.len(), 1, "only the large event is more, and it is not copied");
        assert_eq!(larger[0].as_ptr(), log.frames().all[500].1.as_ptr());
        assert_eq!(pieces.concat(), read(&log, 0).await.as_bytes());
        let length: usize = pieces.iter().map(Bytes::len).sum();
        assert_eq!((log.bytes(), held.load(Ordering::Relaxed)), (length - STREAM_END.len(), length - STREAM_END.len()));
        drop(log);
        assert_eq!(held.load(Ordering::Relaxed), 0);
    }

    proptest! {
        /// A subscriber receives exactly the events after the last one it has seen.
        #[test]
        fn replay_from_anywhere_gives_the_rest(events in prop::collection::vec(any::<u16>(), 0..20), after in 0u64..25) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let log = EventLog::default();
            for event in &events {
                log.append(event);
            }
            log.close();
            let seen = if after as usize > events.len() { 0 } else { after as usize };
            let want: Vec<String> = events
                .iter()
                .enumerate()
                .skip(seen)
                .map(|(index, event)| format!("id: {}\ndata: {event}\n\n", index + 1))
                .collect();
            prop_assert_eq!(runtime.block_on(read(&log, after)), want.concat() + "data: [DONE]\n\n");
        }
    }
}
