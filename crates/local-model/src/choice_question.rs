//! Question which of several tools is meant, when the model cannot tell. The user answers with a number, a name or a
//! button.

use std::fmt::Write as _;

use domain::model::{Request, ToolSpec};

use crate::language::{Language, detect_language, words};
use crate::question_reply::QuestionReply;
use crate::tool_decision::{MAX_CANDIDATES, is_named, name_words};
use crate::tool_overview::{escape_markdown, first_sentence};

/// Maximum number of replies that are offered.
pub(crate) const MAX_REPLY_OPTIONS: usize = 8;

/// Maximum number of words of the line with which a user replies. A longer one is a new request.
const MAX_REPLY_WORDS: usize = 5;

/// Maximum number of words around the number of a tool: other requests have numbers, too.
const MAX_WORDS_WITH_NUMBER: usize = 2;

/// The questions in one language.
struct ChoiceTexts {
    language: Language,
    /// About several tools.
    several: &'static str,
    /// About one tool.
    one: &'static str,
    /// Reply that none of the tools is meant.
    none: &'static str,
}

static TEXTS: [ChoiceTexts; 4] = [
    ChoiceTexts {
        language: Language::English,
        several: "Which of these tools should I use?",
        one: "Should I use this tool?",
        none: "No tool",
    },
    ChoiceTexts {
        language: Language::German,
        several: "Welches dieser Werkzeuge soll ich verwenden?",
        one: "Soll ich dieses Werkzeug verwenden?",
        none: "Kein Werkzeug",
    },
    ChoiceTexts {
        language: Language::French,
        several: "Lequel de ces outils dois-je utiliser ?",
        one: "Dois-je utiliser cet outil ?",
        none: "Aucun outil",
    },
    ChoiceTexts {
        language: Language::Spanish,
        several: "¿Cuál de estas herramientas uso?",
        one: "¿Uso esta herramienta?",
        none: "Ninguna herramienta",
    },
];

/// Words with which a user agrees to the only tool.
const YES_WORDS: [&str; 8] = ["yes", "ok", "okay", "ja", "oui", "sí", "si", "sure"];

/// Words with which a user says that none is meant.
const NONE_WORDS: [&str; 14] = [
    "none", "neither", "no", "nothing", "kein", "keins", "keines", "nichts", "nein", "non", "aucun", "aucune",
    "ninguna", "ninguno",
];

/// Words for a place in the list. The first is the number.
const PLACES: [&[&str]; MAX_CANDIDATES] = [
    &["1", "first", "erste", "ersten", "erstes", "premier", "première", "primera", "primero"],
    &["2", "second", "zweite", "zweiten", "zweites", "deuxième", "segunda", "segundo"],
    &["3", "third", "dritte", "dritten", "drittes", "troisième", "tercera", "tercero"],
];

/// A question with the replies to offer.
#[derive(Debug, PartialEq)]
pub(crate) struct ChoiceQuestion {
    /// The question and the list, in Markdown.
    pub text: String,
    /// The names of the tools, and that it is none of them.
    pub options: Vec<String>,
}

/// Writes the question which of the tools is meant, in the language of the message.
pub(crate) fn write_question(tools: &[&ToolSpec], request: &Request, message: &str) -> ChoiceQuestion {
    let language = detect_language(message);
    let texts = TEXTS.iter().find(|texts| texts.language == language).unwrap_or(&TEXTS[0]);
    let question = if tools.len() == 1 { texts.one } else { texts.several };
    let mut text = format!("{question}\n");
    for (index, tool) in tools.iter().enumerate() {
        let server = server_of(tool, request).map(|name| format!(" ({})", escape_markdown(name))).unwrap_or_default();
        let description = match first_sentence(&tool.description).as_str() {
            "" => String::new(),
            description => format!(": {}", escape_markdown(description)),
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "\n{}. `{}`{server}{description}", index + 1, tool.name);
    }
    let names = tools.iter().map(|tool| tool.name.clone());
    ChoiceQuestion { text, options: names.chain([texts.none.to_owned()]).collect() }
}

/// Returns the name of a tool's server, if there are several.
fn server_of<'a>(tool: &ToolSpec, request: &'a Request) -> Option<&'a str> {
    let servers = &request.facts.as_ref().filter(|facts| facts.servers.len() > 1)?.servers;
    let has_tool = |name: &str| tool.name == name || tool.name.ends_with(&format!("__{name}"));
    let mut found = servers.iter().filter(|server| server.tools.iter().any(|other| has_tool(&other.name)));
    // A name that several servers have tells nothing.
    found.next().filter(|_| found.next().is_none()).map(|server| server.name.as_str())
}

/// Joins a request and the reply to the [question](write_question) about it to one message that names the tool, or to
/// a request without tools if none is meant. Returns `None` if the last message is no reply.
pub(crate) fn join_reply(request: &Request) -> Option<Request> {
    let found = QuestionReply::find(request)?;
    let QuestionReply { first, question, reply, .. } = found;
    let offered = offered_tools(question, &request.tools)?;
    let (line, rest) = reply.trim().split_once('\n').unwrap_or((reply.trim(), ""));
    Some(match read_choice(line, &offered)? {
        Choice::Tool(tool) => found.join(format!("{first}\n{}\n{rest}", tool.name).trim_end().to_owned()),
        Choice::NoTool => Request { tools: Vec::new(), ..found.join(first.to_owned()) },
    })
}

/// Returns the tools that a text asks about, in the order of its list; `None` if it is not the question.
fn offered_tools<'a>(text: &str, tools: &'a [ToolSpec]) -> Option<Vec<&'a ToolSpec>> {
    let mut questions = TEXTS.iter().flat_map(|texts| [texts.several, texts.one]);
    let list = questions.find_map(|question| text.strip_prefix(question))?;
    let names = list.trim().lines().map(|line| line.split('`').nth(1));
    names.map(|name| tools.iter().find(|tool| name == Some(tool.name.as_str()))).collect()
}

/// A user's choice among the offered tools.
enum Choice<'a> {
    /// This tool.
    Tool(&'a ToolSpec),
    /// None of them.
    NoTool,
}

/// Reads the choice from a reply; `None` if it is another message.
fn read_choice<'a>(reply: &str, offered: &[&'a ToolSpec]) -> Option<Choice<'a>> {
    let said = words(reply);
    if said.is_empty() || said.len() > MAX_REPLY_WORDS || reply.ends_with('?') {
        return None;
    }
    let names = name_words(reply);
    let named: Vec<_> = offered.iter().filter(|tool| is_named(tool, &names)).collect();
    if let [only] = named.as_slice() {
        return Some(Choice::Tool(only));
    }
    let is_place = |words: &[&str]| {
        let ordinals = if said.len() > MAX_WORDS_WITH_NUMBER { &words[1..] } else { words };
        said.iter().any(|word| ordinals.contains(&word.as_str()))
    };
    let place = PLACES.iter().position(|words| is_place(words));
    if let Some(tool) = place.and_then(|place| offered.get(place)) {
        return Some(Choice::Tool(tool));
    }
    match offered {
        [only] if YES_WORDS.contains(&said[0].as_str()) => Some(Choice::Tool(only)),
        _ => NONE_WORDS.contains(&said[0].as_str()).then_some(Choice::NoTool),
    }
}

#[cfg(test)]
mod tests {
    use domain::model::{ChatFacts, ModelMessage, ServerFacts, ToolFacts};
    use serde_json::json;

    use super::*;

    fn tool(name: &str) -> ToolSpec {
        let description = "Finds *files*. Slowly.".to_owned();
        ToolSpec { name: name.to_owned(), description, input_schema: json!({}) }
    }

    fn request(texts: &[&str]) -> Request {
        let message = |(index, text): (usize, &&str)| match index % 2 {
            0 => ModelMessage::user(*text),
            _ => ModelMessage::assistant(*text, Vec::new()),
        };
        let server = |name: &str, tool: &str| ServerFacts {
            name: name.to_owned(),
            tool_count: 1,
            tools: vec![ToolFacts { name: tool.to_owned(), description: String::new() }],
        };
        let servers = vec![server("Drive_1", "find_files"), server("Disk", "search_files")];
        Request {
            messages: texts.iter().enumerate().map(message).collect(),
            tools: vec![tool("find_files"), tool("search_files"), tool("add")],
            facts: Some(ChatFacts { date: String::new(), servers }),
            ..Request::default()
        }
    }

    fn question(message: &str) -> ChoiceQuestion {
        let request = request(&[message]);
        write_question(&[&request.tools[0], &request.tools[1]], &request, message)
    }

    #[test]
    fn lists_tools_with_their_servers() {
        let ChoiceQuestion { text, options } = question("Where is my invoice?");
        let expected = "Which of these tools should I use?\n\n1. `find_files` (Drive\\_1): Finds \\*files\\*.\n\
                        2. `search_files` (Disk): Finds \\*files\\*.";
        assert_eq!(text, expected);
        assert_eq!(options, ["find_files", "search_files", "No tool"]);
        assert_eq!(question("Wo ist meine Rechnung?").options[2], "Kein Werkzeug");
    }

    #[test]
    fn understands_number_name_and_button() {
        for first in ["Where is my invoice?", "Wo ist die Rechnung?", "Où est ma facture ?", "¿Dónde está mi factura?"]
        {
            let question = question(first);
            for reply in ["2", "2.", "search_files", "the second one, please", "Das zweite", "use `search_files`"] {
                let joined = join_reply(&request(&[first, &question.text, reply])).unwrap();
                assert_eq!(joined.messages, [ModelMessage::user(format!("{first}\nsearch_files"))], "{reply}");
                assert_eq!(joined.tools.len(), 3);
            }
        }
    }

    #[test]
    fn every_offered_reply_is_understood() {
        for first in ["Where is my invoice?", "Wo ist die Rechnung?", "Où est ma facture ?", "¿Dónde está mi factura?"]
        {
            let question = question(first);
            for (place, reply) in question.options.iter().enumerate() {
                let joined = join_reply(&request(&[first, &question.text, reply])).unwrap();
                assert_eq!(joined.tools.is_empty(), place == 2, "{reply}");
                if place == 2 {
                    assert_eq!(joined.messages, [ModelMessage::user(first)]);
                }
            }
        }
    }

    #[test]
    fn asks_about_a_single_tool() {
        let request_of = |texts: &[&str]| request(texts);
        let first = "Where is my invoice?";
        let tools = request_of(&[]).tools;
        let ChoiceQuestion { text, options } = write_question(&[&tools[0]], &request_of(&[first]), first);
        assert!(text.starts_with("Should I use this tool?\n\n1. `find_files`"), "{text}");
        assert_eq!(options, ["find_files", "No tool"]);
        for (reply, is_meant) in
            [("yes, please", true), ("1", true), ("find_files", true), ("no", false), ("No tool", false)]
        {
            let joined = join_reply(&request_of(&[first, &text, reply])).unwrap();
            assert_eq!(joined.tools.is_empty(), !is_meant, "{reply}");
        }
    }

    #[test]
    fn keeps_the_arguments_after_the_name() {
        let first = "Where is my invoice?";
        let joined = join_reply(&request(&[first, &question(first).text, "find_files\n/home/eva"])).unwrap();
        assert_eq!(joined.messages, [ModelMessage::user("Where is my invoice?\nfind_files\n/home/eva")]);
    }

    #[test]
    fn leaves_other_messages_alone() {
        let first = "Where is my invoice?";
        let asked = question(first).text;
        for reply in
            ["What is the difference?", "Add 2 and 3", "", "I have 2 cats, 3 dogs and a parrot that sings all day"]
        {
            assert_eq!(join_reply(&request(&[first, &asked, reply])), None, "{reply}");
        }
        assert_eq!(join_reply(&request(&[first, "Which one?", "2"])), None, "another question");
        let gone = asked.replace("search_files", "removed");
        assert_eq!(join_reply(&request(&[first, &gone, "2"])), None, "a tool that is not there any more");
        assert_eq!(join_reply(&request(&[first])), None);
    }
}
