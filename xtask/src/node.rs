//! Node.js packages and their scripts.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value};

use crate::command::{find_program, forget_cargo, run_quiet};
use crate::failure::{Context, Failure, Outcome};
use crate::steps::{nothing_to_do, step};

/// Installs the packages of a folder exactly as in its lock file. Does nothing if they are installed already.
pub fn install(name: &str, folder: &Path) -> Outcome {
    if is_installed(folder) {
        nothing_to_do(name, "the lock file's packages are there");
        return Ok(());
    }
    step(name, || run_quiet(npm(folder)?.args(["ci", "--no-audit", "--no-fund"])).map(drop))
}

/// Returns the command of a script in a folder's `package.json`. It uses the folder's own Node.js if its packages
/// include one.
pub fn script(folder: &Path, script: &str) -> Outcome<Command> {
    let file = folder.join("package.json");
    let package = read_json(&file)?;
    if package.get("scripts").and_then(|scripts| scripts.get(script)).is_none() {
        return Err(Failure::new(format!("{} has no script `{script}`: add it", file.display())));
    }
    let mut npm = npm(folder)?;
    // Silent, so that npm's own lines are not taken for the script's output.
    npm.args(["run", "--silent", script]);
    Ok(npm)
}

/// Returns the command that looks up known vulnerabilities of the packages that are shipped.
pub fn audit(folder: &Path) -> Outcome<Command> {
    let mut npm = npm(folder)?;
    npm.args(["audit", "--omit=dev"]);
    Ok(npm)
}

/// Returns the command of a program of an installed package.
pub fn program(folder: &Path, name: &str) -> Outcome<Command> {
    in_folder(folder, &folder.join("node_modules/.bin").join(name))
}

/// Returns the command of npm in a folder.
fn npm(folder: &Path) -> Outcome<Command> {
    if find_program("npm").is_none() {
        return Err(Failure::new("npm is missing: install Node.js 24 with its npm (nodejs.org)"));
    }
    in_folder(folder, Path::new("npm"))
}

/// Returns a command in a folder whose `PATH` begins with the folder's own Node.js, if there is one.
fn in_folder(folder: &Path, program: &Path) -> Outcome<Command> {
    let architecture = if env::consts::ARCH == "aarch64" { "arm64" } else { "x64" };
    let own = folder.join(format!("node_modules/node-linux-{architecture}/bin"));
    let inherited = env::var_os("PATH").unwrap_or_default();
    let folders = Some(own).filter(|own| own.is_dir()).into_iter().chain(env::split_paths(&inherited));
    let path = env::join_paths(folders).context("cannot extend the PATH")?;
    let mut command = Command::new(program);
    forget_cargo(&mut command);
    // The tests use the browser of the operating system.
    command.current_dir(folder).env("PATH", path).env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1");
    Ok(command)
}

/// Returns whether the installed packages match the lock file.
fn is_installed(folder: &Path) -> bool {
    // npm writes this file at the end of an installation, so what it lists is installed.
    let lock = read_json(&folder.join("package-lock.json"));
    let installed = read_json(&folder.join("node_modules/.package-lock.json"));
    matches!((lock, installed), (Ok(lock), Ok(installed)) if same_packages(&lock, &installed))
}

/// Returns whether the installed packages are those of the lock file. Optional ones may be missing, since they can be
/// for other platforms.
fn same_packages(lock: &Value, installed: &Value) -> bool {
    let packages = |lock: &Value| lock.get("packages").and_then(Value::as_object).cloned();
    let (Some(wanted), Some(installed)) = (packages(lock), packages(installed)) else { return false };
    let version =
        |packages: &Map<String, Value>, path: &str| packages.get(path).map(|package| package["version"].clone());
    let is_missing = wanted.iter().any(|(path, package)| {
        let may_miss = path.is_empty() || package.get("optional").is_some() || package.get("devOptional").is_some();
        !may_miss && version(&installed, path).as_ref() != Some(&package["version"])
    });
    // A package that the lock file no longer has could still be imported by mistake.
    let is_foreign =
        installed.iter().any(|(path, package)| version(&wanted, path).as_ref() != Some(&package["version"]));
    !is_missing && !is_foreign
}

fn read_json(file: &Path) -> Outcome<Value> {
    let text = fs::read_to_string(file).context(format!("cannot read {}", file.display()))?;
    serde_json::from_str(&text).context(file.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(lock: &str, installed: &str) -> bool {
        let read = |packages: &str| serde_json::from_str(&format!("{{\"packages\": {{{packages}}}}}")).unwrap();
        same_packages(&read(lock), &read(installed))
    }

    #[test]
    fn installed_packages_are_compared_by_path_and_version() {
        let lock = r#""": {"name": "web"}, "node_modules/a": {"version": "1.0.0"}"#;
        assert!(same(lock, r#""node_modules/a": {"version": "1.0.0"}"#));
        assert!(!same(lock, r#""node_modules/a": {"version": "1.0.1"}"#));
        assert!(!same(lock, r#""node_modules/a": {"version": "1.0.0"}, "node_modules/b": {"version": "1.0.0"}"#));
        assert!(!same(lock, ""));
    }

    #[test]
    fn packages_for_other_machines_may_be_missing() {
        let lock = r#""node_modules/a": {"version": "1.0.0", "optional": true}"#;
        assert!(same(lock, ""));
        assert!(!same(lock, r#""node_modules/a": {"version": "0.9.0", "optional": true}"#));
    }
}
