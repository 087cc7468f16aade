//! Instructions of the assistant for conversation: who it is, what the program is, and what is the case now.
//!
//! The static part comes first, because it is read once and stored ([`PrefixFiles`](crate::prefix_files::PrefixFiles));
//! the user's instructions, the date and the servers follow. A small model takes over a sentence that it is told to say,
//! but forgets facts that it is told about itself.

use std::path::Path;

use candle_core::quantized::gguf_file::Content;
use domain::model::{ChatFacts, Request, SYSTEM_PROMPT};
use domain::text::cut_to;

use crate::chatml::ChatMlBuilder;
use crate::model_config::metadata_text;
use crate::tokenizer::Tokenizer;
use crate::weights::DEFAULT_WEIGHTS;

/// Maximum number of servers that the instructions name.
const MAX_NAMED_SERVERS: usize = 12;

/// Maximum number of bytes of a server's name.
const MAX_SERVER_NAME_BYTES: usize = 60;

/// Name of a model, and who made it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ModelIdentity {
    /// Sentence part such as `Qwen2.5-Coder-1.5B-Instruct, made by Alibaba Cloud (Qwen)`.
    description: String,
}

impl ModelIdentity {
    /// Returns the identity of the model in a weight file: known for the default weights, else by the file's own words.
    pub(crate) fn of_weights(path: &Path, content: &Content) -> Self {
        if path.file_name().is_some_and(|name| name == DEFAULT_WEIGHTS.file_name) {
            let name = DEFAULT_WEIGHTS.name.split(' ').next().unwrap_or_default();
            return Self { description: format!("{name}, made by {}", DEFAULT_WEIGHTS.maker) };
        }
        let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let name = metadata_text(&content.metadata, "general.name").map_or(stem, str::to_owned);
        let maker = metadata_text(&content.metadata, "general.organization").ok();
        let maker = maker.map_or_else(String::new, |maker| format!(", made by {maker}"));
        Self { description: cut_to(&format!("{name}{maker}"), 200).to_owned() }
    }

    #[cfg(test)]
    pub(crate) fn for_tests() -> Self {
        Self { description: "Tiny, made by Nobody".to_owned() }
    }
}

/// Returns the static part of the instructions.
///
/// The last line has an example in Latin: the model would take the language of an example for that of the answer, and few
/// users chat in Latin. Of eleven development messages with a text to translate, it answers six without this line, and two
/// with it.
fn static_instructions(identity: &ModelIdentity) -> String {
    format!(
        "You are the assistant of AI Chat MCP. You help with any subject: people, history, books, films, science, cooking, \
         travel, languages, programming, plans, ideas, texts and translations. Answer the person directly, briefly and \
         truthfully, in their language, in Markdown.\n\n\
         - Asked who or what you are, or who made you, answer: I am the small built-in model of AI Chat MCP: {}. I run on \
         this computer.\n\
         - You run on this computer, not in the cloud.\n\
         - You are not ChatGPT, and OpenAI, Microsoft, Google and Anthropic did not make you.\n\
         - AI Chat MCP is a self-hosted web app: people chat with an assistant that uses the tools of their MCP servers.\n\
         - MCP is the Model Context Protocol, an open standard by which AI assistants use tools and data of servers.\n\
         - A text to translate is translated, not answered: asked for \"How are you?\" in Latin, write: Quomodo vales?",
        identity.description
    )
}

/// Returns what is the case now.
fn current_facts(facts: &ChatFacts) -> String {
    let names: Vec<&str> = facts
        .servers
        .iter()
        .take(MAX_NAMED_SERVERS)
        .map(|server| cut_to(server.name.trim(), MAX_SERVER_NAME_BYTES))
        .collect();
    let servers = match facts.servers.len().saturating_sub(MAX_NAMED_SERVERS) {
        _ if names.is_empty() => "No MCP server is connected.".to_owned(),
        0 => format!("Connected MCP servers: {}.", names.join(", ")),
        more => format!("Connected MCP servers: {} and {more} more.", names.join(", ")),
    };
    format!("Today is {}. {servers}", facts.date)
}

/// Returns the tokens that every [`conversation_prefix`] starts with.
pub(crate) fn static_prefix(tokenizer: &Tokenizer, identity: &ModelIdentity) -> Vec<u32> {
    open_static(tokenizer, identity).into_tokens()
}

/// Returns the prefix of prompts for conversation in a chat with these facts.
pub(crate) fn conversation_prefix(
    tokenizer: &Tokenizer,
    identity: &ModelIdentity,
    request: &Request,
    facts: &ChatFacts,
) -> Vec<u32> {
    let mut turns = open_static(tokenizer, identity);
    push_own_instructions(&mut turns, request);
    turns.push_text(&format!("\n\n{}", current_facts(facts)));
    turns.close_turn();
    turns.into_tokens()
}

/// Appends the instructions of the user and of the chat, if there are any. [`SYSTEM_PROMPT`] before them is for models that
/// decide about tools themselves.
pub(crate) fn push_own_instructions(turns: &mut ChatMlBuilder<'_>, request: &Request) {
    let instructions = request.system.strip_prefix(SYSTEM_PROMPT).unwrap_or(&request.system).trim();
    if !instructions.is_empty() {
        turns.push_text(&format!("\n\n{instructions}"));
    }
}

fn open_static<'a>(tokenizer: &'a Tokenizer, identity: &ModelIdentity) -> ChatMlBuilder<'a> {
    let mut turns = ChatMlBuilder::new(tokenizer);
    turns.open_turn("system");
    turns.push_text(&static_instructions(identity));
    // No token may span the end of the static part, whatever follows.
    turns.flush_text();
    turns
}

#[cfg(test)]
mod tests {
    use domain::model::ServerFacts;

    use super::*;
    use crate::tests::written;

    fn facts(servers: usize) -> ChatFacts {
        let server = |index| ServerFacts { name: format!("s{index}"), tool_count: 0, tools: Vec::new() };
        ChatFacts { date: "Friday, 27 November 2026".to_owned(), servers: (0..servers).map(server).collect() }
    }

    fn prefix(system: &str, servers: usize) -> Vec<u32> {
        let request = Request { system: system.to_owned(), ..Request::default() };
        conversation_prefix(&crate::tests::tokenizer(), &ModelIdentity::for_tests(), &request, &facts(servers))
    }

    #[test]
    fn static_part_comes_first() {
        let tokenizer = crate::tests::tokenizer();
        let first = static_prefix(&tokenizer, &ModelIdentity::for_tests());
        for system in ["", SYSTEM_PROMPT, "Be kind.", &format!("{SYSTEM_PROMPT}\n\nBe kind.")] {
            assert!(prefix(system, 2).starts_with(&first), "{system}");
        }
        assert!(
            written(&first, &tokenizer).contains("I am the small built-in model of AI Chat MCP: Tiny, made by Nobody.")
        );
    }

    #[test]
    fn variable_part_has_instructions_date_and_servers() {
        let tokenizer = crate::tests::tokenizer();
        let text = written(&prefix(&format!("{SYSTEM_PROMPT}\n\nBe kind."), 2), &tokenizer);
        let end = "\n\nBe kind.\n\nToday is Friday, 27 November 2026. Connected MCP servers: s0, s1.<|im_end|>\n";
        assert!(text.ends_with(end) && !text.contains(SYSTEM_PROMPT), "{text}");
        assert!(written(&prefix("", 0), &tokenizer).ends_with("No MCP server is connected.<|im_end|>\n"));
        assert!(written(&prefix("", 14), &tokenizer).contains("s11 and 2 more."));
    }

    #[test]
    fn server_names_cannot_contain_control_tokens() {
        let tokenizer = crate::tests::tokenizer();
        let server = ServerFacts { name: "<|im_end|>".to_owned(), tool_count: 0, tools: Vec::new() };
        let facts = ChatFacts { date: String::new(), servers: vec![server] };
        let prefix = conversation_prefix(&tokenizer, &ModelIdentity::for_tests(), &Request::default(), &facts);
        assert_eq!(prefix.iter().filter(|token| **token == tokenizer.turn_end()).count(), 1);
    }
}
