//! Pieces of a run's log as they stand in the database: an event a line, its number before it.

use std::fmt::Write;

use domain::RunId;
use store::runs::Chunk;

use super::event::RunEvent;

/// Appends an event as it stands in the journal: its number, a tab, its JSON.
pub fn add_line(lines: &mut String, seq: u64, json: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(lines, "{seq}\t{json}");
}

/// Some events as a chunk of their own, numbered from `first` on.
pub fn chunk_of(run: RunId, first: u64, events: &[String]) -> Chunk {
    let mut payload = String::new();
    let mut last = first;
    for (seq, json) in (first..).zip(events) {
        add_line(&mut payload, seq, json);
        last = seq;
    }
    Chunk { run, seq: last as i64, payload }
}

/// What waited of a run, with the event that ends it behind it, as one chunk.
pub fn with_end(pieces: Option<&Chunk>, run: RunId, seq: u64, json: String) -> Chunk {
    let end = chunk_of(run, seq, &[json]);
    let before = pieces.map_or("", |pieces| &pieces.payload);
    Chunk { payload: [before, &end.payload].concat(), ..end }
}

/// The lines of a chunk.
pub fn lines(chunk: &str) -> impl Iterator<Item = (u64, &str)> {
    chunk.lines().filter_map(|line| {
        let (seq, json) = line.split_once('\t')?;
        Some((seq.parse().ok()?, json))
    })
}

/// The events of a journal, with their numbers. A line that cannot be read (of another version) costs itself, not the
/// others. One that stands there twice counts once: what was said to have failed may have been written, and was written
/// again.
pub fn events_of(chunks: &[String]) -> Vec<(u64, RunEvent)> {
    let mut last = 0;
    let is_new = |(seq, _): &(u64, &str)| {
        let is_new = *seq > last;
        last = last.max(*seq);
        is_new
    };
    let event = |(seq, json): (u64, &str)| Some((seq, serde_json::from_str(json).ok()?));
    chunks.iter().flat_map(|chunk| lines(chunk)).filter(is_new).filter_map(event).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_twice_counts_once() {
        let line = |seq: u64| format!("{seq}\t{{\"type\":\"abort\",\"reason\":\"{seq}\"}}\n");
        let chunks = [line(1) + &line(2), line(1) + &line(2) + &line(3), line(5)];
        let numbers: Vec<u64> = events_of(&chunks).into_iter().map(|(seq, _)| seq).collect();
        assert_eq!(numbers, [1, 2, 3, 5]);
    }
}
