//! Where things stand: the clone, the build folder, the user's cache.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::failure::{Context, Failure, Outcome};

/// The clone this command works on.
pub struct Workspace {
    /// The folder with the root `Cargo.toml`.
    pub root: PathBuf,
    /// Cargo's build folder, which may be shared by several clones.
    target: PathBuf,
}

impl Workspace {
    /// Finds the clone that Cargo started this program for.
    pub fn find() -> Outcome<Self> {
        let manifest = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let root = manifest
            .as_deref()
            .and_then(Path::parent)
            .ok_or_else(|| Failure::new("start this through Cargo, inside the clone: `cargo xtask help`"))?
            .to_owned();
        // Cargo put this very program at <target>/<profile>/xtask, whatever its settings are.
        let program = env::current_exe().context("cannot tell where this program is")?;
        let target = program.ancestors().nth(2).unwrap_or(&root).to_owned();
        Ok(Self { root, target })
    }

    /// The folder of the front end.
    pub fn web(&self) -> PathBuf {
        self.root.join("web")
    }

    /// A folder of this clone for what these commands note down; git ignores it.
    pub fn notes(&self) -> PathBuf {
        self.root.join(".tools")
    }

    /// The program as `cargo build --release` leaves it.
    pub fn release_binary(&self) -> PathBuf {
        self.target.join("release/ai-chat-mcp")
    }

    /// The program as `cargo build --profile dist` leaves it.
    pub fn dist_binary(&self) -> PathBuf {
        self.target.join("dist/ai-chat-mcp")
    }

    /// A program as `cargo build` leaves it.
    pub fn debug_program(&self, name: &str) -> PathBuf {
        self.target.join("debug").join(name)
    }

    /// A Cargo command in the root of the clone.
    pub fn cargo(&self, arguments: &[&str]) -> Command {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(arguments).current_dir(&self.root);
        command::forget_cargo(&mut cargo);
        cargo
    }
}

/// Where weights are kept, so that every clone of this user shares one copy. The program looks there too.
pub fn models_folder() -> Outcome<PathBuf> {
    Ok(cache_folder()?.join("models"))
}

/// The user's cache for this product.
pub fn cache_folder() -> Outcome<PathBuf> {
    let set = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    set("XDG_CACHE_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("ai-chat-mcp"))
        .ok_or_else(|| Failure::new("neither HOME nor XDG_CACHE_HOME is set: set one of them to a folder"))
}
