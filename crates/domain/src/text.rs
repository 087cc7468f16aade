//! Small laws about text that several rooms need.

/// Characters of the first message that become a chat's title (specification 4 and 9).
pub const TITLE_CHARACTERS: usize = 30;

/// The title a chat gets from its first message: its first 30 characters, then "..." if there were more.
/// A character is a Unicode scalar value, so that an emoji is never cut in half.
pub fn title_of(message: &str) -> String {
    let mut characters = message.chars();
    let title: String = characters.by_ref().take(TITLE_CHARACTERS).collect();
    if characters.next().is_some() { title + "..." } else { title }
}

/// Removes NUL, which PostgreSQL refuses in any text and which nothing a model or a tool says needs.
pub fn without_nul(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "") } else { text }
}

/// Cuts `text` to at most `max_bytes`, never inside a character.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
