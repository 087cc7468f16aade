//! What is known of one model. What is not known is left out.

use domain::model::Usage;
use serde::{Deserialize, Serialize};

/// What is known of a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Facts {
    /// Its provider's name for it.
    #[serde(skip_serializing)]
    pub name: String,
    /// Tokens that it reads and writes at most, together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
    /// Tokens of an answer at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// It calls tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// It reads pictures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// It reads PDF documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pdf: Option<bool>,
    /// It answers with pictures too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_output: Option<bool>,
    /// It thinks before it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<bool>,
    /// What it costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Price {
    /// Read.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Read from a cache; where it is not known, as much as others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
    /// For questions that are longer than usual.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long: Option<Long>,
}

/// US dollars for a million tokens of a long question and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Long {
    /// More tokens than this are long.
    pub above: u64,
    /// Read.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
}

/// The highest price that is no mistake, in US dollars for a million tokens.
const MOST: f64 = 1_000_000.0;

impl Facts {
    /// Whether it is known to answer with pictures.
    pub fn draws(&self) -> bool {
        self.image_output == Some(true)
    }

    /// Refuses what cannot be.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        anyhow::ensure!(!self.name.is_empty(), "name is empty");
        anyhow::ensure!(self.context != Some(0) && self.output != Some(0), "context and output are at least 1");
        let Some(price) = self.price else { return Ok(()) };
        let long = price.long.map(|long| [Some(long.input), Some(long.output), long.cached_input]);
        let mut all = [Some(price.input), Some(price.output), price.cached_input].into_iter();
        let is_price = |one: Option<f64>| one.is_none_or(|one| (0.0..=MOST).contains(&one));
        let all_are = all.all(is_price) && long.into_iter().flatten().all(is_price);
        anyhow::ensure!(all_are, "a price lies between 0 and {MOST}");
        Ok(())
    }
}

impl Price {
    /// What a call costs, in billionths of a US dollar.
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
