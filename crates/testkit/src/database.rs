//! New, empty databases of either kind.

use std::process::Command;

use tempfile::TempDir;

/// A kind of database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Database {
    /// A file in the data folder.
    Sqlite,
    /// A database that is created on the server of `TEST_POSTGRES_URL`.
    Postgres,
}

/// Returns the kinds of database available on this machine.
pub fn databases() -> Vec<Database> {
    if server_url().is_some() { vec![Database::Sqlite, Database::Postgres] } else { vec![Database::Sqlite] }
}

impl Database {
    /// Returns the kind that `TEST_DB` names, or SQLite.
    pub fn of_environment() -> Self {
        match setting("TEST_DB").as_deref() {
            None | Some("sqlite") => Self::Sqlite,
            Some("postgres") => Self::Postgres,
            Some(other) => panic!("TEST_DB must be sqlite or postgres, not {other}"),
        }
    }

    /// Creates an empty database and returns its URL.
    pub fn create(self, folder: &TempDir) -> String {
        match self {
            Self::Sqlite => format!("sqlite://{}", folder.path().join("test.db").display()),
            Self::Postgres => create_postgres(),
        }
    }
}

/// Runs statements on a database from outside, and returns what `psql` prints: a line for each row, without headings.
///
/// Other tasks go on meanwhile: a server of the same thread can have a transaction open for which the statements wait.
pub async fn run_sql(url: &str, statements: &str) -> String {
    // Python's SQLite can be older than the server's, so it must not parse the rest of the schema.
    const ON_SQLITE: &str = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], 10); \
        db.execute('PRAGMA legacy_alter_table = ON'); db.executescript(sys.argv[2]); db.commit()";
    let mut command = if let Some(file) = url.strip_prefix("sqlite://") {
        let mut python = tokio::process::Command::new("python3");
        python.args(["-c", ON_SQLITE, file, statements]);
        python
    } else {
        let mut psql = tokio::process::Command::new("psql");
        psql.args([url, "--quiet", "--no-psqlrc", "-At", "-c", statements]);
        psql
    };
    let done = command.output().await.expect("python3 and psql are installed");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// Creates a database with a random name. It is not dropped: the test command stops the whole server.
fn create_postgres() -> String {
    let server = server_url().expect("TEST_POSTGRES_URL names a PostgreSQL server; `cargo xtask test` starts one");
    let name = format!("test_{}", domain::ids::fresh().simple());
    // Replaces the database in the URL but keeps its parameters, such as the password or the socket's folder.
    let (base, query) = server.split_once('?').map_or((server.as_str(), None), |(base, query)| (base, Some(query)));
    let authority_end = base.find("://").map_or(0, |at| at + 3);
    let path = base[authority_end..].find('/').map_or(base.len(), |at| authority_end + at);
    let url = |database: &str| match query {
        Some(query) => format!("{}/{database}?{query}", &base[..path]),
        None => format!("{}/{database}", &base[..path]),
    };
    // Through `psql`, so that this crate needs no SQL library.
    let made = Command::new("psql")
        .args([&url("postgres"), "--quiet", "--no-psqlrc", "-c", &format!("CREATE DATABASE {name}")])
        .output()
        .expect("psql runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    url(&name)
}

fn server_url() -> Option<String> {
    setting("TEST_POSTGRES_URL")
}

#[expect(clippy::disallowed_methods, reason = "the test command tells tests by the environment")]
fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
