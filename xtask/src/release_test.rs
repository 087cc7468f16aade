//! `cargo xtask release-test`: tests the files that `cargo xtask dist` wrote, each package on a Debian of its own.
//!
//! A folder with an unpacked Debian stands for the machine of an operator. Programs run there in a mount namespace, so
//! that nothing is installed on this machine and nothing stays mounted.

mod contents;
mod debian_package;
mod image;
mod installation_guide;
mod tarball;
mod target_system;

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{run_kept, run_quiet};
use crate::failure::{Context, Failure, Outcome};
use crate::steps::step;
use crate::system::{self, binutils, mmdebstrap, promtool};
use crate::test::PEERS_FOLDER;
use crate::workspace::Workspace;
use crate::{node, web};
use target_system::Program;

/// How names of images end.
const IMAGE_EXTENSION: &str = "-image.tar.gz";

/// Tests the release in the folder that the first argument names, or else in that of `cargo xtask dist`. The second argument
/// is the folder of another build of the same commit, which must have the same bytes. All tests run, whatever fails in
/// between.
pub fn command(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let (folder, second_build) = match arguments {
        [] => (workspace.release_folder(), None),
        [folder] => (PathBuf::from(folder), None),
        [folder, other] => (PathBuf::from(folder), Some(Path::new(other))),
        _ => return Err(Failure::new("usage: cargo xtask release-test [FOLDER [FOLDER OF A SECOND BUILD]]")),
    };
    if !system::is_root() {
        return Err(Failure::new("packages are installed on a system of their own, which only root may enter"));
    }
    let release = ReleaseTest::prepare(workspace, &folder)?;
    release.check("checksums", || contents::check_checksums(&release));
    if let Some(other) = second_build {
        release.check("second build", || contents::check_second_build(&release, other));
    }
    release.check("SBOM", || contents::check_sbom(&release));
    release.check("licences", || contents::check_licences(&release));
    release.check("crates in the program", || contents::check_audit_data(&release));
    release.check("oldest glibc", || contents::check_glibc(&release));
    release.check("tarball", || tarball::check(&release));
    release.check("Debian package", || debian_package::check(&release));
    if release.files.image.is_some() {
        release.check("container image", || image::check(&release));
    }
    release.report()
}

/// Files of a release for this machine's architecture.
struct ReleaseFiles {
    folder: PathBuf,
    version: String,
    tarball: PathBuf,
    debian_package: PathBuf,
    sbom: PathBuf,
    /// Only with `cargo xtask dist --image`.
    image: Option<PathBuf>,
}

impl ReleaseFiles {
    /// Finds the files by their names.
    fn find(folder: &Path) -> Outcome<Self> {
        let folder = fs::canonicalize(folder).context(format!("cannot find {}", folder.display()))?;
        let names = fs::read_dir(&folder).context(folder.display())?.flatten().map(|entry| entry.file_name());
        let names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
        let end = format!("-{}-linux.tar.gz", std::env::consts::ARCH);
        let version = names.iter().find_map(|name| name.strip_prefix("ai-chat-mcp-")?.strip_suffix(&end));
        let version = version.ok_or_else(|| {
            Failure::new(format!("{} has no tarball for this machine: run `cargo xtask dist`", folder.display()))
        })?;
        let base = format!("ai-chat-mcp-{version}-{}-linux", std::env::consts::ARCH);
        let debian = if std::env::consts::ARCH == "aarch64" { "arm64" } else { "amd64" };
        let image = format!("{base}{IMAGE_EXTENSION}");
        Ok(Self {
            version: version.to_owned(),
            tarball: folder.join(format!("{base}.tar.gz")),
            debian_package: folder.join(format!("ai-chat-mcp_{version}_{debian}.deb")),
            sbom: folder.join(format!("{base}.cdx.json")),
            image: names.contains(&image).then(|| folder.join(image)),
            folder,
        })
    }
}

/// The tests, with what they need and their results.
struct ReleaseTest<'a> {
    workspace: &'a Workspace,
    files: ReleaseFiles,
    /// Folder for everything that the tests write.
    work: PathBuf,
    /// Folder of the unpacked tarball.
    unpacked: PathBuf,
    /// Archive of the Debian on which the packages are installed.
    debian: PathBuf,
    readelf: PathBuf,
    promtool: PathBuf,
    /// Name and result of each test so far.
    results: RefCell<Vec<(&'static str, Outcome<String>)>>,
}

impl<'a> ReleaseTest<'a> {
    /// Installs what the tests need, and unpacks the tarball.
    fn prepare(workspace: &'a Workspace, folder: &Path) -> Outcome<Self> {
        let files = ReleaseFiles::find(folder)?;
        let (readelf, promtool) = (binutils::ensure()?, promtool::ensure()?);
        let debian = mmdebstrap::ensure_debian()?;
        web::packages(workspace)?;
        node::install("MCP servers of other makers", &workspace.root.join(PEERS_FOLDER))?;
        let work = std::env::temp_dir().join(format!("ai-chat-mcp-release-test-{}", std::process::id()));
        let unpacked = work.join("tarball");
        fs::create_dir_all(&unpacked).context(format!("cannot create {}", unpacked.display()))?;
        target_system::unpack(&files.tarball, &unpacked)?;
        let unpacked = unpacked.join(format!("ai-chat-mcp-{}-{}-linux", files.version, std::env::consts::ARCH));
        Ok(Self { workspace, files, work, unpacked, debian, readelf, promtool, results: RefCell::default() })
    }

    /// Runs a test and stores its result.
    fn check(&self, name: &'static str, work: impl FnOnce() -> Outcome<String>) {
        let result = step(name, work);
        self.results.borrow_mut().push((name, result));
    }

    /// Signs up, calls a tool, reads metrics, restarts and restores a backup with a program (`web/e2e/release.ts`).
    fn use_program(&self, program: &Program) -> Outcome {
        let mut journey = node::script(&self.workspace.web(), "release")?;
        journey.env("RELEASED_PROGRAM", program.write_launcher(&self.work)?).env("PROMTOOL", &self.promtool);
        journey.env("RELEASED_DATA_FOLDER", &program.volume);
        let ended = run_kept(&mut journey)?;
        if ended.success { Ok(()) } else { Err(Failure::new("the program could not be used: see above")) }
    }

    /// Prints all results.
    fn report(&self) -> Outcome {
        println!("\n| test | result |\n|---|---|");
        for (name, result) in self.results.borrow().iter() {
            match result {
                Ok(text) => println!("| {name} | {text} |"),
                Err(failure) => println!("| {name} | FAILED: {failure} |"),
            }
        }
        let failed = self.results.borrow().iter().filter(|(_, result)| result.is_err()).count();
        if failed == 0 { Ok(()) } else { Err(Failure::new(format!("{failed} tests of the release failed"))) }
    }
}

impl Drop for ReleaseTest<'_> {
    fn drop(&mut self) {
        // Nothing is mounted in it: mounts end with the programs that see them.
        let _ = fs::remove_dir_all(&self.work);
    }
}

/// Returns the size of a file in MB.
fn megabytes(file: &Path) -> Outcome<f64> {
    Ok(fs::metadata(file).context(file.display())?.len() as f64 / 1e6)
}

/// Returns the paths of all files and folders of a system, without those that last until it stops only.
fn list_files(root: &Path) -> Outcome<Vec<String>> {
    let mut find = Command::new("find");
    find.args([".", "-xdev", "-not", "-path", "./tmp/*", "-not", "-path", "./run/*", "-printf", "%P\\n"]);
    Ok(run_quiet(find.current_dir(root))?.lines().map(str::to_owned).collect())
}
