//! A prompt and what it begins with, which stays the same from turn to turn.

use domain::model::{Request, ToolSpec};

use crate::tokenizer::Tokenizer;
use crate::tool_list::{AFTER_LIST, BEFORE_LIST, entry, in_short};
use crate::turns::Turns;

/// Standing instructions where the caller gives none.
const SYSTEM: &str = "You are a helpful assistant.";

/// What the model reads before it answers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Prompt {
    /// The part that stays the same from turn to turn.
    pub head: Vec<u32>,
    /// The part that changes.
    pub tail: Vec<u32>,
}

impl Prompt {
    pub(crate) fn len(&self) -> usize {
        self.head.len() + self.tail.len()
    }
}

/// What the model reads before it writes a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallPrompt {
    /// What stands before the tools.
    pub before: Vec<u32>,
    /// Each tool that comes into question.
    pub tools: Vec<Vec<u32>>,
    /// What is asked.
    pub tail: Vec<u32>,
}

impl CallPrompt {
    /// The prompt with these `tools`, and what is asked.
    pub(crate) fn new<'a>(
        tokenizer: &Tokenizer,
        request: &Request,
        tools: impl IntoIterator<Item = &'a ToolSpec>,
        tail: Vec<u32>,
    ) -> Self {
        let mut before = opened(tokenizer, request);
        before.mark(&format!("\n\n{BEFORE_LIST}"));
        let tools = tools.into_iter().map(|tool| tokenizer.encode(&entry(tool))).collect();
        Self { before: before.done(), tools, tail }
    }

    /// The question which of `tools` the call is of, by a line for each of them; its answer goes on with a name.
    pub(crate) fn which(&self, tokenizer: &Tokenizer, tools: &[&ToolSpec]) -> Prompt {
        let lines = tokenizer.encode(&in_short(tools));
        let begun = tokenizer.encode_marked("<tool_call>\n{\"name\": \"");
        Prompt { head: [self.before.as_slice(), &lines].concat(), tail: [self.tail.as_slice(), &begun].concat() }
    }
}

/// The end of the turn with the list of tools.
pub(crate) fn after_list(tokenizer: &Tokenizer) -> Turns<'_> {
    let mut turns = Turns::new(tokenizer);
    turns.say(AFTER_LIST);
    turns.close();
    turns
}

/// What every prompt that asks for words about the tools there are begins with.
pub(crate) fn about_tools(tokenizer: &Tokenizer, request: &Request) -> Vec<u32> {
    let list = in_short(&request.tools.iter().collect::<Vec<_>>());
    let mut turns = opened(tokenizer, request);
    turns.say(&format!("\n\nYou can use these tools:\n{}", list.trim_end()));
    turns.close();
    turns.done()
}

/// What every other prompt of this kind begins with: the instructions alone.
pub(crate) fn instructions(tokenizer: &Tokenizer, request: &Request) -> Vec<u32> {
    let mut turns = opened(tokenizer, request);
    turns.close();
    turns.done()
}

/// The instructions, in a turn that goes on.
fn opened<'a>(tokenizer: &'a Tokenizer, request: &Request) -> Turns<'a> {
    let system = if request.system.trim().is_empty() { SYSTEM } else { request.system.trim() };
    let mut turns = Turns::new(tokenizer);
    turns.open("system");
    turns.say(system);
    turns.flush();
    turns
}
