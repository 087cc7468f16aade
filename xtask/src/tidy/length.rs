//! Rule: a maximum length of source files.

use super::Source;

/// Maximum lines of a file. Longer files are rarely one idea; shorter ones are not split to satisfy a limit.
const MAX_LINES: usize = 600;

/// Parts of paths of generated files and of test data, which the rule ignores.
const NOT_WRITTEN_BY_HAND: [&str; 4] = ["/fixtures/", "/api-types/", "/generated/", "/snapshots/"];

pub fn check(files: &[Source]) -> Vec<String> {
    files
        .iter()
        .filter(|file| file.is(&["rs", "ts", "tsx", "css", "sql"]))
        .filter(|file| !NOT_WRITTEN_BY_HAND.iter().any(|part| file.path.contains(part)))
        .filter_map(|file| {
            let lines = file.text.lines().count();
            let finding =
                || format!("{} has {lines} lines, more than {MAX_LINES}: split it by what it does", file.path);
            (lines > MAX_LINES).then(finding)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    #[test]
    fn long_files_are_named() {
        let found = |path, lines| !check(&[source(path, &"x\n".repeat(lines))]).is_empty();
        assert!(!found("crates/a/src/b.rs", 600));
        assert!(found("crates/a/src/b.rs", 601));
        assert!(found("web/src/styles/a.css", 601));
        assert!(!found("crates/a/tests/b.rs", 600));
        assert!(found("web/src/b.test.ts", 601));
        assert!(!found("crates/a/tests/fixtures/b.rs", 5000));
        assert!(!found("web/package-lock.json", 5000));
    }
}
