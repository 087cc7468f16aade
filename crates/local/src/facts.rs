//! What an answer from a result must not change. A small model likes to write "08:01 PM" where a tool said "08:01".

/// The times of day in the results, as the tools wrote them.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// Such as `8:01`, of results that know no half days.
    clocks: Vec<String>,
}

/// What makes another time of a time.
const HALVES: [&str; 6] = ["am", "pm", "a.m", "p.m", "a.m.", "p.m."];

impl Facts {
    /// Those in these results.
    pub(crate) fn of<'a>(results: impl Iterator<Item = &'a str>) -> Self {
        let mut clocks = Vec::new();
        for result in results {
            let says_half = result.split(|c: char| !(c.is_ascii_alphabetic() || c == '.')).any(is_half);
            if !says_half {
                clocks.extend(times(result));
            }
        }
        Self { clocks }
    }

    /// Whether a piece may follow what was said: no half of the day behind a time that was given without one.
    pub(crate) fn allow(&self, said: &str, piece: &[u8]) -> bool {
        if self.clocks.is_empty() || !std::str::from_utf8(piece).is_ok_and(|piece| is_half(piece.trim())) {
            return true;
        }
        let last = said.trim_end().rsplit(is_foreign).next().unwrap_or_default();
        !times(last).any(|time| self.clocks.contains(&time))
    }
}

fn is_half(word: &str) -> bool {
    HALVES.iter().any(|half| word.eq_ignore_ascii_case(half))
}

/// Hours and minutes in a text, without seconds and without the zero that stands before small hours.
fn times(text: &str) -> impl Iterator<Item = String> {
    text.split(is_foreign).filter_map(|word| {
        let is_number = |part: &str| (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        let mut parts = word.split(':');
        let (hours, minutes) = (parts.next()?, parts.next()?);
        (is_number(hours) && is_number(minutes)).then(|| format!("{}:{minutes}", hours.trim_start_matches('0')))
    })
}

/// What is no part of a time.
fn is_foreign(character: char) -> bool {
    !(character.is_ascii_digit() || character == ':')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(result: &str, said: &str, piece: &str) -> bool {
        Facts::of(std::iter::once(result)).allow(said, piece.as_bytes())
    }

    #[test]
    fn a_time_stays_in_its_half_of_the_day() {
        let result = r#"{"datetime": "2026-11-21T08:01:44+09:00"}"#;
        for said in ["It is 08:01", "It is 08:01:44", "It is 08:01 ", "**08:01", "It is 8:01", "hé08:01"] {
            assert!(!allows(result, said, " PM"), "{said}");
            assert!(!allows(result, said, "am"), "{said}");
        }
        assert!(allows(result, "It is 08:01", "."));
        assert!(allows(result, "It is 08:01", " in"));
        assert!(allows(result, "The", " PM"), "the prime minister");
        assert!(allows(result, "Es ist früh, 8", " am"));
        assert!(allows("19:42", "It is 7:42", " PM"), "this is the same time");
        assert!(allows("Open until 08:01 p.m.", "It is 08:01", " PM"));
        assert!(allows("no time", "It is 08:01", " PM"));
    }

    #[test]
    fn any_text_has_its_times() {
        let found: Vec<String> = times("from 08:30 to 12:05:59, not 1:234 or 7: or :9").collect();
        assert_eq!(found, ["8:30", "12:05"]);
    }
}
