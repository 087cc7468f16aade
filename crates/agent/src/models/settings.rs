//! Validation of users' settings for models.

use domain::model::{MAX_ANSWER_TOKENS, MAX_SYSTEM_CHARS, MAX_TEMPERATURE, ModelSettings};

/// Returns whether a provider API accepts the value as temperature.
pub fn is_temperature(temperature: f64) -> bool {
    (0.0..=MAX_TEMPERATURE).contains(&temperature)
}

/// Returns whether the value is valid as `top_p`, a share of probability that leaves at least one token.
pub fn is_share(share: f64) -> bool {
    share > 0.0 && share <= 1.0
}

/// A setting that is out of range. The text names the field and what is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Too long instructions.
    #[error("system has more than {MAX_SYSTEM_CHARS} characters")]
    System,
    /// An impossible length of an answer.
    #[error("maxTokens must be 1 to {MAX_ANSWER_TOKENS}")]
    MaxTokens,
    /// A temperature that no provider accepts.
    #[error("temperature must be 0 to {MAX_TEMPERATURE}")]
    Temperature,
    /// A share of probability that leaves no token, or is more than everything.
    #[error("topP must be above 0 and at most 1")]
    TopP,
}

/// Validates model settings.
pub fn check(settings: &ModelSettings) -> Result<(), SettingsError> {
    let ModelSettings { system, max_tokens, temperature, top_p, effort: _ } = settings;
    if system.as_ref().is_some_and(|system| system.chars().count() > MAX_SYSTEM_CHARS) {
        return Err(SettingsError::System);
    }
    if max_tokens.is_some_and(|tokens| !(1..=MAX_ANSWER_TOKENS).contains(&tokens)) {
        return Err(SettingsError::MaxTokens);
    }
    if temperature.is_some_and(|temperature| !is_temperature(temperature)) {
        return Err(SettingsError::Temperature);
    }
    if top_p.is_some_and(|share| !is_share(share)) {
        return Err(SettingsError::TopP);
    }
    Ok(())
}
