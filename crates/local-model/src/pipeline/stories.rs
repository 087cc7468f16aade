//! Answers about the stories of known works: see [`crate::story_question`].

use domain::model::{Request, Usage};

use super::InferencePipeline;
use crate::error::InferenceError;
use crate::output_sink::OutputSink;
use crate::prompt::UserRequest;
use crate::sampling::Sampler;
use crate::story_question::StoryQuestion;

impl InferencePipeline {
    /// Returns the question about the story of a known work, if the message is one.
    pub(super) fn find_story<'a>(
        &mut self,
        question: &UserRequest<'a>,
        usage: &mut Usage,
        out: &OutputSink,
    ) -> Result<Option<StoryQuestion<'a>>, InferenceError> {
        let Some(story) = StoryQuestion::from_message(question.message) else { return Ok(None) };
        let prompt = story.work_prompt(&self.tokenizer);
        let is_work = self.score_yes_over_no(&prompt, usage, &out.without_events())?;
        tracing::debug!(is_work, "the message may ask for the story of a work");
        Ok((is_work > 0.0).then_some(story))
    }

    /// Tells a story as far as the model is sure of it.
    pub(super) fn tell_story(
        &mut self,
        story: &StoryQuestion<'_>,
        question: &UserRequest<'_>,
        request: &Request,
        usage: Usage,
        out: &OutputSink,
    ) -> Result<(), InferenceError> {
        let prompt = story.story_prompt(&self.tokenizer, request);
        self.write_conversation(&prompt, question, usage, Sampler::greedy(), out, |generation, sampler| {
            generation.write_certain_text(request, sampler, |is_begun| story.ending(is_begun))
        })
    }
}
