//! Search queries: words, which match by prefix, and phrases in quotation marks. Any text is a valid query.

use std::collections::BTreeSet;

use super::words::{Word, cut, pair, terms, words};

/// Maximum number of terms per query; the rest is ignored.
const MAX_TERMS: usize = 12;
/// A condition that more than one in this many texts meets counts as common.
const COMMON_SHARE: usize = 5;

/// A parsed search query with at least one term.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SearchQuery {
    terms: Vec<Term>,
}

/// A sequence of adjacent words.
#[derive(Debug, PartialEq, Eq)]
struct Term {
    words: Vec<Word>,
    /// Whether the last word matches by prefix.
    is_prefix: bool,
}

/// A necessary condition for a match, which the full-text index can check.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TermCondition {
    /// An indexed term, or its prefix.
    pub text: String,
    /// Whether `text` is a prefix.
    pub is_prefix: bool,
}

impl TermCondition {
    /// Returns whether one of these terms meets the condition.
    fn is_met_by(&self, terms: &BTreeSet<String>) -> bool {
        if self.is_prefix {
            terms.range(self.text.clone()..).next().is_some_and(|term| term.starts_with(&self.text))
        } else {
            terms.contains(&self.text)
        }
    }

    /// Returns whether the condition is the prefix of a single Latin letter or digit. In other scripts, a single
    /// character can be a word.
    fn is_letter(&self) -> bool {
        self.is_prefix && self.text.len() == 1
    }
}

impl SearchQuery {
    /// Parses the typed text. Returns `None` if it contains no word.
    pub fn parse(typed: &str) -> Option<Self> {
        let quote = |character: char| matches!(character, '"' | '“' | '”' | '„' | '«' | '»');
        let pieces: Vec<&str> = typed.split(quote).collect();
        let mut terms = Vec::new();
        for (index, piece) in pieces.iter().enumerate() {
            if index % 2 == 1 {
                // An unclosed phrase is still being typed, so that its last word matches by prefix.
                terms.push(Term { words: words(piece), is_prefix: index + 1 == pieces.len() });
            } else {
                terms.extend(piece.split_whitespace().map(|typed| {
                    let words = words(typed);
                    // A word followed by punctuation is complete: "C++" searches for the word C, not for everything
                    // that begins with it.
                    let is_prefix = words.last().is_some_and(|last| last.end == typed.len());
                    Term { words, is_prefix }
                }));
            }
        }
        terms.retain(|term| !term.words.is_empty());
        terms.truncate(MAX_TERMS);
        (!terms.is_empty()).then_some(Self { terms })
    }

    /// Returns the conditions that every match meets; not everything that meets them is a match. Single letters are
    /// left out if there are other conditions, because they narrow the search very little.
    pub fn conditions(&self) -> Vec<TermCondition> {
        let mut conditions: Vec<TermCondition> = self.terms.iter().flat_map(Term::conditions).collect();
        conditions.sort();
        conditions.dedup();
        if !conditions.iter().all(TermCondition::is_letter) {
            conditions.retain(|condition| !condition.is_letter());
        }
        conditions
    }

    /// Returns the conditions that are rare in the given sample of texts, for which the index has few entries to
    /// collect, or all of them if none is rare. Texts found by them are checked completely anyway.
    pub fn selective_conditions<'a>(&self, texts: impl Iterator<Item = &'a str>) -> Vec<TermCondition> {
        let texts: Vec<_> = texts.map(terms).collect();
        let is_rare = |condition: &TermCondition| {
            texts.iter().filter(|terms| condition.is_met_by(terms)).count() * COMMON_SHARE < texts.len()
        };
        let (rare, common): (Vec<_>, Vec<_>) = self.conditions().into_iter().partition(is_rare);
        if rare.is_empty() { common } else { rare }
    }

    /// Returns the byte ranges of the matches in a text, in order, or `None` if the text does not match.
    pub fn find(&self, text: &str) -> Option<Vec<(usize, usize)>> {
        let text = words(text);
        let mut found = Vec::new();
        for term in &self.terms {
            let before = found.len();
            found.extend(text.windows(term.words.len()).filter(|some| term.is(some)).map(span));
            if found.len() == before {
                return None;
            }
        }
        found.sort_unstable();
        found.dedup();
        // Overlapping ranges are merged.
        let mut places: Vec<(usize, usize)> = Vec::with_capacity(found.len());
        for (start, end) in found {
            match places.last_mut() {
                Some(last) if start < last.1 => last.1 = last.1.max(end),
                _ => places.push((start, end)),
            }
        }
        Some(places)
    }
}

fn span(words: &[Word]) -> (usize, usize) {
    (words.first().map_or(0, |word| word.start), words.last().map_or(0, |word| word.end))
}

impl Term {
    fn conditions(&self) -> Vec<TermCondition> {
        let condition = |(index, word): (usize, &Word)| match self.words.get(index + 1) {
            // Two adjacent characters are indexed as one term, which is far more selective.
            Some(next) if word.alone && next.alone => TermCondition { text: pair(word, next), is_prefix: false },
            next => {
                let text = cut(&word.text);
                // The last character of a run without spaces may be indexed together with the character after it.
                let is_prefix = word.alone || (next.is_none() && self.is_prefix) || text.len() < word.text.len();
                TermCondition { text: text.to_owned(), is_prefix }
            }
        };
        self.words.iter().enumerate().map(condition).collect()
    }

    fn is(&self, some: &[Word]) -> bool {
        let last = self.words.len() - 1;
        self.words.iter().zip(some).enumerate().all(|(index, (word, other))| {
            word.text == other.text || (index == last && self.is_prefix && other.text.starts_with(&word.text))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(query: &str, text: &str) -> Option<Vec<String>> {
        let places = SearchQuery::parse(query)?.find(text)?;
        Some(places.into_iter().map(|(start, end)| text[start..end].to_owned()).collect())
    }

    #[test]
    fn words_begin_so_and_phrases_are_whole() {
        let text = "The trip to Lisbon: foo-bar, a week in Lisbon.";
        for (query, want) in [
            ("lis tri", Some(vec!["trip", "Lisbon", "Lisbon"])),
            ("\"to lisbon\"", Some(vec!["to Lisbon"])),
            ("\"lisbon to\"", None),
            ("\"to lis\"", None),
            ("\"to lis", Some(vec!["to Lisbon"])),
            ("„in Lisbon“ week", Some(vec!["week", "in Lisbon"])),
            ("FOO_BA", Some(vec!["foo-bar"])),
            ("sbon", None),
            ("lisb, trip", None),
            ("lisbon, tri", Some(vec!["trip", "Lisbon", "Lisbon"])),
            ("lisbon porto", None),
            ("* ( ) -- ' OR", None),
        ] {
            let want = want.map(|want| want.into_iter().map(str::to_owned).collect());
            assert_eq!(hit(query, text), want, "{query}");
        }
        assert_eq!(SearchQuery::parse(" \"\" *:& "), None);
    }

    #[test]
    fn scripts_without_spaces_are_found_by_any_part() {
        let text = "明日は東京都へ行きます🎉👍🏾";
        for (query, want) in [
            ("京", Some(vec!["京"])),
            ("東京", Some(vec!["東京"])),
            ("京都", Some(vec!["京都"])),
            ("東都", None),
            ("行きます", Some(vec!["行きます"])),
            ("🎉", Some(vec!["🎉"])),
            ("🎉👍", Some(vec!["🎉👍"])),
            ("👍🏽", Some(vec!["👍"])),
        ] {
            let want = want.map(|want| want.into_iter().map(str::to_owned).collect());
            assert_eq!(hit(query, text), want, "{query}");
        }
    }

    fn texts(conditions: Vec<TermCondition>) -> Vec<String> {
        conditions.into_iter().map(|condition| condition.text).collect()
    }

    #[test]
    fn a_letter_beside_words_is_no_condition() {
        for (query, conditions) in [
            ("a", vec!["a"]),
            ("li", vec!["li"]),
            ("lis a", vec!["lis"]),
            ("\"li\"", vec!["li"]),
            ("lis 京", vec!["lis", "京"]),
        ] {
            assert_eq!(texts(SearchQuery::parse(query).unwrap().conditions()), conditions, "{query}");
        }
    }

    #[test]
    fn what_many_texts_have_tells_nothing_beside_what_few_have() {
        let among = |query: &str| {
            let said = (0..100).map(|n| if n % 50 == 0 { "the Lisbon trip" } else { "there is nothing" });
            texts(SearchQuery::parse(query).unwrap().selective_conditions(said))
        };
        for (query, conditions) in [
            ("th lis", vec!["lis"]),
            ("\"the\" not", vec!["the"]),
            ("the not", vec!["not", "the"]),
            ("trip lisbon the", vec!["lisbon", "trip"]),
            ("porto the", vec!["porto"]),
            ("is", vec!["is"]),
        ] {
            assert_eq!(among(query), conditions, "{query}");
        }
    }

    #[test]
    fn every_hit_fulfils_the_conditions() {
        for (query, text) in [
            ("lis t", "Lisbon, a trip"),
            ("a b", "before all"),
            ("lis", "Lisbon"),
            ("京", "東京都"),
            ("都", "東京都"),
            ("京都2", "東京都2026"),
            ("\"x 東京\"", "x東京都"),
            (&"a".repeat(60), &"a".repeat(70)),
        ] {
            let query = SearchQuery::parse(query).unwrap();
            assert!(query.find(text).is_some(), "{text}");
            let terms = terms(text);
            for condition in query.conditions() {
                assert!(condition.is_met_by(&terms), "{condition:?} in {terms:?}");
            }
        }
    }
}
