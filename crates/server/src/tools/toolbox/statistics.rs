//! Counting in a text.

use domain::tool::ToolResult;
use serde::Deserialize;
use serde_json::json;

/// What the tool takes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextStatistics {
    text: String,
    find: Option<String>,
}

/// The counts in one sentence, and the same for programs.
pub fn text_statistics(input: &TextStatistics) -> ToolResult {
    let text = &input.text;
    let characters = text.chars().count();
    let words = text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count();
    let sentences = sentences(text);
    let lines = text.lines().count();
    let mut said = format!("{characters} characters, {words} words, {sentences} sentences, {lines} lines.");
    let mut counts = json!({ "characters": characters, "words": words, "sentences": sentences, "lines": lines });
    if let Some(find) = input.find.as_deref().filter(|find| !find.is_empty()) {
        let occurrences = text.to_lowercase().matches(&find.to_lowercase()).count();
        said = format!("{find:?} occurs {occurrences} times. The text has {said}");
        counts["occurrences"] = occurrences.into();
    }
    super::result(said, counts)
}

/// Runs of words that end with a full stop, a question mark or an exclamation mark, or with the text. A point inside a
/// word or number ends nothing.
fn sentences(text: &str) -> usize {
    let mut count = 0;
    let mut is_open = false;
    for word in text.split_whitespace() {
        is_open |= word.chars().any(char::is_alphanumeric);
        let closes = word.trim_end_matches(['"', '\'', ')', '”', '’', '»']).ends_with(['.', '?', '!', '…', '。']);
        if closes && is_open {
            count += 1;
            is_open = false;
        }
    }
    count + usize::from(is_open)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_ends_where_a_reader_would_say_so() {
        for (text, count) in
            [("", 0), ("...", 0), ("no end", 1), ("It is 3.5 m. Really? \"Yes!\" he said", 4), ("One.\nTwo.", 2)]
        {
            assert_eq!(sentences(text), count, "{text}");
        }
    }
}
