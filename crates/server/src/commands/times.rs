//! Times and periods in arguments of commands.

use domain::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// Returns the seconds of a whole number of minutes, hours or days, such as `7d`; `None` if the text is no period.
pub fn period_seconds(text: &str) -> Option<i64> {
    [("m", 60), ("h", 60 * 60), ("d", 24 * 60 * 60)].into_iter().find_map(|(unit, seconds)| {
        let number: u32 = text.strip_suffix(unit)?.parse().ok()?;
        Some(i64::from(number) * seconds)
    })
}

/// Parses a time, or a date, which stands for its end in UTC.
///
/// # Errors
///
/// The text is neither.
pub fn parse_end(text: &str) -> Result<Timestamp, String> {
    let time = match text.parse::<Date>() {
        // A time is a date, too, of which the rest would be ignored.
        Ok(date) if text.len() == date.to_string().len() => {
            date.tomorrow().and_then(|next| next.to_zoned(TimeZone::UTC)).map(|next| next.timestamp())
        }
        _ => text.parse(),
    };
    time.map(|time| Timestamp(time.as_microsecond())).map_err(|_| "neither a date nor a time".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_periods() {
        for (text, seconds) in [("5m", 300), ("24h", 86_400), ("7d", 604_800), ("0d", 0)] {
            assert_eq!(period_seconds(text), Some(seconds), "{text}");
        }
        for text in ["", "d", "-1h", "5", "1w", "1.5h", "7 d"] {
            assert_eq!(period_seconds(text), None, "{text}");
        }
    }

    #[test]
    fn parses_times_and_ends_of_dates() {
        let noon = Timestamp(1_795_262_400_000_000);
        assert_eq!(parse_end("2026-11-21T12:00:00Z"), Ok(noon));
        assert_eq!(parse_end("2026-11-21"), Ok(noon.plus_seconds(12 * 60 * 60)));
        for text in ["", "tomorrow", "2026-02-30", "2026-11-21 noon", "7d"] {
            assert!(parse_end(text).is_err(), "{text}");
        }
    }
}
