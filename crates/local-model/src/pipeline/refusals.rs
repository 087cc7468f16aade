//! Avoids refusals of harmless requests: see [`crate::refusal`].

use domain::model::Usage;

use super::InferencePipeline;
use crate::error::InferenceError;
use crate::output_sink::OutputSink;
use crate::prompt::UserRequest;
use crate::prompt_prefix::PromptTokens;
use crate::refusal::harm_prompt;
use crate::sampling::Sampler;

/// Maximum number of first tokens that are replaced because they begin a refusal.
const MAX_ATTEMPTS: usize = 4;

/// Minimum log-odds that a request is harmful, for a refusal to be kept.
const MIN_HARM: f32 = 0.6;

impl InferencePipeline {
    /// Lets a text begin otherwise than with the refusal of a harmless request.
    pub(super) fn avoid_refusal(
        &mut self,
        prompt: &PromptTokens,
        question: &UserRequest<'_>,
        sampler: &mut Sampler,
        usage: &mut Usage,
        out: &OutputSink,
    ) -> Result<(), InferenceError> {
        for attempt in 0..MAX_ATTEMPTS {
            let Some(opening) = self.start(prompt, false, out)?.find_refusal(sampler.clone())? else { break };
            if attempt == 0 && self.is_harmful(question, usage, out)? {
                break;
            }
            sampler.ban_opening(opening);
        }
        Ok(())
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
