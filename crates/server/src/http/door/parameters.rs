//! How a program wants the model to answer, in both shapes.

use domain::model::{Effort, Parameters};
use serde::Deserialize;
use serde_json::Value;

use super::refusal::Refusal;
use crate::models::settings;

/// The form of an answer's text.
#[derive(Debug, Deserialize)]
pub struct Format {
    r#type: String,
}

/// The parameters of a question. What is out of bounds is the program's fault, not the model's.
pub fn read(temperature: Option<f64>, top_p: Option<f64>, effort: Option<Effort>) -> Result<Parameters, Refusal> {
    if temperature.is_some_and(|temperature| !settings::is_temperature(temperature)) {
        return Err(Refusal::bad("temperature", format!("temperature is 0 to {}", settings::HOTTEST)));
    }
    if top_p.is_some_and(|share| !settings::is_share(share)) {
        return Err(Refusal::bad("top_p", "top_p is above 0 and at most 1"));
    }
    Ok(Parameters { temperature, top_p, effort })
}

/// How much the model is to think: of more steps than most models know, the nearest of three.
pub fn effort(field: &'static str, word: Option<&str>) -> Result<Option<Effort>, Refusal> {
    match word {
        None => Ok(None),
        Some("minimal" | "low") => Ok(Some(Effort::Low)),
        Some("medium") => Ok(Some(Effort::Medium)),
        Some("high" | "xhigh" | "max") => Ok(Some(Effort::High)),
        Some(_) => Err(Refusal::bad(field, format!("{field} is minimal, low, medium, high, xhigh or max"))),
    }
}

/// An answer ends where its model ends it. No words to stop at are as good as none said.
pub fn refuse_stop(stop: Option<&Value>) -> Result<(), Refusal> {
    let says_nothing = stop.is_none_or(|stop| stop.as_array().is_some_and(Vec::is_empty));
    if says_nothing { Ok(()) } else { Err(Refusal::bad("stop", "stop is not supported here; leave it out")) }
}

/// An answer is text.
pub fn refuse_format(field: &'static str, format: Option<&Format>) -> Result<(), Refusal> {
    match format {
        Some(Format { r#type }) if r#type != "text" => {
            Err(Refusal::bad(field, format!("{field} other than text is not supported here; leave it out")))
        }
        _ => Ok(()),
    }
}
