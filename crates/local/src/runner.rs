//! A loaded model, and how it answers one request: decide, and call or speak; with a tool's result, answer from it.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use candle_core::quantized::gguf_file::Content;
use domain::model::{FinishReason, ModelError, ModelEvent, ModelStatus, PartKind, Request, Usage};

use crate::cache::{KvCache, Slots};
use crate::call::{drop_unmentioned_numbers, parse};
use crate::config::Config;
use crate::decide::{Sign, Step, first_step, likeliest, named, openings_of_words};
use crate::error::{Halt, LoadError};
use crate::facts::Facts;
use crate::forward::Model;
use crate::grammar::Grammars;
use crate::outlet::Outlet;
use crate::prompt::{Prompt, Question, head};
use crate::tokenizer::{Kind, TextDecoder, Tokenizer};
use crate::worker::Answers;

/// Tokens read at once: enough to be fast, few enough that Stop is felt within a second.
const CHUNK: usize = 56;

/// Tokens of one call at most.
const CALL_TOKENS: usize = 200;

/// Tokens of one answer at most, where the request does not say.
const ANSWER_TOKENS: usize = 768;

/// Tokens that must be left for an answer.
const ANSWER_ROOM: usize = 256;

/// A model in memory, with everything it needs to answer.
pub(crate) struct Runner {
    model: Model,
    tokenizer: Arc<Tokenizer>,
    grammars: Grammars,
    slots: Slots,
    /// The tokens that words may begin with.
    openings: Vec<bool>,
    /// The tokens that have no place in words.
    unspoken: Vec<u32>,
}

impl Runner {
    /// Reads the file of weights.
    pub(crate) fn load(path: &Path) -> Result<Self, LoadError> {
        let started = Instant::now();
        let file = File::open(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => LoadError::Missing(path.to_owned()),
            _ => LoadError::Read { path: path.to_owned(), error },
        })?;
        check_memory(file.metadata().map_or(0, |data| data.len()))?;
        let mut reader = BufReader::new(file);
        let content = Content::read(&mut reader)?;
        let config = Config::read(&content.metadata)?;
        let tokenizer = Arc::new(Tokenizer::read(&content.metadata)?);
        let model = Model::load(config, &content, &mut reader)?;
        let grammars = Grammars::new(tokenizer.clone()).map_err(LoadError::Tokenizer)?;
        let silent = |(id, kind): (usize, &Kind)| {
            let id = id as u32;
            (*kind != Kind::Text && !tokenizer.stops().contains(&id)).then_some(id)
        };
        let unspoken = tokenizer.kinds().iter().enumerate().filter_map(silent).collect();
        let millis = started.elapsed().as_millis();
        tracing::info!(path = %path.display(), millis, "the built-in model is loaded");
        Ok(Self { openings: openings_of_words(&tokenizer), unspoken, model, tokenizer, grammars, slots: Slots::new() })
    }
}

impl Answers for Runner {
    fn answer(&mut self, request: &Request, out: &Outlet) -> Result<(), Halt> {
        let question = Question::of(request)?;
        if question.has_results() {
            let prompt = question.answer(&self.tokenizer);
            return self.begin(&prompt, false, out)?.speak_freely(request, &Facts::of(question.results()));
        }
        let mut spent = Usage::default();
        if !request.tools.is_empty() {
            let tools = named(question.message, &request.tools);
            let tools = if tools.is_empty() { request.tools.iter().collect() } else { tools };
            let mut matcher = self.grammars.call(&tools).map_err(Halt::failed)?;
            let mask = matcher.compute_mask().map_err(Halt::failed)?;
            let sign = Sign::of(question.message, &request.tools);
            let prompt = question.decide(&self.tokenizer);
            let turn = self.begin(&prompt, true, out)?;
            match first_step(&turn.logits, |token| mask.is_allowed(token), turn.openings, sign) {
                Some(Step::Call(token)) => return turn.call(matcher, token, request, question.message),
                Some(Step::Words(token)) => return turn.speak(Some(token), request, &Facts::default()),
                Some(Step::WordsWithoutTools) | None => spent = turn.usage,
            }
        }
        let prompt = question.chat(&self.tokenizer);
        let mut turn = self.begin(&prompt, false, out)?;
        turn.usage.input_tokens += spent.input_tokens;
        turn.usage.cached_input_tokens += spent.cached_input_tokens;
        turn.speak_freely(request, &Facts::default())
    }

    fn prepare(&mut self, request: &Request, out: &Outlet) -> Result<(), Halt> {
        let prompt = Prompt { head: head(&self.tokenizer, request, true), tail: Vec::new() };
        self.begin(&prompt, true, out).map(drop)
    }
}

impl Runner {
    /// Reads a prompt, or what of it was not read before.
    fn begin<'a>(&'a mut self, prompt: &Prompt, with_tools: bool, out: &'a Outlet) -> Result<Turn<'a>, Halt> {
        let room = self.room_for(prompt, with_tools)?;
        let cache = self.slots.for_prompt(&prompt.head, &prompt.tail, || self.model.new_cache())?;
        let cached = cache.tokens().len() as u64;
        let mut turn = Turn {
            model: &self.model,
            tokenizer: &self.tokenizer,
            openings: &self.openings,
            unspoken: &self.unspoken,
            cache,
            logits: Vec::new(),
            out,
            room,
            usage: Usage { input_tokens: prompt.len() as u64, cached_input_tokens: cached, output_tokens: 0 },
        };
        turn.read_prompt(prompt, with_tools)?;
        Ok(turn)
    }

    /// Tokens that are left for the answer.
    fn room_for(&self, prompt: &Prompt, with_tools: bool) -> Result<usize, ModelError> {
        let context = self.model.context();
        if with_tools && prompt.head.len() + ANSWER_ROOM > context {
            return Err(ModelError::TooLong(format!(
                "the list of tools takes {} of the {context} tokens it can read at once; choose fewer tools",
                prompt.head.len()
            )));
        }
        match context.checked_sub(prompt.len()) {
            Some(room) if room >= ANSWER_ROOM => Ok(room),
            _ => Err(ModelError::TooLong(format!(
                "the message takes about {} tokens, and the built-in model can read {} here; send a shorter one",
                prompt.tail.len(),
                context.saturating_sub(prompt.head.len() + ANSWER_ROOM)
            ))),
        }
    }
}

/// One answer in the making.
struct Turn<'a> {
    model: &'a Model,
    tokenizer: &'a Tokenizer,
    openings: &'a [bool],
    unspoken: &'a [u32],
    cache: &'a mut KvCache,
    /// What may come next.
    logits: Vec<f32>,
    out: &'a Outlet,
    /// Tokens that the answer may have.
    room: usize,
    usage: Usage,
}

impl Turn<'_> {
    /// Reads what the cache does not hold yet.
    fn read_prompt(&mut self, prompt: &Prompt, with_tools: bool) -> Result<(), Halt> {
        let started = Instant::now();
        let cached = self.cache.tokens().len();
        let head = prompt.head.get(cached..).unwrap_or_default();
        let tail = &prompt.tail[cached.saturating_sub(prompt.head.len())..];
        self.read_part(head, |done, total| {
            if with_tools { ModelStatus::ReadingTools { done, total } } else { ModelStatus::Reading { done, total } }
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

    /// Reads tokens that were just written.
    fn read(&mut self, tokens: &[u32]) -> Result<(), Halt> {
        self.out.check()?;
        self.usage.output_tokens += tokens.len() as u64;
        let state = self.model.read(tokens, self.cache)?;
        self.logits = self.model.logits(&state)?;
        Ok(())
    }

    /// Writes words, beginning as the model likes.
    fn speak_freely(self, request: &Request, facts: &Facts) -> Result<(), Halt> {
        let first = likeliest(&self.logits, |token| self.openings.get(token as usize).is_some_and(|opens| *opens));
        self.speak(first, request, facts)
    }

    /// Writes words, beginning with `first`, to the model's own end or to a limit.
    fn speak(mut self, first: Option<u32>, request: &Request, facts: &Facts) -> Result<(), Halt> {
        let most = request.max_tokens.map_or(ANSWER_TOKENS, |most| most as usize).clamp(1, self.room);
        let mut decoder = TextDecoder::default();
        let mut written = Vec::new();
        let mut said = String::new();
        let mut next = first;
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

    /// Writes a call within the grammar, beginning with `first`.
    fn call(
        mut self,
        mut matcher: llguidance::Matcher,
        first: u32,
        request: &Request,
        message: &str,
    ) -> Result<(), Halt> {
        let most = CALL_TOKENS.min(self.room);
        let mut written: Vec<u32> = Vec::new();
        let mut token = first;
        loop {
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
            match likeliest(&self.logits, |token| mask.is_allowed(token)) {
                Some(next) if !self.tokenizer.stops().contains(&next) => token = next,
                _ => break,
            }
        }
        let bytes: Vec<u8> = written.iter().flat_map(|token| self.tokenizer.bytes(*token)).copied().collect();
        let Some(call) = parse(&String::from_utf8_lossy(&bytes)) else {
            return Err(Halt::failed("it began a call and did not finish it"));
        };
        let schema = request.tools.iter().find(|tool| tool.name == call.name).map(|tool| &tool.input_schema);
        let arguments = match schema {
            Some(schema) => drop_unmentioned_numbers(&call.arguments, schema, message),
            None => call.arguments,
        };
        let id = format!("call_{}", domain::ids::fresh().simple());
        self.out.send(ModelEvent::PartStart { part: 0, kind: PartKind::ToolCall { id, name: call.name } })?;
        self.out.send(ModelEvent::Delta { part: 0, text: arguments })?;
        self.finish(FinishReason::ToolCalls)
    }

    fn finish(&mut self, reason: FinishReason) -> Result<(), Halt> {
        self.out.send(ModelEvent::PartEnd { part: 0 })?;
        self.out.send(ModelEvent::Usage(self.usage))?;
        self.out.send(ModelEvent::Finish(reason))
    }
}

/// Memory that a model takes, as a multiple of its file: its weights in the order that the processor likes, and what it
/// has read. Measured: 1.6 with a list of 14 tools, and room for more.
const MEMORY: (u64, u64) = (19, 10);

/// Refuses a file for which there is not enough memory, where the system tells how much is free.
fn check_memory(size: u64) -> Result<(), LoadError> {
    let Ok(told) = std::fs::read_to_string("/proc/meminfo") else { return Ok(()) };
    let free =
        told.lines().find_map(|line| line.strip_prefix("MemAvailable:")?.trim().strip_suffix(" kB")?.parse().ok());
    let Some(free) = free.map(|kilobytes: u64| kilobytes / 1_000) else { return Ok(()) };
    let needed = size / 1_000_000 * MEMORY.0 / MEMORY.1;
    if free < needed { Err(LoadError::Memory { needed, free }) } else { Ok(()) }
}

/// Whether the last words are one phrase over and over, as small models sometimes end.
fn is_going_round(tokens: &[u32]) -> bool {
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
