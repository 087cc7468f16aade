//! Facts of a chat that its model cannot know.

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// Facts of a chat that its model cannot know, see [`Request::facts`](super::Request::facts).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatFacts {
    /// Today, such as `Friday, 27 November 2026`, in UTC.
    pub date: String,
    /// The servers whose tools the chat can use.
    pub servers: Vec<ServerFacts>,
}

/// A server whose tools a chat can use, one of the [`ChatFacts`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerFacts {
    /// Name that the user gave it.
    pub name: String,
    /// Number of its tools, also those that are not in the request because they are too many for the model.
    pub tool_count: usize,
    /// The first of its tools.
    pub tools: Vec<ToolFacts>,
}

/// A tool of one of the [`ServerFacts`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolFacts {
    /// Name at its server.
    pub name: String,
    /// Beginning of its description.
    pub description: String,
}

const WEEKDAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Returns the day of a time in words, in UTC.
pub fn date_in_words(now: Timestamp) -> String {
    // The epoch was a Thursday.
    let days = now.as_seconds().div_euclid(crate::clock::SECONDS_PER_DAY).rem_euclid(7);
    let weekday = WEEKDAYS[usize::try_from(days).unwrap_or_default()];
    let date = now.to_rfc3339();
    let mut parts = date.split(['-', 'T']).map(|part| part.parse::<usize>().unwrap_or_default());
    let (year, month, day) = (parts.next(), parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let month = MONTHS.get(month.wrapping_sub(1)).copied().unwrap_or_default();
    format!("{weekday}, {day} {month} {}", year.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_date_in_words() {
        let of_seconds = |seconds: i64| date_in_words(Timestamp(0).plus_seconds(seconds));
        assert_eq!(of_seconds(0), "Thursday, 1 January 1970");
        assert_eq!(of_seconds(1_795_823_999), "Friday, 27 November 2026");
        assert_eq!(of_seconds(951_782_400), "Tuesday, 29 February 2000");
    }
}
