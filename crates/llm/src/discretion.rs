//! Keeps keys and conversations out of errors: some providers quote in a refusal what they were sent.

use domain::model::{ModelError, ModelMessage, Request};
use domain::text::cut_to;
use secrecy::{ExposeSecret, SecretString};

/// Bytes of the start of a text by which a quotation is recognised.
const SAMPLE_BYTES: usize = 40;

/// Texts shorter than this are words that any message may hold.
const SHORTEST_SAMPLE_BYTES: usize = 12;

/// Keys shorter than this are none: servers of one's own are given a word such as "x".
const SHORTEST_KEY_BYTES: usize = 8;

/// The same error without the key, and cut where it begins to quote the request.
pub(crate) fn without_secrets(error: ModelError, key: Option<&SecretString>, request: Option<&Request>) -> ModelError {
    let clean = |message: String| clean(message, key, request);
    match error {
        ModelError::Unreachable(message) => ModelError::Unreachable(clean(message)),
        ModelError::Unauthorized(message) => ModelError::Unauthorized(clean(message)),
        ModelError::RateLimited { message, retry_after } => {
            ModelError::RateLimited { message: clean(message), retry_after }
        }
        ModelError::Unpaid(message) => ModelError::Unpaid(clean(message)),
        ModelError::UnknownModel(message) => ModelError::UnknownModel(clean(message)),
        ModelError::Refused(message) => ModelError::Refused(clean(message)),
        ModelError::Provider(message) => ModelError::Provider(clean(message)),
        ModelError::Malformed(message) => ModelError::Malformed(clean(message)),
        ModelError::TooLong(message) => ModelError::TooLong(clean(message)),
        ModelError::Unavailable(message) => ModelError::Unavailable(clean(message)),
        ModelError::SpentForToday { .. } => error,
        ModelError::Silent(duration) => ModelError::Silent(duration),
    }
}

fn clean(mut message: String, key: Option<&SecretString>, request: Option<&Request>) -> String {
    if let Some(key) = key.map(|key| key.expose_secret().trim()).filter(|key| key.len() >= SHORTEST_KEY_BYTES) {
        message = message.replace(key, "[key]");
    }
    for text in request.iter().flat_map(|request| texts_of(request)) {
        let sample = cut_to(text.lines().next().unwrap_or_default(), SAMPLE_BYTES).trim();
        if sample.len() >= SHORTEST_SAMPLE_BYTES
            && let Some(at) = message.find(sample)
        {
            message.truncate(at);
            message.push('…');
        }
    }
    message
}

fn texts_of(request: &Request) -> impl Iterator<Item = &str> {
    let messages = request.messages.iter().flat_map(|message| match message {
        ModelMessage::User { text, .. } | ModelMessage::ToolResult { text, .. } => vec![text.as_str()],
        ModelMessage::Assistant { thoughts, text, calls, .. } => {
            let thoughts = thoughts.iter().map(|thought| thought.text.as_str());
            thoughts.chain(calls.iter().map(|call| call.arguments.as_str())).chain([text.as_str()]).collect()
        }
    });
    std::iter::once(request.system.as_str()).chain(messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_in_the_place_of_a_key_takes_nothing_away() {
        let told = ModelError::Provider("upstream exploded".to_owned());
        assert_eq!(without_secrets(told.clone(), Some(&SecretString::from("x")), None), told);
    }

    #[test]
    fn neither_key_nor_words_of_the_conversation_stay() {
        let key = SecretString::from("sk-abcdef");
        let request =
            Request { messages: vec![ModelMessage::user("my secret plan is to sail\naway")], ..Request::default() };
        let told = ModelError::Refused("key sk-abcdef, input 'my secret plan is to sail\\naway' is bad".to_owned());
        assert_eq!(
            without_secrets(told, Some(&key), Some(&request)),
            ModelError::Refused("key [key], input '…".to_owned())
        );
    }
}
