//! One answer in the making: a prompt is read, and words or a call are written behind it.

use std::time::Instant;

use domain::model::{FinishReason, ModelEvent, ModelStatus, PartKind, Request, Usage};

use crate::cache::KvCache;
use crate::call::{Call, drop_unasked, parse, restore_beginnings};
use crate::decide::likeliest;
use crate::error::Halt;
use crate::facts::Facts;
use crate::forward::Model;
use crate::head::Prompt;
use crate::outlet::Outlet;
use crate::rank::{log_likelihoods, rank};
use crate::tokenizer::{TextDecoder, Tokenizer};

/// Tokens read at once: enough to be fast, few enough that Stop is felt within a second.
const CHUNK: usize = 56;

/// Tokens of one call at most.
const CALL_TOKENS: usize = 200;

/// Tokens of one answer at most, where the request does not say.
const ANSWER_TOKENS: usize = 768;

/// One answer in the making.
pub(crate) struct Turn<'a> {
    pub model: &'a Model,
    pub tokenizer: &'a Tokenizer,
    pub openings: &'a [bool],
    pub unspoken: &'a [u32],
    pub cache: &'a mut KvCache,
    /// What may come next.
    pub logits: Vec<f32>,
    pub out: &'a Outlet,
    /// Tokens that the answer may have.
    pub room: usize,
    pub usage: Usage,
}

impl Turn<'_> {
    /// Reads what the cache does not hold yet.
    pub(crate) fn read_prompt(&mut self, prompt: &Prompt, reads_tools: bool) -> Result<(), Halt> {
        let started = Instant::now();
        let cached = self.cache.tokens().len();
        let head = prompt.head.get(cached..).unwrap_or_default();
        let tail = &prompt.tail[cached.saturating_sub(prompt.head.len())..];
        self.read_part(head, |done, total| {
            if reads_tools { ModelStatus::ReadingTools { done, total } } else { ModelStatus::Reading { done, total } }
        })?;
        self.read_part(tail, |done, total| ModelStatus::Reading { done, total })?;
        let (read, millis) = (prompt.len() - cached, started.elapsed().as_millis());
        tracing::debug!(read, cached, millis, "the built-in model read a prompt");
        Ok(())
    }

    fn read_part(&mut self, tokens: &[u32], status: impl Fn(u32, u32) -> ModelStatus) -> Result<(), Halt> {
        let total = tokens.len() as u32;
        let mut done = 0;
        let mut state = None;
        for chunk in tokens.chunks(CHUNK) {
            self.out.send(ModelEvent::Status(status(done, total)))?;
            state = Some(self.model.read(chunk, self.cache)?);
            done += chunk.len() as u32;
        }
        if let Some(state) = state {
            self.logits = self.model.logits(&state)?;
        }
        Ok(())
    }

    /// How likely the first token of each word follows what was read, as a logarithm.
    pub(crate) fn first_likelihoods<const WORDS: usize>(&self, words: [&[u32]; WORDS]) -> [f32; WORDS] {
        let likelihoods = log_likelihoods(&self.logits);
        words.map(|word| {
            let first = word.first().and_then(|token| likelihoods.get(*token as usize));
            first.copied().unwrap_or(f32::NEG_INFINITY)
        })
    }

    /// How likely each of `names` follows what was read; see [`rank`]. The cache is left where it ends up.
    pub(crate) fn rank(&mut self, names: &[Vec<u32>], most: usize) -> Result<Vec<(usize, f32)>, Halt> {
        let start = self.cache.tokens().len();
        let first = log_likelihoods(&self.logits);
        rank(names, most, |written| {
            if written.is_empty() {
                return Ok(first.clone());
            }
            self.out.check()?;
            let read = self.cache.tokens()[start..].iter().zip(written).take_while(|(a, b)| a == b).count();
            // The last one is read again if need be: its reading tells what follows.
            let kept = read.min(written.len() - 1);
            self.cache.truncate(start + kept);
            let state = self.model.read(&written[kept..], self.cache)?;
            Ok(log_likelihoods(&self.model.logits(&state)?))
        })
    }

    /// Reads tokens that were just written.
    pub(crate) fn read(&mut self, written: &[u32]) -> Result<(), Halt> {
        self.out.check()?;
        self.usage.output_tokens += written.len() as u64;
        let state = self.model.read(written, self.cache)?;
        self.logits = self.model.logits(&state)?;
        Ok(())
    }

    /// Writes words to the model's own end or to a limit.
    pub(crate) fn speak(mut self, request: &Request, facts: &Facts) -> Result<(), Halt> {
        let most = answer_limit(request, self.room);
        let mut decoder = TextDecoder::default();
        let mut written = Vec::new();
        let mut said = String::new();
        let mut next = likeliest(&self.logits, |token| self.openings.get(token as usize).is_some_and(|opens| *opens));
        self.out.send(ModelEvent::PartStart { part: 0, kind: PartKind::Text })?;
        let reason = loop {
            let Some(token) = next.filter(|token| !self.tokenizer.stops().contains(token)) else {
                break FinishReason::Stop;
            };
            written.push(token);
            let text = decoder.push(self.tokenizer.bytes(token));
            said.push_str(&text);
            if !text.is_empty() {
                self.out.send(ModelEvent::Delta { part: 0, text })?;
            }
            if written.len() >= most || is_going_round(&written) {
                break FinishReason::Length;
            }
            self.read(&[token])?;
            for unspoken in self.unspoken {
                self.logits[*unspoken as usize] = f32::NEG_INFINITY;
            }
            let keeps = |token: u32| facts.allow(&said, self.tokenizer.bytes(token));
            next = likeliest(&self.logits, keeps);
        };
        self.finish(reason)
    }

    /// Writes a call within the grammar; `said` is what its arguments can come from.
    pub(crate) fn write_call(
        &mut self,
        mut matcher: llguidance::Matcher,
        request: &Request,
        said: &str,
    ) -> Result<Call, Halt> {
        let most = CALL_TOKENS.min(self.room);
        let mut written: Vec<u32> = Vec::new();
        let mask = matcher.compute_mask().map_err(Halt::failed)?;
        let mut next = likeliest(&self.logits, |token| mask.is_allowed(token));
        while let Some(token) = next {
            matcher.consume_token(token).map_err(Halt::failed)?;
            let start = written.len();
            written.push(token);
            // What the grammar leaves no choice about is read in one go.
            written.extend(matcher.consume_ff_tokens());
            if matcher.is_stopped() || written.len() >= most {
                break;
            }
            self.read(&written[start..])?;
            let mask = matcher.compute_mask().map_err(Halt::failed)?;
            next = likeliest(&self.logits, |token| mask.is_allowed(token));
            next = next.filter(|token| !self.tokenizer.stops().contains(token));
        }
        let bytes: Vec<u8> = written.iter().flat_map(|token| self.tokenizer.bytes(*token)).copied().collect();
        let Some(call) = parse(&String::from_utf8_lossy(&bytes)) else {
            return Err(Halt::failed("it began a call and did not finish it"));
        };
        let arguments = restore_beginnings(&call.arguments, said);
        let schema = request.tools.iter().find(|tool| tool.name == call.name).map(|tool| &tool.input_schema);
        let arguments = match schema {
            Some(schema) => drop_unasked(&arguments, schema, said),
            None => arguments,
        };
        Ok(Call { name: call.name, arguments })
    }

    /// Ends the answer with a call.
    pub(crate) fn tell_call(mut self, call: Call) -> Result<(), Halt> {
        let id = format!("call_{}", domain::ids::fresh().simple());
        self.out.send(ModelEvent::PartStart { part: 0, kind: PartKind::ToolCall { id, name: call.name } })?;
        self.out.send(ModelEvent::Delta { part: 0, text: call.arguments })?;
        self.finish(FinishReason::ToolCalls)
    }

    pub(crate) fn finish(&mut self, reason: FinishReason) -> Result<(), Halt> {
        self.out.send(ModelEvent::PartEnd { part: 0 })?;
        self.out.send(ModelEvent::Usage(self.usage))?;
        self.out.send(ModelEvent::Finish(reason))
    }
}

/// Returns the most tokens of an answer to `request`, where `room` tokens are left.
pub(crate) fn answer_limit(request: &Request, room: usize) -> usize {
    request.max_tokens.map_or(ANSWER_TOKENS, |most| most as usize).clamp(1, room)
}

/// Whether the last words are one phrase over and over, as small models sometimes end.
pub(crate) fn is_going_round(tokens: &[u32]) -> bool {
    (1..=32).any(|period| {
        let span = (period * 4).max(48);
        let Some(start) = tokens.len().checked_sub(span + period) else { return false };
        (start..start + span).all(|index| tokens[index] == tokens[index + period])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn going_round_is_seen_and_lists_are_not() {
        assert!(is_going_round(&[vec![9], vec![7; 60]].concat()));
        assert!(is_going_round(&[1, 2, 3].repeat(20)));
        assert!(!is_going_round(&(0..200).collect::<Vec<u32>>()));
        assert!(!is_going_round(&(0..200).map(|n| if n % 2 == 0 { 5 } else { n }).collect::<Vec<u32>>()));
    }
}
