//! The binary of a release: linked for an older glibc, with the list of its crates inside (`cargo audit bin` reads
//! it).

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::release::Release;
use super::tools::ReleaseTools;
use crate::command::{run_quiet, run_shown};
use crate::failure::{Failure, Outcome};
use crate::workspace::Workspace;

/// Oldest glibc on which the binary runs: that of Debian 10, RHEL 8 and Ubuntu 18.10.
pub const OLDEST_GLIBC: &str = "2.28";

/// Architectures of releases.
const ARCHITECTURES: [Architecture; 2] = [
    Architecture { name: "x86_64", target: "x86_64-unknown-linux-gnu", debian: "amd64" },
    Architecture { name: "aarch64", target: "aarch64-unknown-linux-gnu", debian: "arm64" },
];

/// A processor architecture.
#[derive(Clone, Copy)]
pub struct Architecture {
    /// Name in file names.
    pub name: &'static str,
    /// Rust's name of the target.
    pub target: &'static str,
    /// Debian's name.
    pub debian: &'static str,
}

impl Architecture {
    /// Returns whether programs for this architecture run on this machine.
    pub fn is_own(self) -> bool {
        self.name == env::consts::ARCH
    }
}

/// Returns the architectures whose Rust target is installed, and the others.
pub fn architectures() -> Outcome<(Vec<Architecture>, Vec<Architecture>)> {
    let sysroot = run_quiet(Command::new("rustc").args(["--print", "sysroot"]))?;
    let targets = Path::new(sysroot.trim()).join("lib/rustlib");
    Ok(ARCHITECTURES.iter().partition(|architecture| targets.join(architecture.target).join("lib").is_dir()))
}

/// Builds the binary and returns its path.
pub fn build(
    workspace: &Workspace,
    tools: &ReleaseTools,
    release: &Release,
    architecture: Architecture,
) -> Outcome<PathBuf> {
    let target = format!("{}.{OLDEST_GLIBC}", architecture.target);
    let build = ["auditable", "zigbuild", "--locked", "--profile", "dist", "--package", "ai-chat-mcp", "--target"];
    let mut cargo = tools.cargo(workspace, &build);
    cargo.arg(target).env("AI_CHAT_MCP_COMMIT", &release.commit).env("SOURCE_DATE_EPOCH", &release.time);
    let [rust, c] = path_maps(workspace)?;
    // Separated by this character, flags may contain spaces.
    cargo.env("CARGO_ENCODED_RUSTFLAGS", rust.join("\u{1f}")).env("CFLAGS", c.join(" "));
    run_shown(&mut cargo)?;
    Ok(workspace.target_binary(architecture.target))
}

/// Returns the flags of the Rust compiler and of the C compiler that replace the folders of this machine in the binary.
fn path_maps(workspace: &Workspace) -> Outcome<[Vec<String>; 2]> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")));
    let home = home.ok_or_else(|| Failure::new("neither CARGO_HOME nor HOME is set"))?;
    let built = [(&*home, "/cargo"), (workspace.target_folder(), "/target")];
    // C sources come from Cargo's folder or are generated.
    let c = flags("-ffile-prefix-map", &built)?;
    Ok([flags("--remap-path-prefix", &[&built[..], &[(&workspace.root, "/source")]].concat())?, c])
}

/// Returns an option for each folder and its replacement.
fn flags(option: &str, folders: &[(&Path, &str)]) -> Outcome<Vec<String>> {
    let mut folders = folders.to_vec();
    // The last match counts, so a folder comes after the one that it is in.
    folders.sort_by_key(|(folder, _)| folder.components().count());
    let flag = |(folder, name): (&Path, &str)| Some(format!("{option}={}={name}", folder.to_str()?));
    let flags = folders.into_iter().map(flag).collect::<Option<Vec<String>>>();
    flags.ok_or_else(|| Failure::new("the names of the folders are not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_inner_folders_after_outer_ones() {
        let maps = [(Path::new("/a/clone/target"), "/target"), (Path::new("/a/clone"), "/source")];
        assert_eq!(flags("-m", &maps).unwrap(), ["-m=/a/clone=/source", "-m=/a/clone/target=/target"]);
    }
}
