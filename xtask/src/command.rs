//! Running other programs, with visible, hidden or captured output.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use crate::failure::{Context, Failure, Outcome};

/// Number of lines shown of a failed program's output.
const OUTPUT_TAIL_LINES: usize = 60;

/// Time for a program to end after a signal, before it is killed.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// Result of a program that has ended.
pub struct Ended {
    /// Whether the exit code was 0.
    pub success: bool,
    /// Standard output and standard error, interleaved by line.
    pub output: String,
}

/// Runs a program with the terminal as its output.
pub fn run_shown(command: &mut Command) -> Outcome {
    let status = spawn(command.stdin(Stdio::null()))?.wait().context(format!("lost `{}`", shown(command)))?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("`{}` failed: see above", shown(command)))) }
}

/// Runs a program and returns its standard output. The output is printed only if the program fails.
pub fn run_quiet(command: &mut Command) -> Outcome<String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| cannot_start(command, &error))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    println!("{}", tail(&format!("{text}{errors}"), OUTPUT_TAIL_LINES));
    Err(Failure::new(format!("`{}` failed: see above", shown(command))))
}

/// Runs a program, prints its output line by line, and returns it as [`Ended`].
pub fn run_kept(command: &mut Command) -> Outcome<Ended> {
    let mut child = spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()))?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let kept = Mutex::new(String::new());
    // Both pipes are read at the same time: a full one would block the program.
    thread::scope(|scope| {
        scope.spawn(|| err.map(|pipe| keep_lines(pipe, &kept)));
        out.map(|pipe| keep_lines(pipe, &kept))
    });
    let status = child.wait().context(format!("lost `{}`", shown(command)))?;
    let output = kept.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok(Ended { success: status.success(), output })
}

/// Runs a program, and returns its output as [`Ended`] without printing it.
pub fn run_ended(command: &mut Command) -> Outcome<Ended> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| cannot_start(command, &error))?;
    let texts = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    Ok(Ended { success: output.status.success(), output: texts.concat() })
}

/// Prints and stores the lines of a pipe.
fn keep_lines(pipe: impl Read, kept: &Mutex<String>) {
    let mut reader = BufReader::new(pipe);
    let mut line = Vec::new();
    // Bytes, not `lines()`: a program may print text that is not UTF-8.
    while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line);
        print!("{text}");
        if let Ok(mut kept) = kept.lock() {
            kept.push_str(&text);
        }
        line.clear();
    }
}

/// Starts a program. The [`Failure`] of a missing program says so.
pub fn spawn(command: &mut Command) -> Outcome<Child> {
    command.spawn().map_err(|error| cannot_start(command, &error))
}

/// Asks a program to end by a signal (`INT`, `TERM`), and kills it if it does not.
pub fn end(child: &mut Child, signal: &str) {
    if child.try_wait().is_ok_and(|status| status.is_some()) {
        return;
    }
    // Through the `kill` program, since the standard library can only send SIGKILL.
    let asked = Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status();
    let started = Instant::now();
    while asked.is_ok() && started.elapsed() < SHUTDOWN_TIMEOUT {
        if !child.try_wait().is_ok_and(|status| status.is_none()) {
            return;
        }
        sleep(Duration::from_millis(20));
    }
    // The child may have ended in the meantime, so errors mean nothing here.
    let _ = child.kill();
    let _ = child.wait();
}

/// Formats a command as a user would type it, without the folders of the program.
pub fn shown(command: &Command) -> String {
    let name = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let mut text = name.to_string_lossy().into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}

/// Returns the last lines of a text.
pub fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.trim_end().lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// Returns the path of a program on the `PATH`.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|file| is_program(file))
}

/// Returns whether a file is executable.
pub fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// Removes the environment variables that `cargo run` sets for this program. A build script or a server that reads
/// them would take them for its own.
pub fn forget_cargo(command: &mut Command) {
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") || text == "LD_LIBRARY_PATH" {
            command.env_remove(&name);
        }
    }
}

/// Returns the [`Failure`] of a program that did not start.
fn cannot_start(command: &Command, error: &std::io::Error) -> Failure {
    let name = command.get_program().to_string_lossy();
    if error.kind() == std::io::ErrorKind::NotFound {
        Failure::new(format!("`{name}` is not installed, or not on the PATH"))
    } else {
        Failure::new(format!("cannot start `{name}`: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_outputs_are_kept_and_the_exit_code_told() {
        let ended = run_kept(Command::new("sh").args(["-c", "echo one; echo two >&2; exit 3"])).unwrap();
        assert!(!ended.success);
        assert!(ended.output.contains("one\n") && ended.output.contains("two\n"));
    }

    #[test]
    fn a_program_ends_when_asked() {
        let mut child = spawn(Command::new("sleep").arg("1000")).unwrap();
        end(&mut child, "TERM");
        assert!(!child.try_wait().unwrap().unwrap().success());
    }

    #[test]
    fn a_missing_program_is_named() {
        let failure = run_quiet(&mut Command::new("no-such-program-here")).unwrap_err();
        assert_eq!(failure.to_string(), "`no-such-program-here` is not installed, or not on the PATH");
    }

    #[test]
    fn the_tail_is_the_last_lines() {
        assert_eq!(tail("a\nb\nc\n", 2), "b\nc");
        assert_eq!(tail("a", 2), "a");
    }
}
