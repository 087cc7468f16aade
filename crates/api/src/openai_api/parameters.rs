//! Parameters of a model call, in the forms of both endpoints.

use agent::models::settings;
use domain::model::{Effort, MAX_TEMPERATURE, OutputSchema, Parameters, ResponseFormat};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::refusal::OpenAiError;

/// Maximum number of stop sequences, as in OpenAI's API.
const MAX_STOP_SEQUENCES: usize = 4;
/// Maximum length of a stop sequence, in bytes. A stream holds back as much text as could be the beginning of one.
const MAX_STOP_SEQUENCE_BYTES: usize = 256;
/// Maximum length of a schema's name, in bytes, as in OpenAI's API.
const MAX_SCHEMA_NAME_BYTES: usize = 64;
/// Maximum size of a schema, in bytes: the built-in model compiles it to a grammar.
const MAX_SCHEMA_BYTES: usize = 64 * 1024;

/// Stop sequences, at which the answer ends: at most 4, of at most 256 bytes each.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum StopSequences {
    /// A single sequence.
    One(String),
    /// Several sequences.
    Several(Vec<String>),
}

/// Format of the text in a chat completion.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ChatFormat {
    #[schemars(extend("enum" = ["text", "json_object", "json_schema"]))]
    r#type: String,
    json_schema: Option<NamedSchema>,
}

/// Format of the text in a response.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct TextFormat {
    #[schemars(extend("enum" = ["text", "json_object", "json_schema"]))]
    r#type: String,
    #[serde(flatten)]
    schema: NamedSchema,
}

/// A named JSON Schema of the answer.
#[derive(Debug, Deserialize, JsonSchema)]
struct NamedSchema {
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]{1,64}$"))]
    name: Option<String>,
    description: Option<String>,
    /// The JSON Schema, of at most 65,536 bytes.
    #[schemars(with = "Option<Map<String, Value>>")]
    schema: Option<Value>,
    strict: Option<bool>,
}

/// Validates the sampling parameters. Values out of range are rejected here: the fault is the
/// client's, not the provider's.
pub fn read(temperature: Option<f64>, top_p: Option<f64>, effort: Option<Effort>) -> Result<Parameters, OpenAiError> {
    if temperature.is_some_and(|temperature| !settings::is_temperature(temperature)) {
        return Err(OpenAiError::bad("temperature", format!("temperature is 0 to {MAX_TEMPERATURE}")));
    }
    if top_p.is_some_and(|share| !settings::is_share(share)) {
        return Err(OpenAiError::bad("top_p", "top_p is above 0 and at most 1"));
    }
    Ok(Parameters { temperature, top_p, effort })
}

/// Parses the reasoning effort. OpenAI's levels are mapped to the three of [`Effort`], which all providers know.
pub fn effort(field: &'static str, word: Option<&str>) -> Result<Option<Effort>, OpenAiError> {
    match word {
        None => Ok(None),
        Some("minimal" | "low") => Ok(Some(Effort::Low)),
        Some("medium") => Ok(Some(Effort::Medium)),
        Some("high" | "xhigh" | "max") => Ok(Some(Effort::High)),
        Some(_) => Err(OpenAiError::bad(field, format!("{field} is minimal, low, medium, high, xhigh or max"))),
    }
}

/// Reads the stop sequences: one, or a list of at most [`MAX_STOP_SEQUENCES`].
pub fn stop(stop: Option<StopSequences>) -> Result<Vec<String>, OpenAiError> {
    let texts = match stop {
        None => Vec::new(),
        Some(StopSequences::One(text)) => vec![text],
        Some(StopSequences::Several(texts)) => texts,
    };
    let is_valid = texts.len() <= MAX_STOP_SEQUENCES
        && texts.iter().all(|text| (1..=MAX_STOP_SEQUENCE_BYTES).contains(&text.len()));
    if !is_valid {
        let message = format!(
            "stop is a text, or a list of at most {MAX_STOP_SEQUENCES}, of 1 to {MAX_STOP_SEQUENCE_BYTES} bytes each"
        );
        return Err(OpenAiError::bad("stop", message));
    }
    Ok(texts)
}

/// Reads the text format of a chat completion, where the schema is an object of its own.
pub fn chat_format(format: Option<ChatFormat>) -> Result<ResponseFormat, OpenAiError> {
    let Some(ChatFormat { r#type, json_schema }) = format else { return Ok(ResponseFormat::Text) };
    response_format("response_format", &r#type, json_schema)
}

/// Reads the text format of a response, where the schema's fields are part of the format.
pub fn text_format(format: Option<TextFormat>) -> Result<ResponseFormat, OpenAiError> {
    let Some(TextFormat { r#type, schema }) = format else { return Ok(ResponseFormat::Text) };
    response_format("text.format", &r#type, Some(schema))
}

/// Validates a text format. `field` names the field in errors.
fn response_format(
    field: &'static str,
    kind: &str,
    schema: Option<NamedSchema>,
) -> Result<ResponseFormat, OpenAiError> {
    match kind {
        "text" => Ok(ResponseFormat::Text),
        "json_object" => Ok(ResponseFormat::JsonObject),
        "json_schema" => {
            let Some(NamedSchema { name: Some(name), schema: Some(schema), description, strict }) = schema else {
                return Err(OpenAiError::bad(field, "a json_schema has a name and a schema"));
            };
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
            if !(1..=MAX_SCHEMA_NAME_BYTES).contains(&name.len()) || !name.chars().all(is_plain) {
                let message =
                    format!("the name of a json_schema is 1 to {MAX_SCHEMA_NAME_BYTES} of a-z, A-Z, 0-9, _ and -");
                return Err(OpenAiError::bad(field, message));
            }
            if !schema.is_object() || schema.to_string().len() > MAX_SCHEMA_BYTES {
                let message = format!("the schema of a json_schema is an object of at most {MAX_SCHEMA_BYTES} bytes");
                return Err(OpenAiError::bad(field, message));
            }
            Ok(ResponseFormat::JsonSchema(OutputSchema { name, description, schema, strict }))
        }
        _ => Err(OpenAiError::bad(field, format!("the type of {field} is text, json_object or json_schema"))),
    }
}
