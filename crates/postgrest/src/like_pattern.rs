//! `LIKE` and `ILIKE` with the same meaning on both databases.
//!
//! SQLite's `LIKE` ignores the case of ASCII letters only. PostgreSQL's `ILIKE` folds letters by the locale of the
//! server, which may also be ASCII only. Therefore a pattern is parsed here and translated: to `GLOB` for SQLite, which
//! is case-sensitive and counts characters, and to `LIKE` or a simple regular expression for PostgreSQL. For `ILIKE`,
//! each letter becomes the class of letters with the same lower case, from one table for both databases.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::pg_error::PgError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternPart {
    Many,
    One,
    Exactly(char),
}

/// A parsed pattern, independent of the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LikePattern {
    pieces: Vec<PatternPart>,
    ignore_case: bool,
}

impl LikePattern {
    pub(crate) fn parse(text: &str, ignore_case: bool) -> Result<Self, PgError> {
        let mut pieces = Vec::new();
        let mut characters = text.chars();
        while let Some(c) = characters.next() {
            pieces.push(match c {
                // Several `%` in a row mean the same as one but take more time to match.
                '%' if pieces.last() == Some(&PatternPart::Many) => continue,
                '%' => PatternPart::Many,
                '_' => PatternPart::One,
                '\\' => PatternPart::Exactly(
                    characters
                        .next()
                        .ok_or_else(|| PgError::new("22025", "LIKE pattern must not end with escape character"))?,
                ),
                c => PatternPart::Exactly(c),
            });
        }
        Ok(Self { pieces, ignore_case })
    }

    /// Returns the operator and its right side for SQLite.
    pub(crate) fn for_sqlite(&self) -> (&'static str, String) {
        let mut glob = String::new();
        for piece in &self.pieces {
            match piece {
                PatternPart::Many => glob.push('*'),
                PatternPart::One => glob.push('?'),
                PatternPart::Exactly(c) => match self.class(*c) {
                    Some(class) => bracket(&mut glob, class),
                    // `GLOB` has no escape character. A class of one character has the same effect.
                    None if matches!(c, '*' | '?' | '[') => bracket(&mut glob, &[*c]),
                    None => glob.push(*c),
                },
            }
        }
        ("GLOB", glob)
    }

    /// Returns the operator and its right side for PostgreSQL.
    pub(crate) fn for_postgres(&self) -> (&'static str, String) {
        if self.ignore_case { ("~", self.regex()) } else { ("LIKE", self.like()) }
    }

    fn like(&self) -> String {
        let mut like = String::new();
        for piece in &self.pieces {
            match piece {
                PatternPart::Many => like.push('%'),
                PatternPart::One => like.push('_'),
                PatternPart::Exactly(c) => {
                    if matches!(c, '%' | '_' | '\\') {
                        like.push('\\');
                    }
                    like.push(*c);
                }
            }
        }
        like
    }

    fn regex(&self) -> String {
        let mut regex = String::from("^");
        for piece in &self.pieces {
            match piece {
                PatternPart::Many => regex.push_str(".*"),
                PatternPart::One => regex.push('.'),
                // A backslash before punctuation always means the character itself.
                PatternPart::Exactly(c) if c.is_ascii_punctuation() => regex.extend(['\\', *c]),
                PatternPart::Exactly(c) => match self.class(*c) {
                    Some(class) => bracket(&mut regex, class),
                    None => regex.push(*c),
                },
            }
        }
        regex.push('$');
        regex
    }

    fn class(&self, c: char) -> Option<&'static [char]> {
        if self.ignore_case { SAME_LETTER.get(&lower(c)).map(Vec::as_slice) } else { None }
    }
}

fn bracket(out: &mut String, class: &[char]) {
    out.push('[');
    out.extend(class);
    out.push(']');
}

/// Returns the lower case of a character if it is a single character, or else the character itself.
fn lower(c: char) -> char {
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        // A letter whose lower case is two characters, such as `İ`, would not fit into a class.
        (Some(one), None) => one,
        _ => c,
    }
}

/// Classes of letters with the same lower case, by that lower-case letter. Letters alone in their class are omitted.
static SAME_LETTER: LazyLock<HashMap<char, Vec<char>>> = LazyLock::new(|| {
    let mut letters: HashMap<char, Vec<char>> = HashMap::new();
    // No letter above U+1FFFF has a case.
    for c in ('\0'..='\u{1FFFF}').filter(|c| c.is_alphabetic()) {
        letters.entry(lower(c)).or_default().push(c);
    }
    letters.retain(|_, same| same.len() > 1);
    letters
});

#[cfg(test)]
mod tests {
    use super::*;

    fn both(text: &str, ignore_case: bool) -> (String, String) {
        let pattern = LikePattern::parse(text, ignore_case).unwrap();
        (pattern.for_sqlite().1, pattern.for_postgres().1)
    }

    #[test]
    fn a_pattern_is_written_for_each_database() {
        assert_eq!(both("a%_b", false), ("a*?b".into(), "a%_b".into()));
        assert_eq!(both("100\\%%%", false), ("100%*".into(), "100\\%%".into()));
        assert_eq!(both("[*?]", false), ("[[][*][?]]".into(), "[*?]".into()));
        assert_eq!(both("ä1.%", true), ("[Ää]1.*".into(), "^[Ää]1\\..*$".into()));
        assert_eq!(both("ß", true).0, "[ßẞ]");
    }

    #[test]
    fn a_lonely_escape_is_refused() {
        assert_eq!(LikePattern::parse("a\\", false).unwrap_err().code, "22025");
    }
}
