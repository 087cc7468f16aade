//! Guard for times of day: a small model often writes "08:01 PM" where a tool returned "08:01".

/// Times of day in tool results without an AM or PM mark.
#[derive(Debug, Default)]
pub(crate) struct TimeGuard {
    /// Times such as `8:01`.
    times: Vec<String>,
}

/// AM and PM marks, in lower case.
const HALF_DAY_MARKS: [&str; 6] = ["am", "pm", "a.m", "p.m", "a.m.", "p.m."];

impl TimeGuard {
    /// Collects the times in tool results. A result with any AM or PM mark is skipped.
    pub(crate) fn from_results<'a>(results: impl Iterator<Item = &'a str>) -> Self {
        let mut times = Vec::new();
        for result in results {
            let has_half_day_mark =
                result.split(|c: char| !(c.is_ascii_alphabetic() || c == '.')).any(is_half_day_mark);
            if !has_half_day_mark {
                times.extend(find_times(result));
            }
        }
        Self { times }
    }

    /// Returns whether a token may follow the text so far: not an AM or PM mark after a time that had none.
    pub(crate) fn allows(&self, text: &str, token: &[u8]) -> bool {
        if self.times.is_empty() || !std::str::from_utf8(token).is_ok_and(|token| is_half_day_mark(token.trim())) {
            return true;
        }
        let last = text.trim_end().rsplit(is_separator).next().unwrap_or_default();
        !find_times(last).any(|time| self.times.contains(&time))
    }
}

fn is_half_day_mark(word: &str) -> bool {
    HALF_DAY_MARKS.iter().any(|half| word.eq_ignore_ascii_case(half))
}

/// Returns the hours and minutes in a text, without seconds and leading zeros.
fn find_times(text: &str) -> impl Iterator<Item = String> {
    text.split(is_separator).filter_map(|word| {
        let is_number = |part: &str| (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        let mut parts = word.split(':');
        let (hours, minutes) = (parts.next()?, parts.next()?);
        (is_number(hours) && is_number(minutes)).then(|| format!("{}:{minutes}", hours.trim_start_matches('0')))
    })
}

/// Returns whether a character cannot be part of a time.
fn is_separator(character: char) -> bool {
    !(character.is_ascii_digit() || character == ':')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(result: &str, said: &str, piece: &str) -> bool {
        TimeGuard::from_results(std::iter::once(result)).allows(said, piece.as_bytes())
    }

    #[test]
    fn rejects_half_day_mark_after_plain_time() {
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
    fn finds_times_in_text() {
        let found: Vec<String> = find_times("from 08:30 to 12:05:59, not 1:234 or 7: or :9").collect();
        assert_eq!(found, ["8:30", "12:05"]);
    }
}
