//! How a program wants the model to answer, in both shapes.

use domain::model::{Effort, OutputSchema, Parameters, ResponseFormat};
use serde::Deserialize;
use serde_json::Value;

use super::refusal::Refusal;
use crate::models::settings;

/// Maximum number of stop texts: OpenAI's own bound.
const MAX_STOP_SEQUENCES: usize = 4;
/// Maximum bytes of a stop text: longer ones are held back in streams for too long.
const MAX_STOP_SEQUENCE_BYTES: usize = 256;
/// Maximum bytes of the name of a schema: OpenAI's own bound.
const MAX_SCHEMA_NAME_BYTES: usize = 64;
/// Maximum bytes of a schema: the built-in model compiles it to a grammar.
const MAX_SCHEMA_BYTES: usize = 64 * 1024;

/// Texts that end an answer.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Stop {
    /// One text.
    One(String),
    /// The first of several.
    Several(Vec<String>),
}

/// Form of an answer's text in a chat completion.
#[derive(Debug, Deserialize)]
pub struct ChatFormat {
    r#type: String,
    json_schema: Option<NamedSchema>,
}

/// Form of an answer's text in a response.
#[derive(Debug, Deserialize)]
pub struct TextFormat {
    r#type: String,
    #[serde(flatten)]
    schema: NamedSchema,
}

/// JSON Schema of an answer, with its name.
#[derive(Debug, Deserialize)]
struct NamedSchema {
    name: Option<String>,
    description: Option<String>,
    schema: Option<Value>,
    strict: Option<bool>,
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

/// Reads the texts that end an answer: one, or a list of at most [`MAX_STOP_SEQUENCES`].
pub fn stop(stop: Option<Stop>) -> Result<Vec<String>, Refusal> {
    let texts = match stop {
        None => Vec::new(),
        Some(Stop::One(text)) => vec![text],
        Some(Stop::Several(texts)) => texts,
    };
    let is_valid = texts.len() <= MAX_STOP_SEQUENCES
        && texts.iter().all(|text| (1..=MAX_STOP_SEQUENCE_BYTES).contains(&text.len()));
    if !is_valid {
        let message = format!(
            "stop is a text, or a list of at most {MAX_STOP_SEQUENCES}, of 1 to {MAX_STOP_SEQUENCE_BYTES} bytes each"
        );
        return Err(Refusal::bad("stop", message));
    }
    Ok(texts)
}

/// Reads the form of an answer's text as chat completions write it: the schema is an object of its own.
pub fn chat_format(format: Option<ChatFormat>) -> Result<ResponseFormat, Refusal> {
    let Some(ChatFormat { r#type, json_schema }) = format else { return Ok(ResponseFormat::Text) };
    response_format("response_format", &r#type, json_schema)
}

/// Reads the form of an answer's text as responses write it: the schema's fields are the form's own.
pub fn text_format(format: Option<TextFormat>) -> Result<ResponseFormat, Refusal> {
    let Some(TextFormat { r#type, schema }) = format else { return Ok(ResponseFormat::Text) };
    response_format("text.format", &r#type, Some(schema))
}

fn response_format(field: &'static str, kind: &str, schema: Option<NamedSchema>) -> Result<ResponseFormat, Refusal> {
    match kind {
        "text" => Ok(ResponseFormat::Text),
        "json_object" => Ok(ResponseFormat::JsonObject),
        "json_schema" => {
            let Some(NamedSchema { name: Some(name), schema: Some(schema), description, strict }) = schema else {
                return Err(Refusal::bad(field, "a json_schema has a name and a schema"));
            };
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
            if !(1..=MAX_SCHEMA_NAME_BYTES).contains(&name.len()) || !name.chars().all(is_plain) {
                let message =
                    format!("the name of a json_schema is 1 to {MAX_SCHEMA_NAME_BYTES} of a-z, A-Z, 0-9, _ and -");
                return Err(Refusal::bad(field, message));
            }
            if !schema.is_object() || schema.to_string().len() > MAX_SCHEMA_BYTES {
                let message = format!("the schema of a json_schema is an object of at most {MAX_SCHEMA_BYTES} bytes");
                return Err(Refusal::bad(field, message));
            }
            Ok(ResponseFormat::JsonSchema(OutputSchema { name, description, schema, strict }))
        }
        _ => Err(Refusal::bad(field, format!("the type of {field} is text, json_object or json_schema"))),
    }
}
