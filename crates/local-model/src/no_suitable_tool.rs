//! Answers to messages that need something that no connected tool does, such as the weather without a tool for it. Without
//! an instruction, a small model invents the weather or promises to do what it cannot do.

use crate::help_request::{begins_with_own_work, is_help_request};
use crate::language::{Language, detect_language};

/// Sentence for such an answer, in each language. A small model repeats a sentence of its instructions, in the language of
/// the sentence.
const SENTENCES: [(Language, &str); 4] = [
    (Language::English, "I cannot do that: no connected MCP server has a tool for it."),
    (Language::German, "Das kann ich nicht: Kein verbundener MCP-Server hat ein Werkzeug dafür."),
    (Language::French, "Je ne peux pas le faire : aucun serveur MCP connecté n'a d'outil pour cela."),
    (Language::Spanish, "No puedo hacerlo: ningún servidor MCP conectado tiene una herramienta para eso."),
];

/// Returns the instruction for such a message; `None` for one that asks for the model's own work, such as writing, or for
/// help with it.
pub(crate) fn instruction(message: &str) -> Option<String> {
    if begins_with_own_work(message) || is_help_request(message) {
        return None;
    }
    let sentence = detect_language(message).choose(&SENTENCES);
    Some(format!(
        "No connected tool can look this up or do it. If you can do it by writing, explaining or from common knowledge, \
         do it. If not, invent nothing and answer: {sentence}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instruction_has_the_sentence_in_the_language_of_the_message() {
        for (message, part) in [
            ("What is the weather in Rome?", "no connected MCP server"),
            ("Wie ist das Wetter in Rom?", "Kein verbundener MCP-Server"),
            ("Quel temps fait-il à Rome ?", "aucun serveur MCP"),
            ("¿Qué tiempo hace en Roma por favor?", "ningún servidor MCP"),
        ] {
            assert!(instruction(message).unwrap().contains(part), "{message}");
        }
    }

    #[test]
    fn own_work_has_none() {
        for message in [
            "Write a query that counts customers",
            "Bitte schreib mir ein Gedicht",
            "Traduis « oui »",
            "Can you help me plan a birthday party?",
        ] {
            assert_eq!(instruction(message), None, "{message}");
        }
    }
}
