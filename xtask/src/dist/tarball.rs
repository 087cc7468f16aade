//! The tarball: the binary with everything that is installed beside it.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::licences::LICENCES_FILE;
use super::{Output, Package, copy, copy_files, create_folder, set_public_permissions};
use crate::command::run_quiet;
use crate::documents;
use crate::failure::{Context, Outcome};

/// Builds the tarball.
pub fn build(package: &Package, output: &Output) -> Outcome {
    let name = package.file_name("");
    let (root, content) = (&package.workspace.root, output.staging.join(&name));
    copy(package.binary, &content.join("ai-chat-mcp"))?;
    documents::copy_all(root, &content)?;
    copy(package.licences, &content.join(LICENCES_FILE))?;
    copy_files(&package.texts.completions, &content.join("completions"))?;
    copy_files(&package.texts.manual, &content.join("man"))?;
    write_unit(package, &content.join("ai-chat-mcp.service"), "/usr/local/bin")?;
    copy(&root.join("packaging/ai-chat-mcp.toml"), &content.join("ai-chat-mcp.toml"))?;
    // For those who build an image of their own.
    copy_files(&root.join("packaging/container"), &content.join("container"))?;
    let data = content.join("container/volume/data");
    create_folder(&data)?;
    set_public_permissions(&content)?;
    // The data folder of the image is its owner's alone.
    run_quiet(Command::new("chmod").arg("700").arg(&data))?;
    archive(package, output, &name)
}

/// Writes the systemd unit for a binary in this folder.
pub fn write_unit(package: &Package, file: &Path, folder: &str) -> Outcome {
    let source = package.workspace.root.join("packaging/ai-chat-mcp.service");
    let unit = fs::read_to_string(&source).context(format!("cannot read {}", source.display()))?;
    file.parent().map_or(Ok(()), create_folder)?;
    let unit = unit.replace("ExecStart=/usr/bin/", &format!("ExecStart={folder}/"));
    fs::write(file, unit).context(format!("cannot write {}", file.display()))
}

/// Packs a folder of the staging folder, with sorted entries, fixed owners and the commit's time.
fn archive(package: &Package, output: &Output, name: &str) -> Outcome {
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.arg(format!("--mtime=@{}", package.release.time)).arg("--directory").arg(&output.staging);
    // Without its option -n, gzip stores the time.
    tar.arg("--use-compress-program=gzip -9n").arg("--create").arg("--file");
    run_quiet(tar.arg(output.folder.join(package.file_name(".tar.gz"))).arg(name)).map(drop)
}
