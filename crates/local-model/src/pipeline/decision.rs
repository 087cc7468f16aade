//! Decision between a tool call and text for a message, by several prompts.

use domain::model::{ToolSpec, Usage};

use super::InferencePipeline;
use crate::error::InferenceError;
use crate::few_shot;
use crate::help_request::{is_for_topic, is_help_request};
use crate::missing_tools::{is_dispensable, missing_tools};
use crate::output_sink::OutputSink;
use crate::overview_question::mentions_tools;
use crate::prompt::UserRequest;
use crate::tool_decision::{
    DecisionScores, MAX_CANDIDATES, MAX_SCORED_FOR_URL, ResponseKind, accepts_url, candidates, contains_url,
    find_named_tools, top_candidates,
};

/// A tool that a message may need.
pub(super) struct ToolCandidate<'a> {
    pub tool: &'a ToolSpec,
    /// Log-probability of its name as the tool for the message.
    pub score: f32,
}

impl InferencePipeline {
    /// Decides whether a message needs a tool, and which tools are candidates, by [`DecisionScores`].
    pub(super) fn decide<'a>(
        &mut self,
        question: &UserRequest<'a>,
        usage: &mut Usage,
        out: &OutputSink,
    ) -> Result<(ResponseKind, Vec<ToolCandidate<'a>>), InferenceError> {
        let tools = question.tools();
        // A text that is continued is a text.
        if question.begun_answer().is_some() {
            return Ok((ResponseKind::Text, Vec::new()));
        }
        if tools.is_empty() {
            let need = self.score_need(question, usage, out)?;
            return Ok((self.decide_without_tools(question, need, usage, out)?, Vec::new()));
        }
        let considered = considered_tools(question);
        if considered.is_empty() {
            return Ok((ResponseKind::Text, Vec::new()));
        }
        let need = self.score_need(question, usage, out)?;
        let (scores, ranked) = self.score_tools(question, tools, &considered, need, usage, out)?;
        tracing::debug!(ranked = ?ranked.iter().map(|(index, score)| (&tools[considered[*index]].name, *score)).collect::<Vec<_>>(), "ranked the tools");
        let ranked =
            top_candidates(ranked, contains_url(question.message), |index| accepts_url(&tools[considered[index]]));
        let candidates = candidates(&ranked)
            .map(|(index, score)| ToolCandidate { tool: &tools[considered[index]], score })
            .collect();
        let kind = match scores.response_kind() {
            ResponseKind::AboutTools if !mentions_tools(question.message) => ResponseKind::Text,
            kind => kind,
        };
        if kind == ResponseKind::Text && scores.may_need_missing_tool() {
            return Ok((self.decide_without_tools(question, scores.need, usage, &out.without_events())?, Vec::new()));
        }
        Ok((kind, candidates))
    }

    /// Decides whether a message that is for no connected tool needs one that is missing.
    fn decide_without_tools(
        &mut self,
        question: &UserRequest<'_>,
        need: f32,
        usage: &mut Usage,
        out: &OutputSink,
    ) -> Result<ResponseKind, InferenceError> {
        let missing = missing_tools();
        let all: Vec<usize> = (0..missing.len()).collect();
        let (scores, ranked) = self.score_tools(question, &missing, &all, need, usage, out)?;
        let is_dispensable = ranked.first().is_some_and(|(first, _)| is_dispensable(&missing[*first]));
        Ok(scores.response_kind_without_tools(is_dispensable))
    }

    /// Scores the `considered` tools of a list, and ranks the best. The user sees that a list is read only if it is theirs.
    fn score_tools(
        &mut self,
        question: &UserRequest<'_>,
        tools: &[ToolSpec],
        considered: &[usize],
        need: f32,
        usage: &mut Usage,
        out: &OutputSink,
    ) -> Result<(DecisionScores, Vec<(usize, f32)>), InferenceError> {
        // The tool, "no tool" and "about the tools" are scored by one prompt, so that their scores are comparable.
        let names: Vec<_> =
            considered.iter().map(|index| few_shot::tool_name_tokens(&self.tokenizer, &tools[*index].name)).collect();
        let [none, about] =
            [few_shot::NO_TOOL, few_shot::ABOUT_TOOLS].map(|name| few_shot::tool_name_tokens(&self.tokenizer, name));
        let prompt = few_shot::choice_prompt(&self.tokenizer, question, tools);
        let mut generation = self.start(&prompt, !question.tools().is_empty(), out)?;
        let count = if contains_url(question.message) { MAX_SCORED_FOR_URL } else { MAX_CANDIDATES };
        let ranked = generation.rank(&names, count)?;
        let [none, about] = generation.first_token_scores([&none, &about]);
        *usage += generation.usage;
        let tool = ranked.first().map_or(f32::NEG_INFINITY, |(_, likelihood)| *likelihood);
        Ok((DecisionScores { tool, none, about, need }, ranked))
    }

    /// Scores by a prompt without the list of tools whether a message needs anything from outside. Once a small model has
    /// read a list of tools, it tends to name one for any message.
    fn score_need(
        &mut self,
        question: &UserRequest<'_>,
        usage: &mut Usage,
        out: &OutputSink,
    ) -> Result<f32, InferenceError> {
        self.score_yes_over_no(&few_shot::external_need_prompt(&self.tokenizer, question), usage, out)
    }
}

/// Returns the indexes of the tools that a message can be for: those that it names, or all; for a request for help, those
/// for its topic.
fn considered_tools(question: &UserRequest<'_>) -> Vec<usize> {
    let (message, tools) = (question.message, question.tools());
    let named = find_named_tools(message, tools);
    if !named.is_empty() {
        return named;
    }
    let asks_for_help = is_help_request(message);
    (0..tools.len()).filter(|index| !asks_for_help || is_for_topic(&tools[*index], message)).collect()
}
