//! Cutting of an answer's text at the first stop sequence.

/// Text of an answer up to the first stop sequence, however the text is split into deltas.
#[derive(Debug)]
pub struct StopFilter {
    stop: Vec<String>,
    /// End of the text so far, while it can be the beginning of a stop sequence.
    held: String,
    is_stopped: bool,
}

impl StopFilter {
    /// Creates a filter for the stop sequences `stop`; empty ones are ignored.
    pub fn new(mut stop: Vec<String>) -> Self {
        stop.retain(|text| !text.is_empty());
        Self { stop, held: String::new(), is_stopped: false }
    }

    /// Returns whether a stop sequence was found. Nothing follows it.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Adds text, and returns what is certainly not part of a stop sequence; may be empty.
    pub fn push(&mut self, text: &str) -> String {
        if self.is_stopped {
            return String::new();
        }
        self.held.push_str(text);
        if let Some(start) = first_match(&self.stop, &self.held) {
            self.is_stopped = true;
            self.held.truncate(start);
            return std::mem::take(&mut self.held);
        }
        let certain = self.held.len() - self.open_match_bytes();
        let rest = self.held.split_off(certain);
        std::mem::replace(&mut self.held, rest)
    }

    /// Returns the withheld text, when the answer is complete or something other than text follows.
    pub fn flush(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    /// Returns the length of the longest suffix of the text with which a stop sequence begins.
    fn open_match_bytes(&self) -> usize {
        let longest = |stop: &String| {
            let beginnings = stop.char_indices().map(|(index, _)| index).filter(|index| *index > 0);
            beginnings.filter(|index| self.held.ends_with(&stop[..*index])).max()
        };
        self.stop.iter().filter_map(longest).max().unwrap_or(0)
    }
}

/// Returns the start of the stop sequence that is complete first, as if the text had arrived letter by letter.
fn first_match(stop: &[String], text: &str) -> Option<usize> {
    let matches = stop.iter().filter_map(|stop| text.find(stop.as_str()).map(|start| (start + stop.len(), start)));
    matches.min().map(|(_, start)| start)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filtered(stop: &[String], pieces: &[String]) -> String {
        let mut filter = StopFilter::new(stop.to_vec());
        let mut text: String = pieces.iter().map(|piece| filter.push(piece)).collect();
        text.push_str(&filter.flush());
        text
    }

    #[test]
    fn returns_text_as_soon_as_it_is_certain() {
        let mut filter = StopFilter::new(vec!["END".to_owned(), String::new()]);
        assert_eq!(filter.push("one E"), "one ");
        assert_eq!(filter.push("N"), "");
        assert_eq!(filter.push("Z E"), "ENZ ");
        assert_eq!(filter.push("ND two"), "");
        assert!(filter.is_stopped());
        assert_eq!((filter.push("three"), filter.flush()), (String::new(), String::new()));
    }

    proptest! {
        #[test]
        fn cuts_at_the_first_stop_text_however_split(
            stop in prop::collection::vec("[abé]{1,4}", 0..4),
            pieces in prop::collection::vec("[abcé]{0,5}", 0..12),
        ) {
            let whole = pieces.concat();
            let complete = whole.char_indices().find_map(|(index, letter)| {
                let written = &whole[..index + letter.len_utf8()];
                let ended = stop.iter().filter(|stop| written.ends_with(stop.as_str()));
                ended.map(|stop| written.len() - stop.len()).min()
            });
            prop_assert_eq!(filtered(&stop, &pieces), &whole[..complete.unwrap_or(whole.len())]);
        }
    }
}
