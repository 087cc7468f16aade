//! Rule: every test that `docs/spec-coverage.md` names exists.
//!
//! The file has tables, and the last cell of a row names the tests that show the row's statement. Each test is in
//! backticks, as `path/from/the/root.rs::name` or `path/from/the/root.test.ts > name`, where a test inside a group
//! may be written `file > group > name`. Findings are rows without tests, sections without rows, and missing sections
//! of the specification.

use super::Source;

const COVERAGE_FILE: &str = "docs/spec-coverage.md";

/// Number of sections of the specification.
const SECTION_COUNT: usize = 9;

pub fn check(files: &[Source]) -> Vec<String> {
    let Some(file) = files.iter().find(|file| file.path == COVERAGE_FILE) else {
        return vec![format!(
            "{COVERAGE_FILE} is missing: it says which test shows which statement of the specification"
        )];
    };
    let mut findings = empty_sections(&file.text);
    for (number, cell) in last_cells(&file.text) {
        let tests = named_tests(&cell);
        if tests.is_empty() {
            findings.push(format!("{COVERAGE_FILE}:{number} names no test: a statement without a test is a wish"));
        }
        for test in tests.iter().filter(|test| !exists(test, files)) {
            findings.push(format!("{COVERAGE_FILE}:{number} names `{test}`, which does not exist"));
        }
    }
    findings
}

/// Returns findings for sections without rows and for missing ones.
fn empty_sections(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let rows = last_cells(text);
    let heads: Vec<(usize, &str)> =
        lines.iter().enumerate().filter_map(|(index, line)| Some((index + 1, line.strip_prefix("## ")?))).collect();
    let mut findings = Vec::new();
    for (at, (line, title)) in heads.iter().enumerate() {
        let end = heads.get(at + 1).map_or(lines.len() + 1, |(next, _)| *next);
        if !rows.iter().any(|(row, _)| (*line..end).contains(row)) {
            findings
                .push(format!("{COVERAGE_FILE}:{line} has no row: the section \"{title}\" is not shown by any test"));
        }
    }
    for number in 1..=SECTION_COUNT {
        if !heads.iter().any(|(_, title)| title.starts_with(&format!("{number}. "))) {
            findings.push(format!("{COVERAGE_FILE} lacks section {number} of the specification"));
        }
    }
    findings
}

/// Returns the last cell of every table row except headers, with its line number.
fn last_cells(text: &str) -> Vec<(usize, String)> {
    let rows: Vec<&str> = text.lines().map(str::trim).collect();
    let is_row = |line: &str| line.starts_with('|');
    let is_rule = |line: &str| is_row(line) && line.chars().all(|c| "|-: ".contains(c));
    let head = |index: usize| rows.get(index + 1).is_some_and(|next| is_rule(next));
    rows.iter()
        .enumerate()
        .filter(|(index, line)| is_row(line) && !is_rule(line) && !head(*index))
        .map(|(index, line)| {
            // A pipe within a cell is written `\|`.
            let line = line.trim_end_matches('|').replace("\\|", "\u{0}");
            let cell = line.rsplit('|').next().unwrap_or_default().replace('\u{0}', "|");
            (index + 1, cell)
        })
        .collect()
}

/// Returns the texts in backticks that name a file and a test.
fn named_tests(cell: &str) -> Vec<&str> {
    let quoted = cell.split('`').skip(1).step_by(2);
    quoted.filter(|text| text.contains("::") || text.contains(" > ")).collect()
}

/// Returns whether the file exists and contains the test.
fn exists(test: &str, files: &[Source]) -> bool {
    let file = |path: &str| files.iter().find(|file| file.path == path);
    if let Some((path, rest)) = test.split_once(" > ") {
        return file(path).is_some_and(|file| rest.split(" > ").all(|name| has_title(&file.text, name)));
    }
    let Some((path, name)) = test.split_once("::") else { return false };
    let name = name.rsplit("::").next().unwrap_or(name);
    file(path).is_some_and(|file| file.text.contains(&format!("fn {name}(")))
}

/// Returns whether a source of the web app contains a string of exactly this text.
fn has_title(text: &str, title: &str) -> bool {
    ['"', '\'', '`'].iter().any(|quote| text.contains(&format!("{quote}{title}{quote}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    const TABLE_HEAD: &str = "| statement | tests |\n|---|---|\n";
    const EXAMPLE_ROW: &str = "| a | `crates/x/tests/y.rs::keeps_owners_apart` |";

    /// Returns the findings in a file whose first section, from line 4 on, has these rows, and the others one row
    /// each.
    fn findings(rows: &str) -> Vec<String> {
        let others = (2..=SECTION_COUNT).map(|number| format!("## {number}. More\n{TABLE_HEAD}{EXAMPLE_ROW}\n"));
        let others = others.collect::<Vec<_>>().concat();
        check_text(&format!("## 1. First\n{TABLE_HEAD}{rows}\n{others}"))
    }

    fn check_text(text: &str) -> Vec<String> {
        check(&[
            source(COVERAGE_FILE, text),
            source("web/e2e/journeys.test.ts", "describe('accounts', () => test(\"signs up\", run));"),
            source("crates/x/tests/y.rs", "async fn keeps_owners_apart() {}"),
        ])
    }

    #[test]
    fn tests_that_exist_are_fine() {
        assert!(findings("| a | `web/e2e/journeys.test.ts > signs up` |").is_empty());
        assert!(findings("| a \\| b | `web/e2e/journeys.test.ts > accounts > signs up`, `crates/x/tests/y.rs::keeps_owners_apart` |").is_empty());
    }

    #[test]
    fn missing_tests_are_named() {
        assert_eq!(
            findings("| a | `web/e2e/journeys.test.ts > signs out` |"),
            ["docs/spec-coverage.md:4 names `web/e2e/journeys.test.ts > signs out`, which does not exist"]
        );
        assert_eq!(findings("| a | `crates/x/tests/y.rs::keeps` |").len(), 1);
        assert_eq!(findings("| a | `crates/x/tests/z.rs::keeps_owners_apart` |").len(), 1);
        assert!(findings("| `GET` works | not yet |")[0].contains("names no test"));
    }

    #[test]
    fn a_row_without_a_test_is_named() {
        for cell in ["", "not yet", "`GET`", "see above"] {
            let [finding] = &findings(&format!("{EXAMPLE_ROW}\n| a | {cell} |"))[..] else {
                panic!("one finding for {cell:?}")
            };
            assert!(finding.starts_with("docs/spec-coverage.md:5 names no test"), "{finding}");
        }
    }

    #[test]
    fn a_section_without_rows_is_named() {
        assert_eq!(
            findings(""),
            [r#"docs/spec-coverage.md:1 has no row: the section "1. First" is not shown by any test"#]
        );
        let beyond = format!("{EXAMPLE_ROW}\n## Beyond\nNothing yet.");
        assert_eq!(
            findings(&beyond),
            [r#"docs/spec-coverage.md:5 has no row: the section "Beyond" is not shown by any test"#]
        );
        let lacking = check_text(&format!("## 1. First\n{TABLE_HEAD}{EXAMPLE_ROW}\n"));
        assert_eq!(lacking.len(), SECTION_COUNT - 1);
        assert_eq!(lacking[0], "docs/spec-coverage.md lacks section 2 of the specification");
    }

    #[test]
    fn the_file_itself_must_be_there() {
        assert_eq!(check(&[]).len(), 1);
    }
}
