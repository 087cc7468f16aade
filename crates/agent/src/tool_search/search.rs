//! Finding tools by words.

use connections::BoundTool;

/// Maximum number of words of a query that are compared.
const MAX_QUERY_WORDS: usize = 16;
/// A word of a tool that begins a word of the query is close to it from this length on: "file" to "files".
const MIN_STEM_CHARS: usize = 4;

/// What a word of the query is worth where it is found, whole and as a beginning.
const IN_NAME: (u32, u32) = (12, 8);
const IN_TITLE: (u32, u32) = (8, 5);
const IN_SERVER: (u32, u32) = (6, 3);
const IN_DESCRIPTION: (u32, u32) = (3, 2);
/// What the whole name is worth.
const WHOLE_NAME: u32 = 100;

/// The tools that fit a query, the best first, by their places: those with more of its words before others, whatever the
/// order of the words. Where they fit alike, the order of the list decides.
pub fn search(tools: &[BoundTool], query: &str, server: Option<&str>) -> Vec<usize> {
    let mut words: Vec<String> = parts(query).map(str::to_lowercase).collect();
    words.dedup();
    words.truncate(MAX_QUERY_WORDS);
    let whole = query.trim().to_lowercase();
    let mut found: Vec<(usize, u32, usize)> = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        if server.is_some_and(|server| !tool.server.name.eq_ignore_ascii_case(server)) {
            continue;
        }
        let (count, score) = fit(tool, &words);
        let is_whole = [&tool.definition.name, &tool.model_name].iter().any(|name| name.to_lowercase() == whole);
        // A query of nothing but a connection is a wish for all its tools.
        if count > 0 || is_whole || (words.is_empty() && server.is_some()) {
            found.push((count, score + if is_whole { WHOLE_NAME } else { 0 }, index));
        }
    }
    found.sort_by(|a, b| (b.1 >= WHOLE_NAME, b.0, b.1).cmp(&(a.1 >= WHOLE_NAME, a.0, a.1)).then(a.2.cmp(&b.2)));
    found.into_iter().map(|(_, _, index)| index).collect()
}

/// How many of the words a tool has, and how well they fit.
fn fit(tool: &BoundTool, words: &[String]) -> (usize, u32) {
    let definition = &tool.definition;
    let mut best = vec![0; words.len()];
    let fields = [
        (definition.name.as_str(), IN_NAME),
        (definition.title.as_deref().unwrap_or_default(), IN_TITLE),
        (tool.server.name.as_str(), IN_SERVER),
        (definition.description.as_str(), IN_DESCRIPTION),
    ];
    for (text, worth) in fields {
        for part in parts(text) {
            for (word, best) in words.iter().zip(&mut best) {
                *best = (*best).max(likeness(part, word, worth));
            }
        }
    }
    (best.iter().filter(|&&score| score > 0).count(), best.iter().sum())
}

fn likeness(part: &str, word: &str, (whole, beginning): (u32, u32)) -> u32 {
    let mut of_part = part.chars().flat_map(char::to_lowercase);
    let mut of_word = word.chars();
    let mut common = 0;
    loop {
        match (of_part.next(), of_word.next()) {
            (None, None) => return whole,
            (Some(a), Some(b)) if a == b => common += 1,
            (Some(_), None) => return beginning,
            (None, Some(_)) if common >= MIN_STEM_CHARS => return beginning,
            _ => return 0,
        }
    }
}

/// The words of a text: `getIssue`, `get_issue` and `get issue` are the same two.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric()).flat_map(humps).filter(|part| !part.is_empty())
}

fn humps(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let mut letters = rest.char_indices();
        let mut before = letters.next()?.1;
        for (place, letter) in letters {
            if before.is_lowercase() && letter.is_uppercase() {
                let (hump, after) = rest.split_at(place);
                rest = after;
                return Some(hump);
            }
            before = letter;
        }
        Some(std::mem::take(&mut rest))
    })
}
