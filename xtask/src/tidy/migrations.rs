//! Rule: both databases have the same migrations.

use super::Source;

const MIGRATIONS_FOLDER: &str = "crates/storage/migrations/";
const DATABASES: [&str; 2] = ["sqlite", "postgres"];

pub fn check(files: &[Source]) -> Vec<String> {
    let [sqlite, postgres] = DATABASES.map(|database| names(files, database));
    let lonely = |ours: &[&str], theirs: &[&str], database: &str| -> Vec<String> {
        let missing = ours.iter().filter(|name| !theirs.contains(name));
        missing
            .map(|name| format!("{MIGRATIONS_FOLDER}{database}/{name} is missing: both databases have every migration"))
            .collect()
    };
    let mut findings = lonely(&sqlite, &postgres, "postgres");
    findings.extend(lonely(&postgres, &sqlite, "sqlite"));
    for name in sqlite.iter().filter(|name| !is_numbered(name)) {
        findings.push(format!("{MIGRATIONS_FOLDER}sqlite/{name}: a migration is named NNNN_what_it_does.sql"));
    }
    findings
}

/// Returns the names of a database's migrations.
fn names<'a>(files: &'a [Source], database: &str) -> Vec<&'a str> {
    let folder = format!("{MIGRATIONS_FOLDER}{database}/");
    files.iter().filter_map(|file| file.path.strip_prefix(&folder)).collect()
}

/// Returns whether a name is `NNNN_what_it_does.sql`.
fn is_numbered(name: &str) -> bool {
    let (number, rest) = name.split_at_checked(4).unwrap_or_default();
    !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && rest.starts_with('_')
        && rest.strip_suffix(".sql").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    #[test]
    fn migrations_come_in_pairs() {
        let at = |path: &str| source(&format!("{MIGRATIONS_FOLDER}{path}"), "");
        let findings = |paths: &[&str]| check(&paths.iter().map(|path| at(path)).collect::<Vec<_>>());
        assert!(findings(&["sqlite/0001_start.sql", "postgres/0001_start.sql"]).is_empty());
        let lonely = findings(&["sqlite/0001_start.sql", "postgres/0002_more.sql"]);
        assert_eq!(lonely.len(), 2);
        assert!(lonely[0].starts_with("crates/storage/migrations/postgres/0001_start.sql is missing"));
        assert_eq!(findings(&["sqlite/start.sql", "postgres/start.sql"]).len(), 1);
    }
}
