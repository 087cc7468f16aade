//! Questions about the story of a known book, play or film.
//!
//! A small model knows what a work is, often who the people are and how their story begins, and invents the rest. So the
//! answer ends before the first sentence that the model is not sure of, and says so.

use std::borrow::Cow;
use std::ops::Range;

use domain::model::Request;

use crate::assistant_prompt::push_own_instructions;
use crate::chatml::ChatMlBuilder;
use crate::few_shot::{yes_or_no_prefix, yes_or_no_prompt};
use crate::language::{Language, words_with_ends};
use crate::prompt_prefix::PromptTokens;
use crate::tokenizer::Tokenizer;

/// Questions that a story can be the answer to, as words, separated by commas. `*` stands for the title.
const QUESTIONS: [(Language, &str); 4] = [
    (
        Language::English,
        "summarise *, summarize *, summary of *, recap of *, synopsis of *, plot of *, storyline of *, story of *, \
         what is * about, what s * about, whats * about, what happens in *",
    ),
    (
        Language::German,
        "fasse *, zusammenfassung von *, inhaltsangabe von *, inhaltsangabe zu *, handlung von *, handlung des *, \
         handlung der *, geschichte von *, geschichte des *, geschichte der *, worum geht es in *, worum geht s in *, \
         wovon handelt *, was passiert in *",
    ),
    (
        Language::French,
        "résume *, résumer *, résumé de *, résumé d *, intrigue de *, intrigue d *, intrigue du *, histoire de *, \
         histoire d *, histoire du *, que se passe t il dans *, de quoi parle *",
    ),
    (
        Language::Spanish,
        "resume *, resumir *, resumen de *, resumen del *, argumento de *, argumento del *, trama de *, trama del *, \
         historia de *, historia del *, qué pasa en *, qué ocurre en *, de qué trata *, de qué va *",
    ),
];

/// Words that may follow a title, separated by commas.
const LAST_WORDS: &str = "for me, please, bitte, zusammen, s il te plaît, por favor";

/// Maximum number of words of a title, with those that may follow it, such as "by George Orwell".
const MAX_TITLE_WORDS: usize = 10;

/// Instructions for a story: those that the default weights were trained with, and so recall most with.
const INSTRUCTIONS: &str = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.";

/// Examples of subjects, and whether each is a known work with a story.
const EXAMPLES: [(&str, bool); 26] = [
    ("Dracula", true),
    ("the meeting notes", false),
    ("Star Wars", true),
    ("the Roman Empire", false),
    ("my last three emails", false),
    ("Robinson Crusoe by Daniel Defoe", true),
    ("MCP", false),
    ("the film Alien", true),
    ("this page", false),
    ("die Bremer Stadtmusikanten", true),
    ("Albert Einstein", false),
    ("Les Misérables", true),
    ("React", false),
    ("our conversation", false),
    ("Doctor Zhivago", true),
    ("README.md", false),
    ("Der Steppenwolf", true),
    ("the second world war", false),
    ("climate change", false),
    ("Im Westen nichts Neues", true),
    ("the human heart", false),
    ("goldilocks in two sentences", true),
    ("the French Revolution", false),
    ("La casa de papel", true),
    ("the report of yesterday", false),
    ("the Aeneid", true),
];

/// Ends of an answer that the model cannot complete: after a text, and without one.
const ENDINGS: [(Language, [&str; 2]); 4] = [
    (
        Language::English,
        [
            "I am a small model, and I am not sure enough of the rest to tell it.",
            "I am a small model, and I do not know this well enough to tell it.",
        ],
    ),
    (
        Language::German,
        [
            "Ich bin ein kleines Modell und weiß den Rest nicht sicher genug, um ihn zu erzählen.",
            "Ich bin ein kleines Modell und kenne das nicht gut genug, um davon zu erzählen.",
        ],
    ),
    (
        Language::French,
        [
            "Je suis un petit modèle et je ne suis pas assez sûr de la suite pour la raconter.",
            "Je suis un petit modèle et je ne connais pas cela assez bien pour le raconter.",
        ],
    ),
    (
        Language::Spanish,
        [
            "Soy un modelo pequeño y no estoy lo bastante seguro del resto para contarlo.",
            "Soy un modelo pequeño y no lo conozco lo bastante bien para contarlo.",
        ],
    ),
];

/// A message that can be a question about the story of a work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoryQuestion<'a> {
    message: &'a str,
    /// The words at the place of the title.
    title: &'a str,
    language: Language,
}

impl<'a> StoryQuestion<'a> {
    /// Finds the title in a message that has the form of such a question.
    pub(crate) fn from_message(message: &'a str) -> Option<Self> {
        let (title, language) = find_title(message)?;
        Some(Self { message, title, language })
    }

    /// Builds the prompt of a [`work_prefix`] for the title.
    pub(crate) fn work_prompt(&self, tokenizer: &Tokenizer) -> PromptTokens {
        yes_or_no_prompt(tokenizer, work_prefix(tokenizer), self.title)
    }

    /// Builds the prompt that asks for the story. It has nothing of the conversation, which would change what the model
    /// recalls: after other questions, it tells that Hamlet is murdered.
    pub(crate) fn story_prompt(&self, tokenizer: &Tokenizer, request: &Request) -> PromptTokens {
        let mut head = ChatMlBuilder::new(tokenizer);
        head.open_turn("system");
        head.push_text(INSTRUCTIONS);
        push_own_instructions(&mut head, request);
        head.close_turn();
        let mut tail = ChatMlBuilder::new(tokenizer);
        tail.push_turn("user", &self.rewording());
        PromptTokens { head: head.into_tokens(), tail: tail.open_assistant_turn() }
    }

    /// Returns the words that ask the model. In English, it recalls more when it is asked for the plot: of "What is Hamlet
    /// about?" it tells that Claudius is Hamlet's father.
    fn rewording(&self) -> Cow<'a, str> {
        match self.language {
            Language::English => Cow::Owned(format!("Summarise the plot of {}", begin_with_capital(self.title))),
            Language::German | Language::French | Language::Spanish => Cow::Borrowed(self.message),
        }
    }

    /// Returns the end of an answer that the model cannot complete. `is_begun` if it has a text.
    pub(crate) fn ending(&self, is_begun: bool) -> &'static str {
        self.language.choose(&ENDINGS)[usize::from(!is_begun)]
    }
}

/// Returns the prefix of prompts that ask whether a title is that of a known work.
pub(crate) fn work_prefix(tokenizer: &Tokenizer) -> Vec<u32> {
    yes_or_no_prefix(tokenizer, "Is this a known book, play, film, series or tale? Answer yes or no.", &EXAMPLES)
}

/// Returns a title with a capital letter, if it has none: the model does not recognize "hamlet" as well.
fn begin_with_capital(title: &str) -> String {
    let mut characters = title.chars();
    match characters.next() {
        Some(first) if !title.chars().any(char::is_uppercase) => first.to_uppercase().chain(characters).collect(),
        _ => title.to_owned(),
    }
}

/// Returns the title in a message, and the language of the question. The shortest counts: "Hamlet" in "Summarise the plot of
/// Hamlet".
fn find_title(message: &str) -> Option<(&str, Language)> {
    let mut words = words_with_ends(message);
    for phrase in LAST_WORDS.split(", ") {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        let end = words.len().saturating_sub(phrase.len());
        if is_phrase(&words[end..], &phrase) {
            words.truncate(end);
        }
    }
    let found = QUESTIONS.iter().flat_map(|(language, questions)| {
        questions.split(", ").filter_map(|question| Some((title_words(&words, question)?, *language)))
    });
    let (title, language) = found.min_by_key(|(title, _)| title.len())?;
    let (start, end) = (words[title.start - 1].1, words[title.end - 1].1);
    let title = message[start..end].trim_start_matches(|character: char| !character.is_alphanumeric());
    Some((title, language))
}

/// Returns the place of the title among the words of a message, if they are the question with words before it.
fn title_words(words: &[(String, usize)], question: &str) -> Option<Range<usize>> {
    let (before, after) = question.split_once('*')?;
    let [before, after] = [before, after].map(|part| part.split_ascii_whitespace().collect::<Vec<_>>());
    let start = words.windows(before.len()).position(|window| is_phrase(window, &before))? + before.len();
    let end = words.len().checked_sub(after.len())?;
    // What follows a question is another one.
    let is_complete = is_phrase(&words[end..], &after) && start < end && end - start <= MAX_TITLE_WORDS;
    is_complete.then_some(start..end)
}

fn is_phrase(words: &[(String, usize)], phrase: &[&str]) -> bool {
    words.iter().map(|(word, _)| word).eq(phrase.iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_is_found_in_four_languages() {
        for (message, title, language) in [
            ("Summarise the plot of Hamlet", "Hamlet", Language::English),
            ("Please summarize Hamlet for me", "Hamlet", Language::English),
            ("What is “The Great Gatsby” about?", "The Great Gatsby", Language::English),
            ("what happens in 1984 by George Orwell", "1984 by George Orwell", Language::English),
            ("Tell me the story of the film Titanic.", "the film Titanic", Language::English),
            ("Fasse die Handlung von Faust zusammen", "Faust", Language::German),
            ("Worum geht es in Die Räuber?", "Die Räuber", Language::German),
            ("Résume l'intrigue d'Hamlet", "Hamlet", Language::French),
            ("De quoi parle Les Misérables ?", "Les Misérables", Language::French),
            ("¿De qué trata El Quijote?", "El Quijote", Language::Spanish),
        ] {
            let story = StoryQuestion::from_message(message).unwrap_or_else(|| panic!("{message}"));
            assert_eq!((story.title, story.language), (title, language), "{message}");
        }
    }

    #[test]
    fn other_messages_have_no_title() {
        for message in [
            "",
            "summarise",
            "What is about?",
            "Hamlet",
            "What is Hamlet about, and who wrote it?",
            "Who wrote Hamlet?",
            "Summarise: the library is closed on Monday, and on all other days it is open from nine to five",
        ] {
            assert_eq!(StoryQuestion::from_message(message), None, "{message}");
        }
    }

    #[test]
    fn english_questions_ask_for_the_plot() {
        let reworded = |message| StoryQuestion::from_message(message).unwrap().rewording();
        assert_eq!(reworded("summarize hamlet"), "Summarise the plot of Hamlet");
        assert_eq!(reworded("what happens in the film Titanic"), "Summarise the plot of the film Titanic");
        assert_eq!(reworded("What is Hamlet about?"), "Summarise the plot of Hamlet");
        assert_eq!(reworded("Worum geht es in Hamlet?"), "Worum geht es in Hamlet?");
    }

    #[test]
    fn endings_are_in_the_language_of_the_question() {
        let ending = |message, is_begun| StoryQuestion::from_message(message).unwrap().ending(is_begun);
        assert!(ending("What is Hamlet about?", true).contains("the rest"));
        assert!(ending("What is Hamlet about?", false).contains("do not know"));
        assert!(ending("Worum geht es in Hamlet?", true).contains("den Rest"));
        assert!(ending("De quoi parle Hamlet ?", false).contains("petit modèle"));
        assert!(ending("¿De qué trata Hamlet?", true).contains("modelo pequeño"));
    }
}
