//! Locations: the repository, Cargo's build folder and the user's cache.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::failure::{Context, Failure, Outcome};

/// The repository that a command works on.
pub struct Workspace {
    /// Folder of the root `Cargo.toml`.
    pub root: PathBuf,
    /// Cargo's build folder, which several clones may share.
    target: PathBuf,
}

impl Workspace {
    /// Returns the [`Workspace`] from which Cargo started this program.
    pub fn find() -> Outcome<Self> {
        let manifest = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let root = manifest
            .as_deref()
            .and_then(Path::parent)
            .ok_or_else(|| Failure::new("start this through Cargo, inside the clone: `cargo xtask help`"))?
            .to_owned();
        // Cargo stored this program at <target>/<profile>/xtask, whatever its settings are.
        let program = env::current_exe().context("cannot tell where this program is")?;
        let target = program.ancestors().nth(2).unwrap_or(&root).to_owned();
        Ok(Self { root, target })
    }

    /// Returns the folder of the web app.
    pub fn web(&self) -> PathBuf {
        self.root.join("web")
    }

    /// Returns a folder for files of these commands, which git ignores.
    pub fn notes(&self) -> PathBuf {
        self.root.join(".tools")
    }

    /// Returns the binary that `cargo build --release` creates.
    pub fn release_binary(&self) -> PathBuf {
        self.target.join("release/ai-chat-mcp")
    }

    /// Returns the binary that `cargo build --profile dist` creates.
    pub fn dist_binary(&self) -> PathBuf {
        self.target.join("dist/ai-chat-mcp")
    }

    /// Returns the binary that `cargo build --profile dist --target TARGET` creates.
    pub fn target_binary(&self, target: &str) -> PathBuf {
        self.target.join(target).join("dist/ai-chat-mcp")
    }

    /// Returns Cargo's build folder.
    pub fn target_folder(&self) -> &Path {
        &self.target
    }

    /// Returns the folder of the files that `cargo xtask dist` writes.
    pub fn release_folder(&self) -> PathBuf {
        self.target.join("distrib")
    }

    /// Returns a binary that `cargo build` creates.
    pub fn debug_program(&self, name: &str) -> PathBuf {
        self.target.join("debug").join(name)
    }

    /// Returns a Cargo command in the root of the repository.
    pub fn cargo(&self, arguments: &[&str]) -> Command {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(arguments).current_dir(&self.root);
        command::forget_cargo(&mut cargo);
        cargo
    }
}

/// Returns the folder of model weights, which all clones of a user share. The server looks there, too.
pub fn models_folder() -> Outcome<PathBuf> {
    Ok(cache_folder()?.join("models"))
}

/// Returns the product's folder in the user's cache.
pub fn cache_folder() -> Outcome<PathBuf> {
    // The XDG specification says that relative paths must be ignored.
    let set = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    set("XDG_CACHE_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("ai-chat-mcp"))
        .ok_or_else(|| Failure::new("neither HOME nor XDG_CACHE_HOME is set: set one of them to a folder"))
}
