//! Few-shot prompts that decide whether a message needs a tool, and which.
//!
//! A small model that is prompted for tool calls calls a tool for a greeting, or answers from memory what only a tool
//! can know. As the next line of a table of examples it decides well. The tables do not depend on the user, so they
//! are read once per list of tools.

use std::fmt::Write as _;

use domain::model::ToolSpec;
use domain::text::cut_to;

use crate::chatml::ChatMlBuilder;
use crate::prompt::UserRequest;
use crate::prompt_prefix::PromptTokens;
use crate::tokenizer::Tokenizer;
use crate::tool_list::argument_names;

/// Tool name of a request that needs no tool.
pub(crate) const NO_TOOL: &str = "none";

/// Tool name of a question about the tools themselves.
pub(crate) const ABOUT_TOOLS: &str = "about";

/// Maximum number of bytes of a tool description.
const MAX_DESCRIPTION_BYTES: usize = 200;

/// Examples of requests that need no tool. They need not resemble real ones, as long as each kind is present.
const NO_TOOL_EXAMPLES: [(&str, &str); 23] = [
    ("Hello!", NO_TOOL),
    ("Thank you very much.", NO_TOOL),
    ("What is the capital of Peru?", NO_TOOL),
    ("Write a poem about the moon.", NO_TOOL),
    ("What can you do?", ABOUT_TOOLS),
    ("Explain what gravity is.", NO_TOOL),
    ("Who are you?", NO_TOOL),
    ("How do I cook rice?", NO_TOOL),
    ("Good night, see you", NO_TOOL),
    ("Who painted Guernica?", NO_TOOL),
    ("Which tools do you have?", ABOUT_TOOLS),
    ("Is tea better than coffee?", NO_TOOL),
    ("Give me ideas for a party.", NO_TOOL),
    ("Wer war Goethe?", NO_TOOL),
    ("What does 'serendipity' mean?", NO_TOOL),
    ("Tell me a joke.", NO_TOOL),
    ("Was kannst du alles?", ABOUT_TOOLS),
    ("Suggest a name for my dog.", NO_TOOL),
    ("How are you today?", NO_TOOL),
    ("What is a variable in programming?", NO_TOOL),
    ("¿Por qué el mar es salado?", NO_TOOL),
    ("Bye!", NO_TOOL),
    ("Who discovered penicillin?", NO_TOOL),
];

/// Examples of messages, and whether they need something from outside the conversation.
const EXTERNAL_NEED_EXAMPLES: [(&str, bool); 24] = [
    ("Hello!", false),
    ("What time is it in Rome?", true),
    ("What is the capital of Peru?", false),
    ("Show me the file /tmp/a.txt", true),
    ("Thank you!", false),
    ("How much is 23.5 * 17?", true),
    ("Write a poem about the moon.", false),
    ("Send a message to Anna", true),
    ("Explain what gravity is.", false),
    ("What is the weather like?", true),
    ("Who are you?", false),
    ("Which meetings do I have today?", true),
    ("How do I cook rice?", false),
    ("Delete the old entries", true),
    ("Who painted Guernica?", false),
    ("What is on the page https://a.example?", true),
    ("What is a database?", false),
    ("How many users are in the database?", true),
    ("Translate 'cat' into Spanish.", false),
    ("What do my notes say about Paul?", true),
    ("Give me ideas for a party.", false),
    ("Turn off the heating", true),
    ("Wie alt wurde Goethe?", false),
    ("Wie spät ist es?", true),
];

/// Answers to the yes-or-no prompts.
pub(crate) const YES_OR_NO: [&str; 2] = ["yes", "no"];

/// Appends a request and its tool to the table.
fn push_example(request: &str, tool: &str, table: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(table, "Request: {request}\nTool: {tool}\n\n");
}

/// Returns the text before the tools of every table, up to the end of a word, so that the following text does not
/// change its tokens.
fn table_introduction() -> String {
    let mut table = "Each request is done by a tool or by none. Small talk, common knowledge, advice and writing need \
                     none.\n\n"
        .to_owned();
    for (request, tool) in NO_TOOL_EXAMPLES {
        push_example(request, &format!("{tool}()"), &mut table);
    }
    table + "The tools are"
}

/// Returns the tokens that every [`tool_table`] starts with.
pub(crate) fn tool_table_prefix(tokenizer: &Tokenizer) -> Vec<u32> {
    let mut turns = ChatMlBuilder::new(tokenizer);
    turns.open_turn("system");
    turns.push_text(&table_introduction());
    turns.into_tokens()
}

/// Builds the table of tools and their purposes, which is the same for every request.
pub(crate) fn tool_table(tokenizer: &Tokenizer, tools: &[ToolSpec]) -> Vec<u32> {
    let mut table = table_introduction();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let _ = write!(table, " {}.\n\n", names.join(", "));
    for tool in tools {
        push_example(&tool_purpose(tool), &format!("{}({})", tool.name, argument_names(tool)), &mut table);
    }
    let mut turns = ChatMlBuilder::new(tokenizer);
    turns.push_turn("system", table.trim_end());
    turns.into_tokens()
}

/// Returns the first sentences of a tool's description on one line, or the words of its name if it has none.
fn tool_purpose(tool: &ToolSpec) -> String {
    let described = tool.description.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = if described.is_empty() { tool.name.replace(['_', '-'], " ") } else { described };
    let cut = cut_to(&text, MAX_DESCRIPTION_BYTES);
    let end = if cut.len() < text.len() { cut.rfind(". ").map_or(cut.len(), |end| end + 1) } else { cut.len() };
    cut[..end].to_owned()
}

/// Builds the prompt that asks which of the tools does a request. The model continues it with a [`tool_name_tokens`].
pub(crate) fn choice_prompt(tokenizer: &Tokenizer, question: &UserRequest<'_>, tools: &[ToolSpec]) -> PromptTokens {
    let mut tail = ChatMlBuilder::new(tokenizer);
    for (request, tool) in question.earlier_requests() {
        tail.push_turn("user", &format!("Request: {request}"));
        // As in the table, an opening parenthesis ends the name.
        tail.push_turn("assistant", &format!("Tool: {}(", tool.unwrap_or(NO_TOOL)));
    }
    tail.push_turn("user", &format!("Request: {}", question.shortened_message()));
    let mut tail = tail.open_assistant_turn();
    tail.extend(tokenizer.encode("Tool:"));
    PromptTokens { head: tool_table(tokenizer, tools), tail }
}

/// Returns the tokens of a tool's name as the model continues the table with it.
pub(crate) fn tool_name_tokens(tokenizer: &Tokenizer, name: &str) -> Vec<u32> {
    // With the space that follows "Tool:", because the vocabulary joins it with the beginning of the word.
    tokenizer.encode(&format!(" {name}"))
}

/// Returns the prefix of prompts that ask whether something from outside the conversation is needed.
pub(crate) fn external_need_prefix(tokenizer: &Tokenizer) -> Vec<u32> {
    yes_or_no_prefix(
        tokenizer,
        "Does the message need anything from outside of this conversation: live data, the time, files, web pages, \
         stored data, accounts, devices, an exact computation, or something to be done there? Greetings, thanks, \
         common knowledge, opinions, explanations and creative writing need nothing. Answer yes or no.",
        &EXTERNAL_NEED_EXAMPLES,
    )
}

/// Returns the prefix of prompts that ask the same question about different messages. `examples` are messages with their
/// answers.
pub(crate) fn yes_or_no_prefix(tokenizer: &Tokenizer, question: &str, examples: &[(&str, bool)]) -> Vec<u32> {
    let mut turns = ChatMlBuilder::new(tokenizer);
    turns.push_turn("system", question);
    for (message, answer) in examples {
        turns.push_turn("user", message);
        turns.push_turn("assistant", yes_or_no(*answer));
    }
    turns.into_tokens()
}

/// Builds the prompt that asks the question of a [`yes_or_no_prefix`] about `message`.
pub(crate) fn yes_or_no_prompt(tokenizer: &Tokenizer, head: Vec<u32>, message: &str) -> PromptTokens {
    let mut tail = ChatMlBuilder::new(tokenizer);
    tail.push_turn("user", message);
    PromptTokens { head, tail: tail.open_assistant_turn() }
}

fn yes_or_no(answer: bool) -> &'static str {
    YES_OR_NO[usize::from(!answer)]
}

/// Builds the prompt that asks whether something from outside the conversation is needed.
pub(crate) fn external_need_prompt(tokenizer: &Tokenizer, question: &UserRequest<'_>) -> PromptTokens {
    let mut tail = ChatMlBuilder::new(tokenizer);
    for (request, tool) in question.earlier_requests() {
        tail.push_turn("user", request);
        tail.push_turn("assistant", yes_or_no(tool.is_some()));
    }
    tail.push_turn("user", &question.shortened_message());
    PromptTokens { head: external_need_prefix(tokenizer), tail: tail.open_assistant_turn() }
}

#[cfg(test)]
mod tests {
    use domain::model::{ModelCall, ModelMessage, Request};
    use serde_json::json;

    use super::*;
    use crate::tests::written;

    fn tool(name: &str, description: &str) -> ToolSpec {
        let input_schema = json!({ "type": "object", "properties": { "city": { "type": "string" }, "days": {} } });
        ToolSpec { name: name.to_owned(), description: description.to_owned(), input_schema }
    }

    #[test]
    fn table_lists_tools_after_shared_examples() {
        let tokenizer = crate::tests::tokenizer();
        let tools = [tool("forecast", "Tells\n the weather.  Slowly."), tool("sun_set", "")];
        let table = written(&super::tool_table(&tokenizer, &tools), &tokenizer);
        let end = "Request: Who discovered penicillin?\nTool: none()\n\nThe tools are forecast, sun_set.\n\n\
                   Request: Tells the weather. Slowly.\nTool: forecast(city, days)\n\n\
                   Request: sun set\nTool: sun_set(city, days)<|im_end|>\n";
        assert!(table.ends_with(end), "{table}");
    }

    #[test]
    fn all_tables_share_a_prefix() {
        let tokenizer = crate::tests::tokenizer();
        let opening = tool_table_prefix(&tokenizer);
        for name in ["forecast", "_private", "9lives", "été"] {
            assert!(super::tool_table(&tokenizer, &[tool(name, "")]).starts_with(&opening), "{name}");
        }
        assert!(super::tool_table(&tokenizer, &[]).len() - opening.len() < 10);
    }

    #[test]
    fn truncates_purpose_at_a_sentence() {
        let long = format!("Tells the weather. {}", "It is slow and takes its time. ".repeat(20));
        let short = tool_purpose(&tool("forecast", &long));
        assert!(short.len() <= MAX_DESCRIPTION_BYTES && short.ends_with("time."), "{short}");
        assert_eq!(tool_purpose(&tool("forecast", &"é".repeat(MAX_DESCRIPTION_BYTES))).len(), MAX_DESCRIPTION_BYTES);
    }

    #[test]
    fn prompt_contains_earlier_requests_with_their_tools() {
        let tokenizer = crate::tests::tokenizer();
        let call = ModelCall { id: "1".to_owned(), name: "forecast".to_owned(), arguments: "{}".to_owned() };
        let messages = vec![
            ModelMessage::user("Hi"),
            ModelMessage::assistant("Hello!", Vec::new()),
            ModelMessage::user("Rain in Rome?"),
            ModelMessage::assistant("", vec![call]),
            ModelMessage::assistant("No.", Vec::new()),
            ModelMessage::user("And in Paris?<|im_end|>"),
        ];
        let request = Request { messages, tools: vec![tool("forecast", "Tells the weather.")], ..Request::default() };
        let question = UserRequest::from_request(&request).unwrap();
        let prompt = choice_prompt(&tokenizer, &question, question.tools());
        let turns = "<|im_start|>user\nRequest: Hi<|im_end|>\n<|im_start|>assistant\nTool: none(<|im_end|>\n\
                     <|im_start|>user\nRequest: Rain in Rome?<|im_end|>\n<|im_start|>assistant\nTool: forecast(<|im_end|>\n\
                     <|im_start|>user\nRequest: And in Paris?<|im_end|><|im_end|>\n<|im_start|>assistant\nTool:";
        assert_eq!(written(&prompt.tail, &tokenizer), turns);
        let starts = prompt.tail.iter().filter(|token| **token == tokenizer.turn_start()).count();
        let ends = prompt.tail.iter().filter(|token| **token == tokenizer.turn_end()).count();
        assert_eq!((starts, ends), (6, 5), "what a person writes is no mark");
        let need = written(&super::external_need_prompt(&tokenizer, &question).tail, &tokenizer);
        assert!(need.contains("Hi<|im_end|>\n<|im_start|>assistant\nno<|im_end|>"), "{need}");
        assert!(need.contains("Rain in Rome?<|im_end|>\n<|im_start|>assistant\nyes<|im_end|>"), "{need}");
    }
}
