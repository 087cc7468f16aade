//! Suggestions for misspelled names.

/// Returns up to `count` candidates that differ from `word` in at most a third of its letters, the closest first.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>, count: usize) -> Vec<&'a str> {
    let word: Vec<char> = word.to_lowercase().chars().collect();
    let max_distance = word.len().div_ceil(3);
    let mut similar: Vec<(usize, &str)> = candidates
        .into_iter()
        // The distance is at least the difference in length, which is cheaper to compute.
        .filter(|candidate| candidate.chars().count().abs_diff(word.len()) <= max_distance)
        .map(|candidate| (distance(&word, &candidate.to_lowercase().chars().collect::<Vec<_>>()), candidate))
        .filter(|(distance, _)| *distance <= max_distance)
        .collect();
    similar.sort_unstable();
    similar.dedup();
    similar.into_iter().take(count).map(|(_, candidate)| candidate).collect()
}

/// Returns the Levenshtein distance: the number of letters to add, remove or change.
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
    fn finds_misspelled_names_only() {
        let known = ["kilometer", "kilogram", "mile"];
        assert_eq!(closest("Kilometre", known, 3), ["kilometer", "kilogram"][..1]);
        assert_eq!(closest("mille", known, 3), ["mile"]);
        assert!(closest("parsec", known, 3).is_empty());
    }
}
