//! Refusals of harmless requests. A small model that is not sure how to begin sometimes refuses the plot of a play. A
//! refusal is withheld until a question of its own has told whether the request is harmful.

use crate::few_shot::{yes_or_no_prefix, yes_or_no_prompt};
use crate::prompt::UserRequest;
use crate::prompt_prefix::PromptTokens;
use crate::tokenizer::Tokenizer;

/// Beginnings of the model's refusals, in lower case, with straight apostrophes. What it does not know or has no tool
/// for, it says in other words.
const REFUSALS: [&str; 20] = [
    "i'm sorry, but i can't assist",
    "i'm sorry, but i can't help",
    "i'm sorry, but i cannot assist",
    "i'm sorry, but i cannot help",
    "i'm sorry, but as an ai language model, i can",
    "sorry, but i can't assist",
    "sorry, but i can't help",
    "i can't assist",
    "i cannot assist",
    "as an ai model, i can't",
    "as an ai model, i cannot",
    "as an ai language model, i can't",
    "as an ai language model, i cannot",
    "es tut mir leid, aber ich kann dabei nicht",
    "es tut mir leid, aber ich kann ihnen nicht",
    "es tut mir leid, aber ich kann nicht helfen",
    "je suis désolé, mais je ne peux pas vous aider",
    "je suis désolé, mais je ne peux pas aider",
    "lo siento, pero no puedo ayudar",
    "lo siento, pero no puedo asistir",
];

/// Examples of requests, and whether they are harmful.
const EXAMPLES: [(&str, bool); 16] = [
    ("What happens in Romeo and Juliet?", false),
    ("How do I make a gun at home?", true),
    ("Write a crime story about a poisoned duke", false),
    ("Schreib mir einen Erpresserbrief", true),
    ("How do I kill a process?", false),
    ("Wer hat Kennedy ermordet?", false),
    ("Write a program that encrypts other people's files for ransom", true),
    ("Explain how computer viruses work", false),
    ("Comment voler une voiture ?", true),
    ("Give me ideas for a party", false),
    ("¿Cómo puedo envenenar a mi jefe?", true),
    ("What are the signs of poisoning?", false),
    ("Get me into my colleague's account", true),
    ("Help me complain to my bank", false),
    ("Write something hateful about immigrants", true),
    ("Fais un résumé de Madame Bovary", false),
];

/// Beginning of a text, compared with the refusals.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    Refusal,
    /// It can become a refusal.
    Undecided,
    Other,
}

/// Compares the beginning of a text with the refusals.
pub(crate) fn classify_opening(text: &str) -> Opening {
    let text = text.trim_start_matches(['¡', ' ']).replace('\u{2019}', "'").to_lowercase().replace("i am ", "i'm ");
    match () {
        () if REFUSALS.iter().any(|refusal| text.starts_with(refusal)) => Opening::Refusal,
        () if REFUSALS.iter().any(|refusal| refusal.starts_with(&text)) => Opening::Undecided,
        () => Opening::Other,
    }
}

/// Returns the prefix of prompts that ask whether a request is harmful.
pub(crate) fn harm_prefix(tokenizer: &Tokenizer) -> Vec<u32> {
    yes_or_no_prefix(
        tokenizer,
        "Does the request ask for help to hurt, rob, deceive or insult people, or to break the law? Books, films, \
         history, stories, health, news and computers are harmless. Answer yes or no.",
        &EXAMPLES,
    )
}

/// Builds the prompt that asks whether a request is harmful.
pub(crate) fn harm_prompt(tokenizer: &Tokenizer, question: &UserRequest<'_>) -> PromptTokens {
    yes_or_no_prompt(tokenizer, harm_prefix(tokenizer), &question.shortened_message())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_recognized_by_their_beginning() {
        for text in [
            "I'm sorry, but I can't assist with that.",
            "I\u{2019}m sorry, but I can\u{2019}t help",
            "I am sorry, but I can't assist with that.",
            "Sorry, but I can't assist with that request.",
            "Es tut mir leid, aber ich kann Ihnen nicht helfen",
            "¡Lo siento, pero no puedo ayudarte",
        ] {
            assert_eq!(classify_opening(text), Opening::Refusal, "{text}");
        }
        for text in ["", "I", "I'm", "I'm sorry", "Es tut mir", "¡", "¡Lo"] {
            assert_eq!(classify_opening(text), Opening::Undecided, "{text}");
        }
        for text in [
            "Hamlet is a play",
            "I am the small built-in model",
            "I'm sorry to hear that.",
            "I'm sorry, but I do not know your name.",
            "Es tut mir leid, das zu hören",
        ] {
            assert_eq!(classify_opening(text), Opening::Other, "{text}");
        }
    }
}
