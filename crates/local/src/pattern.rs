//! The two questions that decide whether a message is for a tool, and for which: patterns of requests and what does them,
//! which the model goes on with.
//!
//! A small model that is shown how tools are called either calls one for a greeting or tells from memory what only a
//! tool can know. As one more line of a table it tells both well. The tables know nothing of who asks: they are read
//! once for everybody with the same tools.

use std::fmt::Write as _;

use domain::model::ToolSpec;
use domain::text::cut_to;

use crate::head::Prompt;
use crate::prompt::Question;
use crate::tokenizer::Tokenizer;
use crate::tool_list::argument_names;
use crate::turns::Turns;

/// What a request that needs no tool is done by.
pub(crate) const NONE: &str = "none";

/// What a question about the tools themselves is done by.
pub(crate) const ABOUT: &str = "about";

/// Bytes of a description.
const DESCRIPTION: usize = 200;

/// Requests that no tool of anybody does: other words than people send will do, as long as each kind is there.
const WITHOUT_TOOL: [(&str, &str); 23] = [
    ("Hello!", NONE),
    ("Thank you very much.", NONE),
    ("What is the capital of Peru?", NONE),
    ("Write a poem about the moon.", NONE),
    ("What can you do?", ABOUT),
    ("Explain what gravity is.", NONE),
    ("Who are you?", NONE),
    ("How do I cook rice?", NONE),
    ("Good night, see you", NONE),
    ("Who painted Guernica?", NONE),
    ("Which tools do you have?", ABOUT),
    ("Is tea better than coffee?", NONE),
    ("Give me ideas for a party.", NONE),
    ("Wer war Goethe?", NONE),
    ("What does 'serendipity' mean?", NONE),
    ("Tell me a joke.", NONE),
    ("Was kannst du alles?", ABOUT),
    ("Suggest a name for my dog.", NONE),
    ("How are you today?", NONE),
    ("What is a variable in programming?", NONE),
    ("¿Por qué el mar es salado?", NONE),
    ("Bye!", NONE),
    ("Who discovered penicillin?", NONE),
];

/// Messages, and whether something from outside is needed for them.
const NEEDS: [(&str, bool); 24] = [
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

/// The word that stands for something being needed, and the other.
pub(crate) const NEEDED: [&str; 2] = ["yes", "no"];

/// A request and its tool, as lines of the table.
fn line(request: &str, tool: &str, table: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(table, "Request: {request}\nTool: {tool}\n\n");
}

/// What every table of tools begins with, up to the end of a word, so that what follows does not change its tokens.
fn before_tools() -> String {
    let mut table = "Each request is done by a tool or by none. Small talk, common knowledge, advice and writing need \
                     none.\n\n"
        .to_owned();
    for (request, tool) in WITHOUT_TOOL {
        line(request, &format!("{tool}()"), &mut table);
    }
    table + "The tools are"
}

/// What every [`table`] begins with.
pub(crate) fn opening(tokenizer: &Tokenizer) -> Vec<u32> {
    let mut turns = Turns::new(tokenizer);
    turns.open("system");
    turns.say(&before_tools());
    turns.done()
}

/// The table of tools and what they do, as far as it is the same for every request.
pub(crate) fn table(tokenizer: &Tokenizer, tools: &[ToolSpec]) -> Vec<u32> {
    let mut table = before_tools();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let _ = write!(table, " {}.\n\n", names.join(", "));
    for tool in tools {
        line(&purpose(tool), &format!("{}({})", tool.name, argument_names(tool)), &mut table);
    }
    let mut turns = Turns::new(tokenizer);
    turns.turn("system", table.trim_end());
    turns.done()
}

/// The first sentences of a tool's description, on one line; what its name says where there is none.
fn purpose(tool: &ToolSpec) -> String {
    let described = tool.description.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = if described.is_empty() { tool.name.replace(['_', '-'], " ") } else { described };
    let cut = cut_to(&words, DESCRIPTION);
    let end = if cut.len() < words.len() { cut.rfind(". ").map_or(cut.len(), |end| end + 1) } else { cut.len() };
    cut[..end].to_owned()
}

/// The question which tool does what is asked; its answer goes on behind [`name`]'s blank.
pub(crate) fn choose(tokenizer: &Tokenizer, question: &Question<'_>) -> Prompt {
    let mut tail = Turns::new(tokenizer);
    for (request, tool) in question.earlier_requests() {
        tail.turn("user", &format!("Request: {request}"));
        tail.turn("assistant", &format!("Tool: {}(", tool.unwrap_or(NONE)));
    }
    tail.turn("user", &format!("Request: {}", question.request_in_short()));
    let mut tail = tail.for_assistant();
    tail.extend(tokenizer.encode("Tool:"));
    Prompt { head: table(tokenizer, question.tools()), tail }
}

/// A tool's name as the table goes on with it.
pub(crate) fn name(tokenizer: &Tokenizer, name: &str) -> Vec<u32> {
    tokenizer.encode(&format!(" {name}"))
}

/// What stands before every question whether something from outside is needed.
pub(crate) fn needs(tokenizer: &Tokenizer) -> Vec<u32> {
    let mut turns = Turns::new(tokenizer);
    turns.turn(
        "system",
        "Does the message need anything from outside of this conversation: live data, the time, files, web pages, \
         stored data, accounts, devices, an exact computation, or something to be done there? Greetings, thanks, \
         common knowledge, opinions, explanations and creative writing need nothing. Answer yes or no.",
    );
    for (message, is_needed) in NEEDS {
        turns.turn("user", message);
        turns.turn("assistant", word(is_needed));
    }
    turns.done()
}

fn word(is_needed: bool) -> &'static str {
    NEEDED[usize::from(!is_needed)]
}

/// The question whether something from outside is needed.
pub(crate) fn need(tokenizer: &Tokenizer, question: &Question<'_>) -> Prompt {
    let mut tail = Turns::new(tokenizer);
    for (request, tool) in question.earlier_requests() {
        tail.turn("user", request);
        tail.turn("assistant", word(tool.is_some()));
    }
    tail.turn("user", &question.request_in_short());
    Prompt { head: needs(tokenizer), tail: tail.for_assistant() }
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
    fn the_table_has_a_line_for_each_tool_behind_those_that_are_the_same_for_all() {
        let tokenizer = crate::tests::tokenizer();
        let tools = [tool("forecast", "Tells\n the weather.  Slowly."), tool("sun_set", "")];
        let table = written(&super::table(&tokenizer, &tools), &tokenizer);
        let end = "Request: Who discovered penicillin?\nTool: none()\n\nThe tools are forecast, sun_set.\n\n\
                   Request: Tells the weather. Slowly.\nTool: forecast(city, days)\n\n\
                   Request: sun set\nTool: sun_set(city, days)<|im_end|>\n";
        assert!(table.ends_with(end), "{table}");
    }

    #[test]
    fn every_table_begins_with_the_same_tokens() {
        let tokenizer = crate::tests::tokenizer();
        let opening = opening(&tokenizer);
        for name in ["forecast", "_private", "9lives", "été"] {
            assert!(super::table(&tokenizer, &[tool(name, "")]).starts_with(&opening), "{name}");
        }
        assert!(super::table(&tokenizer, &[]).len() - opening.len() < 10);
    }

    #[test]
    fn a_long_purpose_ends_with_a_sentence() {
        let long = format!("Tells the weather. {}", "It is slow and takes its time. ".repeat(20));
        let short = purpose(&tool("forecast", &long));
        assert!(short.len() <= DESCRIPTION && short.ends_with("time."), "{short}");
        assert_eq!(purpose(&tool("forecast", &"é".repeat(DESCRIPTION))).len(), DESCRIPTION);
    }

    #[test]
    fn earlier_requests_stand_before_the_question_with_what_did_them() {
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
        let question = Question::of(&request).unwrap();
        let prompt = choose(&tokenizer, &question);
        let turns = "<|im_start|>user\nRequest: Hi<|im_end|>\n<|im_start|>assistant\nTool: none(<|im_end|>\n\
                     <|im_start|>user\nRequest: Rain in Rome?<|im_end|>\n<|im_start|>assistant\nTool: forecast(<|im_end|>\n\
                     <|im_start|>user\nRequest: And in Paris?<|im_end|><|im_end|>\n<|im_start|>assistant\nTool:";
        assert_eq!(written(&prompt.tail, &tokenizer), turns);
        let starts = prompt.tail.iter().filter(|token| **token == tokenizer.turn_start()).count();
        let ends = prompt.tail.iter().filter(|token| **token == tokenizer.turn_end()).count();
        assert_eq!((starts, ends), (6, 5), "what a person writes is no mark");
        let need = written(&super::need(&tokenizer, &question).tail, &tokenizer);
        assert!(need.contains("Hi<|im_end|>\n<|im_start|>assistant\nno<|im_end|>"), "{need}");
        assert!(need.contains("Rain in Rome?<|im_end|>\n<|im_start|>assistant\nyes<|im_end|>"), "{need}");
    }
}
