//! PostgreSQL's own programs `pg_dump` and `pg_restore`.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Stdio;

use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;
use tokio::process::Command;
use url::form_urlencoded;

/// Maximum number of lines of a program's error output that are repeated.
const MAX_ERROR_LINES: usize = 5;

/// Error of a program of PostgreSQL.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The program is not installed.
    #[error(
        "{0} was not found; install PostgreSQL's client programs (Debian: postgresql-client), of the server's version or newer"
    )]
    NotFound(&'static str),
    /// The program cannot be started.
    #[error("{0} cannot be started: {1}")]
    NotStarted(&'static str, io::Error),
    /// The program failed.
    #[error("{program} failed: {reason}")]
    Failed {
        /// Name of the program.
        program: &'static str,
        /// The end of its error output.
        reason: String,
    },
}

/// Writes an archive of a schema to a new file.
pub(crate) async fn dump(options: &PgConnectOptions, schema: &str, target: &Path) -> Result<(), ProgramError> {
    let mut command = connected("pg_dump", options);
    // Not compressed, because the whole backup is. Owners and privileges are those of the database that it is restored
    // to.
    command.args(["--format=custom", "--compress=0", "--no-owner", "--no-privileges", "--no-password", "--schema"]);
    command.arg(quoted(schema)).arg("--file").arg(target);
    run("pg_dump", command).await
}

/// Checks that an archive can be read by the installed programs. Connects to no database.
pub(crate) async fn check_archive(archive: &Path) -> Result<(), ProgramError> {
    let mut command = Command::new("pg_restore");
    command.arg("--list").arg(archive);
    run("pg_restore", command).await
}

/// Creates the objects of an archive in one transaction. They must not exist.
pub(crate) async fn restore(options: &PgConnectOptions, schema: &str, archive: &Path) -> Result<(), ProgramError> {
    let mut command = connected("pg_restore", options);
    command.args(["--exit-on-error", "--single-transaction", "--no-owner", "--no-privileges", "--no-password"]);
    command.arg("--dbname").arg(options.get_database().unwrap_or_else(|| options.get_username()));
    // With this option, the schema itself is not created.
    command.arg("--schema").arg(schema).arg(archive);
    run("pg_restore", command).await
}

/// Returns a command with the connection in its environment: other users of the machine can read arguments, and they
/// would show the password.
fn connected(program: &'static str, options: &PgConnectOptions) -> Command {
    let mut command = Command::new(program);
    let host = options.get_socket().map_or(OsStr::new(options.get_host()), |socket| socket.as_os_str());
    command
        .env("PGHOST", host)
        .env("PGPORT", options.get_port().to_string())
        .env("PGUSER", options.get_username())
        .env("PGDATABASE", options.get_database().unwrap_or_else(|| options.get_username()));
    if let Some(more) = options.get_options() {
        command.env("PGOPTIONS", more);
    }
    let url = options.to_url_lossy();
    if let Some(password) = url.password() {
        // It is percent-encoded, in the same way as a form.
        let decoded = form_urlencoded::parse(password.as_bytes()).map(|(name, _)| name.into_owned()).next();
        command.env("PGPASSWORD", decoded.unwrap_or_default());
    }
    for (name, value) in url.query_pairs() {
        let variable = match &*name {
            "sslmode" => "PGSSLMODE",
            "sslrootcert" => "PGSSLROOTCERT",
            "sslcert" => "PGSSLCERT",
            "sslkey" => "PGSSLKEY",
            _ => continue,
        };
        command.env(variable, &*value);
    }
    command
}

async fn run(program: &'static str, mut command: Command) -> Result<(), ProgramError> {
    // Killed if the caller gives up.
    let output =
        command.stdin(Stdio::null()).kill_on_drop(true).output().await.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => ProgramError::NotFound(program),
            _ => ProgramError::NotStarted(program, error),
        })?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).take(MAX_ERROR_LINES).collect();
    let reason = if lines.is_empty() { output.status.to_string() } else { lines.join("; ") };
    Err(ProgramError::Failed { program, reason })
}

/// Returns a name in the form in which it is no pattern.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
