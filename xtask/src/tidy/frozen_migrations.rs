//! Rule: migrations that a release contains never change. Databases that have run them would refuse to start, or would
//! differ from new ones. `cargo xtask freeze-migrations` adds those that are new to the list.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use crate::command::run_quiet;
use crate::failure::{Context, Failure, Outcome};
use crate::workspace::Workspace;

const FOLDER: &str = "crates/storage/migrations";
/// List of the released migrations, in the form of `sha256sum`.
const LIST_FILE: &str = "crates/storage/migrations/SHA256SUMS";

/// Checksums by the paths of migrations, from their folder.
type Checksums = BTreeMap<String, String>;

pub fn check(workspace: &Workspace) -> Outcome<Vec<String>> {
    let list = fs::read_to_string(workspace.root.join(LIST_FILE)).context(LIST_FILE)?;
    Ok(compare(&parse(&list), &present(workspace)?))
}

/// Adds the migrations to the list that are not in it.
///
/// # Errors
///
/// Fails if a released migration has changed.
pub fn freeze(workspace: &Workspace) -> Outcome {
    let file = workspace.root.join(LIST_FILE);
    let frozen = parse(&fs::read_to_string(&file).unwrap_or_default());
    let present = present(workspace)?;
    let findings = compare(&frozen, &present);
    if !findings.is_empty() {
        return Err(Failure::new(findings.join("\n  ")));
    }
    let lines: Vec<String> = present.iter().map(|(path, sum)| format!("{sum}  {path}")).collect();
    fs::write(file, lines.join("\n") + "\n").context(LIST_FILE)
}

/// Returns the checksums of the migrations in the folder.
fn present(workspace: &Workspace) -> Outcome<Checksums> {
    let mut sums = Command::new("sh");
    sums.args(["-c", "sha256sum ./*/*.sql"]).current_dir(workspace.root.join(FOLDER));
    Ok(parse(&run_quiet(&mut sums)?.replace("  ./", "  ")))
}

/// Parses what `sha256sum` prints.
fn parse(sums: &str) -> Checksums {
    sums.lines().filter_map(|line| line.split_once("  ")).map(|(sum, path)| (path.to_owned(), sum.to_owned())).collect()
}

/// Returns findings for released migrations that have changed or are gone, and for new ones among them.
fn compare(frozen: &Checksums, present: &Checksums) -> Vec<String> {
    let changed = frozen.iter().filter_map(|(path, sum)| match present.get(path) {
        None => Some(format!("{FOLDER}/{path} is gone: released migrations stay ({LIST_FILE})")),
        Some(other) if other != sum => Some(format!(
            "{FOLDER}/{path} has changed: released migrations stay, a new one makes the change ({LIST_FILE})"
        )),
        Some(_) => None,
    });
    let newest = frozen.keys().map(|path| name(path)).max().unwrap_or_default();
    let late = present.keys().filter(|path| !frozen.contains_key(*path) && name(path) < newest).map(|path| {
        format!("{FOLDER}/{path} comes before {newest}, which is released: databases have run that already")
    });
    changed.chain(late).collect()
}

/// Returns the name of a migration without its folder.
fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn released_migrations_stay() {
        let frozen = parse("aa  postgres/0100_begin.sql\nbb  sqlite/0100_begin.sql\ncc  sqlite/0103_more.sql\n");
        let with = |path: &str, sum: Option<&str>| {
            let mut present = frozen.clone();
            match sum {
                Some(sum) => present.insert(path.to_owned(), sum.to_owned()),
                None => present.remove(path),
            };
            compare(&frozen, &present)
        };
        assert_eq!(compare(&frozen, &frozen), Vec::<String>::new());
        assert_eq!(with("sqlite/0104_new.sql", Some("dd")), Vec::<String>::new());
        for (path, sum, expected) in [
            ("sqlite/0100_begin.sql", Some("dd"), "crates/storage/migrations/sqlite/0100_begin.sql has changed"),
            ("postgres/0100_begin.sql", None, "crates/storage/migrations/postgres/0100_begin.sql is gone"),
            ("sqlite/0102_late.sql", Some("dd"), "crates/storage/migrations/sqlite/0102_late.sql comes before 0103"),
        ] {
            let findings = with(path, sum);
            assert!(findings.len() == 1 && findings[0].starts_with(expected), "{findings:?}");
        }
    }
}
