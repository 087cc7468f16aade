//! Inference pipeline of a loaded model: decides between a tool call and text, and generates it.

mod after_results;
mod calculations;
mod decision;
mod refusals;
mod stories;

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use candle_core::quantized::gguf_file::Content;
use domain::model::{ModelError, Request, ToolSpec, Usage};

use crate::argument_grounding::{GroundedArguments, check_arguments, conversation_text};
use crate::argument_question;
use crate::assistant_prompt::ModelIdentity;
use crate::choice_question::{self, ChoiceQuestion};
use crate::error::{InferenceError, LoadError};
use crate::few_shot;
use crate::generation::Generation;
use crate::grammar::GrammarCompiler;
use crate::json_output;
use crate::kv_cache::CacheSlots;
use crate::model_config::ModelConfig;
use crate::no_suitable_tool;
use crate::output_sink::OutputSink;
use crate::prefix_files::PrefixFiles;
use crate::prompt::UserRequest;
use crate::prompt_prefix::{CallPrompt, PromptTokens, conversation_prefix};
use crate::sampling::Sampler;
use crate::schema_cache::{MAX_CACHED_SCHEMA_TOKENS, SchemaCache};
use crate::time_guard::TimeGuard;
use crate::tokenizer::{TokenType, Tokenizer};
use crate::tool_decision::{self, ResponseKind, find_named_tools, text_openings};
use crate::tool_overview;
use crate::transformer::TransformerModel;
use crate::worker::RequestHandler;
use decision::ToolCandidate;

/// Minimum number of tokens left in the context for a response.
const MIN_RESPONSE_TOKENS: usize = 256;

/// A loaded model with its tokenizer, grammars and caches.
pub(crate) struct InferencePipeline {
    model: TransformerModel,
    tokenizer: Arc<Tokenizer>,
    grammars: GrammarCompiler,
    slots: CacheSlots,
    schemas: SchemaCache,
    prefix_files: PrefixFiles,
    identity: ModelIdentity,
    /// Whether a text may begin with each token.
    text_openings: Vec<bool>,
    /// Tokens that never occur in text.
    suppressed_tokens: Vec<u32>,
}

impl InferencePipeline {
    /// Loads a weight file. `progress` is called with the number of loaded layers and their total.
    pub(crate) fn load(path: &Path, progress: impl Fn(u32, u32)) -> Result<Self, LoadError> {
        let started = Instant::now();
        let file = File::open(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => LoadError::Missing(path.to_owned()),
            _ => LoadError::Read { path: path.to_owned(), error },
        })?;
        // Checked before loading: otherwise the kernel kills a process, and not always this one.
        check_memory(file.metadata().map_or(0, |data| data.len()))?;
        let mut reader = BufReader::new(file);
        let content = Content::read(&mut reader)?;
        let config = ModelConfig::from_metadata(&content.metadata)?;
        let tokenizer = Arc::new(Tokenizer::from_metadata(&content.metadata)?);
        let identity = ModelIdentity::of_weights(path, &content);
        let model = TransformerModel::load(config, &content, &mut reader, progress)?;
        let grammars =
            GrammarCompiler::new(tokenizer.clone()).map_err(|error| LoadError::Tokenizer(error.to_string()))?;
        let suppressed = |(id, kind): (usize, &TokenType)| {
            let id = id as u32;
            (*kind != TokenType::Text && !tokenizer.stop_tokens().contains(&id)).then_some(id)
        };
        let suppressed_tokens = tokenizer.kinds().iter().enumerate().filter_map(suppressed).collect();
        let millis = started.elapsed().as_millis();
        tracing::info!(path = %path.display(), millis, "built-in model loaded");
        Ok(Self {
            text_openings: text_openings(&tokenizer),
            suppressed_tokens,
            model,
            grammars,
            slots: CacheSlots::new(),
            schemas: SchemaCache::default(),
            prefix_files: PrefixFiles::for_weights(path, &tokenizer, &identity),
            identity,
            tokenizer,
        })
    }
}

impl RequestHandler for InferencePipeline {
    fn answer(&mut self, request: &Request, out: &OutputSink) -> Result<(), InferenceError> {
        // A reply to a question about an argument can follow one about the tool.
        let joined = argument_question::join_reply(request);
        let request = joined.as_ref().unwrap_or(request);
        let joined = choice_question::join_reply(request);
        let request = joined.as_ref().unwrap_or(request);
        let extended = json_output::with_schema_in_instructions(request);
        let request = extended.as_ref().unwrap_or(request);
        let question = UserRequest::from_request(request)?;
        // The message has been answered by a tool; the question is no longer whether one is needed.
        if question.has_results() {
            return self.answer_or_call_again(&question, request, out);
        }
        let mut usage = Usage::default();
        let (kind, candidates) = self.decide(&question, &mut usage, out)?;
        match kind {
            ResponseKind::ToolCall => return self.call_or_ask(&question, candidates, request, usage, out),
            ResponseKind::Question if can_ask(request) => {
                let tools: Vec<&ToolSpec> = candidates.iter().map(|candidate| candidate.tool).collect();
                return ask_which_tool(&tools, &question, request, usage, out);
            }
            ResponseKind::AboutTools if can_ask(request) => {
                return out.send_text_response(tool_overview::describe_tools(request, question.message), usage);
            }
            ResponseKind::Text | ResponseKind::AboutTools | ResponseKind::Question | ResponseKind::NoSuitableTool => {}
        }
        let is_new_text = can_ask(request) && question.begun_answer().is_none();
        if is_new_text && let Some(story) = self.find_story(&question, &mut usage, out)? {
            return self.tell_story(&story, &question, request, usage, out);
        }
        if is_new_text && self.is_calculation(&question, &mut usage, out)? {
            return self.calculate(&question, request, usage, out);
        }
        let note = match kind {
            ResponseKind::NoSuitableTool => no_suitable_tool::instruction(question.message),
            _ => None,
        };
        let prompt = question.text_prompt(&self.tokenizer, &self.identity, note.as_deref());
        // Another seed for each answer, so that an answer that is generated again is another one.
        let sampler = Sampler::for_conversation(request, domain::ids::fresh().as_u128() as u64);
        if note.is_none() && is_new_text {
            return self.write_conversation(&prompt, &question, usage, sampler, out, |generation, sampler| {
                generation.write_text(request, sampler, &TimeGuard::default())
            });
        }
        self.write_answer(&prompt, request, usage, sampler, &TimeGuard::default(), out)
    }

    fn prepare(&mut self, request: &Request, out: &OutputSink) -> Result<(), InferenceError> {
        // The user's tools first: background work is interrupted by the next request, which needs them most.
        self.read_prefix(few_shot::tool_table(&self.tokenizer, &request.tools), true, out)?;
        let prefixes: Vec<Vec<u32>> = self.prefix_files.prefixes().map(<[u32]>::to_vec).collect();
        for (index, prefix) in prefixes.into_iter().enumerate() {
            self.read_prefix(prefix.clone(), false, out)?;
            if let Some(cache) = self.slots.find(&prefix) {
                self.prefix_files.store(index, cache);
            }
        }
        let CallPrompt { before_tools, tools, .. } =
            CallPrompt::new(&self.tokenizer, request, &request.tools, Vec::new());
        self.read_prefix(before_tools.clone(), false, out)?;
        // More schemas than fit would evict each other.
        let mut free_tokens = MAX_CACHED_SCHEMA_TOKENS;
        for tool in tools {
            let Some(left) = free_tokens.checked_sub(tool.len()) else { break };
            free_tokens = left;
            self.read_schema(&before_tools, &tool, out)?;
        }
        self.read_prefix(conversation_prefix(&self.tokenizer, &self.identity, request), false, out)
    }
}

impl InferencePipeline {
    /// Reads a prompt prefix, unless it is cached in [`CacheSlots`].
    fn read_prefix(&mut self, head: Vec<u32>, reads_tools: bool, out: &OutputSink) -> Result<(), InferenceError> {
        self.load_stored_prefix(&head)?;
        if self.slots.find(&head).is_none() {
            self.start(&PromptTokens { head, tail: Vec::new() }, reads_tools, out)?;
        }
        Ok(())
    }

    /// Loads the stored prefix ([`PrefixFiles`]) that a prompt starts with, unless it is cached.
    fn load_stored_prefix(&mut self, head: &[u32]) -> Result<(), InferenceError> {
        let Some((index, prefix)) = self.prefix_files.find_prefix(head) else { return Ok(()) };
        if self.slots.find(prefix).is_none()
            && let Some(cache) = self.prefix_files.load(index, self.model.new_cache()?)
        {
            self.slots.insert(cache);
        }
        Ok(())
    }
}

impl InferencePipeline {
    /// Calls one of the candidates, or asks for an argument that is not in the conversation.
    fn call_or_ask<'a>(
        &mut self,
        question: &UserRequest<'a>,
        candidates: Vec<ToolCandidate<'a>>,
        request: &Request,
        mut usage: Usage,
        out: &OutputSink,
    ) -> Result<(), InferenceError> {
        let tools = self.narrow_candidates(question, candidates, &mut usage, out)?;
        if tools.len() > 1 && can_ask(request) && find_named_tools(question.message, &request.tools).is_empty() {
            return ask_which_tool(&tools, question, request, usage, out);
        }
        let matcher = self.grammars.compile_call(&tools).map_err(InferenceError::internal)?;
        let mut generation = self.start_call(question.call_prompt(&self.tokenizer, &tools), out)?;
        generation.usage += usage;
        let mut call = generation.write_call(matcher, request, question.message)?;
        let Some(tool) = tools.iter().find(|tool| tool.name == call.name) else { return generation.emit_call(call) };
        match check_arguments(&call.arguments, tool, &conversation_text(request)) {
            GroundedArguments::Grounded(arguments) => {
                call.arguments = arguments;
                generation.emit_call(call)
            }
            GroundedArguments::Missing(missing) => {
                tracing::debug!(tool = tool.name, argument = missing.name, "an argument of a tool call was invented");
                let text = argument_question::write_question(&tool.name, &missing, question.message);
                out.send_text_response(text, generation.usage)
            }
        }
    }

    /// Reduces several candidates to the one that the model selects by one-line summaries, if it selects one clearly.
    /// Otherwise, the best comes first. Reading all their schemas would take three times as long, and those after the first are not cached.
    fn narrow_candidates<'a>(
        &mut self,
        question: &UserRequest<'a>,
        candidates: Vec<ToolCandidate<'a>>,
        usage: &mut Usage,
        out: &OutputSink,
    ) -> Result<Vec<&'a ToolSpec>, InferenceError> {
        let tools: Vec<&ToolSpec> = candidates.iter().map(|candidate| candidate.tool).collect();
        if tools.len() < 2 {
            return Ok(tools);
        }
        let names: Vec<_> = tools.iter().map(|tool| self.tokenizer.encode(&tool.name)).collect();
        let selection = question.call_prompt(&self.tokenizer, &tools).tool_selection(&self.tokenizer, &tools);
        let mut generation = self.start(&selection, false, out)?;
        let mut ranked = generation.rank(&names, tools.len())?;
        *usage += generation.usage;
        for (index, score) in &mut ranked {
            *score += candidates[*index].score;
        }
        ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
        tracing::debug!(?ranked, tools = ?tools.iter().map(|tool| &tool.name).collect::<Vec<_>>(), "ranked the candidates");
        if let Some(index) = tool_decision::clear_winner(&ranked) {
            return Ok(vec![tools[index]]);
        }
        Ok(ranked.into_iter().map(|(index, _)| tools[index]).collect())
    }

    /// Writes the text of the answer in the response format of the request, or JSON by [`json_output`].
    fn write_answer(
        &mut self,
        prompt: &PromptTokens,
        request: &Request,
        decision_usage: Usage,
        sampler: Sampler,
        time_guard: &TimeGuard,
        out: &OutputSink,
    ) -> Result<(), InferenceError> {
        let schema = json_output::output_schema(&request.response_format);
        // Before the prompt is read, so that an unsupported schema is reported at once.
        let matcher = schema.map(|schema| json_output::compile(&self.grammars, &schema)).transpose()?;
        let mut generation = self.start(prompt, false, out)?;
        generation.usage += decision_usage;
        match matcher {
            Some(matcher) => generation.write_json(matcher, request),
            None => generation.write_text(request, sampler, time_guard),
        }
    }

    /// Returns the log-odds of "yes" against "no" as the answer to a prompt.
    fn score_yes_over_no(
        &mut self,
        prompt: &PromptTokens,
        usage: &mut Usage,
        out: &OutputSink,
    ) -> Result<f32, InferenceError> {
        let [yes, no] = few_shot::YES_OR_NO.map(|word| self.tokenizer.encode(word));
        let generation = self.start(prompt, false, out)?;
        let [yes, no] = generation.first_token_scores([&yes, &no]);
        *usage += generation.usage;
        Ok(yes - no)
    }

    /// Reads the part of a prompt that is not cached, and returns the [`Generation`] that continues it.
    fn start<'a>(
        &'a mut self,
        prompt: &PromptTokens,
        reads_tools: bool,
        out: &'a OutputSink,
    ) -> Result<Generation<'a>, InferenceError> {
        let token_limit = self.remaining_tokens(prompt, reads_tools)?;
        self.load_stored_prefix(&prompt.head)?;
        let cache = self.slots.for_prompt(&prompt.head, &prompt.tail, || self.model.new_cache())?;
        let cached = cache.tokens().len() as u64;
        let mut generation = Generation {
            model: &self.model,
            tokenizer: &self.tokenizer,
            text_openings: &self.text_openings,
            suppressed_tokens: &self.suppressed_tokens,
            cache,
            logits: Vec::new(),
            out,
            token_limit,
            usage: Usage { input_tokens: prompt.len() as u64, cached_input_tokens: cached, output_tokens: 0 },
        };
        generation.read_prompt(prompt, reads_tools)?;
        Ok(generation)
    }

    /// Starts a tool call like [`Self::start`], with the schema of the first candidate from the cache.
    fn start_call<'a>(&'a mut self, prompt: CallPrompt, out: &'a OutputSink) -> Result<Generation<'a>, InferenceError> {
        let CallPrompt { before_tools, tools, tail } = prompt;
        let mut read = 0;
        if let Some(first) = tools.first() {
            read = self.read_schema(&before_tools, first, out)?;
            self.read_prefix(before_tools.clone(), false, out)?;
            // Appending the cached schema to the prefix is cheaper than reading it again.
            if self.slots.find(&[before_tools.as_slice(), first].concat()).is_none()
                && let Some(cache) = self.slots.find_mut(&before_tools)
            {
                cache.truncate(before_tools.len());
                self.schemas.append_to(&before_tools, first, cache)?;
            }
        }
        let head = [before_tools, tools.concat()].concat();
        let mut generation = self.start(&PromptTokens { head, tail }, false, out)?;
        // Tokens that were read for the cache just now are not cached input of this request.
        generation.usage.cached_input_tokens = generation.usage.cached_input_tokens.saturating_sub(read);
        Ok(generation)
    }

    /// Reads a tool after the tokens `before`, unless it is in the [`SchemaCache`], and returns the number of tokens
    /// read.
    fn read_schema(&mut self, before: &[u32], tool: &[u32], out: &OutputSink) -> Result<u64, InferenceError> {
        if self.schemas.touch(before, tool) {
            return Ok(0);
        }
        let prompt = PromptTokens { head: before.to_vec(), tail: tool.to_vec() };
        let usage = self.start(&prompt, true, out)?.usage;
        if let Some(cache) = self.slots.find(&[before, tool].concat()) {
            self.schemas.insert(before, tool, cache)?;
        }
        Ok(usage.input_tokens - usage.cached_input_tokens)
    }

    /// Returns the number of tokens left in the context for the response.
    fn remaining_tokens(&self, prompt: &PromptTokens, reads_tools: bool) -> Result<usize, ModelError> {
        let context = self.model.context_tokens();
        if reads_tools && prompt.head.len() + MIN_RESPONSE_TOKENS > context {
            return Err(ModelError::ContextOverflow(format!(
                "the list of tools takes {} of the {context} tokens it can read at once; choose fewer tools",
                prompt.head.len()
            )));
        }
        match context.checked_sub(prompt.len()) {
            Some(room) if room >= MIN_RESPONSE_TOKENS => Ok(room),
            _ => Err(ModelError::ContextOverflow(format!(
                "the message takes about {} tokens, and the built-in model can read {} here; send a shorter one",
                prompt.tail.len(),
                context.saturating_sub(prompt.head.len() + MIN_RESPONSE_TOKENS)
            ))),
        }
    }
}

/// Returns whether the answer can be a question or a list for the user: not if a program wants JSON.
fn can_ask(request: &Request) -> bool {
    json_output::output_schema(&request.response_format).is_none()
}

/// Asks the user which of the tools is meant.
fn ask_which_tool(
    tools: &[&ToolSpec],
    question: &UserRequest<'_>,
    request: &Request,
    usage: Usage,
    out: &OutputSink,
) -> Result<(), InferenceError> {
    let ChoiceQuestion { text, options } = choice_question::write_question(tools, request, question.message);
    out.send_question(text, options, usage)
}

/// Memory of a loaded model as a fraction of its file size: original and repacked weights, and caches. Measured: 2.2
/// with a list of 14 tools; the rest is a reserve.
const MEMORY_PER_FILE_SIZE: (u64, u64) = (25, 10);

/// Fails when there is not enough memory for a weight file of this size, on systems that report free memory.
fn check_memory(size: u64) -> Result<(), LoadError> {
    let Ok(meminfo) = std::fs::read_to_string("/proc/meminfo") else { return Ok(()) };
    let free =
        meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:")?.trim().strip_suffix(" kB")?.parse().ok());
    let Some(free) = free.map(|kilobytes: u64| kilobytes / 1_000) else { return Ok(()) };
    let needed = size / 1_000_000 * MEMORY_PER_FILE_SIZE.0 / MEMORY_PER_FILE_SIZE.1;
    if free < needed { Err(LoadError::Memory { needed, free }) } else { Ok(()) }
}
