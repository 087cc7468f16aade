//! One model's entry in the catalogue. Unknown properties are omitted.

use domain::model::Usage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Capabilities and prices of a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ModelFacts")]
pub struct ModelInfo {
    /// Name of the model at the provider.
    #[serde(skip_serializing)]
    pub name: String,
    /// Context size: the maximum of input and output together, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
    /// Maximum length of an answer, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Whether it can call tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// Whether it accepts images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// Whether it accepts PDF documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pdf: Option<bool>,
    /// Whether it generates images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_output: Option<bool>,
    /// Whether it reasons before it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<bool>,
    /// Price of its tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

/// Price in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Price {
    /// Input tokens.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
    /// Input tokens from a cache; if unknown, the price of other input tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
    /// Price of requests with a long input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long: Option<Long>,
}

/// Price of a request with a long input, in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "LongPrice")]
pub struct Long {
    /// Number of input tokens above which it applies.
    pub above: u64,
    /// Input tokens.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
    /// Input tokens from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
}

/// Highest plausible price, in US dollars per million tokens.
const MAX_PRICE: f64 = 1_000_000.0;

impl ModelInfo {
    /// Returns whether the model is known to generate images.
    pub fn image_output(&self) -> bool {
        self.image_output == Some(true)
    }

    /// Rejects implausible values, such as negative prices.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        anyhow::ensure!(!self.name.is_empty(), "name is empty");
        anyhow::ensure!(self.context != Some(0) && self.output != Some(0), "context and output are at least 1");
        let Some(price) = self.price else { return Ok(()) };
        let long = price.long.map(|long| [Some(long.input), Some(long.output), long.cached_input]);
        let mut all = [Some(price.input), Some(price.output), price.cached_input].into_iter();
        let is_price = |one: Option<f64>| one.is_none_or(|one| (0.0..=MAX_PRICE).contains(&one));
        let all_are = all.all(is_price) && long.into_iter().flatten().all(is_price);
        anyhow::ensure!(all_are, "a price lies between 0 and {MAX_PRICE}");
        Ok(())
    }
}

impl Price {
    /// Price of a model that costs nothing.
    pub const FREE: Self = Self { input: 0.0, output: 0.0, cached_input: None, long: None };

    /// Returns whether calls cost nothing.
    pub fn is_free(&self) -> bool {
        *self == Self::FREE
    }

    /// Returns the cost of a model call with this [usage](Usage), in billionths of a US dollar.
    pub fn cost(&self, usage: Usage) -> u64 {
        let (input, output, cached) = match self.long {
            Some(long) if usage.input_tokens > long.above => (long.input, long.output, long.cached_input),
            _ => (self.input, self.output, self.cached_input),
        };
        let cached_tokens = usage.cached_input_tokens.min(usage.input_tokens);
        let of = |tokens: u64, price: f64| tokens as f64 * price * 1_000.0;
        let sum = of(usage.input_tokens - cached_tokens, input)
            + of(cached_tokens, cached.unwrap_or(input))
            + of(usage.output_tokens, output);
        sum.round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_costs_what_was_read_what_came_from_a_cache_and_what_was_written() {
        let long = Some(Long { above: 1_000, input: 4.0, output: 30.0, cached_input: Some(0.5) });
        let price = Price { input: 2.0, output: 10.0, cached_input: Some(0.25), long };
        let usage = Usage { input_tokens: 1_000, output_tokens: 100, cached_input_tokens: 400 };
        assert_eq!(price.cost(usage), 600 * 2_000 + 400 * 250 + 100 * 10_000);
        let more = Usage { input_tokens: 1_001, ..usage };
        assert_eq!(price.cost(more), 601 * 4_000 + 400 * 500 + 100 * 30_000);
        let unknown = Price { cached_input: None, long: None, ..price };
        assert_eq!(unknown.cost(usage), 1_000 * 2_000 + 100 * 10_000);
        assert_eq!(price.cost(Usage { cached_input_tokens: 9_000, ..usage }), 1_000 * 250 + 100 * 10_000);
    }
}
