//! Counting of tests from the last lines of a test runner's output.

/// Numbers of tests in a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// Number of passed tests.
    pub passed: u32,
    /// Number of tests that failed, timed out or could not start.
    pub failed: u32,
}

/// Returns the [`Count`] of a runner's output; `None` if it has no summary. Supports cargo-nextest, `cargo test`,
/// vitest, `node --test`, MCP's conformance suite, and a plain "3 passed, 1 failed".
pub fn count(output: &str) -> Option<Count> {
    let plain = without_colours(output);
    let lines = || plain.lines().map(str::trim);
    let last = |start: &str| lines().rev().find_map(|line| line.strip_prefix(start).map(str::to_owned));

    // cargo-nextest.
    if let Some(line) = last("Summary [") {
        let failed = ["failed", "timed out", "exec failed"].iter().filter_map(|word| before(&line, word)).sum();
        return Some(Count { passed: before(&line, "passed").unwrap_or(0), failed });
    }
    // `cargo test`, which prints one line per test binary.
    let results = || lines().filter_map(|line| line.strip_prefix("test result: "));
    if results().next().is_some() {
        let sum = |word| results().filter_map(|line| before(line, word)).sum();
        return Some(Count { passed: sum("passed"), failed: sum("failed") });
    }
    // vitest.
    if let Some(line) = last("Tests  ") {
        // A test file that cannot be loaded has no tests, but it is a failure.
        let files = last("Test Files  ").and_then(|line| before(&line, "failed")).unwrap_or(0);
        let failed = before(&line, "failed").unwrap_or(0).max(files);
        return Some(Count { passed: before(&line, "passed").unwrap_or(0), failed });
    }
    // MCP's conformance suite.
    if lines().any(|line| line == "=== SUITE SUMMARY ===" || line == "Test Results:") {
        return Some(conformance(&plain));
    }
    // `node --test`.
    let closing =
        |word: &str| ["# ", "ℹ "].iter().find_map(|mark| last(&format!("{mark}{word} "))?.parse::<u32>().ok());
    if let Some(passed) = closing("pass") {
        return Some(Count { passed, failed: closing("fail").unwrap_or(0) + closing("cancelled").unwrap_or(0) });
    }
    // Any runner that ends with a plain "3 passed, 1 failed".
    lines().rev().find_map(|line| {
        let (passed, failed) = line.split_once(", ")?;
        let number = |text: &str, word: &str| text.strip_suffix(word)?.trim().parse().ok();
        Some(Count { passed: number(passed, "passed")?, failed: number(failed, "failed")? })
    })
}

/// Counts the checks of MCP's conformance suite, from lines such as "✓ tools_call: 2 passed, 0 failed". Optional
/// scenarios are listed again at the end, as "✗ auth/dpop (extension)", and are not counted. A single scenario has
/// another line: "Passed: 9/9, 0 failed, 0 warnings".
fn conformance(plain: &str) -> Count {
    let lines = || plain.lines().map(str::trim).filter_map(|line| line.strip_prefix(['✓', '✗'])).map(str::trim);
    let optional = |scenario: &str| lines().any(|line| line.split_once(" (").is_some_and(|(name, _)| name == scenario));
    let mut count = Count { passed: 0, failed: 0 };
    for (scenario, result) in lines().filter_map(|line| line.split_once(": ")) {
        if !optional(scenario) {
            count.passed += before(result, "passed").unwrap_or(0);
            count.failed += before(result, "failed").unwrap_or(0);
        }
    }
    if let Some(alone) = plain.lines().rev().find_map(|line| line.trim().strip_prefix("Passed: ")) {
        count.passed += alone.split('/').next().and_then(|passed| passed.parse().ok()).unwrap_or(0);
        count.failed += before(alone, "failed").unwrap_or(0);
    }
    count
}

/// Returns the number before a word: 3 in "12 tests run: 3 passed".
fn before(line: &str, word: &str) -> Option<u32> {
    line.split([',', '|', ':', ';', '.', '(']).find_map(|part| part.trim().strip_suffix(word)?.trim_end().parse().ok())
}

/// Removes the escape sequences of terminal colours.
fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            // An escape sequence ends with a letter.
            characters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(character);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(output: &str, passed: u32, failed: u32) {
        assert_eq!(count(output), Some(Count { passed, failed }), "{output}");
    }

    #[test]
    fn reads_nextest() {
        check("     Summary [   0.123s] 12 tests run: 12 passed, 0 skipped\n", 12, 0);
        check(
            "     Summary [   9.1s] 12/20 tests run: 8 passed (1 slow, 1 flaky), 3 failed, 1 timed out, 2 skipped",
            8,
            4,
        );
        check(
            "\u{1b}[32;1m     Summary\u{1b}[0m [   0.1s] \u{1b}[1m1\u{1b}[0m test run: \u{1b}[1m1\u{1b}[0m \u{1b}[32;1mpassed\u{1b}[0m",
            1,
            0,
        );
        check("Summary [ 0.1s] 3 tests run: 2 passed, 1 exec failed, 0 skipped\nerror: test run failed", 2, 1);
    }

    #[test]
    fn adds_up_cargo_test() {
        let output = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
                      test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s";
        check(output, 4, 2);
    }

    #[test]
    fn reads_vitest() {
        check(" Test Files  1 passed (1)\n      Tests  3 passed (3)\n   Start at  10:00:00\n", 3, 0);
        check(" Test Files  1 failed | 1 passed (2)\n      Tests  2 failed | 5 passed | 1 skipped (8)\n", 5, 2);
        check(" Test Files  1 failed | 1 passed (2)\n      Tests  5 passed (5)\n", 5, 1);
    }

    #[test]
    fn reads_node() {
        check("# tests 4\n# suites 0\n# pass 3\n# fail 1\n# cancelled 0\n", 3, 1);
        check("ℹ tests 4\nℹ pass 2\nℹ fail 1\nℹ cancelled 1\n", 2, 2);
    }

    #[test]
    fn reads_the_conformance_suite() {
        let summary = "Results saved\n\n=== SUITE SUMMARY ===\n\n✓ tools_call: 2 passed, 0 failed\n\
                       ✗ auth/iss: 3 passed, 1 failed\n✗ auth/dpop: 9 passed, 3 failed\n\n\
                       Total: 14 passed, 4 failed, 0 warnings\n\nNot scored: 1 scenario(s) run, 1 failing.\n  \
                       ✗ auth/dpop (extension)\n";
        check(summary, 5, 1);
        check("Test Results:\nPassed: 8/9, 1 failed, 0 warnings\n\n❌ OVERALL: FAILED\n", 8, 1);
    }

    #[test]
    fn reads_a_plain_line_and_nothing_else() {
        check("all done\n7 passed, 1 failed\n", 7, 1);
        assert_eq!(count("error: could not compile\n"), None);
        assert_eq!(count("it passed, nothing failed\n"), None);
    }
}
