//! Text that ends where the model is no longer sure.

use domain::model::{FinishReason, ModelEvent, PartKind, Request};

use super::{Generation, max_response_tokens};
use crate::candidate_scoring::log_probabilities;
use crate::error::InferenceError;
use crate::sampling::Sampler;
use crate::tokenizer::TextDecoder;

/// Minimum mean log-probability of the tokens of a sentence that the model is sure of.
///
/// In the answers to 39 development questions about stories, 21 of the 33 sentences above the two limits are true, and 12 of
/// the 37 below them.
const MIN_CERTAINTY: f32 = -0.52;

/// The same for the first sentence, which says what the work is.
const MIN_FIRST_CERTAINTY: f32 = -0.58;

/// Minimum number of tokens of a sentence: "Sure!" is none.
const MIN_SENTENCE_TOKENS: usize = 8;

/// Minimum number of characters of the last word of a sentence. Initials and abbreviations have fewer.
const MIN_LAST_WORD_CHARS: usize = 3;

/// The sentences of a text, up to the first that the model is not sure of.
#[derive(Debug, Default)]
struct CertainText {
    /// Complete sentences.
    sentences: Vec<String>,
    /// Text since then.
    rest: String,
    /// Number of its tokens.
    tokens: usize,
    /// Sum of their log-probabilities.
    score: f32,
}

/// Judgement of the end of a text.
#[derive(Debug, PartialEq, Eq)]
enum Judgement {
    /// The text is as it should be.
    Certain(String),
    Uncertain,
    /// The sentence was there before, and would come again and again.
    Repeated,
}

impl CertainText {
    /// Adds a token with its text and its log-probability. Returns whether it ends a sentence.
    fn push(&mut self, text: &str, score: f32) -> bool {
        self.rest.push_str(text);
        self.tokens += 1;
        self.score += score;
        let Some(words) = self.rest.strip_suffix(['.', '!', '?']) else { return self.rest.ends_with('\n') };
        let last = words.rsplit(|character: char| !character.is_alphanumeric()).next().unwrap_or_default();
        self.tokens >= MIN_SENTENCE_TOKENS && last.chars().count() >= MIN_LAST_WORD_CHARS
    }

    /// Judges the text since the last complete sentence, and takes it for one.
    fn judge_rest(&mut self) -> Judgement {
        let least = if self.sentences.is_empty() { MIN_FIRST_CERTAINTY } else { MIN_CERTAINTY };
        let certainty = self.score / self.tokens.max(1) as f32;
        tracing::debug!(certainty, "the built-in model wrote a sentence");
        let sentence = std::mem::take(&mut self.rest);
        (self.tokens, self.score) = (0, 0.0);
        if !sentence.trim().is_empty() {
            if certainty < least {
                return Judgement::Uncertain;
            }
            if self.sentences.contains(&sentence) {
                return Judgement::Repeated;
            }
            self.sentences.push(sentence.clone());
        }
        Judgement::Certain(sentence)
    }
}

impl Generation<'_> {
    /// Writes a text up to the first uncertain sentence, and `ending` in its place. The argument of `ending` is whether there is a
    /// text before it.
    pub(crate) fn write_certain_text(
        mut self,
        request: &Request,
        mut sampler: Sampler,
        ending: impl Fn(bool) -> &'static str,
    ) -> Result<(), InferenceError> {
        let max_tokens = max_response_tokens(request, self.token_limit);
        let mut decoder = TextDecoder::default();
        let mut text = CertainText::default();
        let mut written = 0;
        let mut next = self.first_token(&mut sampler);
        self.out.send(ModelEvent::PartStart { part: 0, kind: PartKind::Text })?;
        let reason = loop {
            let token = next.filter(|token| !self.tokenizer.stop_tokens().contains(token));
            let is_sentence = token.is_some_and(|token| {
                written += 1;
                let score = log_probabilities(&self.logits)[token as usize];
                text.push(&decoder.push(self.tokenizer.bytes(token)), score)
            });
            let is_cut = written >= max_tokens;
            if is_sentence || is_cut || token.is_none() {
                match text.judge_rest() {
                    Judgement::Certain(sentence) => self.out.send(ModelEvent::Delta { part: 0, text: sentence })?,
                    Judgement::Uncertain => {
                        let is_begun = !text.sentences.is_empty();
                        let text = format!("{}{}", if is_begun { "\n\n" } else { "" }, ending(is_begun));
                        self.out.send(ModelEvent::Delta { part: 0, text })?;
                        break FinishReason::Stop;
                    }
                    Judgement::Repeated => break FinishReason::Stop,
                }
            }
            let Some(token) = token else { break FinishReason::Stop };
            if is_cut {
                break FinishReason::Length;
            }
            self.read_text_token(token)?;
            next = sampler.next_token(&mut self.logits, &[token], |_| true);
        };
        self.finish(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds a text whose tokens are its words, and returns the judgement of each sentence.
    fn judge(text: &mut CertainText, words: &str, score: f32) -> Vec<Judgement> {
        let mut judgements = Vec::new();
        for word in words.split_inclusive([' ', '\n']) {
            if text.push(word.trim_end_matches(' '), score) {
                judgements.push(text.judge_rest());
            }
        }
        judgements
    }

    fn certain(words: &str) -> Judgement {
        Judgement::Certain(words.replace(' ', ""))
    }

    #[test]
    fn sentences_end_at_punctuation_but_not_at_initials() {
        let mut text = CertainText::default();
        let sentence = "The Hobbit is a novel by J. R. R. Tolkien for all children.";
        assert_eq!(judge(&mut text, sentence, -0.1), [certain(sentence)]);
        assert_eq!(judge(&mut text, "Sure! ", -0.1), [], "too short");
        assert_eq!(judge(&mut text, "Here:\n", -0.1), [certain("Sure!Here:\n")], "a line");
    }

    #[test]
    fn first_sentence_may_be_less_certain() {
        let mut text = CertainText::default();
        let [first, second] = ["one two three four five six seven eight.", "two three four five six seven eight nine."];
        assert_eq!(judge(&mut text, first, -0.55), [certain(first)]);
        assert_eq!(judge(&mut text, second, -0.45), [certain(second)]);
        assert_eq!(judge(&mut text, "but three four five six seven eight nine.", -0.55), [Judgement::Uncertain]);
        assert_eq!(judge(&mut CertainText::default(), first, -0.6), [Judgement::Uncertain]);
    }

    #[test]
    fn repeated_sentence_is_found() {
        let mut text = CertainText::default();
        let sentence = "one two three four five six seven eight.";
        assert_eq!(judge(&mut text, &format!("{sentence} {sentence}"), -0.1), [certain(sentence), Judgement::Repeated]);
        assert_eq!(text.judge_rest(), Judgement::Certain(String::new()), "nothing is left");
    }
}
