//! Choice of the next token of a text.

use domain::model::Request;

use crate::tool_decision::most_likely_token;

/// Temperature of conversation. The publisher's 0.7 makes a model of this size err more often.
const DEFAULT_TEMPERATURE: f32 = 0.4;

/// Share of the most likely tokens to choose from, as the model's publisher recommends.
const DEFAULT_TOP_P: f32 = 0.8;

/// Number of tokens to choose from at most, as the model's publisher recommends.
const TOP_K: usize = 20;

/// Divisor of the positive logits of tokens that the text already contains, as the model's publisher recommends.
const REPETITION_PENALTY: f32 = 1.1;

/// Sampler of the tokens of one text.
#[derive(Debug, Clone)]
pub(crate) struct Sampler {
    /// 0 for the most likely token.
    temperature: f32,
    top_p: f32,
    /// State of the random numbers.
    state: u64,
    /// Tokens that the text may not begin with.
    banned_openings: Vec<u32>,
}

impl Sampler {
    /// Returns the sampler of the most likely token.
    pub(crate) fn greedy() -> Self {
        Self { temperature: 0.0, top_p: 1.0, state: 0, banned_openings: Vec::new() }
    }

    /// Returns the sampler for conversation, with the parameters of the request. The same `seed` chooses the same
    /// tokens.
    pub(crate) fn for_conversation(request: &Request, seed: u64) -> Self {
        let parameter = |value: Option<f64>, default: f32| value.map_or(default, |value| value as f32);
        Self {
            temperature: parameter(request.parameters.temperature, DEFAULT_TEMPERATURE),
            top_p: parameter(request.parameters.top_p, DEFAULT_TOP_P),
            state: seed,
            banned_openings: Vec::new(),
        }
    }

    /// Excludes a token as the first of the text.
    pub(crate) fn ban_opening(&mut self, token: u32) {
        self.banned_openings.push(token);
    }

    /// Chooses one of the tokens that are `allowed` after the text `written`.
    pub(crate) fn next_token(
        &mut self,
        logits: &mut [f32],
        written: &[u32],
        allowed: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        if written.is_empty() {
            for token in &self.banned_openings {
                logits[*token as usize] = f32::NEG_INFINITY;
            }
        }
        if self.temperature <= 0.0 {
            return most_likely_token(logits, allowed);
        }
        penalize_repetition(logits, written);
        let best = most_likely_token(logits, &allowed)?;
        let max = logits[best as usize];
        // Tokens below have a share of less than one in ten thousand.
        let floor = max - 9.0 * self.temperature;
        let likely = logits.iter().enumerate().filter(|(_, logit)| **logit >= floor);
        let mut shares: Vec<(u32, f32)> = likely
            .map(|(token, logit)| (token as u32, ((logit - max) / self.temperature).exp()))
            .filter(|(token, _)| allowed(*token))
            .collect();
        shares.sort_by(|one, other| other.1.total_cmp(&one.1));
        shares.truncate(TOP_K);
        let all: f32 = shares.iter().map(|(_, share)| share).sum();
        let mut nucleus = 0.0;
        let count = shares.iter().take_while(|(_, share)| {
            let belongs = nucleus < self.top_p * all;
            nucleus += share;
            belongs
        });
        let count = count.count().max(1);
        shares.truncate(count);
        let sum: f32 = shares.iter().map(|(_, share)| share).sum();
        let mut left = self.next_fraction() * sum;
        for (token, share) in &shares {
            left -= share;
            if left < 0.0 {
                return Some(*token);
            }
        }
        Some(best)
    }

    /// Returns a random number in `0.0..1.0` (SplitMix64).
    fn next_fraction(&mut self) -> f32 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        // 24 bits are what a number of this type can hold.
        (mixed >> 40) as f32 / (1_u64 << 24) as f32
    }
}

/// Makes each token of the text less likely, once.
fn penalize_repetition(logits: &mut [f32], written: &[u32]) {
    let mut tokens = written.to_vec();
    tokens.sort_unstable();
    tokens.dedup();
    for token in tokens {
        if let Some(logit) = logits.get_mut(token as usize) {
            *logit = if *logit > 0.0 { *logit / REPETITION_PENALTY } else { *logit * REPETITION_PENALTY };
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::model::Parameters;

    use super::*;

    fn sampler(temperature: f64, top_p: f64, seed: u64) -> Sampler {
        let parameters = Parameters { temperature: Some(temperature), top_p: Some(top_p), effort: None };
        Sampler::for_conversation(&Request { parameters, ..Request::default() }, seed)
    }

    fn drawn(sampler: &mut Sampler, logits: &[f32], count: usize) -> Vec<u32> {
        (0..count).map(|_| sampler.next_token(&mut logits.to_vec(), &[], |_| true).unwrap()).collect()
    }

    #[test]
    fn zero_temperature_takes_the_most_likely_token() {
        let logits = [1.0, 3.0, 2.9];
        assert_eq!(drawn(&mut sampler(0.0, 1.0, 7), &logits, 20), [1; 20]);
        assert_eq!(drawn(&mut Sampler::greedy(), &logits, 20), [1; 20]);
        assert_eq!(Sampler::greedy().next_token(&mut [1.0, 3.0], &[], |token| token == 0), Some(0));
    }

    #[test]
    fn draws_tokens_by_their_share() {
        // Shares of three quarters and one quarter.
        let logits = [3.0_f32.ln(), 0.0, -40.0];
        let tokens = drawn(&mut sampler(1.0, 1.0, 1), &logits, 4_000);
        let first = tokens.iter().filter(|token| **token == 0).count();
        assert!((2_800..3_200).contains(&first), "{first}");
        assert!(!tokens.contains(&2));
        assert_eq!(drawn(&mut sampler(1.0, 1.0, 1), &logits, 4_000), tokens, "the same seed");
        assert_ne!(drawn(&mut sampler(1.0, 1.0, 2), &logits, 4_000), tokens);
    }

    #[test]
    fn top_p_leaves_out_unlikely_tokens() {
        let logits = [3.0_f32.ln(), 0.0, 0.0];
        assert_eq!(drawn(&mut sampler(1.0, 0.6, 5), &logits, 50), [0; 50]);
        assert!(drawn(&mut sampler(1.0, 0.7, 5), &logits, 50).contains(&1));
    }

    #[test]
    fn banned_token_cannot_begin_the_text() {
        for mut sampler in [Sampler::greedy(), sampler(1.0, 1.0, 3)] {
            sampler.ban_opening(1);
            assert_eq!(sampler.next_token(&mut [-9.0, 3.0, -40.0], &[], |_| true), Some(0));
            assert_eq!(sampler.next_token(&mut [-9.0, 3.0, -40.0], &[0], |_| true), Some(1));
        }
    }

    #[test]
    fn repeated_tokens_become_less_likely() {
        let mut logits = [2.0, 1.9, -1.0];
        penalize_repetition(&mut logits, &[0, 2, 0]);
        assert!(logits[0] < logits[1] && logits[2] < -1.0, "{logits:?}");
    }

    #[test]
    fn draws_only_allowed_tokens() {
        let token = sampler(1.0, 1.0, 3).next_token(&mut [5.0, 1.0, 0.0], &[], |token| token != 0);
        assert!(token.is_some_and(|token| token != 0));
        assert_eq!(sampler(1.0, 1.0, 3).next_token(&mut [5.0], &[], |_| false), None);
    }
}
