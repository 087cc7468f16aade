//! Rule: `docs/logs.md` lists every message that operators may find in their logs, and no other.

use std::collections::BTreeSet;
use std::path::Path;

use super::Source;

const LOGS_FILE: &str = "docs/logs.md";
/// Levels that are listed; the others are for developers.
const LISTED_MACROS: [&str; 3] = ["tracing::error!(", "tracing::warn!(", "tracing::info!("];

/// Checks the rule.
pub fn check(files: &[Source]) -> Vec<String> {
    let Some(file) = files.iter().find(|file| file.path == LOGS_FILE) else {
        return vec![format!("{LOGS_FILE} is missing")];
    };
    let listed: BTreeSet<String> = file.text.lines().filter_map(listed_message).collect();
    let logged: BTreeSet<String> =
        files.iter().filter(|file| is_of_program(&file.path)).flat_map(|file| messages(&file.text)).collect();
    let missing = logged.difference(&listed).map(|message| format!("{LOGS_FILE}: the message `{message}` is missing"));
    let stale = listed.difference(&logged).map(|message| format!("{LOGS_FILE}: nothing logs `{message}`"));
    missing.chain(stale).collect()
}

/// Returns whether a file is compiled into the program.
fn is_of_program(path: &str) -> bool {
    let is_rust = Path::new(path).extension().is_some_and(|extension| extension == "rs");
    is_rust && path.starts_with("crates/") && path.contains("/src/") && !path.starts_with("crates/testkit")
}

/// Returns the message of a row of the document: the second cell, in backticks.
fn listed_message(line: &str) -> Option<String> {
    let mut cells = line.strip_prefix("| ")?.split(" | ");
    ["error", "warn", "info"].contains(&cells.next()?).then_some(())?;
    Some(cells.next()?.trim_matches('`').to_owned())
}

/// Returns the messages of all calls of the macros in a file, without its tests.
fn messages(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let calls =
        LISTED_MACROS.iter().flat_map(|name| code.match_indices(name).map(|(at, name)| &code[at + name.len()..]));
    calls.filter_map(message).collect()
}

/// Returns the last string of a call whose arguments begin `text`: fields come before the message.
fn message(text: &str) -> Option<String> {
    let (mut depth, mut last) = (1, None);
    let mut rest = text;
    while let Some(at) = rest.find(['(', ')', '"']) {
        let after = &rest[at + 1..];
        match &rest[at..=at] {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {
                let end = after.find('"')?;
                last = Some(&after[..end]);
                rest = &after[end + 1..];
                continue;
            }
        }
        if depth == 0 {
            break;
        }
        rest = after;
    }
    // A long message is continued in the next line of the source.
    Some(last?.split("\\\n").map(str::trim_start).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn messages_and_document_have_to_agree() {
        let code = "tracing::warn!(%error, a = f(\"x\"), \"lost (now)\"); tracing::info!(\n\"one \\\n    two\",\n);
            tracing::debug!(\"not listed\"); #[cfg(test)] tracing::error!(\"of a test\")";
        let files = |table: &str| [source("crates/api/src/a.rs", code), source(LOGS_FILE, table)];
        let whole = "| level | message | fields |\n| warn | `lost (now)` | `error` |\n| info | `one two` |  |\n";
        assert_eq!(check(&files(whole)), Vec::<String>::new());
        assert_eq!(check(&files("| info | `one two` |  |")), ["docs/logs.md: the message `lost (now)` is missing"]);
        let more = format!("{whole}| error | `gone` |  |");
        assert_eq!(check(&files(&more)), ["docs/logs.md: nothing logs `gone`"]);
    }
}
