//! The tools for the current time and the days between two dates.

use domain::Timestamp;
use domain::tool::ToolResult;
use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::json;

use super::{ToolboxError, time_zones};

/// Arguments of `current_time`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurrentTime {
    timezone: Option<String>,
}

/// Arguments of `days_between`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DaysBetween {
    from: Option<String>,
    to: String,
}

/// Returns the current time, such as `2026-11-21T14:02:11+00:00 (Saturday)`.
pub fn current_time(input: &CurrentTime, now: Timestamp) -> Result<ToolResult, ToolboxError> {
    let (name, zone) = time_zones::find_zone(input.timezone.as_deref().unwrap_or("UTC"))?;
    let time = to_jiff(now).to_zoned(zone);
    let written = time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
    let weekday = time.strftime("%A").to_string();
    let text = format!("{written} ({weekday})");
    Ok(super::result(text, json!({ "time": written, "weekday": weekday, "timezone": name })))
}

/// Returns the number of days and of workdays between two dates.
pub fn days_between(input: &DaysBetween, now: Timestamp) -> Result<ToolResult, ToolboxError> {
    let from = parse_date(input.from.as_deref().unwrap_or("today"), now)?;
    let to = parse_date(&input.to, now)?;
    let days = days(from, to);
    let workdays = workdays(from, to);
    let text = format!("From {from} to {to}: {days} {}, {workdays} of them Monday to Friday.", plural(days));
    Ok(super::result(
        text,
        json!({ "days": days, "workdays": workdays, "from": from.to_string(), "to": to.to_string() }),
    ))
}

/// Converts a time to the type of the calendar library.
fn to_jiff(now: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_microsecond(now.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

/// Parses a date, or `today`.
fn parse_date(text: &str, now: Timestamp) -> Result<Date, ToolboxError> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("today") {
        return Ok(to_jiff(now).to_zoned(TimeZone::UTC).date());
    }
    text.parse().map_err(|_| {
        ToolboxError::Argument(format!("{text:?} is not a date. Write it as year-month-day, such as 2026-12-24."))
    })
}

/// Counts the days between two dates. Negative if `from` is later.
fn days(from: Date, to: Date) -> i64 {
    // Civil dates are a whole number of days apart, and the calendar's range fits into the type.
    to.duration_since(from).as_hours() / 24
}

fn plural(days: i64) -> &'static str {
    if days.abs() == 1 { "day" } else { "days" }
}

/// Counts the days from Monday to Friday. The earlier date counts, the later one does not. Negative if `from` is later.
fn workdays(from: Date, to: Date) -> i64 {
    let (first, last, sign) = if from <= to { (from, to, 1) } else { (to, from, -1) };
    let days = days(first, last);
    let begin = i64::from(first.weekday().since(Weekday::Monday));
    // Whole weeks have five workdays each, so only the remainder is counted day by day.
    let rest = (0..days % 7).filter(|day| (begin + day) % 7 < 5).count();
    sign * (days / 7 * 5 + rest as i64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn day(number: i32) -> Date {
        jiff::civil::date(2026, 1, 1).checked_add(jiff::Span::new().days(number)).unwrap()
    }

    proptest! {
        #[test]
        fn counts_days_and_workdays(from in -3_000..3_000_i32, length in 0..400_i32) {
            let (first, last) = (day(from), day(from + length));
            prop_assert_eq!(days(first, last), i64::from(length));
            prop_assert_eq!(days(last, first), -i64::from(length));
            let counted = (from..from + length)
                .filter(|number| !matches!(day(*number).weekday(), Weekday::Saturday | Weekday::Sunday))
                .count();
            prop_assert_eq!(workdays(first, last), counted as i64);
            prop_assert_eq!(workdays(last, first), -(counted as i64));
        }
    }
}
