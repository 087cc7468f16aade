//! Detection of loops: a small model sometimes repeats a line or a phrase without end.

/// Longest repeated block that is found, in tokens: some eight lines.
const MAX_PERIOD: usize = 128;

/// Minimum number of repeated tokens in a loop. Rows of a table and borders of drawings are shorter.
const MIN_LOOP_TOKENS: usize = 48;

/// Minimum number of words in a block that is compared without its numbers. Without a minimum, counting or a
/// multiplication table would be a loop.
const MIN_COUNTED_WORDS: usize = 4;

/// Detector of loops in the tokens of one text.
///
/// A loop is a block that is repeated at least twice. The end of the text that repeats an earlier block is
/// [withheld](Self::repeated_tokens) from the user until it is a loop, and is cut, or the text continues
/// differently. Numbered lines that differ only in their numbers are repetitions, too.
#[derive(Debug, Default)]
pub(crate) struct LoopDetector {
    tokens: Vec<TokenClass>,
    /// For each distance in tokens, minus one: how many of the last tokens equal the one at this distance before.
    equal: Vec<usize>,
    /// The same, where all digits are equal.
    equal_but_numbers: Vec<usize>,
    /// Number of words up to each token.
    words: Vec<usize>,
}

/// A token as it is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TokenClass {
    token: u32,
    is_number: bool,
}

impl LoopDetector {
    /// Adds a token with its text.
    pub(crate) fn push(&mut self, token: u32, bytes: &[u8]) {
        let trimmed = bytes.trim_ascii();
        let class = TokenClass { token, is_number: !trimmed.is_empty() && trimmed.iter().all(u8::is_ascii_digit) };
        let is_word = trimmed.iter().filter(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii()).count() > 1;
        let position = self.tokens.len();
        self.equal.resize(MAX_PERIOD, 0);
        self.equal_but_numbers.resize(MAX_PERIOD, 0);
        for period in 1..=MAX_PERIOD {
            let earlier = position.checked_sub(period).map(|position| self.tokens[position]);
            let is_same = earlier.is_some_and(|earlier| earlier.token == token);
            let are_numbers = earlier.is_some_and(|earlier| earlier.is_number && class.is_number);
            count_on(&mut self.equal[period - 1], is_same);
            count_on(&mut self.equal_but_numbers[period - 1], is_same || are_numbers);
        }
        self.words.push(self.words.last().copied().unwrap_or_default() + usize::from(is_word));
        self.tokens.push(class);
    }

    /// Returns the number of tokens at the end that repeat the block before them.
    pub(crate) fn repeated_tokens(&self) -> usize {
        let counted = self.equal_but_numbers.iter().enumerate();
        let counted = counted.filter(|(index, run)| **run > *index && self.has_words(index + 1)).map(|(_, run)| *run);
        self.equal.iter().copied().chain(counted).max().unwrap_or_default()
    }

    /// Returns whether the text is in a loop. The block stands once before the [repeated](Self::repeated_tokens)
    /// tokens.
    pub(crate) fn is_loop(&self) -> bool {
        let is_loop = |period: usize, run: usize| run >= MIN_LOOP_TOKENS.max(2 * period);
        (1..=MAX_PERIOD.min(self.equal.len())).any(|period| {
            is_loop(period, self.equal[period - 1])
                || (is_loop(period, self.equal_but_numbers[period - 1]) && self.has_words(period))
        })
    }

    /// Returns whether the last block of this length has enough words to be compared without its numbers.
    fn has_words(&self, period: usize) -> bool {
        let end = self.words.last().copied().unwrap_or_default();
        let start = self.words.len().checked_sub(period + 1).map_or(0, |index| self.words[index]);
        end - start >= MIN_COUNTED_WORDS
    }
}

fn count_on(run: &mut usize, is_equal: bool) {
    *run = if is_equal { *run + 1 } else { 0 };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The detector after a text whose tokens are its words, with the blanks after them.
    fn read(text: &str) -> LoopDetector {
        let mut detector = LoopDetector::default();
        let mut known: Vec<&str> = Vec::new();
        for piece in text.split_inclusive([' ', '\n']) {
            let token = known.iter().position(|other| *other == piece).unwrap_or_else(|| {
                known.push(piece);
                known.len() - 1
            });
            detector.push(token as u32, piece.as_bytes());
        }
        detector
    }

    #[test]
    fn finds_repeated_line_and_keeps_it_once() {
        let line = "the moon is white and very far \n";
        let poem = format!("the sun is warm and near \n{}", line.repeat(9));
        let found = read(&poem);
        assert!(found.is_loop());
        // With the end of the line before, which is repeated, too.
        assert_eq!(found.repeated_tokens(), 8 * line.split_inclusive([' ', '\n']).count() + 1);
        assert!(!read(&format!("the sun is warm and near \n{}", line.repeat(3))).is_loop(), "a refrain");
    }

    #[test]
    fn finds_block_of_several_lines() {
        let block = "one rose is red \nanother rose is white \nand all of them smell \n";
        assert!(read(&block.repeat(5)).is_loop());
        assert!(!read(&block.repeat(2)).is_loop());
    }

    #[test]
    fn finds_lines_that_differ_in_numbers() {
        let numbered = |words: &str, count: u32| {
            let lines: Vec<String> = (1..=count).map(|number| format!("{number} {words}\n")).collect();
            lines.concat()
        };
        let found = read(&numbered("the cat sat on the mat ", 12));
        assert!(found.is_loop() && found.repeated_tokens() == 11 * 8, "{}", found.repeated_tokens());
        assert!(!read(&numbered("", 200)).is_loop(), "counting");
        assert!(!read(&numbered("x 7 = 49 ", 40)).is_loop(), "a table");
    }

    #[test]
    fn accepts_lists_and_code() {
        let list: String = ["apple", "pear", "plum", "fig", "lime", "date", "kiwi", "melon", "grape", "cherry"]
            .map(|fruit| format!("- a {fruit} is a fruit\n"))
            .concat();
        let found = read(&list);
        assert!(!found.is_loop());
        assert!(!read(&"| --- ".repeat(12)).is_loop(), "the border of a table");
        assert_eq!(read("every word here differs").repeated_tokens(), 0);
        assert_eq!(LoopDetector::default().repeated_tokens(), 0);
    }
}
