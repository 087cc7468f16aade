//! Rule: no disabled tests, because nobody would notice that they prove nothing.

use super::Source;

/// Syntax that disables tests, with the extensions of the files. Each is split in two, so that this file does not
/// match itself.
const DISABLING_SYNTAX: [(&str, &str, &[&str]); 6] = [
    ("#[ig", "nore", &["rs"]),
    (".sk", "ip(", &["ts", "tsx"]),
    (".to", "do(", &["ts", "tsx"]),
    (".on", "ly(", &["ts", "tsx"]),
    ("xi", "t(", &["ts", "tsx"]),
    ("xdes", "cribe(", &["ts", "tsx"]),
];

pub fn check(files: &[Source]) -> Vec<String> {
    let mut findings = Vec::new();
    for (start, end, extensions) in DISABLING_SYNTAX {
        let mark = format!("{start}{end}");
        for file in files.iter().filter(|file| file.is(extensions) && is_test(file)) {
            for (number, _) in file.lines().filter(|(_, line)| stands(line, &mark)) {
                findings.push(format!("{}:{number} has `{mark}`: a test runs always or is deleted", file.path));
            }
        }
    }
    findings
}

/// Returns whether a file contains tests.
fn is_test(file: &Source) -> bool {
    file.is(&["rs"]) || file.path.contains(".test.") || file.path.contains("/e2e/")
}

/// Returns whether a line contains the mark outside of a longer name.
fn stands(line: &str, mark: &str) -> bool {
    let inside_a_name = |at: usize| line[..at].chars().next_back().is_some_and(char::is_alphanumeric);
    line.match_indices(mark).any(|(at, _)| mark.starts_with(['.', '#']) || !inside_a_name(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    #[test]
    fn disabled_tests_are_reported() {
        let found = |path, text: [&str; 2]| !check(&[source(path, &text.concat())]).is_empty();
        assert!(found("crates/a/tests/b.rs", ["#[ig", "nore = \"slow\"]"]));
        assert!(found("web/e2e/a.test.ts", ["test.on", "ly('x')"]));
        assert!(found("web/src/a.test.ts", ["xi", "t('x')"]));
        assert!(!found("web/src/a.test.ts", ["process.exi", "t(1)"]));
        assert!(!found("web/src/stream.ts", ["iterator.sk", "ip(1)"]));
    }
}
