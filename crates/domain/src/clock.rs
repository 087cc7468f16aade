//! Points in time, and the clock that supplies them. Services receive the clock from outside, so that tests can control
//! it.

mod literal;

use std::borrow::Cow;
use std::fmt;

use jiff::civil::{Date, DateTime, Time};
use jiff::{SignedDuration, ToSpan};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use literal::NotATimestamp;

/// Seconds of an hour.
pub const SECONDS_PER_HOUR: i64 = 3_600;
/// Seconds of a day in UTC, which has no leap seconds here.
pub const SECONDS_PER_DAY: i64 = 86_400;

/// A point in time, in microseconds since 1970-01-01T00:00:00Z. The database stores every time in this form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Returns the whole seconds since 1970, the unit of JSON Web Tokens.
    pub fn as_seconds(self) -> i64 {
        // Euclidean division rounds times before 1970 down, too.
        self.0.div_euclid(1_000_000)
    }

    /// Returns the whole milliseconds since 1970.
    pub fn as_millis(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// Returns the time `seconds` later, or earlier if negative.
    #[must_use]
    pub fn plus_seconds(self, seconds: i64) -> Self {
        // Saturating, so that an extreme number of seconds cannot overflow.
        Self(self.0.saturating_add(seconds.saturating_mul(1_000_000)))
    }

    /// Returns the milliseconds from `earlier` to this time; 0 if the clock went back.
    pub fn millis_since(self, earlier: Self) -> u64 {
        u64::try_from((self.0 - earlier.0) / 1_000).unwrap_or(0)
    }

    /// Returns date and time of day in UTC. Times outside the years 1 to 9999 do not occur: no parser accepts them.
    fn civil(self) -> DateTime {
        DateTime::constant(1970, 1, 1, 0, 0, 0, 0).saturating_add(SignedDuration::from_micros(self.0))
    }

    /// Returns the start of the hour in UTC.
    #[must_use]
    pub fn start_of_hour(self) -> Self {
        self.start_of(SECONDS_PER_HOUR)
    }

    /// Returns the start of the day in UTC.
    #[must_use]
    pub fn start_of_day(self) -> Self {
        self.start_of(SECONDS_PER_DAY)
    }

    /// Returns the start of a period of this many seconds, counted from 1970.
    fn start_of(self, seconds: i64) -> Self {
        Self(self.as_seconds().div_euclid(seconds) * seconds * 1_000_000)
    }

    /// Returns the start of the month in UTC.
    #[must_use]
    pub fn start_of_month(self) -> Self {
        Self::midnight(self.civil().date().first_of_month())
    }

    /// Returns the start of the next month in UTC.
    #[must_use]
    pub fn start_of_next_month(self) -> Self {
        Self::midnight(self.civil().date().last_of_month().saturating_add(1.day()))
    }

    /// Returns the start of a day in UTC.
    fn midnight(date: Date) -> Self {
        let epoch = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
        Self(i64::try_from(date.to_datetime(Time::midnight()).duration_since(epoch).as_micros()).unwrap_or(i64::MAX))
    }

    /// Formats the time as `2026-11-21T10:00:00.123456Z`, always with six decimals: the format of the auth API.
    pub fn to_rfc3339(self) -> String {
        self.civil().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
    }

    /// Formats the time as `2026-11-21T10:00:00.123456+00:00`: the format in which PostgREST writes a `timestamptz`. It
    /// omits trailing zeros of the fraction, and the decimal point with them.
    pub fn to_postgrest(self) -> String {
        let fraction = self.0.rem_euclid(1_000_000);
        let base = self.civil().strftime("%Y-%m-%dT%H:%M:%S").to_string();
        if fraction == 0 {
            return format!("{base}+00:00");
        }
        // With the zeros in front, which belong to the value, before those at the end are cut.
        let digits = format!("{fraction:06}");
        format!("{base}.{}+00:00", digits.trim_end_matches('0'))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_rfc3339())
    }
}

impl JsonSchema for Timestamp {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Timestamp")
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_rfc3339())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A source of the current time.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
}

/// The clock of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the machine's clock")]
    fn now(&self) -> Timestamp {
        Timestamp(jiff::Timestamp::now().as_microsecond())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_the_forms_of_both_protocols() {
        let t: Timestamp = "2026-11-21T10:00:00.120000Z".parse().unwrap();
        assert_eq!(t.to_rfc3339(), "2026-11-21T10:00:00.120000Z");
        assert_eq!(t.to_postgrest(), "2026-11-21T10:00:00.12+00:00");
        assert_eq!(t.plus_seconds(1).as_seconds() - t.as_seconds(), 1);
    }
}
