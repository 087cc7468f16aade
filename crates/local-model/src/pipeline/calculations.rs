//! Calculations without a tool: see [`crate::calculation`].

use domain::model::{Request, Usage};

use super::InferencePipeline;
use crate::calculation::{MIN_CALCULATION, calculation_prompt, instruction, may_be_calculation};
use crate::error::InferenceError;
use crate::output_sink::OutputSink;
use crate::prompt::UserRequest;
use crate::sampling::Sampler;
use crate::time_guard::TimeGuard;

impl InferencePipeline {
    /// Returns whether the answer can be calculated from the numbers in the message.
    pub(super) fn is_calculation(
        &mut self,
        question: &UserRequest<'_>,
        usage: &mut Usage,
        out: &OutputSink,
    ) -> Result<bool, InferenceError> {
        if !may_be_calculation(question.message) {
            return Ok(false);
        }
        let prompt = calculation_prompt(&self.tokenizer, question.message);
        let score = self.score_yes_over_no(&prompt, usage, &out.without_events())?;
        tracing::debug!(score, "the message may ask for a calculation");
        Ok(score >= MIN_CALCULATION)
    }

    /// Writes a calculation with its steps.
    pub(super) fn calculate(
        &mut self,
        question: &UserRequest<'_>,
        request: &Request,
        usage: Usage,
        out: &OutputSink,
    ) -> Result<(), InferenceError> {
        let prompt = question.text_prompt(&self.tokenizer, &self.identity, Some(instruction(question.message)));
        self.write_answer(&prompt, request, usage, Sampler::greedy(), &TimeGuard::default(), out)
    }
}
