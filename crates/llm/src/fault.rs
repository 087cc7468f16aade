//! What a provider says when it refuses or fails, in any of the shapes in use.

use std::time::Duration;

use domain::model::ModelError;
use domain::text::cut_to;
use serde_json::Value;

/// The most bytes of a provider's message that are handed on.
const MAX_MESSAGE_BYTES: usize = 500;

/// How deep errors are looked for inside errors; gateways wrap what the host behind them said.
const MAX_DEPTH: u8 = 6;

/// How providers say that a conversation is too long, in lower case.
const TOO_LONG: [&str; 13] = [
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "context length",
    "context window",
    "context size",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "reduce the length",
    "request too large",
    "exceed context limit",
    "exceeds the maximum number of tokens",
];

/// How providers say that no more is paid for: waiting does not help.
const UNPAID: [&str; 5] =
    ["insufficient_quota", "insufficient_balance", "insufficient balance", "billing_", "credit balance is too low"];

/// How providers say that the key is wrong, where the status does not.
const WRONG_KEY: [&str; 2] = ["api key not valid", "api_key_invalid"];

/// How providers say that they do not have a model, where the status does not.
const UNKNOWN_MODEL: [&str; 4] = ["model_not_found", "not a valid model", "invalid model", "invalid_model"];

/// A refusal or a failure, as the provider tells it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The provider's words for people; empty when it has none.
    pub message: String,
    /// Its words for machines (code and type), in lower case.
    pub words: String,
    /// The HTTP status it names in the body.
    pub status: Option<u16>,
    /// How long it asks to wait.
    pub retry_after: Option<Duration>,
}

impl Fault {
    /// Reads the body of an answer that is not a success. Pages and other long text are not handed on.
    pub fn from_body(body: &[u8]) -> Self {
        if let Ok(value) = serde_json::from_slice::<Value>(body) {
            return Self::from_value(&value);
        }
        let text = String::from_utf8_lossy(body);
        let text = text.trim();
        let is_a_sentence = text.len() <= MAX_MESSAGE_BYTES && !text.contains(['<', '{', '\n']);
        Self { message: if is_a_sentence { text.to_owned() } else { String::new() }, ..Self::default() }
    }

    /// Reads the JSON of an error, or of a body that holds one.
    pub fn from_value(value: &Value) -> Self {
        let mut fault = Self::default();
        fault.read(value, MAX_DEPTH);
        fault.message = cut_to(fault.message.trim(), MAX_MESSAGE_BYTES).to_owned();
        fault.words.make_ascii_lowercase();
        fault
    }

    fn read(&mut self, value: &Value, depth: u8) {
        if depth == 0 {
            return;
        }
        match value {
            Value::String(text) => self.message.clone_from(text),
            // A list of errors, or the complaints of a validator about several fields.
            Value::Array(list) => {
                if let Some(first) = list.first() {
                    self.read(first, depth - 1);
                }
            }
            Value::Object(fields) => {
                for name in ["code", "status", "type"] {
                    match fields.get(name) {
                        Some(Value::String(word)) => {
                            self.words.push_str(word);
                            self.words.push(' ');
                            self.status = self.status.or_else(|| status_of(word.parse().ok()?));
                        }
                        Some(Value::Number(number)) => {
                            self.status = self.status.or_else(|| status_of(number.as_u64()?));
                        }
                        _ => {}
                    }
                }
                for name in ["error", "errors", "detail", "message", "msg"] {
                    if let Some(inner) = fields.get(name)
                        && self.message.is_empty()
                    {
                        self.read(inner, depth - 1);
                    }
                }
                // A validator names the field beside its words; what it quotes of the request is left out.
                if let (Some(Value::Array(place)), false) = (fields.get("loc"), self.message.is_empty()) {
                    let place: Vec<&str> = place.iter().filter_map(Value::as_str).collect();
                    self.message = format!("{}: {}", place.join("."), self.message);
                }
                // Google names the wait among the details.
                let mut details = fields.get("details").and_then(Value::as_array).into_iter().flatten();
                let delay = details.find_map(|detail| seconds_in(detail.get("retryDelay")?.as_str()?));
                self.retry_after = self.retry_after.or(delay);
                if let Some(raw) = value.pointer("/metadata/raw").and_then(Value::as_str) {
                    self.read_wrapped(raw, depth - 1);
                }
            }
            _ => {}
        }
    }

    /// What the host behind a gateway said, which tells more than "provider returned error".
    fn read_wrapped(&mut self, raw: &str, depth: u8) {
        let inner: Value = serde_json::from_str(raw).unwrap_or_else(|_| Value::String(raw.to_owned()));
        let mut fault = Self::default();
        fault.read(&inner, depth);
        if !fault.message.trim().is_empty() {
            self.message = fault.message;
            self.words.push_str(&fault.words);
        }
    }

    /// The error for people, when the answer came with `status`.
    pub fn into_error(self, status: u16) -> ModelError {
        let says = |signs: &[&str]| {
            let message = self.message.to_ascii_lowercase();
            signs.iter().any(|sign| message.contains(sign) || self.words.contains(sign))
        };
        let too_long = status == 413 || ((400..500).contains(&status) && says(&TOO_LONG));
        let (unpaid, wrong_key) = (status == 402 || says(&UNPAID), says(&WRONG_KEY));
        let names_model = self.message.to_ascii_lowercase().contains("model") && !says(&["tool"]);
        let unknown_model = (status == 404 && names_model) || says(&UNKNOWN_MODEL);
        let retry_after = self.retry_after;
        // Anthropic's words for an unknown model are its name alone.
        let message = match self.message.strip_prefix("model: ").filter(|_| unknown_model) {
            Some(model) => model.to_owned(),
            None if self.message.is_empty() => words_for(status),
            None => self.message,
        };
        match status {
            400..500 if unpaid => ModelError::Unpaid(message),
            401 | 403 => ModelError::Unauthorized(message),
            400 if wrong_key => ModelError::Unauthorized(message),
            _ if too_long => ModelError::TooLong(message),
            429 | 529 => ModelError::RateLimited { message, retry_after },
            400..500 if unknown_model => ModelError::UnknownModel(message),
            404 => ModelError::Refused(format!("{message}; check its base URL")),
            400..500 => ModelError::Refused(message),
            300..400 => ModelError::Refused(format!("{message}; it may have moved, check its base URL")),
            _ => ModelError::Provider(message),
        }
    }

    /// The error for people, when it came inside an answer that had begun well.
    pub fn into_error_in_stream(self) -> ModelError {
        let status = self.status.unwrap_or_else(|| {
            let says = |signs: &[&str]| signs.iter().any(|sign| self.words.contains(sign));
            if says(&["rate_limit", "ratelimit", "resource_exhausted", "too_many_requests", "insufficient_quota"]) {
                429
            } else if says(&["overloaded"]) {
                529
            } else if says(&["api_key", "authentication", "permission", "unauthorized"]) {
                401
            } else if says(&["invalid_request", "badrequest", "bad_request", "not_found", "context"]) {
                400
            } else {
                500
            }
        });
        self.into_error(status)
    }
}

/// A span as Google writes it, such as `7s` or `0.5s`.
fn seconds_in(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.strip_suffix('s')?.parse().ok()?).ok()
}

fn status_of(number: u64) -> Option<u16> {
    u16::try_from(number).ok().filter(|status| (400..600).contains(status))
}

fn words_for(status: u16) -> String {
    let reason = reqwest::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    format!("it answered {status}{}{}", if reason.is_some() { " " } else { "" }, reason.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(status: u16, body: &str) -> ModelError {
        Fault::from_body(body.as_bytes()).into_error(status)
    }

    #[test]
    fn the_providers_own_words_are_found_in_every_shape() {
        for (body, want) in [
            (r#"{"error":{"message":"no such model","type":"invalid_request_error","code":null}}"#, "no such model"),
            (r#"{"error":"model 'x' not found"}"#, "model 'x' not found"),
            (r#"{"object":"error","message":"bad","type":"BadRequestError","code":400}"#, "bad"),
            (
                r#"{"detail":[{"loc":["body","stream_options"],"msg":"extra","input":"secret"}]}"#,
                "body.stream_options: extra",
            ),
            (r#"{"object":"error","message":{"detail":[{"loc":["body","n"],"msg":"extra"}]}}"#, "body.n: extra"),
            (r#"[{"error":{"code":400,"message":"not valid","status":"INVALID_ARGUMENT"}}]"#, "not valid"),
            (r#"{"errors":[{"message":"no route"}],"success":false}"#, "no route"),
            (
                r#"{"error":{"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"message\":\"too hot\"}}"}}}"#,
                "too hot",
            ),
            ("no healthy upstream", "no healthy upstream"),
            ("<html><body>nginx</body></html>", "it answered 400 Bad Request"),
            ("", "it answered 400 Bad Request"),
        ] {
            assert_eq!(error_of(400, body), ModelError::Refused(want.to_owned()), "{body}");
        }
    }

    #[test]
    fn a_status_becomes_the_error_that_tells_what_to_do() {
        let body = r#"{"error":{"message":"m"}}"#;
        let m = || "m".to_owned();
        assert_eq!(error_of(401, body), ModelError::Unauthorized(m()));
        assert_eq!(error_of(403, body), ModelError::Unauthorized(m()));
        assert_eq!(error_of(402, body), ModelError::Unpaid(m()));
        assert_eq!(error_of(404, body), ModelError::Refused("m; check its base URL".to_owned()));
        assert_eq!(error_of(413, body), ModelError::TooLong(m()));
        assert_eq!(error_of(429, body), ModelError::RateLimited { message: m(), retry_after: None });
        assert_eq!(error_of(529, body), ModelError::RateLimited { message: m(), retry_after: None });
        assert_eq!(error_of(500, body), ModelError::Provider(m()));
        assert!(matches!(error_of(308, ""), ModelError::Refused(_)));
    }

    #[test]
    fn too_long_is_told_apart_from_other_refusals() {
        for body in [
            r#"{"error":{"message":"m","code":"context_length_exceeded"}}"#,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens."}"#,
            r#"{"error":{"message":"Please reduce the length of the messages or completion."}}"#,
        ] {
            assert!(matches!(error_of(400, body), ModelError::TooLong(_)), "{body}");
        }
    }

    #[test]
    fn an_unpaid_account_is_no_pause() {
        let body = r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}}"#;
        assert!(matches!(error_of(429, body), ModelError::Unpaid(_)));
    }

    #[test]
    fn an_unknown_model_is_told_apart_from_a_wrong_address() {
        for (status, body) in [
            (404, r#"{"error":{"message":"The model `x` does not exist.","code":"model_not_found"}}"#),
            (404, r#"{"error":"model 'x' not found"}"#),
            (404, r#"{"error":{"code":404,"message":"models/x is not found for API version v1beta"}}"#),
            (400, r#"{"error":{"message":"x is not a valid model ID","code":400}}"#),
        ] {
            assert!(matches!(error_of(status, body), ModelError::UnknownModel(_)), "{body}");
        }
        for body in [r#"{"detail":"Not Found"}"#, r#"{"error":{"message":"No model endpoints support tool use"}}"#] {
            assert!(matches!(error_of(404, body), ModelError::Refused(_)), "{body}");
        }
    }

    #[test]
    fn the_wait_among_the_details_is_read() {
        let body = r#"{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[
            {"@type":"type.googleapis.com/google.rpc.Help","links":[]},
            {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7.5s"}]}}"#;
        let retry_after = Some(Duration::from_millis(7_500));
        assert_eq!(error_of(429, body), ModelError::RateLimited { message: "m".to_owned(), retry_after });
        assert_eq!(seconds_in("-1s"), None);
        assert_eq!(seconds_in("soon"), None);
    }

    #[test]
    fn every_provider_is_understood() {
        let anthropic = |kind: &str, message: &str| {
            format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":"req_1"}}"#)
        };
        let low = "Your credit balance is too low to access the Anthropic API.";
        for (status, body, want) in [
            (401, anthropic("authentication_error", "invalid x-api-key"), "refused the key: invalid x-api-key"),
            (400, anthropic("invalid_request_error", low), low),
            (404, anthropic("not_found_error", "model: claude-9"), "does not know the model: claude-9"),
            (400, anthropic("invalid_request_error", "prompt is too long: 9 > 8"), "too long for this model"),
            (413, anthropic("request_too_large", "Request too large"), "too long for this model"),
            (529, anthropic("overloaded_error", "Overloaded"), "is busy: Overloaded"),
            (
                400,
                r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}"#.to_owned(),
                "refused the key: API key not valid",
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8).","status":"INVALID_ARGUMENT"}}"#.to_owned(),
                "too long for this model",
            ),
            (
                503,
                r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#.to_owned(),
                "failed: The model is overloaded.",
            ),
        ] {
            let told = error_of(status, &body).to_string();
            assert!(told.contains(want), "{told}");
        }
    }

    #[test]
    fn long_messages_are_cut() {
        let body = format!(r#"{{"error":"{}"}}"#, "ä".repeat(2_000));
        let ModelError::Refused(message) = error_of(400, &body) else { panic!("not refused") };
        assert_eq!(message.len(), MAX_MESSAGE_BYTES);
    }
}
