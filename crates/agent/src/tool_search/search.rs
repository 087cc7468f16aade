//! Search of tools by words.

use connections::BoundTool;

/// Maximum number of words of a query that are compared.
const MAX_QUERY_WORDS: usize = 16;
/// Minimum length of a tool's word that matches as the beginning of a longer word of the query ("file" and "files"), in
/// characters.
const MIN_STEM_CHARS: usize = 4;

/// Scores of a word of the query in each field.
const NAME_SCORES: MatchScores = MatchScores { word: 12, prefix: 8 };
const TITLE_SCORES: MatchScores = MatchScores { word: 8, prefix: 5 };
const SERVER_SCORES: MatchScores = MatchScores { word: 6, prefix: 3 };
const DESCRIPTION_SCORES: MatchScores = MatchScores { word: 3, prefix: 2 };
/// Score of a query that equals the name of a tool.
const EXACT_NAME_SCORE: u32 = 100;

/// Scores of a match: of the whole word, and of its beginning.
#[derive(Clone, Copy)]
struct MatchScores {
    word: u32,
    prefix: u32,
}

/// Returns the indices of the tools that match a query, the best first. A tool that contains more words of the query precedes
/// others, whatever the order of the words. Equal matches keep the order of the list.
pub fn search(tools: &[BoundTool], query: &str, server: Option<&str>) -> Vec<usize> {
    let mut words: Vec<String> = parts(query).map(str::to_lowercase).collect();
    words.dedup();
    words.truncate(MAX_QUERY_WORDS);
    let query_name = query.trim().to_lowercase();
    let mut found: Vec<(usize, u32, usize)> = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        if server.is_some_and(|server| !tool.server.name.eq_ignore_ascii_case(server)) {
            continue;
        }
        let (count, score) = score_tool(tool, &words);
        let is_exact = [&tool.definition.name, &tool.model_name].iter().any(|name| name.to_lowercase() == query_name);
        // A query without words lists all tools of a connection.
        if count > 0 || is_exact || (words.is_empty() && server.is_some()) {
            found.push((count, score + if is_exact { EXACT_NAME_SCORE } else { 0 }, index));
        }
    }
    found.sort_by(|a, b| {
        (b.1 >= EXACT_NAME_SCORE, b.0, b.1).cmp(&(a.1 >= EXACT_NAME_SCORE, a.0, a.1)).then(a.2.cmp(&b.2))
    });
    found.into_iter().map(|(_, _, index)| index).collect()
}

/// Returns how many of the words a tool contains, and the sum of their scores.
fn score_tool(tool: &BoundTool, words: &[String]) -> (usize, u32) {
    let definition = &tool.definition;
    let mut best = vec![0; words.len()];
    let fields = [
        (definition.name.as_str(), NAME_SCORES),
        (definition.title.as_deref().unwrap_or_default(), TITLE_SCORES),
        (tool.server.name.as_str(), SERVER_SCORES),
        (definition.description.as_str(), DESCRIPTION_SCORES),
    ];
    for (text, scores) in fields {
        for part in parts(text) {
            for (word, best) in words.iter().zip(&mut best) {
                *best = (*best).max(score_word(part, word, scores));
            }
        }
    }
    (best.iter().filter(|&&score| score > 0).count(), best.iter().sum())
}

/// Returns the score of a tool's word for a word of the query, which is in lowercase.
fn score_word(part: &str, word: &str, scores: MatchScores) -> u32 {
    let mut of_part = part.chars().flat_map(char::to_lowercase);
    let mut of_word = word.chars();
    let mut common = 0;
    loop {
        match (of_part.next(), of_word.next()) {
            (None, None) => return scores.word,
            (Some(a), Some(b)) if a == b => common += 1,
            (Some(_), None) => return scores.prefix,
            (None, Some(_)) if common >= MIN_STEM_CHARS => return scores.prefix,
            _ => return 0,
        }
    }
}

/// Returns the words of a text. `getIssue`, `get_issue` and `get issue` have the same two.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric())
        .flat_map(camel_case_words)
        .filter(|part| !part.is_empty())
}

/// Splits a word before each uppercase letter that follows a lowercase one.
fn camel_case_words(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let mut letters = rest.char_indices();
        let mut before = letters.next()?.1;
        for (place, letter) in letters {
            if before.is_lowercase() && letter.is_uppercase() {
                let (first, after) = rest.split_at(place);
                rest = after;
                return Some(first);
            }
            before = letter;
        }
        Some(std::mem::take(&mut rest))
    })
}
