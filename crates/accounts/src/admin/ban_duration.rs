//! Duration of a ban in Go's format, which GoTrue uses: `24h`, `1h30m`, `1.5h`.

/// Units and their lengths in nanoseconds.
const UNIT_NANOSECONDS: [(&str, f64); 8] = [
    ("ns", 1.0),
    ("us", 1e3),
    // GoTrue parses with Go's `time.ParseDuration`, which accepts the micro sign and the Greek letter mu.
    ("\u{b5}s", 1e3),
    ("\u{3bc}s", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 60e9),
    ("h", 3600e9),
];

/// Longest duration, in nanoseconds: a little less than 292 years.
const MAX_NANOSECONDS: f64 = i64::MAX as f64;

/// Parses a duration. Returns microseconds, or `None` if the text is invalid.
pub fn parse(text: &str) -> Option<i64> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    // The only duration without a unit in Go.
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut nanoseconds = 0.0;
    while !rest.is_empty() {
        let (number, after) = split_at_first(rest, |c| !c.is_ascii_digit() && c != '.');
        let (unit, after) = split_at_first(after, |c| c.is_ascii_digit() || c == '.');
        let (_, length) = UNIT_NANOSECONDS.iter().find(|(name, _)| *name == unit)?;
        // Rust also accepts exponents and names such as `inf`; the split above excludes both.
        nanoseconds += number.parse::<f64>().ok()? * length;
        rest = after;
    }
    (nanoseconds < MAX_NANOSECONDS).then_some((sign * nanoseconds / 1e3) as i64)
}

fn split_at_first(text: &str, stop: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(stop).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn parses_durations_as_go_does() {
        let table = [
            ("0", Some(0)),
            ("24h", Some(86_400_000_000)),
            ("1h30m", Some(5_400_000_000)),
            ("1.5h", Some(5_400_000_000)),
            (".5s", Some(500_000)),
            ("1.s", Some(1_000_000)),
            ("300ms", Some(300_000)),
            ("2us", Some(2)),
            ("2µs", Some(2)),
            ("2μs", Some(2)),
            ("1500ns", Some(1)),
            ("-1h", Some(-3_600_000_000)),
            ("+1h", Some(3_600_000_000)),
            ("876000h", Some(3_153_600_000_000_000)),
        ];
        for (text, length) in table {
            assert_eq!(parse(text), length, "{text}");
        }
        for text in
            ["", "-", "1", "h", "1d", "1 h", "1h ", "1h30", ".h", "1..5h", "1e3s", "infh", "3000000h", "forever"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
