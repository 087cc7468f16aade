//! Generation of one response: reads a prompt, then writes text or a tool call.

mod certain_text;

use std::collections::VecDeque;
use std::time::Instant;

use domain::model::{FinishReason, ModelEvent, ModelStatus, PartKind, Request, Usage};

use crate::candidate_scoring::{log_probabilities, rank_names};
use crate::error::InferenceError;
use crate::kv_cache::KvCache;
use crate::output_sink::OutputSink;
use crate::prompt_prefix::PromptTokens;
use crate::refusal::{Opening, classify_opening};
use crate::repetition::LoopDetector;
use crate::requested_arguments::drop_unrequested_arguments;
use crate::sampling::Sampler;
use crate::time_guard::TimeGuard;
use crate::tokenizer::{TextDecoder, Tokenizer};
use crate::tool_call::{ParsedCall, parse_call, restore_path_prefixes};
use crate::tool_decision::most_likely_token;
use crate::transformer::TransformerModel;

/// Number of tokens read between two checks for cancellation: enough to be fast, and less than a second of work.
const TOKENS_PER_CHUNK: usize = 56;

/// Maximum number of tokens of a tool call.
const MAX_CALL_TOKENS: usize = 200;

/// Maximum number of tokens of a text, if the request sets no limit.
const DEFAULT_MAX_TOKENS: usize = 768;

/// A response that is being generated.
pub(crate) struct Generation<'a> {
    pub model: &'a TransformerModel,
    pub tokenizer: &'a Tokenizer,
    /// Whether a text may begin with each token.
    pub text_openings: &'a [bool],
    /// Tokens that never occur in text.
    pub suppressed_tokens: &'a [u32],
    pub cache: &'a mut KvCache,
    /// Logits of the next token.
    pub logits: Vec<f32>,
    pub out: &'a OutputSink,
    /// Number of tokens left in the context.
    pub token_limit: usize,
    pub usage: Usage,
}

impl Generation<'_> {
    /// Reads the part of the prompt that is not cached.
    pub(crate) fn read_prompt(&mut self, prompt: &PromptTokens, reads_tools: bool) -> Result<(), InferenceError> {
        let started = Instant::now();
        let cached = self.cache.tokens().len();
        let head = prompt.head.get(cached..).unwrap_or_default();
        // The cache may reach into the tail.
        let tail = &prompt.tail[cached.saturating_sub(prompt.head.len())..];
        self.read_with_status(head, |done, total| {
            if reads_tools { ModelStatus::ReadingTools { done, total } } else { ModelStatus::Reading { done, total } }
        })?;
        self.read_with_status(tail, |done, total| ModelStatus::Reading { done, total })?;
        let (read, millis) = (prompt.len() - cached, started.elapsed().as_millis());
        tracing::debug!(read, cached, millis, "built-in model read a prompt");
        Ok(())
    }

    fn read_with_status(
        &mut self,
        tokens: &[u32],
        status: impl Fn(u32, u32) -> ModelStatus,
    ) -> Result<(), InferenceError> {
        let total = tokens.len() as u32;
        let mut done = 0;
        let mut state = None;
        for chunk in tokens.chunks(TOKENS_PER_CHUNK) {
            self.out.send(ModelEvent::Status(status(done, total)))?;
            state = Some(self.model.read(chunk, self.cache)?);
            done += chunk.len() as u32;
        }
        if let Some(state) = state {
            self.logits = self.model.logits(&state)?;
        }
        Ok(())
    }

    /// Returns the log-probability of the first token of each word as the next token.
    pub(crate) fn first_token_scores<const WORDS: usize>(&self, words: [&[u32]; WORDS]) -> [f32; WORDS] {
        let scores = log_probabilities(&self.logits);
        words.map(|word| {
            let first = word.first().and_then(|token| scores.get(*token as usize));
            first.copied().unwrap_or(f32::NEG_INFINITY)
        })
    }

    /// Ranks `names` by the probability that the model writes each next; see [`rank_names`]. The cache may contain
    /// some of their tokens afterwards.
    pub(crate) fn rank(&mut self, names: &[Vec<u32>], max_count: usize) -> Result<Vec<(usize, f32)>, InferenceError> {
        let start = self.cache.tokens().len();
        let first = log_probabilities(&self.logits);
        rank_names(names, max_count, |written| {
            if written.is_empty() {
                return Ok(first.clone());
            }
            self.out.check_cancelled()?;
            let read = self.cache.tokens()[start..].iter().zip(written).take_while(|(a, b)| a == b).count();
            // The last token is read again if necessary, because reading it yields the logits.
            let kept = read.min(written.len() - 1);
            self.cache.truncate(start + kept);
            let state = self.model.read(&written[kept..], self.cache)?;
            Ok(log_probabilities(&self.model.logits(&state)?))
        })
    }

    /// Reads tokens that were just written, which yields the logits of the next one.
    pub(crate) fn read(&mut self, written: &[u32]) -> Result<(), InferenceError> {
        self.out.check_cancelled()?;
        self.usage.output_tokens += written.len() as u64;
        let state = self.model.read(written, self.cache)?;
        self.logits = self.model.logits(&state)?;
        Ok(())
    }

    /// Writes text until the model ends it, repeats itself, or reaches a limit.
    pub(crate) fn write_text(
        mut self,
        request: &Request,
        mut sampler: Sampler,
        time_guard: &TimeGuard,
    ) -> Result<(), InferenceError> {
        let max_tokens = max_response_tokens(request, self.token_limit);
        let mut decoder = TextDecoder::default();
        let mut written = Vec::new();
        let mut text_so_far = String::new();
        let mut loops = LoopDetector::default();
        // Text of the last tokens, which may be a loop that the user need not see.
        let mut withheld: VecDeque<String> = VecDeque::new();
        let mut next = self.first_token(&mut sampler);
        self.out.send(ModelEvent::PartStart { part: 0, kind: PartKind::Text })?;
        let reason = loop {
            let Some(token) = next.filter(|token| !self.tokenizer.stop_tokens().contains(token)) else {
                break FinishReason::Stop;
            };
            written.push(token);
            let bytes = self.tokenizer.bytes(token);
            let text = decoder.push(bytes);
            text_so_far.push_str(&text);
            withheld.push_back(text);
            loops.push(token, bytes);
            if loops.is_loop() {
                tracing::debug!(tokens = written.len(), "the built-in model repeated itself and was stopped");
                withheld.clear();
                break FinishReason::Stop;
            }
            self.send_text(&mut withheld, loops.repeated_tokens())?;
            if written.len() >= max_tokens {
                break FinishReason::Length;
            }
            self.read_text_token(token)?;
            let is_allowed = |token: u32| time_guard.allows(&text_so_far, self.tokenizer.bytes(token));
            next = sampler.next_token(&mut self.logits, &written, is_allowed);
        };
        self.send_text(&mut withheld, 0)?;
        self.finish(reason)
    }

    /// Chooses the first token of a text.
    fn first_token(&mut self, sampler: &mut Sampler) -> Option<u32> {
        let opens = |token: u32| self.text_openings.get(token as usize).is_some_and(|opens| *opens);
        sampler.next_token(&mut self.logits, &[], opens)
    }

    /// Reads a token of a text, which yields the logits of the next one.
    fn read_text_token(&mut self, token: u32) -> Result<(), InferenceError> {
        self.read(&[token])?;
        // Masked, or text could contain control tokens that a client takes for structure.
        for token in self.suppressed_tokens {
            self.logits[*token as usize] = f32::NEG_INFINITY;
        }
        Ok(())
    }

    /// Returns the first token of the text that [`Self::write_text`] would write with the same sampler, if that text is
    /// a refusal.
    pub(crate) fn find_refusal(&mut self, sampler: Sampler) -> Result<Option<u32>, InferenceError> {
        let (start, logits, usage) = (self.cache.tokens().len(), self.logits.clone(), self.usage);
        let opening = self.write_refusal(sampler)?;
        // Kept, because reading the last token of the prompt again would yield slightly different logits, and another text.
        self.cache.truncate(start);
        (self.logits, self.usage) = (logits, usage);
        Ok(opening)
    }

    fn write_refusal(&mut self, mut sampler: Sampler) -> Result<Option<u32>, InferenceError> {
        let mut written = Vec::new();
        let mut text = Vec::new();
        let mut next = self.first_token(&mut sampler);
        while let Some(token) = next {
            written.push(token);
            text.extend_from_slice(self.tokenizer.bytes(token));
            match classify_opening(&String::from_utf8_lossy(&text)) {
                Opening::Refusal => return Ok(written.first().copied()),
                Opening::Other => break,
                Opening::Undecided => {}
            }
            self.read_text_token(token)?;
            next = sampler.next_token(&mut self.logits, &written, |_| true);
        }
        Ok(None)
    }

    /// Sends the text of all but the last `kept` tokens.
    fn send_text(&self, withheld: &mut VecDeque<String>, kept: usize) -> Result<(), InferenceError> {
        let text: String = withheld.drain(..withheld.len().saturating_sub(kept)).collect();
        if text.is_empty() { Ok(()) } else { self.out.send(ModelEvent::Delta { part: 0, text }) }
    }

    /// Writes a tool call within the grammar of a [matcher](llguidance::Matcher). `sources` is the text that its
    /// arguments can come from.
    pub(crate) fn write_call(
        &mut self,
        mut matcher: llguidance::Matcher,
        request: &Request,
        sources: &str,
    ) -> Result<ParsedCall, InferenceError> {
        let max_tokens = MAX_CALL_TOKENS.min(self.token_limit);
        let mut written: Vec<u32> = Vec::new();
        let mask = matcher.compute_mask().map_err(InferenceError::internal)?;
        let mut next = most_likely_token(&self.logits, |token| mask.is_allowed(token));
        while let Some(token) = next {
            matcher.consume_token(token).map_err(InferenceError::internal)?;
            let start = written.len();
            written.push(token);
            // Tokens without an alternative in the grammar are read together with this one.
            written.extend(matcher.consume_ff_tokens());
            if matcher.is_stopped() || written.len() >= max_tokens {
                break;
            }
            self.read(&written[start..])?;
            let mask = matcher.compute_mask().map_err(InferenceError::internal)?;
            next = most_likely_token(&self.logits, |token| mask.is_allowed(token));
            next = next.filter(|token| !self.tokenizer.stop_tokens().contains(token));
        }
        let bytes: Vec<u8> = written.iter().flat_map(|token| self.tokenizer.bytes(*token)).copied().collect();
        // For example, the token limit was reached within the arguments.
        let Some(call) = parse_call(&String::from_utf8_lossy(&bytes)) else {
            return Err(InferenceError::internal("the tool call is incomplete"));
        };
        let arguments = restore_path_prefixes(&call.arguments, sources);
        let schema = request.tools.iter().find(|tool| tool.name == call.name).map(|tool| &tool.input_schema);
        let arguments = match schema {
            Some(schema) => drop_unrequested_arguments(&arguments, schema, sources),
            None => arguments,
        };
        Ok(ParsedCall { name: call.name, arguments })
    }

    /// Ends the response with a tool call.
    pub(crate) fn emit_call(mut self, call: ParsedCall) -> Result<(), InferenceError> {
        let id = format!("call_{}", domain::ids::fresh().simple());
        self.out.send(ModelEvent::PartStart { part: 0, kind: PartKind::ToolCall { id, name: call.name } })?;
        self.out.send(ModelEvent::Delta { part: 0, text: call.arguments })?;
        self.finish(FinishReason::ToolCalls)
    }

    /// Ends the response.
    pub(crate) fn finish(&mut self, reason: FinishReason) -> Result<(), InferenceError> {
        self.out.send(ModelEvent::PartEnd { part: 0 })?;
        self.out.send(ModelEvent::Usage(self.usage))?;
        self.out.send(ModelEvent::Finish(reason))
    }
}

/// Returns the maximum number of tokens of a response to `request`, where `remaining` tokens are left in the context.
pub(crate) fn max_response_tokens(request: &Request, remaining: usize) -> usize {
    request.max_tokens.map_or(DEFAULT_MAX_TOKENS, |max| max as usize).clamp(1, remaining)
}
