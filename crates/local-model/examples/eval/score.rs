//! Whether an answer is right, by rules.

use domain::model::ToolSpec;
use serde_json::{Map, Value};

use crate::cases::{Case, MISSING};

/// What came of a question.
#[derive(Debug, Default)]
pub struct Answer {
    /// The words.
    pub text: String,
    /// The tool and the JSON text of its arguments.
    pub call: Option<(String, String)>,
    /// Why there is neither.
    pub error: Option<String>,
}

/// Whether an answer is right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Right,
    /// It asks which of several close tools is meant, instead of calling one.
    Asked,
    /// It is wrong, for this reason.
    Wrong(String),
}

/// Judges an answer.
pub fn judge(case: &Case, tools: &[ToolSpec], answer: &Answer) -> Verdict {
    let asks = answer.call.is_none() && answer.error.is_none() && answer.text.contains(['?', '？']);
    if case.about == MISSING && case.call.is_none() {
        // A call would need an invented argument, and words without a question do not help.
        return match &answer.call {
            Some((name, arguments)) => Verdict::Wrong(format!("called {name} {arguments}")),
            None if asks => Verdict::Right,
            None => Verdict::Wrong(format!("said {:?}", answer.text)),
        };
    }
    match fault(case, tools, answer) {
        None => Verdict::Right,
        Some(_) if asks && !case.close.is_empty() => Verdict::Asked,
        Some(fault) => Verdict::Wrong(fault),
    }
}

/// Why an answer is wrong; nothing when it is right.
fn fault(case: &Case, tools: &[ToolSpec], answer: &Answer) -> Option<String> {
    if let Some(error) = &answer.error {
        return Some(format!("failed: {error}"));
    }
    match (&case.call, &answer.call) {
        (None, Some((name, arguments))) => Some(format!("called {name} {arguments}")),
        (None, None) => words(case, &answer.text),
        (Some(_), None) => Some(format!("said {:?}", answer.text)),
        (Some(expected), Some((name, arguments))) => {
            let right = expected.name.contains(name);
            if !right {
                return Some(format!("called {name} {arguments}"));
            }
            let schema = tools.iter().find(|tool| tool.name == *name).map_or(&Value::Null, |tool| &tool.input_schema);
            let Ok(Value::Object(fields)) = serde_json::from_str(arguments) else {
                return Some(format!("wrote {arguments}"));
            };
            let missing = expected
                .arguments
                .iter()
                .find(|(field, wanted)| !fields.get(*field).is_some_and(|value| fits(value, wanted)));
            let extra = fields.iter().find(|(field, value)| {
                !expected.arguments.contains_key(*field) && !is_harmless(value, &schema["properties"][field.as_str()])
            });
            let (field, _) = missing.or(extra)?;
            Some(format!("{name} {arguments}: {field}"))
        }
    }
}

fn words(case: &Case, text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let holds = |word: &String| lower.contains(&word.to_lowercase());
    let is_right = !text.trim().is_empty()
        && case.language.as_deref().is_none_or(|language| is_in(language, &lower))
        && case.told.iter().all(|group| group.iter().any(holds))
        && !case.untold.iter().any(holds);
    (!is_right).then(|| format!("said {text:?}"))
}

/// Whether a text in lower case can be in a language: it has not two or more frequent words of another one than of this
/// one. A short answer, such as a name, has none of any.
fn is_in(language: &str, text: &str) -> bool {
    let frequent = |language: &str| match language {
        "de" => "der die und das ist nicht ein eine mit für auf sich zu den ich auch von dem im hat sind es wie du",
        "fr" => "le la les des est une un pour dans qui et de pas vous sont je du il elle avec par plus au ce été sur",
        "es" => "el la los las y una un con para del de se más es que su en está por lo como son",
        _ => "the and is of that with for are this you not it a in to i can be or an have as",
    };
    let words: Vec<&str> = text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).collect();
    let count = |language: &str| {
        let known: Vec<&str> = frequent(language).split(' ').collect();
        words.iter().filter(|word| known.contains(word)).count()
    };
    let own = count(language);
    ["en", "de", "fr", "es"].iter().filter(|other| **other != language).all(|other| count(other) < own + 2)
}

/// Whether a value is what was wanted: `{"any": […]}` for one of several, `{"contains": […]}` for a text with all of these
/// in it, anything else for itself. Numbers count by their value, folders with and without the last slash are the same.
fn fits(value: &Value, wanted: &Value) -> bool {
    if let Some(any) = wanted.get("any").and_then(Value::as_array) {
        return any.iter().any(|wanted| fits(value, wanted));
    }
    if let Some(parts) = wanted.get("contains").and_then(Value::as_array) {
        return parts
            .iter()
            .filter_map(Value::as_str)
            .all(|part| value.as_str().is_some_and(|text| text.contains(part)));
    }
    match (value, wanted) {
        (Value::Number(value), Value::Number(wanted)) => value.as_f64() == wanted.as_f64(),
        (Value::String(value), Value::String(wanted)) => {
            let plain = |text: &str| text.trim().trim_end_matches('/').to_owned();
            plain(value) == plain(wanted)
        }
        (Value::Array(value), Value::Array(wanted)) => {
            value.len() == wanted.len() && value.iter().zip(wanted).all(|(value, wanted)| fits(value, wanted))
        }
        (Value::Object(value), Value::Object(wanted)) => objects_fit(value, wanted),
        (value, wanted) => value == wanted,
    }
}

fn objects_fit(value: &Map<String, Value>, wanted: &Map<String, Value>) -> bool {
    value.len() == wanted.len()
        && wanted.iter().all(|(field, wanted)| value.get(field).is_some_and(|value| fits(value, wanted)))
}

/// An argument that nobody asked for and that changes nothing: empty, or what holds without it.
fn is_harmless(value: &Value, schema: &Value) -> bool {
    let is_empty = match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    };
    is_empty || schema.get("default").is_some_and(|default| fits(value, default))
}
