//! Format of the journal in the database: one event per line, as sequence number, tab and JSON.

use std::fmt::Write;

use domain::TurnId;
use storage::turns::Chunk;

use super::event::TurnEvent;

/// Appends an event in the format of the journal.
pub fn append_line(lines: &mut String, seq: u64, json: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(lines, "{seq}\t{json}");
}

/// Encodes events as a [journal entry](Chunk) of their own, numbered from `first`.
pub fn encode_events(turn_id: TurnId, first: u64, events: &[String]) -> Chunk {
    let mut payload = String::new();
    let mut last = first;
    for (seq, json) in (first..).zip(events) {
        append_line(&mut payload, seq, json);
        last = seq;
    }
    Chunk { turn: turn_id, seq: last as i64, payload }
}

/// Returns one journal entry with the waiting events of a turn, if any, followed by the event that ends it.
pub fn append_final_event(pieces: Option<&Chunk>, turn_id: TurnId, seq: u64, json: String) -> Chunk {
    let end = encode_events(turn_id, seq, &[json]);
    let before = pieces.map_or("", |pieces| &pieces.payload);
    Chunk { payload: [before, &end.payload].concat(), ..end }
}

/// Returns the sequence number and the JSON text of each event in a journal entry. Lines that cannot be parsed are
/// skipped.
pub fn lines(chunk: &str) -> impl Iterator<Item = (u64, &str)> {
    chunk.lines().filter_map(split_line)
}

/// Events of a turn, read from its journal.
#[derive(Debug, Default)]
pub struct DecodedJournal {
    /// Events that could be decoded, with their numbers, in order.
    pub events: Vec<(u64, TurnEvent)>,
    /// Number of lines that could not be decoded.
    pub unreadable: usize,
}

/// Decodes the journal of a turn, whose entries [`append_line`] has encoded.
///
/// A line that cannot be decoded, for example one of a newer version, is logged and skipped. An event that is stored
/// twice counts once: a write that was reported as failed may have succeeded and was repeated.
pub fn decode_journal(turn_id: TurnId, chunks: &[String]) -> DecodedJournal {
    let mut journal = DecodedJournal::default();
    let mut last = 0;
    for line in chunks.iter().flat_map(|chunk| chunk.lines()) {
        let entry = split_line(line);
        if entry.is_some_and(|(seq, _)| seq <= last) {
            continue;
        }
        last = entry.map_or(last, |(seq, _)| seq);
        match entry.map(|(seq, json)| (seq, serde_json::from_str(json))) {
            Some((seq, Ok(event))) => journal.events.push((seq, event)),
            Some((seq, Err(error))) => {
                tracing::error!(%turn_id, seq, %error, "an entry of a journal could not be read");
                journal.unreadable += 1;
            }
            None => {
                tracing::error!(%turn_id, after = last, "an entry of a journal could not be read");
                journal.unreadable += 1;
            }
        }
    }
    journal
}

/// Returns whether all events of a journal entry can be decoded.
pub fn is_readable_entry(entry: &str) -> bool {
    let is_event = |(_, json): (u64, &str)| serde_json::from_str::<TurnEvent>(json).is_ok();
    entry.lines().all(|line| split_line(line).is_some_and(is_event))
}

fn split_line(line: &str) -> Option<(u64, &str)> {
    let (seq, json) = line.split_once('\t')?;
    Some((seq.parse().ok()?, json))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_twice_counts_once() {
        let line = |seq: u64| format!("{seq}\t{{\"type\":\"abort\",\"reason\":\"{seq}\"}}\n");
        let chunks = [line(1) + &line(2), line(1) + &line(2) + &line(3), line(5)];
        let journal = decode_journal(TurnId::fresh(), &chunks);
        let numbers: Vec<u64> = journal.events.iter().map(|(seq, _)| *seq).collect();
        assert_eq!((numbers.as_slice(), journal.unreadable), (&[1, 2, 3, 5][..], 0));
    }

    #[test]
    fn counts_entries_that_cannot_be_read() {
        let good = |seq: u64| format!("{seq}\t{{\"type\":\"abort\",\"reason\":\"{seq}\"}}\n");
        let chunks = [good(1), "2\t{\"type\":\"of-a-newer-version\"}\n".to_owned(), "torn\n".to_owned(), good(3)];
        let journal = decode_journal(TurnId::fresh(), &chunks);
        let numbers: Vec<u64> = journal.events.iter().map(|(seq, _)| *seq).collect();
        assert_eq!((numbers.as_slice(), journal.unreadable), (&[1, 3][..], 2));
        assert_eq!(chunks.map(|chunk| is_readable_entry(&chunk)), [true, false, false, true]);
    }
}
