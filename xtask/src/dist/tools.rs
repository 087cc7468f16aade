//! Programs that build a release. Each has a pinned version and is installed in the user's cache.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::run_shown;
use crate::failure::{Context, Failure, Outcome};
use crate::steps::{nothing_to_do, step};
use crate::system::python;
use crate::workspace::{Workspace, cache_folder};

/// Crates of the tools: the list of crates within the binary, and the SBOM.
const CRATES: [(&str, &str); 2] = [("cargo-auditable", "0.7.7"), ("cargo-cyclonedx", "0.5.9")];
/// Python packages of the tools: Zig, which links for an older glibc, and its adapter for Cargo.
const PYTHON_PACKAGES: &str = "packaging/requirements.txt";

/// The installed tools.
pub struct ReleaseTools {
    /// `PATH` that begins with the tools.
    path: OsString,
}

impl ReleaseTools {
    /// Installs the tools that are missing.
    pub fn ensure(workspace: &Workspace) -> Outcome<Self> {
        let root = cache_folder()?.join("release-tools");
        for (name, version) in CRATES {
            install_crate(workspace, &root, name, version)?;
        }
        let python = python::ensure(&workspace.root.join(PYTHON_PACKAGES))?;
        let scripts = python.parent().map(Path::to_owned);
        let inherited = env::var_os("PATH").unwrap_or_default();
        let own: [Option<PathBuf>; 2] = [Some(root.join("bin")), scripts];
        let path = env::join_paths(own.into_iter().flatten().chain(env::split_paths(&inherited)));
        Ok(Self { path: path.context("cannot extend the PATH")? })
    }

    /// Returns a Cargo command that finds the tools.
    pub fn cargo(&self, workspace: &Workspace, arguments: &[&str]) -> Command {
        let mut cargo = workspace.cargo(arguments);
        cargo.env("PATH", &self.path);
        cargo
    }
}

/// Installs the program of a crate, unless Cargo has noted that it is installed.
fn install_crate(workspace: &Workspace, root: &Path, name: &str, version: &str) -> Outcome {
    let installed = fs::read_to_string(root.join(".crates.toml")).unwrap_or_default();
    if installed.contains(&format!("\"{name} {version} (")) {
        nothing_to_do(name, "the pinned version is there");
        return Ok(());
    }
    let root = root.to_str().ok_or_else(|| Failure::new("the cache folder's name is not UTF-8"))?;
    let install = ["install", "--locked", "--root", root, &format!("{name}@{version}")];
    step(name, || run_shown(&mut workspace.cargo(&install)))
}
