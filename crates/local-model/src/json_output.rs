//! JSON responses: a grammar for the text, and a note of the schema in the instructions.

use domain::model::{FinishReason, ModelError, ModelEvent, PartKind, Request, ResponseFormat};
use domain::text::cut_to;
use serde_json::{Value, json};

use crate::error::InferenceError;
use crate::generation::{Generation, max_response_tokens};
use crate::grammar::GrammarCompiler;
use crate::repetition::LoopDetector;
use crate::tokenizer::TextDecoder;
use crate::tool_decision::most_likely_token;

/// Maximum number of bytes of a schema in the instructions (some 500 tokens). The grammar enforces the whole schema.
const MAX_SHOWN_SCHEMA_BYTES: usize = 2_000;

/// Returns the schema of a JSON response; `None` for free text.
pub(crate) fn output_schema(format: &ResponseFormat) -> Option<Value> {
    match format {
        ResponseFormat::Text => None,
        ResponseFormat::JsonObject => Some(json!({ "type": "object" })),
        ResponseFormat::JsonSchema(output) => Some(output.schema.clone()),
    }
}

/// Adds the response format to the instructions; `None` for free text. With a grammar alone, a small model writes
/// well-formed JSON without the requested content.
pub(crate) fn with_schema_in_instructions(request: &Request) -> Option<Request> {
    let note = match &request.response_format {
        ResponseFormat::Text => return None,
        ResponseFormat::JsonObject => "Answer with a JSON object and nothing else.".to_owned(),
        ResponseFormat::JsonSchema(output) => {
            let schema = output.schema.to_string();
            let shown = cut_to(&schema, MAX_SHOWN_SCHEMA_BYTES);
            format!("Answer with JSON that follows this JSON Schema, and nothing else:\n{shown}")
        }
    };
    let system = [request.system.as_str(), &note].into_iter().filter(|text| !text.trim().is_empty());
    let system = system.collect::<Vec<_>>().join("\n\n");
    Some(Request { system, ..request.clone() })
}

/// Compiles the grammar of a response that follows `schema`.
///
/// # Errors
///
/// [`ModelError::Refused`] if the schema cannot be compiled.
pub(crate) fn compile(grammars: &GrammarCompiler, schema: &Value) -> Result<llguidance::Matcher, InferenceError> {
    grammars.compile_json(schema).map_err(|reason| {
        let reason = format!("the built-in model cannot follow this JSON Schema: {reason}");
        InferenceError::Failed(ModelError::Refused(reason))
    })
}

impl Generation<'_> {
    /// Writes a response within a grammar, until it is complete or the token limit is reached.
    pub(crate) fn write_json(
        mut self,
        mut matcher: llguidance::Matcher,
        request: &Request,
    ) -> Result<(), InferenceError> {
        let max_tokens = max_response_tokens(request, self.token_limit);
        let mut decoder = TextDecoder::default();
        let mut written: Vec<u32> = Vec::new();
        let mut loops = LoopDetector::default();
        self.out.send(ModelEvent::PartStart { part: 0, kind: PartKind::Text })?;
        let reason = loop {
            let mask = matcher.compute_mask().map_err(InferenceError::internal)?;
            let next = most_likely_token(&self.logits, |token| mask.is_allowed(token));
            let Some(token) = next.filter(|token| !self.tokenizer.stop_tokens().contains(token)) else {
                break FinishReason::Stop;
            };
            matcher.consume_token(token).map_err(InferenceError::internal)?;
            let start = written.len();
            written.push(token);
            // Tokens without an alternative in the grammar are read together with this one.
            written.extend(matcher.consume_ff_tokens());
            written.truncate(max_tokens);
            let text: String =
                written[start..].iter().map(|token| decoder.push(self.tokenizer.bytes(*token))).collect();
            if !text.is_empty() {
                self.out.send(ModelEvent::Delta { part: 0, text })?;
            }
            if matcher.is_stopped() {
                break FinishReason::Stop;
            }
            for token in &written[start..] {
                loops.push(*token, self.tokenizer.bytes(*token));
            }
            if written.len() >= max_tokens || loops.is_loop() {
                break FinishReason::Length;
            }
            self.read(&written[start..])?;
        };
        self.finish(reason)
    }
}

#[cfg(test)]
mod tests {
    use domain::model::OutputSchema;

    use super::*;

    #[test]
    fn names_the_schema_in_the_instructions() {
        let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
        let output = OutputSchema { name: "place".to_owned(), description: None, schema, strict: None };
        let format = ResponseFormat::JsonSchema(output);
        let request = Request { system: "Be brief.".to_owned(), response_format: format, ..Request::default() };
        let noted = with_schema_in_instructions(&request).unwrap();
        assert!(noted.system.starts_with("Be brief.\n\n") && noted.system.contains(r#""city""#), "{}", noted.system);
        assert_eq!(with_schema_in_instructions(&Request::default()), None);
    }
}
