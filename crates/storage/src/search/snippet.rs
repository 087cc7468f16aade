//! Excerpts of texts around a search match.

/// Number of characters before the first match.
const CHARACTERS_BEFORE_MATCH: usize = 48;
const MAX_CHARACTERS: usize = 200;

/// A text and the ranges in it to highlight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marked {
    /// Text, on one line.
    pub text: String,
    /// Start and end of each range in UTF-16 code units, as JavaScript counts.
    pub marks: Vec<(usize, usize)>,
}

/// Returns a complete text with its matches, given as byte ranges.
pub(super) fn whole(text: &str, places: &[(usize, usize)]) -> Marked {
    piece(text, 0, text.len(), places)
}

/// Returns the excerpt of a text around its first match.
pub(super) fn around(text: &str, places: &[(usize, usize)]) -> Marked {
    let first = places.first().map_or(0, |place| place.0);
    let mut start = text[..first].char_indices().rev().nth(CHARACTERS_BEFORE_MATCH - 1).map_or(0, |(at, _)| at);
    if start > 0 {
        // The excerpt begins at a word, if the text before the match contains a space.
        let gap = text[start..first].char_indices().find(|(_, character)| character.is_whitespace());
        start = gap.map_or(start, |(at, space)| start + at + space.len_utf8());
    }
    let end = text[start..].char_indices().nth(MAX_CHARACTERS).map_or(text.len(), |(at, _)| start + at);
    piece(text, start, end, places)
}

fn piece(text: &str, start: usize, end: usize, places: &[(usize, usize)]) -> Marked {
    let mut marked = Marked { text: String::new(), marks: Vec::new() };
    if start > 0 {
        marked.text.push('…');
    }
    let mut units = marked.text.encode_utf16().count();
    // A match that the excerpt cuts is not marked, because its mark would end outside of the text.
    let mut places = places.iter().filter(|(from, to)| *from >= start && *to <= end).peekable();
    let mut from = 0;
    for (at, character) in text[start..end].char_indices() {
        let at = start + at;
        if places.peek().is_some_and(|place| place.0 == at) {
            from = units;
        }
        // Line breaks and other control characters are shown as a space. They also are one UTF-16 unit, so that the
        // offsets stay the same.
        let shown = if character.is_control() || character.is_whitespace() { ' ' } else { character };
        marked.text.push(shown);
        units += shown.len_utf16();
        if places.next_if(|place| place.1 == at + character.len_utf8()).is_some() {
            marked.marks.push((from, units));
        }
    }
    if end < text.len() {
        marked.text.push('…');
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(marked: &Marked) -> Vec<String> {
        let units: Vec<u16> = marked.text.encode_utf16().collect();
        marked.marks.iter().map(|(from, to)| String::from_utf16(&units[*from..*to]).unwrap()).collect()
    }

    #[test]
    fn places_are_counted_as_scripts_count() {
        let text = "🚲\n🚲 Lisbon 🚲 and\tLisbon";
        let places: Vec<(usize, usize)> = text.match_indices("Lisbon").map(|(at, hit)| (at, at + hit.len())).collect();
        let marked = whole(text, &places);
        assert_eq!(marked.text, "🚲 🚲 Lisbon 🚲 and Lisbon");
        assert_eq!(marks(&marked), ["Lisbon", "Lisbon"]);
    }

    #[test]
    fn a_long_text_is_cut_around_its_first_place() {
        let text = format!("{}the needle, {}needle", "hay ".repeat(100), "straw ".repeat(100));
        let places: Vec<(usize, usize)> = text.match_indices("needle").map(|(at, hit)| (at, at + hit.len())).collect();
        let marked = around(&text, &places);
        assert!(marked.text.starts_with("…hay ") && marked.text.ends_with('…'), "{}", marked.text);
        assert_eq!(marks(&marked), ["needle"]);
        assert!(marked.text.chars().count() <= MAX_CHARACTERS + 2);
        assert_eq!(around("needle", &[(0, 6)]).text, "needle");
    }
}
