//! A file holds one thing.

use super::Source;

const LINES: usize = 400;
const LINES_OF_A_TEST: usize = 600;

/// Written by a program, or data.
const NOT_WRITTEN_BY_HAND: [&str; 4] = ["/fixtures/", "/api-types/", "/generated/", "/snapshots/"];

pub fn check(files: &[Source]) -> Vec<String> {
    files
        .iter()
        .filter(|file| file.is(&["rs", "ts", "tsx", "css", "sql"]))
        .filter(|file| !NOT_WRITTEN_BY_HAND.iter().any(|part| file.path.contains(part)))
        .filter_map(|file| {
            let (lines, limit) = (file.text.lines().count(), limit(&file.path));
            let finding = || format!("{} has {lines} lines, more than {limit}: split it by what it does", file.path);
            (lines > limit).then(finding)
        })
        .collect()
}

fn limit(path: &str) -> usize {
    let tests = path.contains("/tests/") || path.contains("/e2e/") || path.contains(".test.");
    if tests { LINES_OF_A_TEST } else { LINES }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    #[test]
    fn long_files_are_named() {
        let found = |path, lines| !check(&[source(path, &"x\n".repeat(lines))]).is_empty();
        assert!(!found("crates/a/src/b.rs", 400));
        assert!(found("crates/a/src/b.rs", 401));
        assert!(found("web/src/styles/a.css", 401));
        assert!(!found("crates/a/tests/b.rs", 600));
        assert!(found("web/src/b.test.ts", 601));
        assert!(!found("crates/a/tests/fixtures/b.rs", 5000));
        assert!(!found("web/package-lock.json", 5000));
    }
}
