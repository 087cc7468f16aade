//! Continuation after tool results: one more call if the request needs another step, else the answer.

use domain::model::{ModelEvent, ModelStatus, Request, ToolSpec, Usage};

use super::InferencePipeline;
use crate::argument_grounding::{GroundedArguments, check_arguments, conversation_text};
use crate::error::InferenceError;
use crate::few_shot;
use crate::injection_filter::{self, InjectionFilter};
use crate::known_urls::limit_urls;
use crate::next_step::{self, NextStepScores};
use crate::output_sink::OutputSink;
use crate::prompt::UserRequest;
use crate::requested_arguments::drop_unnamed_items;
use crate::sampling::Sampler;
use crate::time_guard::TimeGuard;
use crate::tool_decision::{
    MAX_CANDIDATES, MAX_SCORED_FOR_URL, accepts_url, candidates, contains_url, find_named_tools, top_candidates,
};

impl InferencePipeline {
    /// Answers from the tool results, or calls one more tool if the request needs another step.
    pub(super) fn answer_or_call_again(
        &mut self,
        question: &UserRequest<'_>,
        request: &Request,
        out: &OutputSink,
    ) -> Result<(), InferenceError> {
        let mut usage = Usage::default();
        let results = self.filter_results(InjectionFilter::new(question.truncated_results()), &mut usage, out)?;
        let tools = self.select_next_tools(question, &results, &mut usage, out)?;
        if !tools.is_empty() {
            let prompt = question.next_call_prompt(&self.tokenizer, &tools, &results);
            let sources = [&[question.message.to_owned()], results.as_slice()].concat().join("\n");
            let limited = limit_urls(&tools, &sources, question.calls());
            let accepted: Vec<&ToolSpec> = limited.iter().collect();
            let matcher = self.grammars.compile_call(&accepted).map_err(InferenceError::internal)?;
            let mut generation = self.start_call(prompt, out)?;
            let mut call = generation.write_call(matcher, request, &sources)?;
            generation.usage += usage;
            let tool = tools.iter().find(|tool| tool.name == call.name);
            let is_grounded =
                tool.is_none_or(|tool| match check_arguments(&call.arguments, tool, &conversation_text(request)) {
                    GroundedArguments::Grounded(arguments) => {
                        call.arguments = drop_unnamed_items(&arguments, question.message);
                        true
                    }
                    GroundedArguments::Missing(_) => false,
                });
            // A repeated call would loop, and an invented argument helps nobody, so the answer is written from the
            // results so far.
            if is_grounded && !question.calls().iter().any(|earlier| next_step::is_repeated_call(earlier, &call)) {
                return generation.emit_call(call);
            }
            usage = generation.usage;
        }
        let prompt = question.answer_prompt(&self.tokenizer, &results);
        let time_guard = TimeGuard::from_results(question.results());
        self.write_answer(&prompt, request, usage, Sampler::greedy(), &time_guard, out)
    }

    /// Returns the candidates for another tool call; none when the request is done according to [`next_step`].
    fn select_next_tools<'a>(
        &mut self,
        question: &UserRequest<'a>,
        results: &[String],
        usage: &mut Usage,
        out: &OutputSink,
    ) -> Result<Vec<&'a ToolSpec>, InferenceError> {
        // The prompts of the decision send no status: the user would see them as repeated reading of the message.
        let (tools, quiet) = (question.tools(), out.without_events());
        let Some(steps) =
            question.steps(results).filter(|steps| steps.len() < next_step::MAX_CALLS_PER_MESSAGE && !tools.is_empty())
        else {
            return Ok(Vec::new());
        };
        let several =
            self.score_yes_over_no(&next_step::several_steps_prompt(&self.tokenizer, question), usage, &quiet)?;
        if !NextStepScores::may_take_several_steps(several) {
            return Ok(Vec::new());
        }
        let needed =
            self.score_yes_over_no(&next_step::next_tool_prompt(&self.tokenizer, question, &steps), usage, &quiet)?;
        let scores = NextStepScores { several, needed };
        if !scores.may_need_next_step(steps.len()) {
            return Ok(Vec::new());
        }
        let has_run = |index: &usize| steps.iter().any(|(call, _)| call.name == tools[*index].name);
        // A tool that has run already is not meant a second time by its name in the message.
        let named: Vec<usize> =
            find_named_tools(question.message, tools).into_iter().filter(|index| !has_run(index)).collect();
        let considered: Vec<usize> = if named.is_empty() { (0..tools.len()).collect() } else { named };
        let names: Vec<_> =
            considered.iter().map(|index| few_shot::tool_name_tokens(&self.tokenizer, &tools[*index].name)).collect();
        let none = few_shot::tool_name_tokens(&self.tokenizer, few_shot::NO_TOOL);
        let mut generation = self.start(&next_step::choice_prompt(&self.tokenizer, question, &steps), true, &quiet)?;
        let has_url = steps.iter().any(|(_, result)| contains_url(result));
        let [none] = generation.first_token_scores([&none]);
        let ranked = generation.rank(&names, if has_url { MAX_SCORED_FOR_URL } else { MAX_CANDIDATES })?;
        *usage += generation.usage;
        tracing::debug!(ranked = ?ranked.iter().map(|(index, score)| (&tools[considered[*index]].name, *score)).collect::<Vec<_>>(), "ranked the next tools");
        let lead = ranked.first().map_or(f32::NEG_INFINITY, |(_, likelihood)| likelihood - none);
        if !scores.needs_next_step(lead, steps.len()) {
            return Ok(Vec::new());
        }
        let ranked = top_candidates(ranked, has_url, |index| accepts_url(&tools[considered[index]]));
        Ok(candidates(&ranked).map(|(index, _)| &tools[considered[index]]).collect())
    }

    /// Returns the results without sentences addressed to an assistant, which [`injection_filter`] finds, and sends a
    /// notice if any were removed.
    fn filter_results(
        &mut self,
        filter: InjectionFilter<'_>,
        usage: &mut Usage,
        out: &OutputSink,
    ) -> Result<Vec<String>, InferenceError> {
        let addressees = injection_filter::ADDRESSEES.map(|addressee| self.tokenizer.encode(addressee));
        let [fact, people, assistant] = &addressees;
        let (sentences, quiet) = (filter.sentences_to_classify(), out.without_events());
        let total = sentences.len() as u32;
        let mut unwanted = Vec::new();
        for (done, sentence) in (0..).zip(sentences) {
            out.send(ModelEvent::Status(ModelStatus::Reading { done, total }))?;
            let prompt = injection_filter::classification_prompt(&self.tokenizer, sentence);
            let generation = self.start(&prompt, false, &quiet)?;
            let scores = generation.first_token_scores([fact, people, assistant]);
            *usage += generation.usage;
            if injection_filter::is_for_assistant(scores) {
                unwanted.push(sentence);
            }
        }
        let (results, is_changed) = filter.remove_sentences(&unwanted);
        if is_changed {
            out.send(ModelEvent::Notice(injection_filter::REMOVAL_NOTICE.to_owned()))?;
        }
        Ok(results)
    }
}
