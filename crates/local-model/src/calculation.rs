//! Calculations without a tool. The instruction to answer briefly makes a small model guess: 17 percent of 240 is 40. Told to
//! write each step, it calculates.

use crate::few_shot::{yes_or_no_prefix, yes_or_no_prompt};
use crate::language::{Language, detect_language};
use crate::prompt_prefix::PromptTokens;
use crate::tokenizer::Tokenizer;

/// Maximum number of words of such a message. A longer one is a text with numbers.
const MAX_WORDS: usize = 60;

/// Minimum number of numbers in such a message: asked for the square root of 144 step by step, the model divides without end.
const MIN_NUMBERS: usize = 2;

/// Minimum log-odds that the answer can be calculated. Of 26 development messages that can, 25 have 0.9 or more, and of 19 others
/// with numbers none has more than 0.7.
pub(crate) const MIN_CALCULATION: f32 = 0.9;

/// Examples of messages with numbers, and whether the answer can be calculated from them.
const EXAMPLES: [(&str, bool); 24] = [
    ("How much is 30 percent of 90?", true),
    ("What happened in 1914 and 1918?", false),
    ("Give me 3 ideas for 5 children", false),
    ("A shirt costs 40 euros, and I get 25% off. What do I pay?", true),
    ("Is 3 or 8 the nicer number?", false),
    ("Convert 2 hours and 10 minutes into seconds", true),
    ("What is new in HTML 5 and CSS 3?", false),
    ("How much are 250 dollars in yen?", false),
    ("Teile 100 durch 8", true),
    ("How many users signed up in the last 7 days?", false),
    ("Write a program that adds 4 and 5", false),
    ("How many seconds are 4 minutes?", true),
    ("What is better, USB 2 or USB 3?", false),
    ("Who won in 2006 and 2010?", false),
    ("If 2 tickets cost 15, how much do 5 cost?", true),
    ("Schreib 2 Sätze über 3 Katzen", false),
    ("Wie weit kommt man in 3 Stunden mit 80 km/h?", true),
    ("Combien font 12 fois 11 ?", true),
    ("Tell me about Apollo 11", false),
    ("What is half of 34?", true),
    ("What does a flight to Rome cost for 2 people?", false),
    ("Remind me in 10 minutes", false),
    ("Recommend a film from 1999", false),
    ("Name 10 cities with more than 1 million people", false),
];

/// Instruction for a calculation, in each language.
const INSTRUCTIONS: [(Language, &str); 4] = [
    (
        Language::English,
        "Calculate step by step: write each calculation on a line of its own, without LaTeX. End with the result.",
    ),
    (
        Language::German,
        "Rechne Schritt für Schritt: Schreib jede Rechnung in eine eigene Zeile, ohne LaTeX. Ende mit dem Ergebnis.",
    ),
    (Language::French, "Calcule pas à pas : écris chaque calcul sur une ligne, sans LaTeX. Termine par le résultat."),
    (
        Language::Spanish,
        "Calcula paso a paso: escribe cada cálculo en una línea propia, sin LaTeX. Termina con el resultado.",
    ),
];

/// Returns whether a message can ask for a calculation: whether it is short and has numbers.
pub(crate) fn may_be_calculation(message: &str) -> bool {
    let words: Vec<&str> = message.split_whitespace().collect();
    words.len() <= MAX_WORDS && words.into_iter().map(count_numbers).sum::<usize>() >= MIN_NUMBERS
}

/// Returns the number of numbers in a word: one in `240?`, two in `(3*4)`, none in `utf8`, `/tmp/2` or `10:30`.
fn count_numbers(word: &str) -> usize {
    if word.contains(|character: char| character.is_alphabetic() || matches!(character, '/' | '_' | ':')) {
        return 0;
    }
    word.split(['+', '-', '*', '×', '÷'])
        .filter(|part| part.contains(|character: char| character.is_ascii_digit()))
        .count()
}

/// Returns the prefix of prompts that ask whether the answer can be calculated.
pub(crate) fn calculation_prefix(tokenizer: &Tokenizer) -> Vec<u32> {
    yes_or_no_prefix(
        tokenizer,
        "Can the answer be calculated from the numbers in the message? Answer yes or no.",
        &EXAMPLES,
    )
}

/// Builds the prompt of a [`calculation_prefix`] for a message.
pub(crate) fn calculation_prompt(tokenizer: &Tokenizer, message: &str) -> PromptTokens {
    yes_or_no_prompt(tokenizer, calculation_prefix(tokenizer), message)
}

/// Returns the instruction for the answer to a message.
pub(crate) fn instruction(message: &str) -> &'static str {
    detect_language(message).choose(&INSTRUCTIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calculation_has_two_numbers() {
        for message in ["What is 17 percent of 240?", "12.5+7", "How much is (3*4)?", "I pay 45.50€ and add 20%"] {
            assert!(may_be_calculation(message), "{message}");
        }
        for message in [
            "",
            "What is the square root of 144?",
            "Read /tmp/1 and /tmp/2",
            "What are utf8 and utf16?",
            "Open http://10.0.0.1:80/ and http://10.0.0.2:80/",
            &"1 word ".repeat(40),
        ] {
            assert!(!may_be_calculation(message), "{message}");
        }
    }

    #[test]
    fn instruction_is_in_the_language_of_the_message() {
        assert!(instruction("What is 17 percent of 240?").starts_with("Calculate"));
        assert!(instruction("Wie viel sind 12 Prozent von 350?").starts_with("Rechne"));
        assert!(instruction("Combien font 12 fois 11 pour vous ?").starts_with("Calcule pas"));
        assert!(instruction("¿Cuánto es el 12 por ciento de 350?").starts_with("Calcula paso"));
    }
}
