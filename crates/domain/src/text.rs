//! Text functions that several modules share: titles, cutting, invisible characters.

use std::borrow::Cow;
use std::fmt::Write;

/// Maximum length of a chat's automatic title in characters (specification 4 and 9).
pub const TITLE_CHARACTERS: usize = 30;

/// Returns the title of a chat by its first message: the first [`TITLE_CHARACTERS`] characters, then "..." if there are
/// more. A character is a Unicode scalar value, so that an emoji is never cut in half.
pub fn title_of(message: &str) -> String {
    let mut characters = message.chars();
    let title: String = characters.by_ref().take(TITLE_CHARACTERS).collect();
    if characters.next().is_some() { title + "..." } else { title }
}

/// Removes NUL characters. PostgreSQL rejects them in texts, and no text from a model or tool needs them.
pub fn without_nul(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "") } else { text }
}

/// Cuts `text` to at most `max_bytes` bytes, at a character boundary.
pub fn cut_to(text: &str, max_bytes: usize) -> &str {
    if text.len() <= max_bytes {
        return text;
    }
    let mut end = max_bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Shortens a text to its first and last `end` bytes if it is longer than both together.
pub fn ends(text: &str, end: usize) -> String {
    if text.len() <= 2 * end {
        return text.to_owned();
    }
    // The cut must not split a character, so that the end may be shorter than `end` bytes.
    let last = text.ceil_char_boundary(text.len() - end);
    format!("{} … {}", cut_to(text, end), &text[last..])
}

/// Returns whether a character is invisible or changes how other characters are displayed: control characters,
/// direction marks, zero-width spaces, fillers, tags. Line breaks, tabs and the joiners that scripts and emoji need are
/// not included.
pub fn is_invisible(character: char) -> bool {
    match character {
        // U+200C, U+200D and U+FE0F are absent from the list below: scripts and emoji need them.
        '\t' | '\n' | '\r' => false,
        '\u{ad}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{180e}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' => true,
        character => character.is_control() || is_hidden_writing(character),
    }
}

/// Returns whether a character can encode text that users never see but models read: tag characters and variation
/// selectors.
fn is_hidden_writing(character: char) -> bool {
    matches!(character, '\u{e0000}'..='\u{e0fff}')
}

/// Replaces invisible characters by their code, such as `⟨U+202E⟩`. For text that is shown to users.
pub fn show_invisible(text: &str) -> Cow<'_, str> {
    show(text, is_invisible)
}

/// Replaces only hidden writing by its codes. For data that a model reads: other invisible characters stay, because
/// they belong to the data.
pub fn show_hidden_writing(text: &str) -> Cow<'_, str> {
    show(text, is_hidden_writing)
}

fn show(text: &str, is_to_be_shown: fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(is_to_be_shown) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_to_be_shown(character) {
            // Writing to a `String` cannot fail.
            let _ = write!(shown, "⟨U+{:04X}⟩", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Name, input, and expected output of each case.
    const WRITTEN: &[(&str, &str, &str)] = &[
        ("NUL", "a\0b", "a⟨U+0000⟩b"),
        ("bell", "a\u{7}b", "a⟨U+0007⟩b"),
        ("a colour of a terminal", "\u{1b}[31mred\u{1b}[0m", "⟨U+001B⟩[31mred⟨U+001B⟩[0m"),
        ("a title of a terminal", "\u{1b}]0;root@host\u{7}", "⟨U+001B⟩]0;root@host⟨U+0007⟩"),
        ("the same in one character", "\u{9b}2J", "⟨U+009B⟩2J"),
        ("backspace", "rm\u{8}\u{8}ls", "rm⟨U+0008⟩⟨U+0008⟩ls"),
        ("delete", "a\u{7f}b", "a⟨U+007F⟩b"),
        ("next line of another age", "a\u{85}b", "a⟨U+0085⟩b"),
        ("soft hyphen", "a\u{ad}b", "a⟨U+00AD⟩b"),
        ("right to left from here", "a\u{202e}b", "a⟨U+202E⟩b"),
        ("embedding, and its end", "\u{202a}a\u{202c}", "⟨U+202A⟩a⟨U+202C⟩"),
        ("isolate, and its end", "\u{2066}a\u{2069}", "⟨U+2066⟩a⟨U+2069⟩"),
        ("marks of direction", "\u{200e}\u{200f}\u{61c}", "⟨U+200E⟩⟨U+200F⟩⟨U+061C⟩"),
        ("space without width", "pass\u{200b}word", "pass⟨U+200B⟩word"),
        ("word joiner", "a\u{2060}b", "a⟨U+2060⟩b"),
        ("byte order mark", "\u{feff}a", "⟨U+FEFF⟩a"),
        ("separators of lines and paragraphs", "a\u{2028}b\u{2029}", "a⟨U+2028⟩b⟨U+2029⟩"),
        ("fillers of Hangul", "\u{115f}\u{1160}\u{3164}", "⟨U+115F⟩⟨U+1160⟩⟨U+3164⟩"),
        ("vowel separator", "a\u{180e}b", "a⟨U+180E⟩b"),
        ("annotations", "\u{fff9}a\u{fffa}b\u{fffb}", "⟨U+FFF9⟩a⟨U+FFFA⟩b⟨U+FFFB⟩"),
        ("tags that spell hi", "a\u{e0068}\u{e0069}\u{e007f}", "a⟨U+E0068⟩⟨U+E0069⟩⟨U+E007F⟩"),
        ("a language tag", "\u{e0001}", "⟨U+E0001⟩"),
        ("selectors that stand for bytes", "😀\u{e0158}\u{e01ef}", "😀⟨U+E0158⟩⟨U+E01EF⟩"),
        ("invisible operators", "f\u{2061}x\u{2062}y", "f⟨U+2061⟩x⟨U+2062⟩y"),
        ("line breaks and tabs", "a\tb\r\nc", "a\tb\r\nc"),
        (
            "letters, scripts and emoji",
            "Grüße, سلام, 👩\u{200d}👧 ❤\u{fe0f} क्\u{200d}ष",
            "Grüße, سلام, 👩\u{200d}👧 ❤\u{fe0f} क्\u{200d}ष",
        ),
    ];

    #[test]
    fn what_cannot_be_seen_is_shown() {
        for (what, written, shown) in WRITTEN {
            assert_eq!(show_invisible(written), *shown, "{what}");
            assert!(!show_invisible(written).contains(is_invisible), "{what}");
        }
    }

    #[test]
    fn data_keeps_all_but_hidden_writing() {
        for (what, written, shown) in WRITTEN {
            let is_hidden = written.contains(is_hidden_writing);
            assert_eq!(show_hidden_writing(written), if is_hidden { *shown } else { *written }, "{what}");
        }
    }

    #[test]
    fn a_title_is_thirty_characters_and_three_dots() {
        assert_eq!(title_of("What time is it?"), "What time is it?");
        assert_eq!(title_of(&"a".repeat(30)), "a".repeat(30));
        assert_eq!(title_of(&"a".repeat(31)), format!("{}...", "a".repeat(30)));
        assert_eq!(title_of(&"🚲".repeat(40)), format!("{}...", "🚲".repeat(30)));
    }

    proptest! {
        #[test]
        fn cutting_keeps_a_prefix(text in "\\PC*", max in 0usize..64) {
            let cut = cut_to(&text, max);
            prop_assert!(cut.len() <= max && text.starts_with(cut));
        }
    }
}
