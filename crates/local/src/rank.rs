//! How likely a model is to write each of several names next.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Times that the model is asked what follows, at most; a name takes three or four. Names that are not weighed to their
/// ends by then count as far as they were.
const MOST_LOOKS: usize = 20;

/// The beginning of a name that the model was led along.
#[derive(Debug, PartialEq)]
struct Path {
    tokens: Vec<u32>,
    /// Its likelihood, as a logarithm.
    likelihood: f32,
}

impl Eq for Path {}

impl Ord for Path {
    fn cmp(&self, other: &Self) -> Ordering {
        self.likelihood.total_cmp(&other.likelihood).then_with(|| other.tokens.cmp(&self.tokens))
    }
}

impl PartialOrd for Path {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The likeliest of `names` (each a list of tokens), at most `most` of them with the logarithms of their likelihoods; the
/// likeliest first. `next` tells, for a beginning, the logarithm of how likely each token follows.
///
/// The names are not weighed against each other alone but against all that the model could write: where none fits, all
/// are unlikely. A name that another one begins with counts as far as the model would end there.
pub(crate) fn rank<E>(
    names: &[Vec<u32>],
    most: usize,
    mut next: impl FnMut(&[u32]) -> Result<Vec<f32>, E>,
) -> Result<Vec<(usize, f32)>, E> {
    let mut found: Vec<(usize, f32)> = Vec::new();
    let mut open = BinaryHeap::from([Path { tokens: Vec::new(), likelihood: 0.0 }]);
    let mut looks = 0;
    while let Some(Path { tokens, likelihood }) = open.pop() {
        if found.len() >= most && found[most - 1].1 >= likelihood {
            break;
        }
        let begun = || names.iter().enumerate().filter(|(_, name)| name.starts_with(&tokens));
        if looks == MOST_LOOKS {
            found.extend(begun().map(|(index, _)| (index, likelihood)));
            found.sort_by(|one, other| other.1.total_cmp(&one.1));
            continue;
        }
        let mut following: Vec<u32> = begun().filter_map(|(_, name)| name.get(tokens.len())).copied().collect();
        following.sort_unstable();
        following.dedup();
        let ended = names.iter().position(|name| *name == tokens);
        let mut ends_here = likelihood;
        if !following.is_empty() {
            looks += 1;
            let likelihoods = next(&tokens)?;
            let goes_on: f32 = following.iter().map(|token| likelihoods[*token as usize].exp()).sum();
            ends_here += (1.0 - goes_on).max(f32::MIN_POSITIVE).ln();
            for token in following {
                let longer = [tokens.as_slice(), &[token]].concat();
                open.push(Path { tokens: longer, likelihood: likelihood + likelihoods[token as usize] });
            }
        }
        if let Some(index) = ended {
            found.push((index, ends_here));
            found.sort_by(|one, other| other.1.total_cmp(&one.1));
        }
    }
    found.truncate(most);
    Ok(found)
}

/// The logarithms of likelihoods, from what a model says of each token.
pub(crate) fn log_likelihoods(logits: &[f32]) -> Vec<f32> {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f32 = logits.iter().map(|logit| (logit - most).exp()).sum();
    let all = most + sum.ln();
    logits.iter().map(|logit| logit - all).collect()
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
        log_likelihoods(&logits)
    }

    fn ranked(names: &[Vec<u32>], most: usize) -> Vec<(usize, f32)> {
        rank(names, most, |written| Ok::<_, Infallible>(after(written))).unwrap()
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
    fn the_likeliest_name_comes_first_though_its_beginning_is_not_the_likeliest() {
        // Token 0 is likely, and what has to follow it is not.
        let next = |written: &[u32]| {
            Ok::<_, Infallible>(match written {
                [] => vec![-0.5, -1.0, -9.0],
                [0] => vec![-9.0, -9.0, -4.0],
                _ => vec![-9.0, -0.1, -9.0],
            })
        };
        let names = [vec![0, 2], vec![1, 1]];
        let found = rank(&names, 1, next).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, 1);
    }

    #[test]
    fn a_name_in_front_of_another_counts_as_far_as_it_ends_there() {
        let next =
            |written: &[u32]| Ok::<_, Infallible>(if written.is_empty() { vec![0.0, -9.0] } else { vec![-9.0, -0.1] });
        let found = rank(&[vec![0], vec![0, 1]], 2, next).unwrap();
        assert_eq!(found[0].0, 1, "{found:?}");
        assert!(found[1].1 < -2.0, "{found:?}");
    }

    #[test]
    fn a_very_long_name_counts_as_far_as_it_was_weighed() {
        let found = ranked(&[vec![1; 200], vec![2; 200]], 2);
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn no_name_is_no_answer() {
        assert!(ranked(&[], 3).is_empty());
    }

    proptest! {
        /// Few short names are all weighed, and in the order of their likelihoods.
        #[test]
        fn the_order_is_that_of_the_whole_names(names in prop::collection::hash_set(prop::collection::vec(0_u32..4, 1..3), 1..5)) {
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
