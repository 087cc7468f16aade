//! Installation of operating system packages for the tests and for releases.

pub mod binutils;
pub mod buildah;
pub mod chromium;
pub mod firefox;
pub mod haproxy;
pub mod mmdebstrap;
pub mod openssl;
pub mod pgbouncer;
pub mod postgres;
pub mod promtool;
pub mod python;
pub mod webkit;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{find_program, is_program, run_quiet};
use crate::failure::{Failure, Outcome};
use crate::steps::step;

/// Returns a program, and installs its Debian package first if it is missing: as root, or through `sudo` if that
/// needs no password.
///
/// # Errors
///
/// The program cannot be installed; the message has the command for the user.
fn find_or_install(package: &str, purpose: &str, find: impl Fn() -> Option<PathBuf>) -> Outcome<PathBuf> {
    if let Some(program) = find() {
        return Ok(program);
    }
    let by_hand = format!("{purpose} is missing: install it with `sudo apt-get install -y {package}`");
    if find_program("apt-get").is_none() {
        return Err(Failure::new(format!("{purpose} is missing: install it (on Debian the package `{package}`)")));
    }
    // Containers often run as root and have no sudo.
    let sudo: &[&str] = if is_root() {
        &[]
    } else if may_sudo() {
        &["sudo", "-n"]
    } else {
        return Err(Failure::new(by_hand));
    };
    step(&format!("package {package}"), || {
        // If the update fails, the package lists of the last one may still do.
        let _ = apt(sudo, &["update"]);
        apt(sudo, &["install", "-y", "--no-install-recommends", package])
    })?;
    find().ok_or_else(|| Failure::new(by_hand))
}

/// Returns the folder of the program of a service, which is not on the `PATH` of every user.
fn find_service(program: &str) -> Option<PathBuf> {
    let services = PathBuf::from("/usr/sbin");
    let on_path = find_program(program).and_then(|program| program.parent().map(Path::to_owned));
    on_path.or_else(|| Some(services).filter(|folder| is_program(&folder.join(program))))
}

/// Runs `apt-get` without questions.
fn apt(sudo: &[&str], arguments: &[&str]) -> Outcome {
    let words: Vec<&str> = sudo.iter().chain(&["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]).copied().collect();
    run_quiet(Command::new(words[0]).args(&words[1..]).args(arguments)).map(drop)
}

/// Returns whether `sudo` works without a password.
fn may_sudo() -> bool {
    find_program("sudo").is_some() && run_silent(Command::new("sudo").args(["-n", "true"]))
}

/// Runs a program without output, and returns whether it succeeded.
fn run_silent(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Returns whether this process runs as root.
pub fn is_root() -> bool {
    id(&["-u"]) == Some(0)
}

/// Returns the number that `id` prints, such as for `id -u postgres`.
fn id(arguments: &[&str]) -> Option<u32> {
    let output = Command::new("id").args(arguments).output().ok()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}
