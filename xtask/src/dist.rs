//! `cargo xtask dist`: builds what operators install.
//!
//! Two runs for one commit write equal files, apart from the image: times and versions are the commit's, and no folder of
//! this machine is in them.

mod binary;
mod debian;
mod image;
mod licences;
mod release;
mod sbom;
mod tarball;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::run_quiet;
use crate::failure::{Context, Failure, Outcome};
use crate::steps::{nothing_to_do, step};
use crate::system::buildah;
use crate::workspace::Workspace;
use crate::{requirements, web};
use binary::Architecture;
pub use binary::OLDEST_GLIBC;
pub use licences::LICENCES_FILE;
use release::Release;
use tools::ReleaseTools;

/// Section of the binary in which `cargo auditable` lists the crates.
pub const AUDIT_SECTION: &str = ".dep-v0";
/// File with the checksums of all others.
pub const CHECKSUMS_FILE: &str = "SHA256SUMS";

/// Builds the packages for this machine's architecture, and for others whose Rust target is installed. The option
/// `--image` adds the container image, for this machine's architecture.
pub fn dist(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let with_image = match arguments {
        [] => false,
        [option] if option == "--image" => true,
        _ => return Err(Failure::new("`cargo xtask dist` has one option: `--image`")),
    };
    requirements::check()?;
    let buildah = if with_image { Some(buildah::ensure()?) } else { None };
    let release = Release::read(workspace)?;
    let (installed, missing) = binary::architectures()?;
    for architecture in missing {
        nothing_to_do(architecture.name, &format!("left out; `rustup target add {}` adds it", architecture.target));
    }
    let tools = ReleaseTools::ensure(workspace)?;
    web::packages(workspace)?;
    web::build(workspace)?;
    let output = Output::create(workspace)?;
    let mut binaries = Vec::new();
    for architecture in installed {
        let name = format!("compile for {}", architecture.name);
        let file = step(&name, || binary::build(workspace, &tools, &release, architecture))?;
        binaries.push((architecture, file));
    }
    let own = binaries.iter().find(|(architecture, _)| architecture.is_own());
    let (_, own) = own.ok_or_else(|| Failure::new("the binary of this machine's architecture is needed to go on"))?;
    let texts = step("completions and manual", || Texts::generate(own, &output.staging))?;
    let licences = step("licences", || licences::build(workspace, &output))?;
    for (architecture, binary) in &binaries {
        let package = Package {
            workspace,
            release: &release,
            architecture: *architecture,
            binary,
            texts: &texts,
            licences: &licences,
        };
        step(&format!("tarball for {}", architecture.name), || tarball::build(&package, &output))?;
        step(&format!("Debian package for {}", architecture.name), || debian::build(&package, &output))?;
        step(&format!("SBOM for {}", architecture.name), || sbom::build(&package, &tools, &output))?;
        if let Some(buildah) = buildah.as_ref().filter(|_| architecture.is_own()) {
            step("container image", || image::build(&package, &output, buildah))?;
        }
    }
    step("checksums", || output.write_checksums())?;
    println!("ready   {}", output.folder.display());
    Ok(())
}

/// Content of a package.
struct Package<'a> {
    workspace: &'a Workspace,
    release: &'a Release,
    architecture: Architecture,
    binary: &'a Path,
    texts: &'a Texts,
    /// File with the licences of others.
    licences: &'a Path,
}

impl Package<'_> {
    /// Returns the name of a file of the release: `ai-chat-mcp-0.1.0-x86_64-linux`, with the extension.
    fn file_name(&self, extension: &str) -> String {
        format!("ai-chat-mcp-{}-{}-linux{extension}", self.release.version, self.architecture.name)
    }
}

/// Folder with the files of the release.
struct Output {
    folder: PathBuf,
    /// Folder for the content of packages.
    staging: PathBuf,
}

impl Output {
    /// Creates an empty folder. It is not `target/dist`, where Cargo keeps the binaries of the profile `dist`.
    fn create(workspace: &Workspace) -> Outcome<Self> {
        let folder = workspace.release_folder();
        if folder.exists() {
            fs::remove_dir_all(&folder).context(format!("cannot empty {}", folder.display()))?;
        }
        let staging = folder.join("staging");
        create_folder(&staging)?;
        Ok(Self { folder, staging })
    }

    /// Writes the checksums of all files, and deletes the staging folder.
    fn write_checksums(&self) -> Outcome {
        fs::remove_dir_all(&self.staging).context(format!("cannot delete {}", self.staging.display()))?;
        let names = fs::read_dir(&self.folder).context(format!("cannot read {}", self.folder.display()))?;
        let mut names: Vec<_> = names.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        let sums = run_quiet(Command::new("sha256sum").args(names).current_dir(&self.folder))?;
        fs::write(self.folder.join(CHECKSUMS_FILE), sums).context(CHECKSUMS_FILE)
    }
}

/// Texts that the binary itself prints.
struct Texts {
    /// Folder with `ai-chat-mcp.bash`, `ai-chat-mcp.zsh` and `ai-chat-mcp.fish`.
    completions: PathBuf,
    /// Folder with the manual pages.
    manual: PathBuf,
}

impl Texts {
    fn generate(binary: &Path, staging: &Path) -> Outcome<Self> {
        let texts = Self { completions: staging.join("completions"), manual: staging.join("man") };
        create_folder(&texts.completions)?;
        for shell in ["bash", "zsh", "fish"] {
            let script = run_quiet(Command::new(binary).args(["completions", shell]))?;
            fs::write(texts.completions.join(format!("ai-chat-mcp.{shell}")), script).context(shell)?;
        }
        create_folder(&texts.manual)?;
        run_quiet(Command::new(binary).arg("manual").arg(&texts.manual))?;
        Ok(texts)
    }
}

/// Creates a folder with those above it.
fn create_folder(folder: &Path) -> Outcome {
    fs::create_dir_all(folder).context(format!("cannot create {}", folder.display()))
}

/// Makes files and folders readable for all users, and writable for their owner alone. The umask of the user who builds is
/// not the release's.
fn set_public_permissions(path: &Path) -> Outcome {
    run_quiet(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(path)).map(drop)
}

/// Copies a file with its permissions, and creates the folder that it is copied to.
pub fn copy(from: &Path, to: &Path) -> Outcome {
    to.parent().map_or(Ok(()), create_folder)?;
    fs::copy(from, to).map(drop).context(format!("cannot copy {}", from.display()))
}

/// Copies the files of a folder, without folders in it.
pub fn copy_files(from: &Path, to: &Path) -> Outcome {
    for entry in fs::read_dir(from).context(format!("cannot read {}", from.display()))?.flatten() {
        if entry.path().is_file() {
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
    }
    Ok(())
}
