//! The tool that counts in a text.

use domain::tool::ToolResult;
use serde::Deserialize;
use serde_json::json;

/// Arguments of the tool.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextStatistics {
    text: String,
    find: Option<String>,
}

/// Returns the counts of a text.
pub fn text_statistics(input: &TextStatistics) -> ToolResult {
    let text = &input.text;
    let characters = text.chars().count();
    // A dash between spaces is no word.
    let words = text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count();
    let sentences = sentences(text);
    let lines = text.lines().count();
    let mut summary = format!("{characters} characters, {words} words, {sentences} sentences, {lines} lines.");
    let mut counts = json!({ "characters": characters, "words": words, "sentences": sentences, "lines": lines });
    if let Some(find) = input.find.as_deref().filter(|find| !find.is_empty()) {
        let occurrences = text.to_lowercase().matches(&find.to_lowercase()).count();
        summary = format!("{find:?} occurs {occurrences} times. The text has {summary}");
        counts["occurrences"] = occurrences.into();
    }
    super::result(summary, counts)
}

/// Counts the sentences. A sentence ends at a word with a full stop, question mark or exclamation mark at its end, or at
/// the end of the text; a point within a word or number does not count.
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
    fn counts_sentences() {
        for (text, count) in
            [("", 0), ("...", 0), ("no end", 1), ("It is 3.5 m. Really? \"Yes!\" he said", 4), ("One.\nTwo.", 2)]
        {
            assert_eq!(sentences(text), count, "{text}");
        }
    }
}
