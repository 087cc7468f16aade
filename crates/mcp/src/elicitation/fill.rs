//! Checking what a person filled in, before it is sent.

use serde::Serialize;
use serde_json::{Map, Value};
use url::Url;

use super::{Content, Field, Form, Kind};

/// Why a value cannot be sent, and in which field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct Problem {
    /// The key of the field.
    pub field: String,
    /// What is wrong, as an instruction.
    pub reason: String,
}

impl Form {
    /// Checks the values of all fields. What was left out gets its default; keys that the form does not have are not
    /// sent.
    pub fn fill(&self, mut values: Map<String, Value>) -> Result<Content, Vec<Problem>> {
        for field in &self.fields {
            let given = values.get(&field.name).is_some_and(|value| !value.is_null());
            if let (false, Some(default)) = (given, &field.default) {
                values.insert(field.name.clone(), default.clone());
            }
        }
        self.check(values)
    }

    /// Checks the values of all fields as they are: who saw the defaults and emptied a field wants it left out.
    pub fn check(&self, mut values: Map<String, Value>) -> Result<Content, Vec<Problem>> {
        let mut content = Map::new();
        let mut problems = Vec::new();
        for field in &self.fields {
            let Some(value) = values.remove(&field.name).filter(|value| !value.is_null()) else {
                if field.required {
                    problems.push(Problem { field: field.name.clone(), reason: "fill this in".to_owned() });
                }
                continue;
            };
            match field.check(&value) {
                Ok(()) => drop(content.insert(field.name.clone(), value)),
                Err(reason) => problems.push(Problem { field: field.name.clone(), reason }),
            }
        }
        if problems.is_empty() { Ok(Content(content)) } else { Err(problems) }
    }
}

impl Field {
    pub(super) fn check(&self, value: &Value) -> Result<(), String> {
        match &self.kind {
            Kind::Text { format, min_length, max_length, pattern: _ } => {
                let text = value.as_str().ok_or("enter text")?;
                let length = text.chars().count() as u64;
                at_least(length, *min_length, "characters")?;
                at_most(length, *max_length, "characters")?;
                has_format(text, format.as_deref())
            }
            Kind::Number { integer, minimum, maximum } => {
                let number = value.as_f64().filter(|number| number.is_finite()).ok_or("enter a number")?;
                if *integer && number.fract() != 0.0 {
                    return Err("enter a whole number".to_owned());
                }
                at_least(number, *minimum, "")?;
                at_most(number, *maximum, "")
            }
            Kind::Boolean => value.as_bool().map(drop).ok_or_else(|| "choose yes or no".to_owned()),
            Kind::One { options } => {
                let known = value.as_str().is_some_and(|value| options.iter().any(|option| option.value == value));
                if known { Ok(()) } else { Err("choose one of the options".to_owned()) }
            }
            Kind::Many { options, min_items, max_items } => {
                let values = value.as_array().ok_or("choose from the options")?;
                let known = |value: &Value| options.iter().any(|option| value.as_str() == Some(option.value.as_str()));
                if !values.iter().all(known) {
                    return Err("choose from the options".to_owned());
                }
                at_least(values.len() as u64, *min_items, "options")?;
                at_most(values.len() as u64, *max_items, "options")
            }
        }
    }
}

fn at_least<N: PartialOrd + std::fmt::Display>(value: N, least: Option<N>, of: &str) -> Result<(), String> {
    match least {
        Some(least) if value < least => Err(format!("at least {least} {of}").trim_end().to_owned()),
        _ => Ok(()),
    }
}

fn at_most<N: PartialOrd + std::fmt::Display>(value: N, most: Option<N>, of: &str) -> Result<(), String> {
    match most {
        Some(most) if value > most => Err(format!("at most {most} {of}").trim_end().to_owned()),
        _ => Ok(()),
    }
}

fn has_format(text: &str, format: Option<&str>) -> Result<(), String> {
    let (good, wanted) = match format {
        Some("email") => (is_email(text), "an e-mail address"),
        Some("uri") => (Url::parse(text).is_ok(), "an address such as https://example.com"),
        Some("date") => (is_date(text), "a date as 2026-11-21"),
        Some("date-time") => (is_date_time(text), "a date and time as 2026-11-21T10:00:00Z"),
        _ => return Ok(()),
    };
    if good { Ok(()) } else { Err(format!("enter {wanted}")) }
}

/// One `@` with something on both sides, and no white space: more can only be known by writing to it.
fn is_email(text: &str) -> bool {
    let mut parts = text.split('@');
    let (local, host, rest) = (parts.next(), parts.next(), parts.next());
    let filled = |part: Option<&str>| part.is_some_and(|part| !part.is_empty());
    filled(local) && filled(host) && rest.is_none() && !text.contains(char::is_whitespace)
}

/// A day that exists, as RFC 3339 writes it.
fn is_date(text: &str) -> bool {
    let digits = |range: std::ops::Range<usize>| text.get(range).and_then(|part| part.parse::<u32>().ok());
    let shape = text.len() == 10
        && text.bytes().enumerate().all(
            |(at, byte)| {
                if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() }
            },
        );
    let (Some(year), Some(month), Some(day)) = (digits(0..4), digits(5..7), digits(8..10)) else { return false };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    shape && (1..=days).contains(&day)
}

/// A moment with its offset, as RFC 3339 writes it.
fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_at_checked(10) else { return false };
    time.starts_with(['T', 't', ' '])
        && is_date(date)
        && text.parse::<domain::Timestamp>().is_ok()
        && (time.ends_with(['Z', 'z']) || time.get(1..).is_some_and(|time| time.contains(['+', '-'])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elicitation::Question;
    use serde_json::json;

    fn form(properties: Value, required: Value) -> Form {
        let params = json!({ "message": "", "requestedSchema": { "properties": properties, "required": required } });
        match Question::read(&params).unwrap() {
            Question::Form(form) => form,
            Question::Url(_) => panic!("not a form"),
        }
    }

    fn fill(form: &Form, values: Value) -> Result<Value, Vec<String>> {
        let filled = form.fill(values.as_object().unwrap().clone());
        filled
            .map(|content| Value::Object(content.0))
            .map_err(|problems| problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn what_is_left_out_gets_its_default() {
        let form = form(
            json!({
                "name": { "type": "string", "default": "Ada" },
                "age": { "type": "integer", "default": 30 },
                "sure": { "type": "boolean" },
            }),
            json!(["name"]),
        );
        assert_eq!(fill(&form, json!({})), Ok(json!({ "name": "Ada", "age": 30 })));
        assert_eq!(
            fill(&form, json!({ "name": "Bob", "age": null, "sure": false, "else": 1 })),
            Ok(json!({ "name": "Bob", "age": 30, "sure": false }))
        );
        let emptied = json!({ "name": "Bob", "age": null }).as_object().unwrap().clone();
        assert_eq!(form.check(emptied).unwrap().0, *json!({ "name": "Bob" }).as_object().unwrap());
        assert!(form.check(Map::new()).is_err(), "a required field that was emptied has no default");
    }

    #[test]
    fn all_problems_are_told_at_once() {
        let form = form(
            json!({
                "a": { "type": "string", "minLength": 2, "maxLength": 3 },
                "b": { "type": "number", "minimum": 1.5 },
                "c": { "type": "array", "minItems": 2, "items": { "enum": ["x", "y"] } },
                "d": { "type": "string" },
                "e": { "enum": ["x"] },
            }),
            json!(["d"]),
        );
        let problems = fill(&form, json!({ "a": "ä", "b": 1, "c": ["x"], "e": "z" })).unwrap_err();
        assert_eq!(
            problems,
            [
                "d: fill this in",
                "a: at least 2 characters",
                "b: at least 1.5",
                "c: at least 2 options",
                "e: choose one of the options",
            ]
        );
        assert_eq!(
            fill(&form, json!({ "a": "ääää", "d": 1, "c": ["x", "z"] })).unwrap_err(),
            ["d: enter text", "a: at most 3 characters", "c: choose from the options",]
        );
    }

    #[test]
    fn formats_are_checked() {
        let good = |format: &str, text: &str| has_format(text, Some(format)).is_ok();
        assert!(good("email", "a@b") && !good("email", "a@") && !good("email", "a b@c") && !good("email", "a@b@c"));
        assert!(good("uri", "https://a.example/x") && !good("uri", "a.example"));
        for date in ["2026-11-21", "2024-02-29", "2000-02-29"] {
            assert!(good("date", date), "{date}");
        }
        for date in ["2026-02-29", "1900-02-29", "2026-13-01", "2026-00-10", "2026-1-1", "2026-11-21T", "20261121", ""]
        {
            assert!(!good("date", date), "{date}");
        }
        assert!(good("date-time", "2026-11-21T10:00:00Z") && good("date-time", "2026-11-21T10:00:00.5+01:00"));
        assert!(!good("date-time", "2026-11-21T10:00:00") && !good("date-time", "2026-11-21"));
        assert!(good("colour", "anything"), "an unknown format is a hint");
    }
}
