//! Advice for users about errors of models.

use domain::model::ModelError;

use super::user_providers::is_user_provider;

/// Returns the text of a model's error with advice for the user. See [`with_advice`]. Problems with a key or an
/// account are the user's to solve if the provider is their own, and the administrator's otherwise.
pub fn advise(error: &ModelError, provider: &str) -> String {
    let advice = match error {
        _ if !is_user_provider(provider) => return with_advice(error),
        ModelError::Unreachable(_) => "Look whether the model server runs, and at its address in your settings.",
        ModelError::Unauthorized(_) => "Enter another key in your settings.",
        ModelError::Unpaid(_) => "Look at your account there.",
        ModelError::UnknownModel(_) => "Choose another model.",
        ModelError::Refused(_) | ModelError::Malformed(_) => {
            "If this goes on, look at the provider's kind and address in your settings."
        }
        _ => return with_advice(error),
    };
    format!("{}. {advice}", sentence(error))
}

/// Returns the text of an error of a configured provider, with advice.
pub fn with_advice(error: &ModelError) -> String {
    let advice = match error {
        ModelError::Unreachable(_) => "Try again, or let whoever runs this service see whether the model server runs.",
        ModelError::Unauthorized(_) => "Whoever runs this service has to renew the key.",
        ModelError::Unpaid(_) => "Whoever runs this service has to look at the account there.",
        ModelError::RateLimited { retry_after: Some(wait), .. } => {
            return format!("{}. Try again in {} s.", sentence(error), wait.as_secs().max(1));
        }
        ModelError::RateLimited { retry_after: None, .. } | ModelError::Provider(_) | ModelError::StreamTimeout(_) => {
            "Try again in a moment."
        }
        ModelError::UnknownModel(_) => "Whoever runs this service has to choose another model.",
        ModelError::Refused(_) | ModelError::Malformed(_) => {
            "If this goes on, whoever runs this service has to look at the model's settings."
        }
        ModelError::ContextOverflow(_) => "Send a shorter message, or start a new chat.",
        ModelError::QuotaExceeded(exceeded) if exceeded.kind.is_of_models() => {
            "Models of your own providers are not counted."
        }
        ModelError::QuotaExceeded(_) => return format!("{}.", sentence(error)),
        ModelError::Unavailable(reason) => return reason.clone(),
    };
    format!("{}. {advice}", sentence(error))
}

/// Returns the text of an error without its final full stop, so that another sentence can follow.
fn sentence(error: &ModelError) -> String {
    error.to_string().trim_end_matches(['.', ' ']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn every_error_says_what_to_do_next() {
        let error = ModelError::Unauthorized("Incorrect API key provided.".to_owned());
        assert_eq!(
            with_advice(&error),
            "the model provider refused the key: Incorrect API key provided. Whoever runs this service has to renew the key."
        );
        let retry_after = Some(Duration::from_secs(7));
        let error = ModelError::RateLimited { message: "slow down".to_owned(), retry_after };
        assert_eq!(with_advice(&error), "the model provider is busy: slow down. Try again in 7 s.");
        let error = ModelError::Unauthorized("no".to_owned());
        assert_eq!(
            advise(&error, "my-work"),
            "the model provider refused the key: no. Enter another key in your settings."
        );
        assert_eq!(advise(&error, "openai"), with_advice(&error));
        let error = ModelError::Unavailable("No model is configured.".to_owned());
        assert_eq!(with_advice(&error), "No model is configured.");
    }
}
