//! Settings of the lifetimes of sign-ins.

use std::time::Duration;

use super::source::{ConfigError, Source};

/// Shortest lifetime: clients renew their tokens some minutes before these expire.
const SHORTEST_LIFETIME: Duration = Duration::from_mins(5);

/// Lifetimes of sign-ins. `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionLifetimes {
    /// `CHAT_SESSION_IDLE`: time after the last renewal of its tokens at which a session ends.
    pub idle: Option<Duration>,
    /// `CHAT_SESSION_MAX`: time after the sign-in at which a session ends.
    pub max: Option<Duration>,
}

impl SessionLifetimes {
    /// Reads `CHAT_SESSION_IDLE` and `CHAT_SESSION_MAX`.
    pub(super) fn read(source: &mut Source) -> Result<Self, ConfigError> {
        Ok(Self { idle: read_lifetime(source, "CHAT_SESSION_IDLE")?, max: read_lifetime(source, "CHAT_SESSION_MAX")? })
    }
}

fn read_lifetime(source: &mut Source, name: &str) -> Result<Option<Duration>, ConfigError> {
    let Some(text) = source.text(name).filter(|text| text != "off") else { return Ok(None) };
    let lifetime = parse_duration(&text).filter(|lifetime| *lifetime >= SHORTEST_LIFETIME);
    lifetime.map(Some).ok_or_else(|| ConfigError::Bad {
        name: name.to_owned(),
        reason: format!("it must be a time such as 30m, 12h or 30d, at least 5m, or off; not {text:?}"),
    })
}

/// Parses a whole number of minutes, hours or days, at most a hundred years.
fn parse_duration(text: &str) -> Option<Duration> {
    let (number, minutes_per_unit) = [("m", 1), ("h", 60), ("d", 24 * 60)]
        .into_iter()
        .find_map(|(unit, minutes)| Some((text.strip_suffix(unit)?, minutes)))?;
    let minutes = number.parse::<u64>().ok()?.checked_mul(minutes_per_unit)?;
    (minutes <= 100 * 366 * 24 * 60).then(|| Duration::from_mins(minutes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_lifetimes_with_a_unit() {
        let read = |text: &str| {
            let mut source = Source::default().with("CHAT_SESSION_IDLE", text);
            SessionLifetimes::read(&mut source).map(|lifetimes| lifetimes.idle).map_err(|error| error.to_string())
        };
        for (text, minutes) in [("30m", 30), ("12h", 720), ("30d", 43_200), ("5m", 5)] {
            assert_eq!(read(text), Ok(Some(Duration::from_mins(minutes))), "{text}");
        }
        assert_eq!(read("off"), Ok(None));
        for text in ["4m", "30", "h", "1.5h", "-1h", "1w", "99999999999999999999d", "40000d"] {
            let error = read(text).unwrap_err();
            assert!(error.contains("CHAT_SESSION_IDLE") && error.contains("30m, 12h or 30d"), "{text}: {error}");
        }
        assert_eq!(SessionLifetimes::read(&mut Source::default()).unwrap(), SessionLifetimes::default());
    }
}
