//! What seems to come next, because it came behind the same words before. A model reads several tokens nearly as fast as
//! one: those that were guessed rightly are written at the price of being looked at.

use candle_core::Tensor;

/// Tokens that are guessed at once at most. With more than four rows the kernels for matrices go over the weights
/// twice: on the machine of the figures four took 1.7 times as long as one, eight 2.5 times.
const MOST: usize = 3;

/// Tokens that must stand before both places, and those after which more say nothing new. Two are believed for one token,
/// each further one for one more: of several such rules the one that saved most in the answers of the evaluation.
const SHORTEST: usize = 2;
const LONGEST: usize = MOST + 1;

/// Tokens that were read ahead of their being written.
#[derive(Debug, Default)]
pub(crate) struct Guess {
    tokens: Vec<u32>,
    /// What the model made of each: its logits say what follows.
    states: Vec<Tensor>,
    /// How many turned out to be right.
    right: usize,
}

impl Guess {
    pub(crate) fn new(tokens: Vec<u32>, states: Vec<Tensor>) -> Self {
        Self { tokens, states, right: 0 }
    }

    /// How many tokens were read ahead and are not written yet.
    pub(crate) fn open(&self) -> usize {
        self.tokens.len() - self.right
    }

    /// Takes what `written` has in common with the guess: how many tokens that is, and the state behind the last one.
    pub(crate) fn take(&mut self, written: &[u32]) -> (usize, Option<&Tensor>) {
        let rest = &self.tokens[self.right..];
        let count = rest.iter().zip(written).take_while(|(guessed, written)| guessed == written).count();
        self.right += count;
        (count, self.right.checked_sub(1).and_then(|last| self.states.get(last)))
    }
}

/// The tokens that came behind the latest place where the same ones stood as at the end of `tokens`, as many as that
/// can be relied on for.
pub(crate) fn next(tokens: &[u32]) -> &[u32] {
    let alike = |end: usize| {
        let pairs = tokens[..end].iter().rev().zip(tokens.iter().rev());
        pairs.take(LONGEST).take_while(|(one, other)| one == other).count()
    };
    let mut best = (SHORTEST - 1, 0);
    for end in (1..tokens.len()).rev() {
        let length = alike(end);
        if length > best.0 {
            best = (length, end);
        }
        if length == LONGEST {
            break;
        }
    }
    let (length, place) = best;
    let most = if place == 0 { 0 } else { length - 1 };
    let following = &tokens[place..];
    &following[..following.len().min(most)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_came_behind_the_same_words_is_guessed() {
        assert_eq!(next(&[1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4]), [5, 6, 7]);
        assert_eq!(next(&[8, 2, 3, 4, 5, 9, 2, 3]), [4], "two say little");
        assert_eq!(next(&[1, 2, 3, 4, 1, 2, 3, 5, 9, 1, 2, 3]), [5, 9], "the latest of those that are as long");
        assert_eq!(next(&[0, 1, 2, 3, 4, 7, 1, 2, 3, 5, 0, 1, 2, 3]), [4, 7, 1], "a longer one before a later one");
        assert_eq!(next(&[7, 7, 7]), [7], "a place may reach into the end");
        for nothing in [&[][..], &[1], &[1, 2, 3], &[3, 1, 3]] {
            assert!(next(nothing).is_empty(), "{nothing:?}");
        }
    }

    proptest! {
        #[test]
        fn a_guess_has_stood_there_before(tokens in proptest::collection::vec(0_u32..4, 0..60)) {
            let guess = next(&tokens);
            if !guess.is_empty() {
                let end = &tokens[tokens.len() - SHORTEST..];
                let place = [end, guess].concat();
                prop_assert!(tokens.windows(place.len()).any(|window| window == place));
            }
            prop_assert!(guess.len() <= MOST);
        }

        #[test]
        fn what_is_right_is_taken_once(tokens in proptest::collection::vec(0_u32..3, 0..4), written in proptest::collection::vec(0_u32..3, 0..6)) {
            let mut guess = Guess::new(tokens.clone(), Vec::new());
            let (mut taken, mut at) = (0, 0);
            while at < written.len() {
                let (count, _) = guess.take(&written[at..=at]);
                if count == 0 {
                    break;
                }
                taken += count;
                at += 1;
            }
            prop_assert_eq!(taken, tokens.iter().zip(&written).take_while(|(a, b)| a == b).count());
            prop_assert_eq!(guess.open(), tokens.len() - taken);
        }
    }
}
