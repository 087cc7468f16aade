//! Parts of requests that several APIs share.

use std::borrow::Cow;

use domain::model::{Effort, ModelMessage, OutputSchema, Parameters, Request};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::adjustments::RequestAdjustments;

/// Returns the arguments of an earlier tool call as the text of a JSON object.
///
/// Servers that render a chat template parse these arguments and fail on anything but an object.
pub(super) fn arguments_json(text: &str) -> Cow<'_, str> {
    if text.trim().is_empty() {
        return Cow::Borrowed("{}");
    }
    match serde_json::from_str::<Map<String, Value>>(text) {
        Ok(_) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(json!({ "invalid_json": text }).to_string()),
    }
}

/// Returns the text of a tool result; an error, and an empty result, are described in words.
///
/// Some APIs have no field for a failed tool, and some servers refuse an empty result.
pub(super) fn tool_result_text(text: &str, is_error: bool) -> Cow<'_, str> {
    match (text.trim().is_empty(), is_error) {
        (true, true) => Cow::Borrowed("Error: the tool failed without saying why."),
        (true, false) => Cow::Borrowed("(no output)"),
        (false, true) => Cow::Owned(format!("Error: {text}")),
        (false, false) => Cow::Borrowed(text),
    }
}

/// Rewrites a conversation for a model without tools: results become user messages, and calls are omitted.
pub(super) fn without_tools(request: &Request) -> Request {
    let mut messages: Vec<ModelMessage> = Vec::new();
    for message in &request.messages {
        let message = match message {
            ModelMessage::User { .. } => message.clone(),
            ModelMessage::ToolResult { name, text, files, .. } => {
                ModelMessage::User { text: format!("[The tool {name} gave back:] {text}"), files: files.clone() }
            }
            // A message of calls alone; their results follow as the user's words.
            ModelMessage::Assistant { text, files, .. } if text.is_empty() && files.is_empty() => continue,
            ModelMessage::Assistant { text, files, .. } => {
                let (reasoning_blocks, calls) = (Vec::new(), Vec::new());
                ModelMessage::Assistant { reasoning_blocks, text: text.clone(), calls, files: files.clone() }
            }
        };
        match (messages.last_mut(), message) {
            // Servers that render a chat template require user and assistant to alternate.
            (Some(ModelMessage::User { text, files }), ModelMessage::User { text: more, files: others }) => {
                *text = format!("{text}\n\n{more}");
                files.extend(others);
            }
            (_, message) => messages.push(message),
        }
    }
    let Request { model, system, max_tokens, parameters, stop, response_format, .. } = request.clone();
    Request { model, system, messages, max_tokens, parameters, stop, response_format, ..Request::default() }
}

/// Sampling parameters, in the form of most APIs.
#[derive(Serialize)]
pub(super) struct SamplingParameters {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
}

impl SamplingParameters {
    /// Returns the parameters of a request, or none once the model has refused them. The temperature is limited to
    /// `max_temperature`, the highest that the API accepts.
    pub(super) fn from_request(request: &Request, adjustments: RequestAdjustments, max_temperature: f64) -> Self {
        let Parameters { temperature, top_p, .. } = request.parameters;
        let temperature = temperature.map(|temperature| temperature.min(max_temperature));
        if adjustments.omit_sampling { Self { temperature: None, top_p: None } } else { Self { temperature, top_p } }
    }

    /// Returns whether any parameter is set.
    pub(super) fn is_set(&self) -> bool {
        self.temperature.is_some() || self.top_p.is_some()
    }
}

/// Returns the reasoning effort of a request, or `None` once the model has refused the parameter.
pub(super) fn reasoning_effort(request: &Request, adjustments: RequestAdjustments) -> Option<&'static str> {
    request.parameters.effort.filter(|_| !adjustments.omit_effort).map(Effort::as_str)
}

/// Returns the stop sequences to send: at most `max_count` of those that `is_accepted`, and none once the model has
/// refused the parameter. The caller cuts the response as well, so none is lost.
pub(super) fn stop_sequences(
    request: &Request,
    adjustments: RequestAdjustments,
    max_count: usize,
    is_accepted: impl Fn(&str) -> bool,
) -> Vec<&str> {
    let stop = request.stop.iter().filter(|_| !adjustments.omit_stop_sequences).map(String::as_str);
    stop.filter(|text| is_accepted(text)).take(max_count).collect()
}

/// Returns an output schema in the form of OpenAI's APIs, with its name and its optional description and strictness.
pub(super) fn named_output_schema(output: &OutputSchema) -> Map<String, Value> {
    let OutputSchema { name, description, schema, strict } = output;
    let mut fields = Map::from_iter([("name".to_owned(), json!(name)), ("schema".to_owned(), schema.clone())]);
    fields.extend(description.as_ref().map(|description| ("description".to_owned(), json!(description))));
    fields.extend(strict.map(|strict| ("strict".to_owned(), json!(strict))));
    fields
}

/// Returns the arguments of an earlier tool call as a JSON object, like [`arguments_json`].
pub(super) fn arguments_object(text: &str) -> Map<String, Value> {
    if text.trim().is_empty() {
        return Map::new();
    }
    serde_json::from_str(text).unwrap_or_else(|_| Map::from_iter([("invalid_json".to_owned(), json!(text))]))
}

/// Returns an input schema with `type` and `properties`, as providers require. Tools without arguments often lack them.
pub(super) fn object_schema(schema: &Value) -> Cow<'_, Value> {
    match schema {
        Value::Object(fields) if fields.contains_key("type") && fields.contains_key("properties") => {
            Cow::Borrowed(schema)
        }
        Value::Object(fields) => {
            let mut fields = fields.clone();
            fields.entry("type").or_insert_with(|| json!("object"));
            fields.entry("properties").or_insert_with(|| json!({}));
            Cow::Owned(Value::Object(fields))
        }
        _ => Cow::Owned(json!({ "type": "object", "properties": {} })),
    }
}

/// Returns an input schema like [`object_schema`], without the top-level keywords that stricter providers refuse.
pub(super) fn flat_object_schema(schema: &Value) -> Cow<'_, Value> {
    const REFUSED_KEYWORDS: [&str; 5] = ["oneOf", "anyOf", "allOf", "not", "enum"];
    let mut schema = object_schema(schema);
    if let Value::Object(fields) = schema.as_ref()
        && (REFUSED_KEYWORDS.iter().any(|name| fields.contains_key(*name))
            || fields.get("type") != Some(&json!("object")))
        && let Value::Object(fields) = schema.to_mut()
    {
        fields.retain(|name, _| !REFUSED_KEYWORDS.contains(&name.as_str()));
        fields.insert("type".to_owned(), json!("object"));
    }
    schema
}

/// Returns a call id in the characters and the length that the stricter providers accept. Ids of earlier calls may come
/// from another provider.
pub(super) fn sanitize_call_id(id: &str) -> Cow<'_, str> {
    const MAX_ID_LENGTH: usize = 64;
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    if id.chars().all(is_allowed) && (1..=MAX_ID_LENGTH).contains(&id.len()) {
        return Cow::Borrowed(id);
    }
    let characters: Vec<char> =
        id.chars().map(|character| if is_allowed(character) { character } else { '_' }).collect();
    // Ids often share their beginning, so the end is kept.
    Cow::Owned(format!(
        "_{}",
        characters[characters.len().saturating_sub(MAX_ID_LENGTH - 1)..].iter().collect::<String>()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flattens_schema_for_strict_providers() {
        let schema = json!({ "anyOf": [{ "required": ["a"] }], "properties": { "a": { "enum": [1] } } });
        let want = json!({ "type": "object", "properties": { "a": { "enum": [1] } } });
        assert_eq!(*flat_object_schema(&schema), want);
        assert_eq!(*flat_object_schema(&Value::Null), json!({ "type": "object", "properties": {} }));
        assert!(matches!(flat_object_schema(&want), Cow::Borrowed(_)));
    }

    #[test]
    fn sanitizes_foreign_ids_and_keeps_them_distinct() {
        assert_eq!(sanitize_call_id("call_1-a"), "call_1-a");
        assert_eq!(sanitize_call_id("functions.clock:0"), "_functions_clock_0");
        let (one, two) = (format!("{}1", "x".repeat(80)), format!("{}2", "x".repeat(80)));
        assert_ne!(sanitize_call_id(&one), sanitize_call_id(&two));
        assert_eq!(sanitize_call_id(&one).len(), 64);
        assert_eq!(sanitize_call_id(""), "_");
    }

    #[test]
    fn rewrites_conversation_without_tools() {
        let call = domain::model::ModelCall { id: "a".into(), name: "clock".into(), arguments: "{}".into() };
        let result = |text: &str| ModelMessage::ToolResult {
            call_id: "a".into(),
            name: "clock".into(),
            text: text.into(),
            is_error: false,
            files: Vec::new(),
        };
        let messages = vec![
            ModelMessage::user("When?"),
            ModelMessage::assistant("", vec![call]),
            result("noon"),
            ModelMessage::assistant("Noon.", Vec::new()),
            ModelMessage::user("Thanks"),
        ];
        let rewritten = without_tools(&Request { messages, ..Request::default() });
        let want = [
            ModelMessage::user("When?\n\n[The tool clock gave back:] noon"),
            ModelMessage::assistant("Noon.", Vec::new()),
            ModelMessage::user("Thanks"),
        ];
        assert_eq!(rewritten.messages, want);
    }

    #[test]
    fn wraps_arguments_that_are_not_an_object() {
        assert_eq!(Value::Object(arguments_object(" ")), json!({}));
        assert_eq!(Value::Object(arguments_object("{\"a\":1}")), json!({ "a": 1 }));
        assert_eq!(Value::Object(arguments_object("[1]")), json!({ "invalid_json": "[1]" }));
    }
}
