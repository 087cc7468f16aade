//! Avoids refusals of harmless requests: see [`crate::refusal`].

use domain::model::Usage;

use super::InferencePipeline;
use crate::error::InferenceError;
use crate::generation::Generation;
use crate::output_sink::OutputSink;
use crate::prompt::UserRequest;
use crate::prompt_prefix::PromptTokens;
use crate::refusal::harm_prompt;
use crate::sampling::Sampler;

/// Maximum number of first tokens that are replaced because they begin a refusal.
const MAX_ATTEMPTS: usize = 4;

/// Minimum log-odds that a request is harmful, for a refusal to be kept. Of the development messages that the model began to
/// refuse, the eight harmless ones have 0.2 or less, and the six harmful ones 1.1 or more.
const MIN_HARM: f32 = 0.6;

impl InferencePipeline {
    /// Starts a text that is no refusal of a harmless request, and lets `write` write it with the sampler.
    pub(super) fn write_conversation(
        &mut self,
        prompt: &PromptTokens,
        question: &UserRequest<'_>,
        mut usage: Usage,
        mut sampler: Sampler,
        out: &OutputSink,
        write: impl FnOnce(Generation<'_>, Sampler) -> Result<(), InferenceError>,
    ) -> Result<(), InferenceError> {
        let mut generation = self.start(prompt, false, out)?;
        let mut refusal = generation.find_refusal(sampler.clone())?;
        if refusal.is_some() {
            drop(generation);
            if self.is_harmful(question, &mut usage, out)? {
                refusal = None;
            }
            generation = self.start(prompt, false, out)?;
        }
        for _ in 0..MAX_ATTEMPTS {
            let Some(opening) = refusal else { break };
            sampler.ban_opening(opening);
            refusal = generation.find_refusal(sampler.clone())?;
        }
        generation.usage += usage;
        write(generation, sampler)
    }

    fn is_harmful(
        &mut self,
        question: &UserRequest<'_>,
        usage: &mut Usage,
        out: &OutputSink,
    ) -> Result<bool, InferenceError> {
        let prompt = harm_prompt(&self.tokenizer, question);
        let harm = self.score_yes_over_no(&prompt, usage, &out.without_events())?;
        tracing::debug!(harm, "the built-in model began a refusal");
        Ok(harm >= MIN_HARM)
    }
}
