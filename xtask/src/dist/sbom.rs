//! The software bill of materials: the crates of the binary, as CycloneDX.

use std::fs;
use std::path::PathBuf;

use super::tools::ReleaseTools;
use super::{Output, Package};
use crate::command::run_quiet;
use crate::failure::{Context, Outcome};

/// Name of the files that the tool writes into each crate's folder.
const FILE_NAME: &str = "release-sbom";

/// Writes the bill of materials.
pub fn build(package: &Package, tools: &ReleaseTools, output: &Output) -> Outcome {
    let root = &package.workspace.root;
    let arguments = ["cyclonedx", "--manifest-path", "crates/server/Cargo.toml", "--format", "json"];
    let mut cargo = tools.cargo(package.workspace, &arguments);
    cargo.args(["--spec-version", "1.5", "--target", package.architecture.target, "--override-filename", FILE_NAME]);
    // With this variable, the tool uses its time and leaves out the random serial number.
    let ran = run_quiet(cargo.env("SOURCE_DATE_EPOCH", &package.release.time));
    let written = root.join("crates/server").join(format!("{FILE_NAME}.json"));
    let text = ran.and_then(|_| fs::read_to_string(&written).context(format!("cannot read {}", written.display())));
    // The tool writes one for each crate of the workspace.
    for file in written_files(package) {
        fs::remove_file(&file).context(format!("cannot delete {}", file.display()))?;
    }
    // Crates of the workspace are named by their folders.
    let text = text?.replace(&format!("file://{}/", root.display()), "file:///source/");
    let file = output.folder.join(package.file_name(".cdx.json"));
    fs::write(&file, text).context(format!("cannot write {}", file.display()))
}

/// Returns the files that the tool has written.
fn written_files(package: &Package) -> impl Iterator<Item = PathBuf> {
    let root = &package.workspace.root;
    let crates = fs::read_dir(root.join("crates")).into_iter().flatten().flatten().map(|entry| entry.path());
    let files = crates.chain([root.join("xtask")]).map(|folder| folder.join(format!("{FILE_NAME}.json")));
    files.filter(|file| file.is_file())
}
