//! Validation of a filled-in form, before it is sent.

use serde::Serialize;
use serde_json::{Map, Value};
use url::Url;

use super::FormContent;
use super::form::{ElicitationForm, FieldKind, FormField};

/// Reason why a value of a form cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct FieldError {
    /// Key of the field.
    pub field: String,
    /// Instruction for the user, as a clause.
    pub reason: String,
}

impl ElicitationForm {
    /// Fills in defaults for absent values and validates the result. Unknown keys are dropped.
    ///
    /// # Errors
    ///
    /// One [`FieldError`] for each invalid field.
    pub fn fill(&self, mut values: Map<String, Value>) -> Result<FormContent, Vec<FieldError>> {
        for field in &self.fields {
            let given = values.get(&field.name).is_some_and(|value| !value.is_null());
            if let (false, Some(default)) = (given, &field.default) {
                values.insert(field.name.clone(), default.clone());
            }
        }
        self.validate(values)
    }

    /// Validates values without filling in defaults, for a form that has shown them: a user who emptied a field wants
    /// it left out.
    ///
    /// # Errors
    ///
    /// One [`FieldError`] for each invalid field.
    pub fn validate(&self, mut values: Map<String, Value>) -> Result<FormContent, Vec<FieldError>> {
        let mut content = Map::new();
        let mut errors = Vec::new();
        for field in &self.fields {
            let Some(value) = values.remove(&field.name).filter(|value| !value.is_null()) else {
                if field.required {
                    errors.push(FieldError { field: field.name.clone(), reason: "fill this in".to_owned() });
                }
                continue;
            };
            match field.validate(&value) {
                Ok(()) => drop(content.insert(field.name.clone(), value)),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() { Ok(FormContent(content)) } else { Err(errors) }
    }
}

impl FormField {
    /// Validates one value.
    pub(super) fn validate(&self, value: &Value) -> Result<(), FieldError> {
        match self.instruction(value) {
            None => Ok(()),
            Some(reason) => Err(FieldError { field: self.name.clone(), reason }),
        }
    }

    /// Returns what the user has to do about a value, or `None` if it is valid.
    fn instruction(&self, value: &Value) -> Option<String> {
        match &self.kind {
            FieldKind::Text { format, min_length, max_length, pattern: _ } => {
                let Some(text) = value.as_str() else { return Some("enter text".to_owned()) };
                // JSON Schema counts characters, not bytes (Validation 2020-12, 6.3).
                let length = text.chars().count() as u64;
                out_of_bounds(length, *min_length, *max_length, "characters")
                    .or_else(|| wrong_format(text, format.as_deref()))
            }
            FieldKind::Number { integer, minimum, maximum } => {
                let Some(number) = value.as_f64().filter(|number| number.is_finite()) else {
                    return Some("enter a number".to_owned());
                };
                // `2.0` is an integer in JSON Schema, and some forms send it so.
                if *integer && number.fract() != 0.0 {
                    return Some("enter a whole number".to_owned());
                }
                out_of_bounds(number, *minimum, *maximum, "")
            }
            FieldKind::Boolean => value.as_bool().is_none().then(|| "choose yes or no".to_owned()),
            FieldKind::One { options } => {
                let known = value.as_str().is_some_and(|value| options.iter().any(|option| option.value == value));
                (!known).then(|| "choose one of the options".to_owned())
            }
            FieldKind::Many { options, min_items, max_items } => {
                let known = |value: &Value| options.iter().any(|option| value.as_str() == Some(option.value.as_str()));
                match value.as_array() {
                    Some(values) if values.iter().all(known) => {
                        out_of_bounds(values.len() as u64, *min_items, *max_items, "options")
                    }
                    _ => Some("choose from the options".to_owned()),
                }
            }
        }
    }
}

/// Returns the instruction for a value beyond its bounds.
fn out_of_bounds<N: PartialOrd + std::fmt::Display>(
    value: N,
    least: Option<N>,
    most: Option<N>,
    of: &str,
) -> Option<String> {
    let instruction = match (least, most) {
        (Some(least), _) if value < least => format!("at least {least} {of}"),
        (_, Some(most)) if value > most => format!("at most {most} {of}"),
        _ => return None,
    };
    Some(instruction.trim_end().to_owned())
}

/// Returns the instruction for a text that does not have the format.
fn wrong_format(text: &str, format: Option<&str>) -> Option<String> {
    let (good, wanted) = match format {
        Some("email") => (is_email(text), "an email address"),
        Some("uri") => (Url::parse(text).is_ok(), "a URL, such as https://example.com"),
        Some("date") => (is_date(text), "a date, such as 2026-11-21"),
        Some("date-time") => (is_date_time(text), "a date and time, such as 2026-11-21T10:00:00Z"),
        _ => return None,
    };
    (!good).then(|| format!("enter {wanted}"))
}

/// Returns whether the text has one `@` with something on both sides and no white space. Only an email to the address
/// could verify more.
fn is_email(text: &str) -> bool {
    let mut parts = text.split('@');
    let (local, host, rest) = (parts.next(), parts.next(), parts.next());
    let filled = |part: Option<&str>| part.is_some_and(|part| !part.is_empty());
    filled(local) && filled(host) && rest.is_none() && !text.contains(char::is_whitespace)
}

/// Returns whether the text is an existing day in the notation of RFC 3339.
fn is_date(text: &str) -> bool {
    let digits = |range: std::ops::Range<usize>| text.get(range).and_then(|part| part.parse::<u32>().ok());
    // `parse` alone would accept a sign in place of a digit.
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

/// Returns whether the text is a date and time with offset in the notation of RFC 3339.
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
    use crate::elicitation::Elicitation;
    use serde_json::json;

    fn form(properties: Value, required: Value) -> ElicitationForm {
        let params = json!({ "message": "", "requestedSchema": { "properties": properties, "required": required } });
        match Elicitation::parse(&params).unwrap() {
            Elicitation::Form(form) => form,
            Elicitation::Url(_) => panic!("not a form"),
        }
    }

    fn fill(form: &ElicitationForm, values: Value) -> Result<Value, Vec<String>> {
        let filled = form.fill(values.as_object().unwrap().clone());
        filled
            .map(|content| Value::Object(content.0))
            .map_err(|errors| errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn fills_in_defaults_for_absent_values() {
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
        assert_eq!(form.validate(emptied).unwrap().0, *json!({ "name": "Bob" }).as_object().unwrap());
        assert!(form.validate(Map::new()).is_err(), "a required field that was emptied has no default");
    }

    #[test]
    fn reports_all_invalid_fields_at_once() {
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
        let errors = fill(&form, json!({ "a": "ä", "b": 1, "c": ["x"], "e": "z" })).unwrap_err();
        assert_eq!(
            errors,
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
    fn checks_formats() {
        let good = |format: &str, text: &str| wrong_format(text, Some(format)).is_none();
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
