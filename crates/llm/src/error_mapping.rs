//! Mapping of provider errors, in any of the shapes in use, to [`ModelError`].

use std::time::Duration;

use domain::model::ModelError;
use domain::text::cut_to;
use serde_json::Value;

/// Maximum length of a provider's message in a [`ModelError`], in bytes.
const MAX_MESSAGE_BYTES: usize = 500;

/// Maximum depth of errors nested in errors; gateways wrap the error of the host behind them.
const MAX_NESTING_DEPTH: u8 = 6;

/// Phrases for a conversation that exceeds the context window, in lower case.
const CONTEXT_OVERFLOW_PHRASES: [&str; 13] = [
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

/// Phrases for an account without credit, in lower case. Waiting does not help.
const UNPAID_PHRASES: [&str; 5] =
    ["insufficient_quota", "insufficient_balance", "insufficient balance", "billing_", "credit balance is too low"];

/// Phrases for a wrong key of providers that report it with status 400, in lower case.
const WRONG_KEY_PHRASES: [&str; 2] = ["api key not valid", "api_key_invalid"];

/// Phrases for an unknown model of providers that report it without status 404, in lower case.
const UNKNOWN_MODEL_PHRASES: [&str; 4] = ["model_not_found", "not a valid model", "invalid model", "invalid_model"];

/// An error as the provider reported it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ProviderErrorBody {
    /// Message for users; empty when there is none.
    pub message: String,
    /// Machine-readable codes and types, in lower case, separated by blanks.
    pub codes: String,
    /// HTTP status named in the body.
    pub status: Option<u16>,
    /// Wait before the next request, as the provider asks.
    pub retry_after: Option<Duration>,
}

impl ProviderErrorBody {
    /// Parses the body of an error response. Web pages and other long texts yield an empty message.
    pub fn parse_body(body: &[u8]) -> Self {
        if let Ok(value) = serde_json::from_slice::<Value>(body) {
            return Self::from_json(&value);
        }
        let text = String::from_utf8_lossy(body);
        let text = text.trim();
        // Web pages of proxies and dumps of a request are not for users.
        let is_sentence = text.len() <= MAX_MESSAGE_BYTES && !text.contains(['<', '{', '\n']);
        Self { message: if is_sentence { text.to_owned() } else { String::new() }, ..Self::default() }
    }

    /// Parses the JSON of an error, or of a body that contains one.
    pub fn from_json(value: &Value) -> Self {
        let mut error = Self::default();
        error.read_value(value, MAX_NESTING_DEPTH);
        error.message = cut_to(error.message.trim(), MAX_MESSAGE_BYTES).to_owned();
        error.codes.make_ascii_lowercase();
        error
    }

    fn read_value(&mut self, value: &Value, depth: u8) {
        if depth == 0 {
            return;
        }
        match value {
            Value::String(text) => self.message.clone_from(text),
            // A list of errors, or the errors of a validator for several fields: the first one is enough.
            Value::Array(list) => {
                if let Some(first) = list.first() {
                    self.read_value(first, depth - 1);
                }
            }
            Value::Object(fields) => {
                for name in ["code", "status", "type"] {
                    match fields.get(name) {
                        Some(Value::String(word)) => {
                            self.codes.push_str(word);
                            self.codes.push(' ');
                            self.status = self.status.or_else(|| error_status(word.parse().ok()?));
                        }
                        Some(Value::Number(number)) => {
                            self.status = self.status.or_else(|| error_status(number.as_u64()?));
                        }
                        _ => {}
                    }
                }
                for name in ["error", "errors", "detail", "message", "msg"] {
                    if let Some(inner) = fields.get(name)
                        && self.message.is_empty()
                    {
                        self.read_value(inner, depth - 1);
                    }
                }
                // Validators name the field in `loc`. Their `input` quotes the request and is left out.
                if let (Some(Value::Array(location)), false) = (fields.get("loc"), self.message.is_empty()) {
                    let location: Vec<&str> = location.iter().filter_map(Value::as_str).collect();
                    self.message = format!("{}: {}", location.join("."), self.message);
                }
                // Google puts the wait into the details.
                let mut details = fields.get("details").and_then(Value::as_array).into_iter().flatten();
                let delay = details.find_map(|detail| parse_google_duration(detail.get("retryDelay")?.as_str()?));
                self.retry_after = self.retry_after.or(delay);
                // OpenRouter's place for the response of the host behind it.
                if let Some(raw) = value.pointer("/metadata/raw").and_then(Value::as_str) {
                    self.read_wrapped_error(raw, depth - 1);
                }
            }
            _ => {}
        }
    }

    /// Reads the error of the host behind a gateway, which says more than "provider returned error".
    fn read_wrapped_error(&mut self, raw: &str, depth: u8) {
        let inner: Value = serde_json::from_str(raw).unwrap_or_else(|_| Value::String(raw.to_owned()));
        let mut error = Self::default();
        error.read_value(&inner, depth);
        if !error.message.trim().is_empty() {
            self.message = error.message;
            self.codes.push_str(&error.codes);
        }
    }

    /// Returns the [`ModelError`] of a response with this status.
    pub fn into_model_error(self, status: u16) -> ModelError {
        let contains = |phrases: &[&str]| {
            let message = self.message.to_ascii_lowercase();
            phrases.iter().any(|phrase| message.contains(phrase) || self.codes.contains(phrase))
        };
        let too_long = status == 413 || ((400..500).contains(&status) && contains(&CONTEXT_OVERFLOW_PHRASES));
        let (unpaid, wrong_key) = (status == 402 || contains(&UNPAID_PHRASES), contains(&WRONG_KEY_PHRASES));
        // A 404 without the word "model" means a wrong base URL; "no endpoints that support tool use" is neither.
        let names_model = self.message.to_ascii_lowercase().contains("model") && !contains(&["tool"]);
        let unknown_model = (status == 404 && names_model) || contains(&UNKNOWN_MODEL_PHRASES);
        let retry_after = self.retry_after;
        // Anthropic's message for an unknown model is "model: " and its name.
        let message = match self.message.strip_prefix("model: ").filter(|_| unknown_model) {
            Some(model) => model.to_owned(),
            None if self.message.is_empty() => message_for_status(status),
            None => self.message,
        };
        match status {
            // Before the status: OpenAI sends 429 for it, which would be retried in vain.
            400..500 if unpaid => ModelError::Unpaid(message),
            401 | 403 => ModelError::Unauthorized(message),
            400 if wrong_key => ModelError::Unauthorized(message),
            // Before 429, which OpenAI sends for a request that alone exceeds the tokens per minute: a retry would not
            // help.
            _ if too_long => ModelError::ContextOverflow(message),
            429 | 529 => ModelError::RateLimited { message, retry_after },
            400..500 if unknown_model => ModelError::UnknownModel(message),
            404 => ModelError::Refused(format!("{message}; check its base URL")),
            400..500 => ModelError::Refused(message),
            300..400 => ModelError::Refused(format!("{message}; it may have moved, check its base URL")),
            _ => ModelError::Provider(message),
        }
    }

    /// Returns the [`ModelError`] of an error inside a response that began with status 200.
    pub fn into_stream_error(self) -> ModelError {
        let status = self.status.unwrap_or_else(|| {
            let contains = |phrases: &[&str]| phrases.iter().any(|phrase| self.codes.contains(phrase));
            // Providers send the code of the status that they would have sent before the stream began.
            if contains(&["rate_limit", "ratelimit", "resource_exhausted", "too_many_requests", "insufficient_quota"]) {
                429
            } else if contains(&["overloaded"]) {
                529
            } else if contains(&["api_key", "authentication", "permission", "unauthorized"]) {
                401
            } else if contains(&["invalid_request", "badrequest", "bad_request", "not_found", "context"]) {
                400
            } else {
                500
            }
        });
        self.into_model_error(status)
    }
}

/// Parses a duration as Google formats it, such as `7s` or `0.5s`.
fn parse_google_duration(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.strip_suffix('s')?.parse().ok()?).ok()
}

fn error_status(number: u64) -> Option<u16> {
    u16::try_from(number).ok().filter(|status| (400..600).contains(status))
}

/// Returns a message for a response without one.
fn message_for_status(status: u16) -> String {
    let reason = reqwest::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    format!("HTTP status {status}{}{}", if reason.is_some() { " " } else { "" }, reason.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(status: u16, body: &str) -> ModelError {
        ProviderErrorBody::parse_body(body.as_bytes()).into_model_error(status)
    }

    #[test]
    fn finds_message_in_every_shape() {
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
            ("<html><body>nginx</body></html>", "HTTP status 400 Bad Request"),
            ("", "HTTP status 400 Bad Request"),
        ] {
            assert_eq!(error_of(400, body), ModelError::Refused(want.to_owned()), "{body}");
        }
    }

    #[test]
    fn maps_status_to_error() {
        let body = r#"{"error":{"message":"m"}}"#;
        let m = || "m".to_owned();
        assert_eq!(error_of(401, body), ModelError::Unauthorized(m()));
        assert_eq!(error_of(403, body), ModelError::Unauthorized(m()));
        assert_eq!(error_of(402, body), ModelError::Unpaid(m()));
        assert_eq!(error_of(404, body), ModelError::Refused("m; check its base URL".to_owned()));
        assert_eq!(error_of(413, body), ModelError::ContextOverflow(m()));
        assert_eq!(error_of(429, body), ModelError::RateLimited { message: m(), retry_after: None });
        assert_eq!(error_of(529, body), ModelError::RateLimited { message: m(), retry_after: None });
        assert_eq!(error_of(500, body), ModelError::Provider(m()));
        assert!(matches!(error_of(308, ""), ModelError::Refused(_)));
    }

    #[test]
    fn recognizes_context_overflow() {
        for body in [
            r#"{"error":{"message":"m","code":"context_length_exceeded"}}"#,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens."}"#,
            r#"{"error":{"message":"Please reduce the length of the messages or completion."}}"#,
        ] {
            assert!(matches!(error_of(400, body), ModelError::ContextOverflow(_)), "{body}");
        }
    }

    #[test]
    fn distinguishes_unpaid_account_from_rate_limit() {
        let body = r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}}"#;
        assert!(matches!(error_of(429, body), ModelError::Unpaid(_)));
    }

    #[test]
    fn distinguishes_unknown_model_from_wrong_base_url() {
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
    fn reads_retry_delay_from_details() {
        let body = r#"{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[
            {"@type":"type.googleapis.com/google.rpc.Help","links":[]},
            {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7.5s"}]}}"#;
        let retry_after = Some(Duration::from_millis(7_500));
        assert_eq!(error_of(429, body), ModelError::RateLimited { message: "m".to_owned(), retry_after });
        assert_eq!(parse_google_duration("-1s"), None);
        assert_eq!(parse_google_duration("soon"), None);
    }

    #[test]
    fn maps_errors_of_every_provider() {
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
            let message = error_of(status, &body).to_string();
            assert!(message.contains(want), "{message}");
        }
    }

    #[test]
    fn truncates_long_messages() {
        let body = format!(r#"{{"error":"{}"}}"#, "ä".repeat(2_000));
        let ModelError::Refused(message) = error_of(400, &body) else { panic!("not refused") };
        assert_eq!(message.len(), MAX_MESSAGE_BYTES);
    }
}
