//! Guessing what somebody meant.

/// The best `count` of the candidates that differ from `word` in at most a third of its letters.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>, count: usize) -> Vec<&'a str> {
    let word: Vec<char> = word.to_lowercase().chars().collect();
    let most = word.len().div_ceil(3);
    let mut near: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter(|candidate| candidate.chars().count().abs_diff(word.len()) <= most)
        .map(|candidate| (distance(&word, &candidate.to_lowercase().chars().collect::<Vec<_>>()), candidate))
        .filter(|(distance, _)| *distance <= most)
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(count).map(|(_, candidate)| candidate).collect()
}

/// How many letters must be added, removed or changed to make `b` of `a` (Levenshtein).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let changed = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_near_and_other_words_are_not() {
        let known = ["kilometer", "kilogram", "mile"];
        assert_eq!(nearest("Kilometre", known, 3), ["kilometer", "kilogram"][..1]);
        assert_eq!(nearest("mille", known, 3), ["mile"]);
        assert!(nearest("parsec", known, 3).is_empty());
    }
}
