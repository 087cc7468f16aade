//! Packages of the operating system that the tests need.

pub mod chromium;
pub mod firefox;
pub mod openssl;
pub mod postgres;
pub mod python;
pub mod webkit;

use std::path::PathBuf;
use std::process::Command;

use crate::command::{find_program, run_quiet};
use crate::failure::{Failure, Outcome};
use crate::steps::step;

/// Finds a program, and installs the Debian package that brings it when it is not there: as root, else
/// through `sudo` where it asks no password, else the failure names the command for the user to type.
fn find_or_install(package: &str, purpose: &str, find: impl Fn() -> Option<PathBuf>) -> Outcome<PathBuf> {
    if let Some(program) = find() {
        return Ok(program);
    }
    let by_hand = format!("{purpose} is missing: install it with `sudo apt-get install -y {package}`");
    if find_program("apt-get").is_none() {
        return Err(Failure::new(format!("{purpose} is missing: install it (on Debian the package `{package}`)")));
    }
    let sudo: &[&str] = if is_root() {
        &[]
    } else if may_sudo() {
        &["sudo", "-n"]
    } else {
        return Err(Failure::new(by_hand));
    };
    step(&format!("package {package}"), || {
        // An update that fails still leaves the lists of the last one to install from.
        let _ = apt(sudo, &["update"]);
        apt(sudo, &["install", "-y", "--no-install-recommends", package])
    })?;
    find().ok_or_else(|| Failure::new(by_hand))
}

fn apt(sudo: &[&str], arguments: &[&str]) -> Outcome {
    let words: Vec<&str> = sudo.iter().chain(&["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]).copied().collect();
    run_quiet(Command::new(words[0]).args(&words[1..]).args(arguments)).map(drop)
}

fn may_sudo() -> bool {
    find_program("sudo").is_some() && run_silent(Command::new("sudo").args(["-n", "true"]))
}

fn run_silent(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Whether this program runs as the superuser.
fn is_root() -> bool {
    id(&["-u"]) == Some(0)
}

/// A number from `id`, such as `id -u postgres`.
fn id(arguments: &[&str]) -> Option<u32> {
    let output = Command::new("id").args(arguments).output().ok()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}
