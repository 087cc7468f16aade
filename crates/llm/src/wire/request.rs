//! What the requests of several wires have in common.

use std::borrow::Cow;

use domain::model::{Effort, ModelMessage, OutputSchema, Parameters, Request};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Concessions;

/// Servers that render a template parse the arguments of earlier calls and fail on what is not a JSON object.
pub(super) fn arguments(text: &str) -> Cow<'_, str> {
    if text.trim().is_empty() {
        return Cow::Borrowed("{}");
    }
    match serde_json::from_str::<serde_json::Map<String, Value>>(text) {
        Ok(_) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(json!({ "invalid_json": text }).to_string()),
    }
}

/// The wire has no mark for a failed tool and some servers refuse an empty result, so both are said in words.
pub(super) fn result_text(text: &str, is_error: bool) -> Cow<'_, str> {
    match (text.trim().is_empty(), is_error) {
        (true, true) => Cow::Borrowed("Error: the tool failed without saying why."),
        (true, false) => Cow::Borrowed("(no output)"),
        (false, true) => Cow::Owned(format!("Error: {text}")),
        (false, false) => Cow::Borrowed(text),
    }
}

/// Whether a refusal says that the model, or its server, has no tools.
pub(super) fn refuses_tools(refusal: &str) -> bool {
    let refusal = refusal.to_ascii_lowercase();
    (refusal.contains("tool") || refusal.contains("function call"))
        && ["not support", "support tool", "unsupported", "not enabled", "enable-auto-tool-choice"]
            .iter()
            .any(|sign| refusal.contains(sign))
}

/// The same conversation in words alone: what tools gave back is quoted to the model, and the calls are left out.
pub(super) fn without_tools(request: &Request) -> Request {
    let mut messages: Vec<ModelMessage> = Vec::new();
    for message in &request.messages {
        let message = match message {
            ModelMessage::User { .. } => message.clone(),
            ModelMessage::ToolResult { name, text, files, .. } => {
                ModelMessage::User { text: format!("[The tool {name} gave back:] {text}"), files: files.clone() }
            }
            ModelMessage::Assistant { text, files, .. } if text.is_empty() && files.is_empty() => continue,
            ModelMessage::Assistant { text, files, .. } => {
                let (thoughts, calls) = (Vec::new(), Vec::new());
                ModelMessage::Assistant { thoughts, text: text.clone(), calls, files: files.clone() }
            }
        };
        match (messages.last_mut(), message) {
            // Servers that render a template want the sides to take turns.
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

/// The choice of words, as most wires have it.
#[derive(Serialize)]
pub(super) struct Sampling {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
}

impl Sampling {
    /// What a request says of it, unless the model has refused that; `hottest` is the highest temperature of the wire.
    pub(super) fn of(request: &Request, concessions: Concessions, hottest: f64) -> Self {
        let Parameters { temperature, top_p, .. } = request.parameters;
        let temperature = temperature.map(|temperature| temperature.min(hottest));
        if concessions.without_sampling { Self { temperature: None, top_p: None } } else { Self { temperature, top_p } }
    }

    /// Whether anything is said of it.
    pub(super) fn is_set(&self) -> bool {
        self.temperature.is_some() || self.top_p.is_some()
    }
}

/// How much a model is to think, unless it has refused to be told.
pub(super) fn effort(request: &Request, concessions: Concessions) -> Option<&'static str> {
    request.parameters.effort.filter(|_| !concessions.without_effort).map(Effort::as_str)
}

/// Returns the stop texts to send, none once the model has refused the parameter: the caller cuts the answer as well.
/// At most `most` of those that `is_accepted` are sent.
pub(super) fn stop_sequences(
    request: &Request,
    concessions: Concessions,
    most: usize,
    is_accepted: impl Fn(&str) -> bool,
) -> Vec<&str> {
    let stop = request.stop.iter().filter(|_| !concessions.without_stop).map(String::as_str);
    stop.filter(|text| is_accepted(text)).take(most).collect()
}

/// Returns a schema with its name, as OpenAI's APIs have it, and with its description and strictness where they are set.
pub(super) fn named_output_schema(output: &OutputSchema) -> Map<String, Value> {
    let OutputSchema { name, description, schema, strict } = output;
    let mut described = Map::from_iter([("name".to_owned(), json!(name)), ("schema".to_owned(), schema.clone())]);
    described.extend(description.as_ref().map(|description| ("description".to_owned(), json!(description))));
    described.extend(strict.map(|strict| ("strict".to_owned(), json!(strict))));
    described
}

/// What to leave out after a refusal that names a parameter.
pub(super) fn without_parameters(refusal: &str, made: Concessions) -> Option<Concessions> {
    let refusal = refusal.to_ascii_lowercase();
    let names = |words: &[&str]| words.iter().any(|word| refusal.contains(word));
    if !made.without_sampling && names(&["temperature", "top_p", "topp"]) {
        return Some(Concessions { without_sampling: true, ..made });
    }
    if !made.without_drawing && names(&["modalities", "image_generation"]) {
        return Some(Concessions { without_drawing: true, ..made });
    }
    // The bare word is part of many refusals that are about something else.
    let names_stop = names(&["'stop'", "\"stop\"", "`stop`", "stop_sequences", "stopsequences", "stop sequence"]);
    if !made.without_stop && names_stop {
        return Some(Concessions { without_stop: true, ..made });
    }
    let names_effort = names(&["effort", "thinking_level", "thinkinglevel", "thinking level", "output_config"]);
    (!made.without_effort && names_effort).then_some(Concessions { without_effort: true, ..made })
}

/// Whether a request says something that the model has refused to hear.
pub(crate) fn is_reduced(request: &Request, concessions: Concessions) -> bool {
    let Parameters { temperature, top_p, effort } = request.parameters;
    (concessions.without_sampling && (temperature.is_some() || top_p.is_some()))
        || (concessions.without_effort && effort.is_some())
}

/// The arguments of an earlier call as the object that some wires want.
pub(super) fn arguments_object(text: &str) -> Map<String, Value> {
    if text.trim().is_empty() {
        return Map::new();
    }
    serde_json::from_str(text).unwrap_or_else(|_| Map::from_iter([("invalid_json".to_owned(), json!(text))]))
}

/// Providers refuse an object schema without `properties`, which is how a tool without arguments is often listed.
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

/// The same without what the stricter providers refuse at the top of it.
pub(super) fn plain_object_schema(schema: &Value) -> Cow<'_, Value> {
    const REFUSED: [&str; 5] = ["oneOf", "anyOf", "allOf", "not", "enum"];
    let mut schema = object_schema(schema);
    if let Value::Object(fields) = schema.as_ref()
        && (REFUSED.iter().any(|name| fields.contains_key(*name)) || fields.get("type") != Some(&json!("object")))
        && let Value::Object(fields) = schema.to_mut()
    {
        fields.retain(|name, _| !REFUSED.contains(&name.as_str()));
        fields.insert("type".to_owned(), json!("object"));
    }
    schema
}

/// An id that another provider may have given, in the letters and the length that the stricter ones take.
pub(super) fn plain_id(id: &str) -> Cow<'_, str> {
    const LONGEST: usize = 64;
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    if id.chars().all(is_plain) && (1..=LONGEST).contains(&id.len()) {
        return Cow::Borrowed(id);
    }
    let letters = id.chars().map(|letter| if is_plain(letter) { letter } else { '_' });
    // The end of an id tells more ids apart than its beginning.
    let letters: Vec<char> = letters.collect();
    Cow::Owned(format!("_{}", letters[letters.len().saturating_sub(LONGEST - 1)..].iter().collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_becomes_one_that_the_strict_take() {
        let schema = json!({ "anyOf": [{ "required": ["a"] }], "properties": { "a": { "enum": [1] } } });
        let want = json!({ "type": "object", "properties": { "a": { "enum": [1] } } });
        assert_eq!(*plain_object_schema(&schema), want);
        assert_eq!(*plain_object_schema(&Value::Null), json!({ "type": "object", "properties": {} }));
        assert!(matches!(plain_object_schema(&want), Cow::Borrowed(_)));
    }

    #[test]
    fn foreign_ids_become_plain_ones_and_stay_apart() {
        assert_eq!(plain_id("call_1-a"), "call_1-a");
        assert_eq!(plain_id("functions.clock:0"), "_functions_clock_0");
        let (one, two) = (format!("{}1", "x".repeat(80)), format!("{}2", "x".repeat(80)));
        assert_ne!(plain_id(&one), plain_id(&two));
        assert_eq!(plain_id(&one).len(), 64);
        assert_eq!(plain_id(""), "_");
    }

    #[test]
    fn who_has_no_tools_is_asked_in_words() {
        for refusal in [
            "registry.ollama.ai/library/gemma:2b does not support tools",
            "No endpoints found that support tool use.",
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
        ] {
            assert!(refuses_tools(refusal), "{refusal}");
        }
        assert!(!refuses_tools("tools.0.name: string does not match"));
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
        let plain = without_tools(&Request { messages, ..Request::default() });
        let want = [
            ModelMessage::user("When?\n\n[The tool clock gave back:] noon"),
            ModelMessage::assistant("Noon.", Vec::new()),
            ModelMessage::user("Thanks"),
        ];
        assert_eq!(plain.messages, want);
    }

    #[test]
    fn a_parameter_that_is_refused_is_left_out_and_no_other() {
        let made = Concessions::default();
        let sampling = Concessions { without_sampling: true, ..made };
        let refusal = "Unsupported value: 'temperature' does not support 0.2 with this model.";
        assert_eq!(without_parameters(refusal, made), Some(sampling));
        assert_eq!(without_parameters(refusal, sampling), None);
        let both = Concessions { without_effort: true, ..sampling };
        let refusal = "Unsupported parameter: 'reasoning.effort' is not supported with this model.";
        assert_eq!(without_parameters(refusal, sampling), Some(both));
        assert_eq!(without_parameters("tools.0.name: too long", made), None);
        let parameters = Parameters { effort: Some(Effort::Low), ..Parameters::default() };
        let request = Request { parameters, ..Request::default() };
        assert!(is_reduced(&request, both) && !is_reduced(&request, sampling));
    }

    #[test]
    fn arguments_that_are_no_object_become_one() {
        assert_eq!(Value::Object(arguments_object(" ")), json!({}));
        assert_eq!(Value::Object(arguments_object("{\"a\":1}")), json!({ "a": 1 }));
        assert_eq!(Value::Object(arguments_object("[1]")), json!({ "invalid_json": "[1]" }));
    }
}
