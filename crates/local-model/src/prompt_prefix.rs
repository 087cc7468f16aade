//! Prompts and their prefixes, which stay the same from turn to turn.

use domain::model::{Request, ToolSpec};

use crate::assistant_prompt::{self, ModelIdentity};
use crate::chatml::ChatMlBuilder;
use crate::tokenizer::Tokenizer;
use crate::tool_list::{AFTER_LIST, BEFORE_LIST, tool_definition, tool_summaries};

/// System instructions of a request without any.
const DEFAULT_INSTRUCTIONS: &str = "You are a helpful assistant.";

/// Tokens that the model reads before it answers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PromptTokens {
    /// Part that stays the same from turn to turn.
    pub head: Vec<u32>,
    /// Part that changes with every message.
    pub tail: Vec<u32>,
}

impl PromptTokens {
    pub(crate) fn len(&self) -> usize {
        self.head.len() + self.tail.len()
    }
}

/// Tokens that the model reads before it writes a tool call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallPrompt {
    /// Tokens before the tools.
    pub before_tools: Vec<u32>,
    /// Tokens of each candidate tool.
    pub tools: Vec<Vec<u32>>,
    /// Tokens of the conversation.
    pub tail: Vec<u32>,
}

impl CallPrompt {
    /// Builds the prompt with these `tools`, followed by the conversation in `tail`.
    pub(crate) fn new<'a>(
        tokenizer: &Tokenizer,
        request: &Request,
        tools: impl IntoIterator<Item = &'a ToolSpec>,
        tail: Vec<u32>,
    ) -> Self {
        let mut before = open_instructions(tokenizer, request);
        before.push_marked(&format!("\n\n{BEFORE_LIST}"));
        let tools = tools.into_iter().map(|tool| tokenizer.encode(&tool_definition(tool))).collect();
        Self { before_tools: before.into_tokens(), tools, tail }
    }

    /// Builds the prompt that selects one of `tools` by a one-line summary of each. The model continues it with a name.
    pub(crate) fn tool_selection(&self, tokenizer: &Tokenizer, tools: &[&ToolSpec]) -> PromptTokens {
        let summaries = tokenizer.encode(&tool_summaries(tools));
        // As if a call had begun, so that the next tokens are a name.
        let call_start = tokenizer.encode_marked("<tool_call>\n{\"name\": \"");
        PromptTokens {
            head: [self.before_tools.as_slice(), &summaries].concat(),
            tail: [self.tail.as_slice(), &call_start].concat(),
        }
    }
}

/// Ends the system turn that contains the tool list.
pub(crate) fn close_tool_list(tokenizer: &Tokenizer) -> ChatMlBuilder<'_> {
    let mut turns = ChatMlBuilder::new(tokenizer);
    turns.push_text(AFTER_LIST);
    turns.close_turn();
    turns
}

/// Returns the prefix of prompts for conversation: the [assistant's](assistant_prompt) in a chat of the product, else the
/// instructions alone.
pub(crate) fn conversation_prefix(tokenizer: &Tokenizer, identity: &ModelIdentity, request: &Request) -> Vec<u32> {
    match &request.facts {
        Some(facts) => assistant_prompt::conversation_prefix(tokenizer, identity, request, facts),
        None => instructions_prefix(tokenizer, request),
    }
}

/// Returns the prefix of prompts for an answer from tool results: the instructions alone.
pub(crate) fn instructions_prefix(tokenizer: &Tokenizer, request: &Request) -> Vec<u32> {
    let mut turns = open_instructions(tokenizer, request);
    turns.close_turn();
    turns.into_tokens()
}

/// Starts the system turn with the instructions.
fn open_instructions<'a>(tokenizer: &'a Tokenizer, request: &Request) -> ChatMlBuilder<'a> {
    let system = if request.system.trim().is_empty() { DEFAULT_INSTRUCTIONS } else { request.system.trim() };
    let mut turns = ChatMlBuilder::new(tokenizer);
    turns.open_turn("system");
    turns.push_text(system);
    // No token may span the end of the instructions: prompts with and without tools share this prefix.
    turns.flush_text();
    turns
}
