//! Texts with the word frequencies of natural language: few words make up most of a text, and most words are rare.

/// Number of different words.
pub const VOCABULARY_WORDS: usize = 50_000;
/// Number of different Chinese characters.
const CHINESE_CHARACTERS: f64 = 3_000.0;
/// One of this many chats is in Chinese, and one in Russian.
const FOREIGN_CHAT_INTERVAL: usize = 16;
/// Maximum number of words of a user's message and of an answer.
const MAX_USER_WORDS: u64 = 30;
const MAX_ANSWER_WORDS: u64 = 200;

/// A small generator of pseudo-random numbers (xorshift), which needs no other crate.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    /// Returns an index below `count`, distributed like the ranks of words in a text (Zipf's law).
    fn rank(&mut self, count: f64) -> usize {
        let share = self.below(1 << 32) as f64 / 4_294_967_296.0;
        count.powf(share) as usize - 1
    }

    /// Returns a message of the chat with this number.
    pub fn message(&mut self, chat: usize, is_asked: bool) -> String {
        let length = self.below(if is_asked { MAX_USER_WORDS } else { MAX_ANSWER_WORDS }) + 3;
        match chat % FOREIGN_CHAT_INTERVAL {
            3 => (0..length * 2).map(|_| character(self.rank(CHINESE_CHARACTERS))).collect(),
            7 => self.words(length, |rank| spell(rank, &CYRILLIC_SYLLABLES)),
            _ => self.words(length, word),
        }
    }

    /// Returns the title of a chat.
    pub fn title(&mut self, chat: usize) -> String {
        format!("Chat {chat} {}", self.words(4, word))
    }

    /// Returns a text of so many words.
    pub fn words(&mut self, length: u64, word: impl Fn(usize) -> String) -> String {
        (0..length).map(|_| word(self.rank(VOCABULARY_WORDS as f64))).collect::<Vec<_>>().join(" ")
    }
}

/// Returns the pronounceable word of this frequency rank.
pub fn word(rank: usize) -> String {
    spell(rank, &LATIN_SYLLABLES)
}

/// Returns the word of this rank in Russian letters.
pub fn russian(rank: usize) -> String {
    spell(rank, &CYRILLIC_SYLLABLES)
}

/// Returns the Chinese character of this rank.
pub fn character(rank: usize) -> char {
    // The Unicode block has far more characters than are needed.
    u32::try_from(rank).ok().and_then(|rank| char::from_u32(0x4E00 + rank)).unwrap_or('一')
}

const LATIN_SYLLABLES: [&str; 16] =
    ["ka", "le", "mi", "no", "ru", "sa", "te", "vi", "do", "be", "fu", "go", "ha", "ji", "pe", "zu"];
const CYRILLIC_SYLLABLES: [&str; 16] =
    ["ка", "ле", "ми", "но", "ру", "са", "те", "ви", "до", "бе", "фу", "го", "ха", "жи", "пе", "зу"];

/// Spells a rank in base 16, with syllables as digits.
fn spell(mut rank: usize, syllables: &[&str; 16]) -> String {
    let mut word = String::new();
    loop {
        word.push_str(syllables[rank % 16]);
        rank /= 16;
        if rank == 0 {
            return word;
        }
    }
}
