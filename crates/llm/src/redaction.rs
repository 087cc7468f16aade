//! Removal of API keys and text of conversations from errors: some providers quote the request in a refusal.

use domain::model::{ModelError, ModelMessage, Request};
use domain::text::cut_to;
use secrecy::{ExposeSecret, SecretString};

/// Length in bytes of the start of a text by which a quotation is recognized.
const MAX_SAMPLE_BYTES: usize = 40;

/// Minimum length in bytes of a text that is searched for; any message may contain shorter ones by chance.
const MIN_SAMPLE_BYTES: usize = 12;

/// Minimum length in bytes of a real key: local servers are often configured with a placeholder such as "x".
const MIN_KEY_BYTES: usize = 8;

/// Replaces the key in an error's message, and cuts the message where it begins to quote the request.
pub(crate) fn redact_error(error: ModelError, key: Option<&SecretString>, request: Option<&Request>) -> ModelError {
    let redact = |message: String| redact_message(message, key, request);
    match error {
        ModelError::Unreachable(message) => ModelError::Unreachable(redact(message)),
        ModelError::Unauthorized(message) => ModelError::Unauthorized(redact(message)),
        ModelError::RateLimited { message, retry_after } => {
            ModelError::RateLimited { message: redact(message), retry_after }
        }
        ModelError::Unpaid(message) => ModelError::Unpaid(redact(message)),
        ModelError::UnknownModel(message) => ModelError::UnknownModel(redact(message)),
        ModelError::Refused(message) => ModelError::Refused(redact(message)),
        ModelError::Provider(message) => ModelError::Provider(redact(message)),
        ModelError::Malformed(message) => ModelError::Malformed(redact(message)),
        ModelError::ContextOverflow(message) => ModelError::ContextOverflow(redact(message)),
        ModelError::Unavailable(message) => ModelError::Unavailable(redact(message)),
        ModelError::QuotaExceeded(_) => error,
        ModelError::StreamTimeout(duration) => ModelError::StreamTimeout(duration),
    }
}

fn redact_message(mut message: String, key: Option<&SecretString>, request: Option<&Request>) -> String {
    if let Some(key) = key.map(|key| key.expose_secret().trim()).filter(|key| key.len() >= MIN_KEY_BYTES) {
        message = message.replace(key, "[key]");
    }
    for text in request.iter().flat_map(|request| texts_of(request)) {
        // The first line is enough: a provider that quotes a text begins with its beginning, often with line breaks
        // escaped.
        let sample = cut_to(text.lines().next().unwrap_or_default(), MAX_SAMPLE_BYTES).trim();
        if sample.len() >= MIN_SAMPLE_BYTES
            && let Some(at) = message.find(sample)
        {
            // Cut and not replaced: the quotation may continue with text that is not searched for.
            message.truncate(at);
            message.push('…');
        }
    }
    message
}

fn texts_of(request: &Request) -> impl Iterator<Item = &str> {
    let messages = request.messages.iter().flat_map(|message| match message {
        ModelMessage::User { text, .. } | ModelMessage::ToolResult { text, .. } => vec![text.as_str()],
        ModelMessage::Assistant { reasoning_blocks, text, calls, .. } => {
            let reasoning_blocks = reasoning_blocks.iter().map(|block| block.text.as_str());
            reasoning_blocks.chain(calls.iter().map(|call| call.arguments.as_str())).chain([text.as_str()]).collect()
        }
    });
    std::iter::once(request.system.as_str()).chain(messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignores_placeholder_keys() {
        let error = ModelError::Provider("upstream exploded".to_owned());
        assert_eq!(redact_error(error.clone(), Some(&SecretString::from("x")), None), error);
    }

    #[test]
    fn removes_key_and_text_of_the_conversation() {
        let key = SecretString::from("sk-abcdef");
        let request =
            Request { messages: vec![ModelMessage::user("my secret plan is to sail\naway")], ..Request::default() };
        let error = ModelError::Refused("key sk-abcdef, input 'my secret plan is to sail\\naway' is bad".to_owned());
        assert_eq!(
            redact_error(error, Some(&key), Some(&request)),
            ModelError::Refused("key [key], input '…".to_owned())
        );
    }
}
