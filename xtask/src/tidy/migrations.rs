//! Rules: both databases have the same migrations, and within a series they only add to the schema.

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
    let in_folder = files.iter().filter(|file| file.path.starts_with(MIGRATIONS_FOLDER) && file.is(&["sql"]));
    let migrations = in_folder.filter(|file| !begins_series(&file.path));
    findings.extend(migrations.flat_map(|file| {
        let statements = statements(&file.text);
        let others = statements.iter().filter(|statement| !only_adds(statement, &statements));
        let findings = others
            .map(|statement| format!("{}: {statement:?} does not only add to the schema (docs/adr/0036)", file.path));
        findings.collect::<Vec<_>>()
    }));
    findings
}

/// Returns whether a migration is the first of its series, which may change anything.
fn begins_series(path: &str) -> bool {
    path.rsplit_once('/').is_some_and(|(_, name)| name.get(2..4) == Some("00"))
}

/// Returns the statements of a migration in one line each, without comments.
fn statements(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| line.split_once("--").map_or(line, |(before, _)| before));
    let code = lines.collect::<Vec<_>>().join(" ");
    let parts = code.split(';').map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    let mut statements: Vec<String> = Vec::new();
    for part in parts.filter(|part| !part.is_empty()) {
        match statements.last_mut().filter(|last| is_open(last)) {
            Some(last) => *last = format!("{last}; {part}"),
            None => statements.push(part),
        }
    }
    statements
}

/// Returns whether the body of a trigger or function is not complete.
fn is_open(statement: &str) -> bool {
    statement.contains(" BEGIN ") && !statement.ends_with(" END") && !statement.ends_with(" END $$")
}

/// Returns whether programs that do not know of a statement can go on with the schema. `all` are the statements of its
/// migration.
fn only_adds(statement: &str, all: &[String]) -> bool {
    let begins = |start: &str| statement.starts_with(start);
    match statement.strip_prefix("ALTER TABLE ") {
        // They insert rows without the column.
        Some(change) => {
            change.contains(" ADD COLUMN ") && (!change.contains("NOT NULL") || change.contains(" DEFAULT "))
        }
        // What they do not know of may be recorded for them, but not change what they do.
        None if ["CREATE TRIGGER ", "CREATE FUNCTION "].into_iter().any(begins) => {
            let changes = ["UPDATE ", "DELETE FROM ", " BEFORE ", " INSTEAD OF ", "RAISE"];
            !changes.into_iter().any(|change| statement.contains(change))
        }
        None if begins("CREATE UNIQUE INDEX ") => rejects_no_row(statement, all),
        None => ["CREATE TABLE ", "CREATE INDEX "].into_iter().any(begins),
    }
}

/// Returns whether a unique index accepts every row of programs that do not know of it: its table is new, or one of its
/// columns is new and empty in their rows, because NULL is never equal to NULL.
fn rejects_no_row(index: &str, all: &[String]) -> bool {
    let Some((_, indexed)) = index.split_once(" ON ") else { return false };
    let Some((table, columns)) = indexed.split_once(" (") else { return false };
    let columns = columns.split_once(')').map_or(columns, |(columns, _)| columns);
    let creates = format!("CREATE TABLE {table} ");
    let adds = format!("ALTER TABLE {table} ADD COLUMN ");
    all.iter().any(|statement| {
        let added = statement.strip_prefix(&adds).filter(|column| !column.contains(" DEFAULT "));
        let added = added.and_then(|column| column.split(' ').next());
        statement.starts_with(&creates) || added.is_some_and(|added| columns.split(", ").any(|column| column == added))
    })
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

    #[test]
    fn migrations_of_a_series_only_add() {
        let findings = |name: &str, text: &str| {
            check(&DATABASES.map(|database| source(&format!("{MIGRATIONS_FOLDER}{database}/{name}"), text))).len() / 2
        };
        let adds = "-- DROP is only said here.\nCREATE TABLE a (\n  b TEXT -- c;\n);\nCREATE UNIQUE INDEX d ON a (b);\n\
                    ALTER TABLE e ADD COLUMN f INTEGER NOT NULL DEFAULT 0;\nALTER TABLE e ADD COLUMN g TEXT;\n\
                    CREATE UNIQUE INDEX i ON e (f, g) WHERE g IS NOT NULL;\n\
                    CREATE TRIGGER h AFTER DELETE ON a BEGIN\n  INSERT INTO e (g) VALUES (OLD.b);\nEND;\n\
                    CREATE FUNCTION h() RETURNS trigger AS $$\nBEGIN\n  INSERT INTO e (g) VALUES (OLD.b);\n  RETURN NULL;\nEND $$;\n";
        assert_eq!(findings("0101_more.sql", adds), 0);
        for other in [
            "DROP TABLE a;",
            "ALTER TABLE a DROP COLUMN b;",
            "ALTER TABLE a RENAME COLUMN b TO c;",
            "ALTER TABLE a ADD COLUMN b TEXT NOT NULL;",
            "CREATE UNIQUE INDEX c ON a (b);",
            "UPDATE a SET b = 1;",
            "DELETE FROM a;",
            "CREATE TRIGGER c AFTER INSERT ON a BEGIN\n  INSERT INTO b (d) VALUES (1);\n  DELETE FROM a;\nEND;",
            "CREATE TRIGGER c BEFORE DELETE ON a FOR EACH ROW EXECUTE FUNCTION c();",
        ] {
            assert_eq!(findings("0101_more.sql", other), 1, "{other}");
            assert_eq!(findings("0200_begin.sql", other), 0, "{other}");
        }
    }
}
