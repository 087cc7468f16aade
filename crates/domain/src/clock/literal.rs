//! Parser for points in time as PostgreSQL's `timestamptz` reads them: ISO 8601, extended or basic, with PostgreSQL's
//! extensions.

use std::str::FromStr;

use jiff::civil::Date;

use super::Timestamp;

const SECOND_MICROS: i64 = 1_000_000;
const DAY_MICROS: i64 = 86_400 * SECOND_MICROS;

/// 0001-01-01T00:00:00Z.
const FIRST_MICROS: i64 = -719_162 * DAY_MICROS;
/// 10000-01-01T00:00:00Z, the first time that is out of range.
const END_MICROS: i64 = 2_932_897 * DAY_MICROS;

/// The reason why a text is not a [`Timestamp`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotATimestamp {
    /// The text has none of the supported forms. Words such as `now` and `infinity` are not supported either.
    #[error("not a valid time")]
    Syntax,
    /// The day or the time of day does not exist, or the time is outside the years 1 to 9999.
    #[error("the time does not exist")]
    OutOfRange,
    /// The offset is 16 hours or more.
    #[error("the UTC offset does not exist")]
    Offset,
}

impl FromStr for Timestamp {
    type Err = NotATimestamp;

    /// Parses `2026-11-21T10:00:00.123456+02:00` and its shorter forms: a space for `T`, no seconds, a date alone
    /// (midnight), no offset (UTC), `Z`, `UTC`, `GMT`, an offset without minutes or colon, no separators at all
    /// (`20261121T100000`). A finer fraction is rounded to microseconds; `24:00` and a 60th second carry over.
    fn from_str(text: &str) -> Result<Self, NotATimestamp> {
        let mut reader = Reader(text.trim_matches(is_space));
        let date = reader.date()?;
        let apart = reader.spaces();
        let marked = reader.eat('T') || reader.eat('t');
        // A space may also precede an offset instead of a time: `2026-11-21 -02`.
        let timed = marked || (apart && reader.at_digit());
        let (time, colons) = if timed { reader.time()? } else { ([0; 4], true) };
        // PostgreSQL reads a hyphen directly after the date as part of the date, and a hyphen after a time without
        // colons as part of a time zone name. Neither is an offset.
        if reader.0.starts_with('-') && ((!timed && !apart) || (!colons && reader.0.contains(':'))) {
            return Err(NotATimestamp::Syntax);
        }
        reader.spaces();
        let offset = reader.offset()?;
        if !reader.0.is_empty() {
            return Err(NotATimestamp::Syntax);
        }
        let micros = midnight(date)? + since_midnight(time)? - seconds_of(offset)? * SECOND_MICROS;
        if (FIRST_MICROS..END_MICROS).contains(&micros) { Ok(Self(micros)) } else { Err(NotATimestamp::OutOfRange) }
    }
}

/// Returns whether C's `isspace` accepts the character.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\u{b}' | '\u{c}' | '\r')
}

fn midnight([year, month, day]: [i64; 3]) -> Result<i64, NotATimestamp> {
    let small = |number: i64| i8::try_from(number).map_err(|_| NotATimestamp::OutOfRange);
    // The year before 1 is 1 BC. It is out of range even if the offset would move the time into year 1.
    let year = i16::try_from(year).ok().filter(|year| *year > 0).ok_or(NotATimestamp::OutOfRange)?;
    let date = Date::new(year, small(month)?, small(day)?).map_err(|_| NotATimestamp::OutOfRange)?;
    Ok(date.duration_since(Date::constant(1970, 1, 1)).as_secs() * SECOND_MICROS)
}

fn since_midnight([hours, minutes, seconds, micros]: [i64; 4]) -> Result<i64, NotATimestamp> {
    // Like PostgreSQL: 24:00:00 is the end of the day, and a leap second counts as the next second.
    let whole_day = hours == 24 && minutes == 0 && seconds == 0 && micros == 0;
    if (hours > 23 && !whole_day) || minutes > 59 || seconds > 60 {
        return Err(NotATimestamp::OutOfRange);
    }
    Ok(((hours * 60 + minutes) * 60 + seconds) * SECOND_MICROS + micros)
}

fn seconds_of([sign, hours, minutes, seconds]: [i64; 4]) -> Result<i64, NotATimestamp> {
    if hours > 15 || minutes > 59 || seconds > 59 {
        return Err(NotATimestamp::Offset);
    }
    Ok(sign * ((hours * 60 + minutes) * 60 + seconds))
}

/// A cursor over the text that has not been read yet.
struct Reader<'a>(&'a str);

impl<'a> Reader<'a> {
    fn at_digit(&self) -> bool {
        self.0.starts_with(|c: char| c.is_ascii_digit())
    }

    fn eat(&mut self, mark: char) -> bool {
        let rest = self.0.strip_prefix(mark);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn spaces(&mut self) -> bool {
        let rest = self.0.trim_start_matches(is_space);
        let found = rest.len() < self.0.len();
        self.0 = rest;
        found
    }

    fn digits(&mut self) -> &'a str {
        let end = self.0.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.0.len());
        let (digits, rest) = self.0.split_at(end);
        self.0 = rest;
        digits
    }

    /// Reads a number of one or two digits.
    fn number(&mut self) -> Result<i64, NotATimestamp> {
        let digits = self.digits();
        if digits.len() > 2 { Err(NotATimestamp::Syntax) } else { number(digits) }
    }

    fn date(&mut self) -> Result<[i64; 3], NotATimestamp> {
        let year = self.digits();
        match year.len() {
            4 if self.eat('-') => {
                let month = self.number()?;
                let day = if self.eat('-') { self.number()? } else { return Err(NotATimestamp::Syntax) };
                Ok([number(year)?, month, day])
            }
            // Slicing by bytes is safe: `digits` returns ASCII digits only.
            8 => Ok([number(&year[..4])?, number(&year[4..6])?, number(&year[6..])?]),
            _ => Err(NotATimestamp::Syntax),
        }
    }

    /// Reads hours, minutes, seconds and microseconds, and returns whether colons separate them.
    fn time(&mut self) -> Result<([i64; 4], bool), NotATimestamp> {
        let first = self.digits();
        let (hours, minutes, seconds) = match first.len() {
            1 | 2 if self.eat(':') => {
                let minutes = self.number()?;
                (number(first)?, minutes, if self.eat(':') { Some(self.number()?) } else { None })
            }
            4 => (number(&first[..2])?, number(&first[2..])?, None),
            6 => (number(&first[..2])?, number(&first[2..4])?, Some(number(&first[4..])?)),
            _ => return Err(NotATimestamp::Syntax),
        };
        let micros = if seconds.is_some() && self.eat('.') { micros(self.digits())? } else { 0 };
        Ok(([hours, minutes, seconds.unwrap_or(0), micros], first.len() < 3))
    }

    /// Reads sign, hours, minutes and seconds of the offset east of Greenwich.
    fn offset(&mut self) -> Result<[i64; 4], NotATimestamp> {
        let utc = ["Z", "UTC", "GMT"].iter().any(|name| self.0.eq_ignore_ascii_case(name));
        if utc || self.0.is_empty() {
            self.0 = "";
            return Ok([1, 0, 0, 0]);
        }
        let sign = if self.eat('-') { -1 } else { i64::from(self.eat('+')) };
        let first = self.digits();
        let (hours, rest) = match first.len() {
            // A number without a sign is not an offset.
            _ if sign == 0 => return Err(NotATimestamp::Syntax),
            1 | 2 => (first, ""),
            // Without colons the last two or four digits are the minutes, or the minutes and seconds.
            3..=6 => first.split_at(first.len() - if first.len() > 4 { 4 } else { 2 }),
            _ => return Err(NotATimestamp::Syntax),
        };
        let mut smaller = [0, 0];
        if rest.is_empty() {
            for part in &mut smaller {
                *part = if self.eat(':') { self.number()? } else { break };
            }
        } else {
            smaller = [number(&rest[..2])?, if rest.len() > 2 { number(&rest[2..])? } else { 0 }];
        }
        Ok([sign, number(hours)?, smaller[0], smaller[1]])
    }
}

fn number(digits: &str) -> Result<i64, NotATimestamp> {
    digits.parse().map_err(|_| NotATimestamp::Syntax)
}

/// Parses a fraction of a second into microseconds. PostgreSQL rounds in floating point, half to even.
fn micros(digits: &str) -> Result<i64, NotATimestamp> {
    // The zero at the end makes an empty fraction valid, as in PostgreSQL.
    let fraction: f64 = format!("0.{digits}0").parse().map_err(|_| NotATimestamp::Syntax)?;
    #[expect(clippy::cast_possible_truncation, reason = "it is at most a million")]
    Ok((fraction * 1e6).round_ties_even() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, NotATimestamp> {
        text.parse::<Timestamp>().map(Timestamp::to_postgrest)
    }

    #[test]
    fn every_iso_form_is_read() {
        for text in [
            "2026-11-21 10:00:00+00",
            "2026-11-21T12:00:00+02:00",
            "2026-11-21T10:00:00",
            " 2026-11-21\t10:00 ",
            "2026-11-21t10:00:00z",
            "2026-11-21 10:00 UTC",
            "2026-11-21 12:30 +0230",
            "2026-11-21 7:30-2:30",
            "2026-11-21 10:00:30+00:00:30",
            "20261121T100000Z",
            "20261121 1000",
        ] {
            assert_eq!(read(text).unwrap(), "2026-11-21T10:00:00+00:00", "{text}");
        }
        for (text, want) in [
            ("2026-1-2", "2026-01-02T00:00:00+00:00"),
            ("20261121T1200+02:00", "2026-11-21T10:00:00+00:00"),
            ("2026-11-21 -02", "2026-11-21T02:00:00+00:00"),
            ("2026-11-21+02", "2026-11-20T22:00:00+00:00"),
            ("2026-12-31 24:00", "2027-01-01T00:00:00+00:00"),
            ("2026-11-21 10:00:60.5", "2026-11-21T10:01:00.5+00:00"),
            ("2026-11-21 10:00:00.", "2026-11-21T10:00:00+00:00"),
            ("2026-11-21 10:00:00.1234565", "2026-11-21T10:00:00.123456+00:00"),
            ("2026-11-21 10:00:00.9999999", "2026-11-21T10:00:01+00:00"),
            ("0001-01-01", "0001-01-01T00:00:00+00:00"),
            ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999+00:00"),
        ] {
            assert_eq!(read(text).unwrap(), want, "{text}");
        }
    }

    #[test]
    fn what_is_no_moment_says_why() {
        use NotATimestamp::{Offset, OutOfRange, Syntax};
        for text in [
            "",
            " ",
            "now",
            "infinity",
            "5",
            "2026-11-21T",
            "2026-11-21 10",
            "2026-11-21T10Z",
            "2026-11",
            "2026-11-21 10:00+",
        ] {
            assert_eq!(read(text), Err(Syntax), "{text}");
        }
        for text in [
            "2026-11-21T10:00:00+02[Europe/Berlin]",
            "2026-11-21 10:00Z Z",
            "20261121T1000-02:00",
            "2026-11-21-02",
            "2026-11-21 10:00:00,5",
            "12026-01-01",
        ] {
            assert_eq!(read(text), Err(Syntax), "{text}");
        }
        for text in [
            "2026-02-30",
            "2026-13-01",
            "2026-00-10",
            "0000-12-31T10:00-14",
            "0001-01-01T00:00+01",
            "9999-12-31T23:59-01",
        ] {
            assert_eq!(read(text), Err(OutOfRange), "{text}");
        }
        for text in ["2026-11-21 25:00", "2026-11-21 10:60", "2026-11-21 10:00:61", "2026-11-21 24:00:01"] {
            assert_eq!(read(text), Err(OutOfRange), "{text}");
        }
        for text in ["2026-11-21 10:00+16", "2026-11-21 10:00+15:60"] {
            assert_eq!(read(text), Err(Offset), "{text}");
        }
    }
}
