//! Question for an argument that a tool needs and nobody has given.

use domain::model::{Request, ToolSpec};
use domain::text::cut_to;

use crate::argument_grounding::MissingArgument;
use crate::language::{Language, detect_language, words};
use crate::question_reply::QuestionReply;

/// Maximum number of bytes of an argument's description in a question.
const MAX_DESCRIPTION_BYTES: usize = 120;

/// Maximum number of words of a reply to a question. A longer message is a new request.
const MAX_REPLY_WORDS: usize = 20;

/// Beginning and end of a question around the tool and the argument, by language.
static QUESTIONS: [(Language, [&str; 3]); 4] = [
    (Language::English, ["For ", ", what should I use as **", "**?"]),
    (Language::German, ["Was soll ich für ", " als **", "** verwenden?"]),
    (Language::French, ["Pour ", ", que dois-je utiliser comme **", "** ?"]),
    (Language::Spanish, ["Para ", ", ¿qué uso como **", "**?"]),
];

/// Writes the question for a missing argument, in the language of the message.
pub(crate) fn write_question(tool: &str, missing: &MissingArgument, message: &str) -> String {
    let language = detect_language(message);
    let [start, middle, end] = language.choose(&QUESTIONS);
    let question = format!("{start}`{tool}`{middle}{}{end}", missing.name);
    let line = missing.description.split_whitespace().collect::<Vec<_>>().join(" ");
    let description = line.split(". ").next().unwrap_or_default().trim_end_matches('.');
    match cut_to(description, MAX_DESCRIPTION_BYTES) {
        "" => question,
        cut => format!("{question} ({cut})"),
    }
}

/// Returns whether a text is a [question](write_question) for an argument of one of the tools.
fn is_question(text: &str, tools: &[ToolSpec]) -> bool {
    QUESTIONS.iter().any(|(_, [start, middle, _])| {
        tools.iter().any(|tool| text.starts_with(&format!("{start}`{}`{middle}", tool.name)))
    })
}

/// Joins a request and the reply to the question for its argument to one message, so that the reply is understood as a
/// part of the request. Returns `None` if the last message is no reply.
pub(crate) fn join_reply(request: &Request) -> Option<Request> {
    let found = QuestionReply::find(request)?;
    let QuestionReply { first, question, reply, .. } = found;
    let is_reply = words(reply).len() <= MAX_REPLY_WORDS && !reply.trim_end().ends_with('?');
    (is_reply && is_question(question, &request.tools)).then(|| found.join(format!("{first}\n{reply}")))
}

#[cfg(test)]
mod tests {
    use domain::model::ModelMessage;
    use serde_json::json;

    use super::*;

    fn missing(description: &str) -> MissingArgument {
        MissingArgument { name: "path".to_owned(), description: description.to_owned() }
    }

    fn chat(messages: [&str; 3]) -> Request {
        let [first, question, reply] = messages;
        let messages =
            vec![ModelMessage::user(first), ModelMessage::assistant(question, Vec::new()), ModelMessage::user(reply)];
        let tool = ToolSpec { name: "read_file".to_owned(), description: String::new(), input_schema: json!({}) };
        Request { messages, tools: vec![tool], ..Request::default() }
    }

    #[test]
    fn asks_in_the_language_of_the_message() {
        let question = write_question("read_file", &missing("Path of the\nfile. It must exist."), "Read the file");
        assert_eq!(question, "For `read_file`, what should I use as **path**? (Path of the file)");
        let question = write_question("read_file", &missing(""), "Lies bitte die Datei");
        assert_eq!(question, "Was soll ich für `read_file` als **path** verwenden?");
        for (message, start) in [("Lis le fichier", "Pour `"), ("Lee el archivo por favor", "Para `")] {
            assert!(write_question("read_file", &missing(""), message).starts_with(start), "{message}");
        }
    }

    #[test]
    fn joins_reply_with_its_request() {
        for message in ["Read the file", "Lies bitte die Datei", "Lis le fichier", "Lee el archivo por favor"] {
            let question = write_question("read_file", &missing("Path"), message);
            let joined = join_reply(&chat([message, &question, "notes.txt"])).unwrap();
            assert_eq!(joined.messages, [ModelMessage::user(format!("{message}\nnotes.txt"))]);
        }
    }

    #[test]
    fn leaves_other_messages_alone() {
        let question = write_question("read_file", &missing(""), "Read the file");
        assert_eq!(
            join_reply(&chat(["Read the file", "Which one?", "notes.txt"])),
            None,
            "not this program's question"
        );
        assert_eq!(join_reply(&chat(["Read the file", &question, "What is the capital of Italy?"])), None);
        let other = write_question("write_file", &missing(""), "Read the file");
        assert_eq!(join_reply(&chat(["Read the file", &other, "notes.txt"])), None, "a tool that is not there");
        assert_eq!(join_reply(&Request::default()), None);
    }
}
