//! Scoring of several names by the probability that the model writes each next.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Maximum number of model evaluations; a name takes three or four. Names that are not scored completely by then
/// count with the score of their beginning.
const MAX_EVALUATIONS: usize = 20;

/// The beginning of a name, with its score.
#[derive(Debug, PartialEq)]
struct PartialName {
    tokens: Vec<u32>,
    /// Log-probability of the tokens.
    score: f32,
}

impl Eq for PartialName {}

impl Ord for PartialName {
    fn cmp(&self, other: &Self) -> Ordering {
        // A total order, so that equal scores give the same ranking every time.
        self.score.total_cmp(&other.score).then_with(|| other.tokens.cmp(&self.tokens))
    }
}

impl PartialOrd for PartialName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Returns the indexes and log-probabilities of at most `max_count` of `names` (each a list of tokens), the most
/// likely first. `next` returns the log-probability of every token after the given tokens.
///
/// Names compete with everything that the model could write, not only with each other: if none fits, all are
/// unlikely. A name that is a prefix of another one counts with the probability that the model stops after it.
///
/// The search is best-first, so the model is evaluated only for beginnings that can still win.
pub(crate) fn rank_names<E>(
    names: &[Vec<u32>],
    max_count: usize,
    mut next: impl FnMut(&[u32]) -> Result<Vec<f32>, E>,
) -> Result<Vec<(usize, f32)>, E> {
    let mut found: Vec<(usize, f32)> = Vec::new();
    let mut open = BinaryHeap::from([PartialName { tokens: Vec::new(), score: 0.0 }]);
    let mut evaluations = 0;
    while let Some(PartialName { tokens, score }) = open.pop() {
        // No beginning can become more likely as it grows, so the best open one bounds all others.
        if found.len() >= max_count && found[max_count - 1].1 >= score {
            break;
        }
        let begun = || names.iter().enumerate().filter(|(_, name)| name.starts_with(&tokens));
        if evaluations == MAX_EVALUATIONS {
            found.extend(begun().map(|(index, _)| (index, score)));
            found.sort_by(|one, other| other.1.total_cmp(&one.1));
            continue;
        }
        let mut following: Vec<u32> = begun().filter_map(|(_, name)| name.get(tokens.len())).copied().collect();
        following.sort_unstable();
        following.dedup();
        let ended = names.iter().position(|name| *name == tokens);
        let mut ends_here = score;
        if !following.is_empty() {
            evaluations += 1;
            let log_probabilities = next(&tokens)?;
            let goes_on: f32 = following.iter().map(|token| log_probabilities[*token as usize].exp()).sum();
            // The sum of rounded probabilities may exceed 1; the minimum keeps the logarithm finite.
            ends_here += (1.0 - goes_on).max(f32::MIN_POSITIVE).ln();
            for token in following {
                let longer = [tokens.as_slice(), &[token]].concat();
                open.push(PartialName { tokens: longer, score: score + log_probabilities[token as usize] });
            }
        }
        if let Some(index) = ended {
            found.push((index, ends_here));
            found.sort_by(|one, other| other.1.total_cmp(&one.1));
        }
    }
    found.truncate(max_count);
    Ok(found)
}

/// Returns the log-probability of every token from the logits of the model.
pub(crate) fn log_probabilities(logits: &[f32]) -> Vec<f32> {
    // Subtracting the maximum keeps the exponentials from overflowing.
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f32 = logits.iter().map(|logit| (logit - max).exp()).sum();
    let log_sum = max + sum.ln();
    logits.iter().map(|logit| logit - log_sum).collect()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    /// A model of four tokens that likes them in an order that depends on what was written.
    fn after(written: &[u32]) -> Vec<f32> {
        let seed = written.iter().fold(7_u32, |sum, token| sum * 31 + token);
        let logits: Vec<f32> = (0..4).map(|token| ((seed + token * 17) % 13) as f32 / 3.0).collect();
        log_probabilities(&logits)
    }

    fn ranked(names: &[Vec<u32>], most: usize) -> Vec<(usize, f32)> {
        rank_names(names, most, |written| Ok::<_, Infallible>(after(written))).unwrap()
    }

    /// The likelihood of a whole name, the slow way.
    fn likelihood(name: &[u32], names: &[Vec<u32>]) -> f32 {
        let written: f32 = (0..name.len()).map(|end| after(&name[..end])[name[end] as usize]).sum();
        let mut longer: Vec<u32> = names
            .iter()
            .filter(|other| other.starts_with(name))
            .filter_map(|other| other.get(name.len()))
            .copied()
            .collect();
        longer.sort_unstable();
        longer.dedup();
        let goes_on: f32 = longer.iter().map(|token| after(name)[*token as usize].exp()).sum();
        written + (1.0 - goes_on).ln()
    }

    #[test]
    fn finds_likely_name_with_unlikely_beginning() {
        // Token 0 is likely, and what has to follow it is not.
        let next = |written: &[u32]| {
            Ok::<_, Infallible>(match written {
                [] => vec![-0.5, -1.0, -9.0],
                [0] => vec![-9.0, -9.0, -4.0],
                _ => vec![-9.0, -0.1, -9.0],
            })
        };
        let names = [vec![0, 2], vec![1, 1]];
        let found = rank_names(&names, 1, next).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, 1);
    }

    #[test]
    fn prefix_name_counts_probability_of_stopping() {
        let next =
            |written: &[u32]| Ok::<_, Infallible>(if written.is_empty() { vec![0.0, -9.0] } else { vec![-9.0, -0.1] });
        let found = rank_names(&[vec![0], vec![0, 1]], 2, next).unwrap();
        assert_eq!(found[0].0, 1, "{found:?}");
        assert!(found[1].1 < -2.0, "{found:?}");
    }

    #[test]
    fn limits_evaluations_of_long_names() {
        let found = ranked(&[vec![1; 200], vec![2; 200]], 2);
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn returns_nothing_without_names() {
        assert!(ranked(&[], 3).is_empty());
    }

    proptest! {
        /// Few short names are all weighed, and in the order of their likelihoods.
        #[test]
        fn orders_names_by_complete_probability(names in prop::collection::hash_set(prop::collection::vec(0_u32..4, 1..3), 1..5)) {
            let names: Vec<Vec<u32>> = names.into_iter().collect();
            let found = ranked(&names, names.len());
            prop_assert_eq!(found.len(), names.len());
            for pair in found.windows(2) {
                prop_assert!(pair[0].1 >= pair[1].1);
            }
            for (index, likely) in found {
                prop_assert!((likely - likelihood(&names[index], &names)).abs() < 1e-3);
            }
        }
    }
}
