//! Texts as words: the same for what is stored and for what is searched, whatever the script and the database.
//!
//! A word is a run of letters, digits and marks, folded: lower case, compatibility forms made plain, accents taken off.
//! Scripts that put no spaces between words have no words here: each of their characters stands alone.

use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Characters of a word that are searched by; longer ones are told apart when a hit is looked at.
const WORD: usize = 40;
/// Different terms of one text at most, so that no text is larger than a `tsvector` may be.
const TERMS: usize = 20_000;

/// A word of a text, or a character that stands alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// Folded.
    pub text: String,
    /// Whether it is one character of a script without spaces.
    pub alone: bool,
    /// Where it begins in the text, in bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// The words of a text, in order.
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
    words.retain(|word| !word.text.is_empty());
    words
}

/// What a text is found by: its words, and of characters that stand alone each with the next one.
pub(super) fn terms(text: &str) -> BTreeSet<String> {
    let words = words(text);
    let mut terms = BTreeSet::new();
    for (index, word) in words.iter().enumerate() {
        terms.insert(match words.get(index + 1) {
            Some(next) if word.alone && next.alone => pair(word, next),
            _ => cut(&word.text).to_owned(),
        });
        if terms.len() == TERMS {
            break;
        }
    }
    terms
}

/// Two characters that stand alone, one after the other.
pub(super) fn pair(one: &Word, next: &Word) -> String {
    format!("{}{}", one.text, next.text)
}

/// As much of a word as is searched by.
pub(super) fn cut(word: &str) -> &str {
    word.char_indices().nth(WORD).map_or(word, |(end, _)| &word[..end])
}

fn fold(character: char, into: &mut String) {
    // A Hangul syllable is a character of its own to its readers.
    if ('\u{ac00}'..='\u{d7a3}').contains(&character) || is_emoji(character) {
        into.push(character);
        return;
    }
    for part in std::iter::once(character).nfkd().filter(|part| !is_accent(*part)) {
        for lower in part.to_lowercase() {
            match lower {
                'ß' => into.push_str("ss"),
                'ς' => into.push('σ'),
                // Letters of their own that are typed without their strokes, and ligatures.
                'đ' | 'ð' => into.push('d'),
                'ħ' => into.push('h'),
                'ı' => into.push('i'),
                'ł' => into.push('l'),
                'ø' => into.push('o'),
                'ŧ' => into.push('t'),
                'æ' => into.push_str("ae"),
                'œ' => into.push_str("oe"),
                'þ' => into.push_str("th"),
                // What a compatibility form is made of may be no letter, such as the stroke of a fraction.
                other if other.is_alphanumeric() || is_combining_mark(other) => into.push(other),
                _ => {}
            }
        }
    }
}

/// Marks that readers of Latin, Greek, Cyrillic, Hebrew, Arabic and the scripts of India leave out when they type.
fn is_accent(mark: char) -> bool {
    // What follows an emoji and only says how it is drawn.
    let draws = matches!(mark, '\u{fe00}'..='\u{fe0f}' | '\u{20d0}'..='\u{20f0}');
    let is_nukta = matches!(mark, '\u{93c}' | '\u{9bc}' | '\u{a3c}' | '\u{abc}' | '\u{b3c}' | '\u{c3c}' | '\u{cbc}');
    draws
        || is_nukta
        || matches!(mark, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{670}')
}

/// Pictures that people put into texts. What only changes one (the colour of skin, the form, what joins several) is
/// left out, so that each is found by its plain form.
fn is_emoji(character: char) -> bool {
    matches!(character,
        '\u{2190}'..='\u{21ff}'       // arrows
        | '\u{2300}'..='\u{23ff}'     // watches, keys
        | '\u{25a0}'..='\u{27bf}'     // shapes, symbols, dingbats
        | '\u{2b00}'..='\u{2bff}'
        | '\u{1f000}'..='\u{1f3fa}'   // among them the letters of flags
        | '\u{1f400}'..='\u{1faff}')
}

/// Scripts without spaces between words, and Korean, whose words change their endings and are found by their parts.
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
        assert_eq!(super::terms(&long).into_iter().next().unwrap().len(), WORD);
        let many = (0..30_000).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
        assert_eq!(super::terms(&many).len(), TERMS);
    }
}
