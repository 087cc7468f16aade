//! Recognition of requests for help with writing, planning and understanding, in four languages. The model does such
//! work itself, but a list of tools tempts it to call one: of seven development messages of this kind, it calls an unrelated
//! tool for three if it may.

use domain::model::ToolSpec;

use crate::language::words;

/// Phrases that ask for help, as words.
const HELP_PHRASES: [&str; 14] = [
    "help me",
    "help us",
    "hilf mir",
    "helft mir",
    "helfen sie mir",
    "hilfst du mir",
    "aide moi",
    "aidez moi",
    "m aider",
    "nous aider",
    "ayúdame",
    "ayudarme",
    "me ayudas",
    "me puedes ayudar",
];

/// Words around which German asks for help: "Kannst du mir beim Schreiben helfen?".
const GERMAN_FRAME: [&str; 2] = ["mir", "helfen"];

/// Work that a language model does without a tool.
const OWN_WORK: &str = "plan planning write writing draft drafting compose composing prepare preparing brainstorm think \
     decide choose understand learn study improve rephrase word practise practice planen planung schreiben verfassen \
     formulieren vorbereiten schreib schreibe überlegen entscheiden verstehen lernen üben verbessern planifier organiser écrire écris écrivez rédiger \
     préparer réfléchir décider choisir comprendre apprendre améliorer planear planificar organizar escribir escribe redactar \
     preparar pensar decidir elegir entender comprender aprender mejorar";

/// Verbs of work on a text that the message contains.
const TEXT_WORK: &str = "summarise summarize translate rewrite rephrase proofread correct shorten paraphrase fasse zusammenfassen \
     übersetze übersetzen korrigiere korrigieren kürze umformulieren formuliere résume résumer traduis traduire traduisez \
     corrige corriger reformule reformuler resume resumir traduce traducir corregir reformula";

/// Maximum number of words before such a verb: "could you please".
const MAX_WORDS_BEFORE_VERB: usize = 3;

/// Minimum number of letters of a word that says what a request is about.
const MIN_TOPIC_LETTERS: usize = 4;

/// Returns whether a message asks for help with work that needs no tool, or for work on a text that it contains.
pub(crate) fn is_help_request(message: &str) -> bool {
    let words = words(message);
    if first_words(&words).any(is_text_work) && contains_text(message) {
        return true;
    }
    let text = format!(" {} ", words.join(" "));
    let asks = HELP_PHRASES.iter().any(|phrase| text.contains(&format!(" {phrase} ")))
        || GERMAN_FRAME.iter().all(|word| words.iter().any(|said| said == word));
    asks && words.iter().any(|word| is_own_work(word))
}

/// Returns whether a message begins with the model's own work, such as writing.
pub(crate) fn begins_with_own_work(message: &str) -> bool {
    first_words(&words(message)).any(|word| is_own_work(word) || is_text_work(word))
}

/// Returns the words of a message among which its main verb is: "could you please translate".
fn first_words(words: &[String]) -> impl Iterator<Item = &str> {
    words.iter().take(MAX_WORDS_BEFORE_VERB + 1).map(String::as_str)
}

fn is_text_work(word: &str) -> bool {
    TEXT_WORK.split_ascii_whitespace().any(|verb| verb == word)
}

/// Returns whether a message contains a text to work on: in quotation marks, after a colon or on lines of its own.
fn contains_text(message: &str) -> bool {
    let quotes = message.chars().filter(|character| matches!(character, '"' | '“' | '”' | '„' | '«' | '»')).count();
    quotes >= 2 || message.contains(" '") || message.contains(": ") || message.contains('\n')
}

/// Returns whether a tool is for the topic of a request for help: a word of the request that is not about the help
/// itself is in the tool's name or description.
pub(crate) fn is_for_topic(tool: &ToolSpec, message: &str) -> bool {
    let about = words(&format!("{} {}", tool.name.replace(['_', '-'], " "), tool.description));
    let frame = |word: &str| {
        HELP_PHRASES.iter().any(|phrase| phrase.split(' ').any(|part| part == word)) || GERMAN_FRAME.contains(&word)
    };
    let topics = words(message).into_iter().filter(|word| {
        word.chars().count() >= MIN_TOPIC_LETTERS
            && !frame(word)
            && !is_own_work(word)
            && !COMMON_WORDS.contains(&word.as_str())
    });
    topics.into_iter().any(|topic| about.iter().any(|word| is_same_noun(word, &topic)))
}

/// Words of requests that say nothing about their topic.
const COMMON_WORDS: [&str; 24] = [
    "please",
    "could",
    "would",
    "about",
    "with",
    "from",
    "that",
    "this",
    "some",
    "good",
    "kannst",
    "könntest",
    "bitte",
    "beim",
    "einen",
    "einer",
    "eine",
    "pour",
    "avec",
    "peux",
    "pouvez",
    "puedes",
    "para",
    "sobre",
];

fn is_own_work(word: &str) -> bool {
    OWN_WORK.split_ascii_whitespace().any(|known| known == word)
}

/// Returns whether two words are equal but for a plural.
fn is_same_noun(one: &str, other: &str) -> bool {
    one.trim_end_matches('s') == other.trim_end_matches('s')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, description: &str) -> ToolSpec {
        ToolSpec { name: name.to_owned(), description: description.to_owned(), input_schema: json!({}) }
    }

    #[test]
    fn help_with_own_work_is_recognized_in_four_languages() {
        for message in [
            "Can you help me plan a birthday party?",
            "help me write a cover letter",
            "Kannst du mir beim Schreiben einer Geburtstagskarte helfen?",
            "Hilf mir, eine Rede zu formulieren",
            "Peux-tu m'aider à préparer un entretien ?",
            "¿Puedes ayudarme a escribir una carta?",
        ] {
            assert!(is_help_request(message), "{message}");
        }
        for message in [
            "Translate 'See you on Monday' into German.",
            "Please summarise this: The library is closed on Monday.",
            "Fasse zusammen: Der Verein trifft sich im Park.",
            "Traduis en anglais : « Il pleut »",
            "Traduce al inglés: Hace frío",
        ] {
            assert!(is_help_request(message), "{message}");
        }
        for message in ["Summarise the page", "Translate report.txt", "Find the mail with: summarise"] {
            assert!(!is_help_request(message), "{message}");
        }
        for message in ["Help me find a hotel in Rome", "Plan a party", "What time is it?", "Wie spät ist es bei mir?"]
        {
            assert!(!is_help_request(message), "{message}");
        }
    }

    #[test]
    fn only_tools_for_the_topic_remain() {
        let party = "Can you help me plan a birthday party?";
        assert!(!is_for_topic(
            &tool("trigger-elicitation-request", "Trigger a Request from the Server for User Elicitation"),
            party
        ));
        assert!(!is_for_topic(&tool("web_search", "Searches the web"), "Help me write a birthday card"));
        assert!(is_for_topic(&tool("send_email", "Sends an email"), "Help me write emails to Ann"));
        assert!(is_for_topic(&tool("write_file", "Creates a file"), "Help me write a file with my notes"));
    }
}
