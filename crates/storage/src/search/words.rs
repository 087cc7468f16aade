//! Splits texts into words, in the same way for indexing and for searching, whatever the script and the database.
//!
//! A word is a run of letters, digits and marks, folded: lower case, compatibility forms decomposed, accents removed.
//! In scripts without spaces between words, each character is a word of its own.

use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Maximum indexed length of a word in characters. Longer words are distinguished when a candidate is checked.
const MAX_WORD_CHARACTERS: usize = 40;
/// Maximum number of different terms per text, because PostgreSQL limits the size of a `tsvector`.
const MAX_TERMS: usize = 20_000;

/// A word of a text, or a single character of a script without spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// Folded text.
    pub text: String,
    /// Whether it is a single character of a script without spaces.
    pub alone: bool,
    /// Start in the text, in bytes.
    pub start: usize,
    /// End in the text, in bytes.
    pub end: usize,
}

/// Returns the words of a text, in order.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut open = false;
    for (start, character) in text.char_indices() {
        let end = start + character.len_utf8();
        let alone = stands_alone(character);
        if alone || !(character.is_alphanumeric() || is_combining_mark(character)) {
            open = false;
            if alone {
                let mut text = String::new();
                fold(character, &mut text);
                words.push(Word { text, alone, start, end });
            }
            continue;
        }
        if !open {
            words.push(Word { text: String::new(), alone: false, start, end });
            open = true;
        }
        if let Some(word) = words.last_mut() {
            fold(character, &mut word.text);
            word.end = end;
        }
    }
    // A word of marks alone folds to nothing.
    words.retain(|word| !word.text.is_empty());
    words
}

/// Returns the terms under which a text is indexed: its words, and pairs of adjacent characters in scripts without
/// spaces.
pub(super) fn terms(text: &str) -> BTreeSet<String> {
    let words = words(text);
    let mut terms = BTreeSet::new();
    for (index, word) in words.iter().enumerate() {
        terms.insert(match words.get(index + 1) {
            Some(next) if word.alone && next.alone => pair(word, next),
            _ => cut(&word.text).to_owned(),
        });
        if terms.len() == MAX_TERMS {
            break;
        }
    }
    terms
}

/// Joins two adjacent characters of a script without spaces to a term.
pub(super) fn pair(one: &Word, next: &Word) -> String {
    format!("{}{}", one.text, next.text)
}

/// Cuts a word to its indexed length.
pub(super) fn cut(word: &str) -> &str {
    word.char_indices().nth(MAX_WORD_CHARACTERS).map_or(word, |(end, _)| &word[..end])
}

fn fold(character: char, into: &mut String) {
    // Readers of Korean see a syllable as one character, so that it is not decomposed. Emoji are not folded, either.
    if ('\u{ac00}'..='\u{d7a3}').contains(&character) || is_emoji(character) {
        into.push(character);
        return;
    }
    for part in std::iter::once(character).nfkd().filter(|part| !is_accent(*part)) {
        for lower in part.to_lowercase() {
            match lower {
                'ß' => into.push_str("ss"),
                'ς' => into.push('σ'),
                // Letters that Unicode does not decompose but that are often typed without their strokes, and
                // ligatures.
                'đ' | 'ð' => into.push('d'),
                'ħ' => into.push('h'),
                'ı' => into.push('i'),
                'ł' => into.push('l'),
                'ø' => into.push('o'),
                'ŧ' => into.push('t'),
                'æ' => into.push_str("ae"),
                'œ' => into.push_str("oe"),
                'þ' => into.push_str("th"),
                // A compatibility form may decompose into a character that is not a letter, such as the slash of a
                // fraction.
                other if other.is_alphanumeric() || is_combining_mark(other) => into.push(other),
                _ => {}
            }
        }
    }
}

/// Returns whether a mark is usually omitted in typing: accents of Latin, Greek, Cyrillic, Hebrew, Arabic and the
/// scripts of India.
fn is_accent(mark: char) -> bool {
    // Variation selectors and enclosing marks only change how the preceding character is drawn.
    let draws = matches!(mark, '\u{fe00}'..='\u{fe0f}' | '\u{20d0}'..='\u{20f0}');
    let is_nukta = matches!(mark, '\u{93c}' | '\u{9bc}' | '\u{a3c}' | '\u{abc}' | '\u{b3c}' | '\u{c3c}' | '\u{cbc}');
    draws
        || is_nukta
        || matches!(mark, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{670}')
}

/// Returns whether a character is an emoji or symbol. Modifiers (skin tone, variation, joiner) are excluded, so that an
/// emoji is found by its plain form.
fn is_emoji(character: char) -> bool {
    matches!(character,
        '\u{2190}'..='\u{21ff}'       // arrows
        | '\u{2300}'..='\u{23ff}'     // watches, keys
        | '\u{25a0}'..='\u{27bf}'     // shapes, symbols, dingbats
        | '\u{2b00}'..='\u{2bff}'
        | '\u{1f000}'..='\u{1f3fa}'   // among them the letters of flags
        | '\u{1f400}'..='\u{1faff}')
}

/// Returns whether a character is a word of its own: scripts without spaces between words, and Korean, whose words
/// change their endings and are found by their syllables.
fn stands_alone(character: char) -> bool {
    is_emoji(character)
        || (character.is_alphanumeric() || is_combining_mark(character))
            && matches!(character,
            '\u{e00}'..='\u{eff}'         // Thai, Lao
            | '\u{1000}'..='\u{109f}'     // Myanmar
            | '\u{1780}'..='\u{17ff}'     // Khmer
            | '\u{2e80}'..='\u{2fdf}'     // radicals
            | '\u{3005}'..='\u{3007}'
            | '\u{3040}'..='\u{30ff}'     // Hiragana, Katakana
            | '\u{3100}'..='\u{312f}'     // Bopomofo
            | '\u{31a0}'..='\u{31ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'     // Han
            | '\u{ac00}'..='\u{d7a3}'     // Hangul
            | '\u{f900}'..='\u{faff}'
            | '\u{ff66}'..='\u{ff9f}'     // half-width Katakana
            | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        words(text).into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn words_are_folded_in_every_script() {
        for (text, want) in [
            ("Café, CAFE\u{301}!", vec!["cafe", "cafe"]),
            ("Straße STRASSE", vec!["strasse", "strasse"]),
            ("ΟΔΟΣ οδός", vec!["οδοσ", "οδοσ"]),
            ("ﬁle ２０２６ x²", vec!["file", "2026", "x2"]),
            ("Ёлка й", vec!["елка", "и"]),
            ("שָׁלוֹם سَلام", vec!["שלום", "سلام"]),
            ("हिन्दी", vec!["हिन्दी"]),
            ("foo_bar-baz a.b", vec!["foo", "bar", "baz", "a", "b"]),
            ("東京へiPhone", vec!["東", "京", "へ", "iphone"]),
            ("학교에서", vec!["학", "교", "에", "서"]),
            ("Đà Nẵng, Łódź, Øre, Æsop", vec!["da", "nang", "lodz", "ore", "aesop"]),
            ("क़िताब", vec!["किताब"]),
            ("ok👍🏽❤️", vec!["ok", "👍", "❤"]),
            ("👩\u{200d}👧 🇩🇪", vec!["👩", "👧", "🇩", "🇪"]),
            ("… \u{301} --", vec![]),
        ] {
            assert_eq!(texts(text), want, "{text}");
        }
    }

    #[test]
    fn a_word_knows_where_it_stands() {
        let text = "Ein Café, 東京";
        let found: Vec<&str> = words(text).iter().map(|word| &text[word.start..word.end]).collect();
        assert_eq!(found, ["Ein", "Café", "東", "京"]);
    }

    #[test]
    fn characters_that_stand_alone_are_found_in_pairs_and_the_last_by_itself() {
        let terms: Vec<String> = terms("東京都 2026 東京").into_iter().collect();
        assert_eq!(terms, ["2026", "京", "京都", "東京", "都"]);
        let long = "a".repeat(100);
        assert_eq!(super::terms(&long).into_iter().next().unwrap().len(), MAX_WORD_CHARACTERS);
        let many = (0..30_000).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
        assert_eq!(super::terms(&many).len(), MAX_TERMS);
    }
}
