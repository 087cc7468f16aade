//! What people set for models, as far as it makes sense.

use domain::model::ModelSettings;

/// Characters of instructions.
const SYSTEM: usize = 20_000;
/// Tokens of an answer that anybody may ask for; a model that can write less says so.
const TOKENS: u32 = 1_000_000;
/// The highest temperature of any wire.
pub const HOTTEST: f64 = 2.0;

/// Whether some wire takes it as a temperature.
pub fn is_temperature(temperature: f64) -> bool {
    (0.0..=HOTTEST).contains(&temperature)
}

/// Whether it is a share of the likeliest words that leaves one of them.
pub fn is_share(share: f64) -> bool {
    share > 0.0 && share <= 1.0
}

/// Says what is wrong with settings.
pub fn check(settings: &ModelSettings) -> Result<(), String> {
    let ModelSettings { system, max_tokens, temperature, top_p, effort: _ } = settings;
    if system.as_ref().is_some_and(|system| system.chars().count() > SYSTEM) {
        return Err(format!("system has more than {SYSTEM} characters"));
    }
    if max_tokens.is_some_and(|tokens| !(1..=TOKENS).contains(&tokens)) {
        return Err(format!("maxTokens must be 1 to {TOKENS}"));
    }
    if temperature.is_some_and(|temperature| !is_temperature(temperature)) {
        return Err(format!("temperature must be 0 to {HOTTEST}"));
    }
    if top_p.is_some_and(|share| !is_share(share)) {
        return Err("topP must be above 0 and at most 1".to_owned());
    }
    Ok(())
}
