//! A loaded model, and how it answers one request: choose, and call or speak; with a tool's result, answer from it.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use candle_core::quantized::gguf_file::Content;
use domain::model::{ModelError, ModelEvent, ModelStatus, Request, ToolSpec, Usage};

use crate::again;
use crate::cache::Slots;
use crate::config::Config;
use crate::decide::{
    self, MOST_CANDIDATES, MOST_FOR_ADDRESS, Signs, Way, candidates, has_address, named, openings_of_words,
    prefer_addresses, takes_address,
};
use crate::error::{Halt, LoadError};
use crate::facts::Facts;
use crate::forward::Model;
use crate::grammar::Grammars;
use crate::head::{CallPrompt, Prompt, about_tools};
use crate::json_output;
use crate::outlet::Outlet;
use crate::pattern;
use crate::prompt::Question;
use crate::schemas::{self, Schemas};
use crate::screen::{self, Screen};
use crate::standing::Standing;
use crate::tokenizer::{Kind, Tokenizer};
use crate::turn::Turn;
use crate::worker::Answers;

/// Tokens that must be left for an answer.
const ANSWER_ROOM: usize = 256;

/// A model in memory, with everything it needs to answer.
pub(crate) struct Runner {
    model: Model,
    tokenizer: Arc<Tokenizer>,
    grammars: Grammars,
    slots: Slots,
    schemas: Schemas,
    standing: Standing,
    /// The tokens that words may begin with.
    openings: Vec<bool>,
    /// The tokens that have no place in words.
    unspoken: Vec<u32>,
}

impl Runner {
    /// Reads the file of weights. `progress` is told how many of how many layers are read.
    pub(crate) fn load(path: &Path, progress: impl Fn(u32, u32)) -> Result<Self, LoadError> {
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
        let model = Model::load(config, &content, &mut reader, progress)?;
        let grammars = Grammars::new(tokenizer.clone()).map_err(LoadError::Tokenizer)?;
        let silent = |(id, kind): (usize, &Kind)| {
            let id = id as u32;
            (*kind != Kind::Text && !tokenizer.stops().contains(&id)).then_some(id)
        };
        let unspoken = tokenizer.kinds().iter().enumerate().filter_map(silent).collect();
        let millis = started.elapsed().as_millis();
        tracing::info!(path = %path.display(), millis, "the built-in model is loaded");
        Ok(Self {
            openings: openings_of_words(&tokenizer),
            unspoken,
            model,
            grammars,
            slots: Slots::new(),
            schemas: Schemas::default(),
            standing: Standing::beside(path, &tokenizer),
            tokenizer,
        })
    }
}

impl Answers for Runner {
    fn answer(&mut self, request: &Request, out: &Outlet) -> Result<(), Halt> {
        let noted = json_output::with_schema_in_instructions(request);
        let request = noted.as_ref().unwrap_or(request);
        let question = Question::of(request)?;
        if question.has_results() {
            return self.go_on(&question, request, out);
        }
        let mut spent = Usage::default();
        let (way, tools) = self.choose(&question, &mut spent, out)?;
        let prompt = match way {
            Way::Call => {
                let tools = self.settle(&question, tools, &mut spent, out)?;
                let matcher = self.grammars.call(&tools).map_err(Halt::failed)?;
                let mut turn = self.begin_call(question.call(&self.tokenizer, &tools), out)?;
                turn.usage += spent;
                let call = turn.write_call(matcher, request, question.message)?;
                return turn.tell_call(call);
            }
            Way::Words => question.chat(&self.tokenizer),
            Way::AboutTools => question.about_tools(&self.tokenizer),
        };
        self.write_answer(&prompt, request, spent, &Facts::default(), out)
    }

    fn prepare(&mut self, request: &Request, out: &Outlet) -> Result<(), Halt> {
        self.read_ahead(pattern::table(&self.tokenizer, &request.tools), true, out)?;
        let beginnings: Vec<Vec<u32>> = self.standing.beginnings().map(<[u32]>::to_vec).collect();
        for (index, beginning) in beginnings.into_iter().enumerate() {
            self.read_ahead(beginning.clone(), false, out)?;
            if let Some(cache) = self.slots.find(&beginning) {
                self.standing.keep(index, cache);
            }
        }
        let CallPrompt { before, tools, .. } = CallPrompt::new(&self.tokenizer, request, &request.tools, Vec::new());
        self.read_ahead(before.clone(), false, out)?;
        let mut room = schemas::MOST_TOKENS;
        for tool in tools {
            let Some(left) = room.checked_sub(tool.len()) else { break };
            room = left;
            self.read_schema(&before, &tool, out)?;
        }
        self.read_ahead(about_tools(&self.tokenizer, request), false, out)
    }
}

impl Runner {
    /// Reads what prompts begin with, unless it was read.
    fn read_ahead(&mut self, head: Vec<u32>, reads_tools: bool, out: &Outlet) -> Result<(), Halt> {
        self.recall(&head)?;
        if self.slots.find(&head).is_none() {
            self.begin(&Prompt { head, tail: Vec::new() }, reads_tools, out)?;
        }
        Ok(())
    }

    /// Takes what a prompt begins with from beside the weights, if it is there and not in memory.
    fn recall(&mut self, head: &[u32]) -> Result<(), Halt> {
        let Some((index, beginning)) = self.standing.of(head) else { return Ok(()) };
        if self.slots.find(beginning).is_none()
            && let Some(cache) = self.standing.recall(index, self.model.new_cache()?)
        {
            self.slots.put(cache);
        }
        Ok(())
    }
}

impl Runner {
    /// Finds out whether a message is for a tool, and which tools come into question.
    fn choose<'a>(
        &mut self,
        question: &Question<'a>,
        spent: &mut Usage,
        out: &Outlet,
    ) -> Result<(Way, Vec<&'a ToolSpec>), Halt> {
        let tools = question.tools();
        if tools.is_empty() {
            return Ok((Way::Words, Vec::new()));
        }
        let named = named(question.message, tools);
        let is_named = !named.is_empty();
        let meant = if is_named { named } else { (0..tools.len()).collect() };
        let names: Vec<_> = meant.iter().map(|index| pattern::name(&self.tokenizer, &tools[*index].name)).collect();
        let [none, about] = [pattern::NONE, pattern::ABOUT].map(|name| pattern::name(&self.tokenizer, name));

        let prompt = pattern::choose(&self.tokenizer, question);
        let mut turn = self.begin(&prompt, true, out)?;
        let has_address = has_address(question.message);
        let ranked = turn.rank(&names, if has_address { MOST_FOR_ADDRESS } else { MOST_CANDIDATES })?;
        let [none, about] = turn.first_likelihoods([&none, &about]);
        *spent += turn.usage;

        let need = self.lead_of_yes(&pattern::need(&self.tokenizer, question), spent, out)?;

        let tool = ranked.first().map_or(f32::NEG_INFINITY, |(_, likelihood)| *likelihood);
        let ranked = weighed(ranked, has_address, |index| takes_address(&tools[meant[index]]));
        let signs = Signs { tool, none, about, need, is_named };
        Ok((signs.way(), candidates(&ranked).map(|index| &tools[meant[index]]).collect()))
    }

    /// Of several tools the one that a line for each speaks for; all of them where that is not sure. Their schemas are
    /// three times as long, and those behind the first have to be read anew.
    fn settle<'a>(
        &mut self,
        question: &Question<'a>,
        tools: Vec<&'a ToolSpec>,
        spent: &mut Usage,
        out: &Outlet,
    ) -> Result<Vec<&'a ToolSpec>, Halt> {
        if tools.len() < 2 {
            return Ok(tools);
        }
        let names: Vec<_> = tools.iter().map(|tool| self.tokenizer.encode(&tool.name)).collect();
        let which = question.call(&self.tokenizer, &tools).which(&self.tokenizer, &tools);
        let mut turn = self.begin(&which, false, out)?;
        let ranked = turn.rank(&names, 2)?;
        *spent += turn.usage;
        Ok(decide::sure(&ranked).map_or_else(|| tools.clone(), |index| vec![tools[index]]))
    }

    /// Answers from the results there are, or calls one more tool where the request is not done with them.
    fn go_on(&mut self, question: &Question<'_>, request: &Request, out: &Outlet) -> Result<(), Halt> {
        let mut spent = Usage::default();
        let shown = self.screen(Screen::new(question.results_in_short()), &mut spent, out)?;
        let tools = self.choose_again(question, &shown, &mut spent, out)?;
        if !tools.is_empty() {
            let prompt = question.call_again(&self.tokenizer, &tools, &shown);
            let matcher = self.grammars.call(&tools).map_err(Halt::failed)?;
            let mut turn = self.begin_call(prompt, out)?;
            let said = [&[question.message.to_owned()], shown.as_slice()].concat().join("\n");
            let call = turn.write_call(matcher, request, &said)?;
            turn.usage += spent;
            if !question.calls().iter().any(|made| again::is_same(made, &call)) {
                return turn.tell_call(call);
            }
            spent = turn.usage;
        }
        let prompt = question.answer(&self.tokenizer, &shown);
        self.write_answer(&prompt, request, spent, &Facts::of(question.results()), out)
    }

    /// Writes the answer's text in the form that the request wants.
    fn write_answer(
        &mut self,
        prompt: &Prompt,
        request: &Request,
        spent: Usage,
        facts: &Facts,
        out: &Outlet,
    ) -> Result<(), Halt> {
        let schema = json_output::output_schema(&request.response_format);
        let matcher = schema.map(|schema| json_output::compile(&self.grammars, &schema)).transpose()?;
        let mut turn = self.begin(prompt, false, out)?;
        turn.usage += spent;
        match matcher {
            Some(matcher) => turn.write_json(matcher, request),
            None => turn.speak(request, facts),
        }
    }

    /// The tools that come into question after those that have run; none where all is done.
    fn choose_again<'a>(
        &mut self,
        question: &Question<'a>,
        shown: &[String],
        spent: &mut Usage,
        out: &Outlet,
    ) -> Result<Vec<&'a ToolSpec>, Halt> {
        let (tools, quiet) = (question.tools(), out.quiet());
        let Some(steps) = question.steps(shown).filter(|steps| steps.len() < again::MOST_CALLS && !tools.is_empty())
        else {
            return Ok(Vec::new());
        };
        let several = self.lead_of_yes(&again::several(&self.tokenizer, question), spent, &quiet)?;
        if !again::may_take_several(several) {
            return Ok(Vec::new());
        }
        let needed = self.lead_of_yes(&again::needed(&self.tokenizer, question, &steps), spent, &quiet)?;
        if !again::goes_on(several, needed, steps.len()) {
            return Ok(Vec::new());
        }
        let has_run = |index: &usize| steps.iter().any(|(call, _)| call.name == tools[*index].name);
        let named: Vec<usize> = named(question.message, tools).into_iter().filter(|index| !has_run(index)).collect();
        let meant = if named.is_empty() { (0..tools.len()).collect() } else { named };
        let names: Vec<_> = meant.iter().map(|index| pattern::name(&self.tokenizer, &tools[*index].name)).collect();
        let mut turn = self.begin(&again::choose(&self.tokenizer, question, &steps), true, &quiet)?;
        let has_address = steps.iter().any(|(_, result)| has_address(result));
        let ranked = turn.rank(&names, if has_address { MOST_FOR_ADDRESS } else { MOST_CANDIDATES })?;
        *spent += turn.usage;
        let ranked = weighed(ranked, has_address, |index| takes_address(&tools[meant[index]]));
        Ok(candidates(&ranked).map(|index| &tools[meant[index]]).collect())
    }

    /// How much likelier "yes" is than "no" as the answer to a question, as a logarithm.
    fn lead_of_yes(&mut self, prompt: &Prompt, spent: &mut Usage, out: &Outlet) -> Result<f32, Halt> {
        let [yes, no] = pattern::NEEDED.map(|word| self.tokenizer.encode(word));
        let turn = self.begin(prompt, false, out)?;
        let [yes, no] = turn.first_likelihoods([&yes, &no]);
        *spent += turn.usage;
        Ok(yes - no)
    }

    /// Results without the sentences that are meant for an assistant. When some were left out, that is told.
    fn screen(&mut self, results: Screen<'_>, spent: &mut Usage, out: &Outlet) -> Result<Vec<String>, Halt> {
        let kinds = screen::KINDS.map(|kind| self.tokenizer.encode(kind));
        let [fact, people, assistant] = &kinds;
        let (sentences, quiet) = (results.in_question(), out.quiet());
        let total = sentences.len() as u32;
        let mut unwanted = Vec::new();
        for (done, sentence) in (0..).zip(sentences) {
            out.send(ModelEvent::Status(ModelStatus::Reading { done, total }))?;
            let prompt = screen::question(&self.tokenizer, sentence);
            let turn = self.begin(&prompt, false, &quiet)?;
            let likelihoods = turn.first_likelihoods([fact, people, assistant]);
            *spent += turn.usage;
            if screen::is_for_assistant(likelihoods) {
                unwanted.push(sentence);
            }
        }
        let (shown, differs) = results.without(&unwanted);
        if differs {
            out.send(ModelEvent::Notice(screen::NOTICE.to_owned()))?;
        }
        Ok(shown)
    }

    /// Reads a prompt, or what of it was not read before.
    fn begin<'a>(&'a mut self, prompt: &Prompt, reads_tools: bool, out: &'a Outlet) -> Result<Turn<'a>, Halt> {
        let room = self.room_for(prompt, reads_tools)?;
        self.recall(&prompt.head)?;
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
        turn.read_prompt(prompt, reads_tools)?;
        Ok(turn)
    }

    /// The same for a call, behind the tools that come into question, of which the first may have been read.
    fn begin_call<'a>(&'a mut self, prompt: CallPrompt, out: &'a Outlet) -> Result<Turn<'a>, Halt> {
        let CallPrompt { before, tools, tail } = prompt;
        let mut read = 0;
        if let Some(first) = tools.first() {
            read = self.read_schema(&before, first, out)?;
            self.read_ahead(before.clone(), false, out)?;
            if self.slots.find(&[before.as_slice(), first].concat()).is_none()
                && let Some(cache) = self.slots.find_mut(&before)
            {
                cache.truncate(before.len());
                self.schemas.put(&before, first, cache)?;
            }
        }
        let head = [before, tools.concat()].concat();
        let mut turn = self.begin(&Prompt { head, tail }, false, out)?;
        turn.usage.cached_input_tokens = turn.usage.cached_input_tokens.saturating_sub(read);
        Ok(turn)
    }

    /// Reads a tool behind `before`, unless it was read, and tells how many tokens that took.
    fn read_schema(&mut self, before: &[u32], tool: &[u32], out: &Outlet) -> Result<u64, Halt> {
        if self.schemas.touch(before, tool) {
            return Ok(0);
        }
        let prompt = Prompt { head: before.to_vec(), tail: tool.to_vec() };
        let usage = self.begin(&prompt, true, out)?.usage;
        if let Some(cache) = self.slots.find(&[before, tool].concat()) {
            self.schemas.keep(before, tool, cache)?;
        }
        Ok(usage.input_tokens - usage.cached_input_tokens)
    }

    /// Tokens that are left for the answer.
    fn room_for(&self, prompt: &Prompt, reads_tools: bool) -> Result<usize, ModelError> {
        let context = self.model.context();
        if reads_tools && prompt.head.len() + ANSWER_ROOM > context {
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

/// The first few of the ranked tools; where there is an address of the web, with those before the others that take one.
fn weighed(
    mut ranked: Vec<(usize, f32)>,
    has_address: bool,
    takes_address: impl Fn(usize) -> bool,
) -> Vec<(usize, f32)> {
    if has_address {
        prefer_addresses(&mut ranked, takes_address);
    }
    ranked.truncate(MOST_CANDIDATES);
    ranked
}

/// Memory that a model takes, as a multiple of its file: its weights as they are and in the order that the processor
/// likes, and what it has read. Measured: 2.2 with a list of 14 tools, and room for more.
const MEMORY: (u64, u64) = (25, 10);

/// Refuses a file for which there is not enough memory, where the system tells how much is free.
fn check_memory(size: u64) -> Result<(), LoadError> {
    let Ok(told) = std::fs::read_to_string("/proc/meminfo") else { return Ok(()) };
    let free =
        told.lines().find_map(|line| line.strip_prefix("MemAvailable:")?.trim().strip_suffix(" kB")?.parse().ok());
    let Some(free) = free.map(|kilobytes: u64| kilobytes / 1_000) else { return Ok(()) };
    let needed = size / 1_000_000 * MEMORY.0 / MEMORY.1;
    if free < needed { Err(LoadError::Memory { needed, free }) } else { Ok(()) }
}
