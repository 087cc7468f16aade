//! The Debian package.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::binary::OLDEST_GLIBC;
use super::licences::LICENCES_FILE;
use super::tarball::write_unit;
use super::{Output, Package, copy, copy_files, create_folder, set_public_permissions};
use crate::command::run_quiet;
use crate::documents;
use crate::failure::{Context, Failure, Outcome};

/// File of the settings, which an upgrade does not overwrite.
const SETTINGS_FILE: &str = "etc/ai-chat-mcp/ai-chat-mcp.toml";
/// Folder of the package's documents.
const DOCUMENT_FOLDER: &str = "usr/share/doc/ai-chat-mcp";
/// Scripts that run at installation and removal.
const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

/// Builds the package.
pub fn build(package: &Package, output: &Output) -> Outcome {
    let content = output.staging.join(format!("debian-{}", package.architecture.name));
    let packaging = package.workspace.root.join("packaging");
    add_files(package, &content)?;
    // Before the control files, which are not installed.
    let size = size_kib(&content)?;
    let sums = checksums(&content)?;
    let control = content.join("DEBIAN");
    create_folder(&control)?;
    for script in SCRIPTS {
        copy(&packaging.join("debian").join(script), &control.join(script))?;
        set_mode(&control.join(script), 0o755)?;
    }
    write(&control.join("md5sums"), &sums)?;
    write(&control.join("conffiles"), &format!("/{SETTINGS_FILE}\n"))?;
    let template = fs::read_to_string(packaging.join("debian/control")).context("packaging/debian/control")?;
    let (version, architecture) = (&package.release.version, package.architecture.debian);
    write(&control.join("control"), &fill(&template, version, architecture, size))?;
    set_public_permissions(&control)?;
    let name = format!("ai-chat-mcp_{version}_{architecture}.deb");
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "-Zxz", "--build"]).arg(&content).arg(output.folder.join(name));
    // Newer times of files are replaced by this one.
    run_quiet(build.env("SOURCE_DATE_EPOCH", &package.release.time)).map(drop)
}

/// Adds the files that the package installs.
fn add_files(package: &Package, content: &Path) -> Outcome {
    let root = &package.workspace.root;
    let share = content.join("usr/share");
    copy(package.binary, &content.join("usr/bin/ai-chat-mcp"))?;
    write_unit(package, &content.join("usr/lib/systemd/system/ai-chat-mcp.service"), "/usr/bin")?;
    copy(&root.join("packaging/ai-chat-mcp.toml"), &content.join(SETTINGS_FILE))?;
    for (shell, file) in [
        ("bash", "bash-completion/completions/ai-chat-mcp"),
        ("zsh", "zsh/vendor-completions/_ai-chat-mcp"),
        ("fish", "fish/vendor_completions.d/ai-chat-mcp.fish"),
    ] {
        copy(&package.texts.completions.join(format!("ai-chat-mcp.{shell}")), &share.join(file))?;
    }
    copy_files(&package.texts.manual, &share.join("man/man1"))?;
    let documents = content.join(DOCUMENT_FOLDER);
    copy(&root.join("packaging/debian/copyright"), &documents.join("copyright"))?;
    copy(package.licences, &documents.join(LICENCES_FILE))?;
    // Debian's policy names this file.
    copy(&root.join("CHANGELOG.md"), &documents.join("changelog"))?;
    compress(files_within(&share.join("man/man1"))?)?;
    compress([LICENCES_FILE, "changelog"].map(|name| documents.join(name)))?;
    // Not compressed: they link to each other.
    documents::copy_all(root, &documents)?;
    set_public_permissions(content)?;
    // The settings can contain keys. `postinst` lets the program's group read them.
    set_mode(&content.join(SETTINGS_FILE), 0o640)
}

/// Returns the files of a folder.
fn files_within(folder: &Path) -> Outcome<Vec<PathBuf>> {
    Ok(fs::read_dir(folder).context(folder.display())?.flatten().map(|entry| entry.path()).collect())
}

/// Compresses files.
fn compress(files: impl IntoIterator<Item = PathBuf>) -> Outcome {
    run_quiet(Command::new("gzip").arg("-9n").args(files)).map(drop)
}

/// Returns the size of the files in a folder, in KiB.
fn size_kib(folder: &Path) -> Outcome<u64> {
    let printed = run_quiet(Command::new("du").args(["-sk", "--apparent-size"]).arg(folder))?;
    let size = printed.split_whitespace().next().and_then(|size| size.parse().ok());
    size.ok_or_else(|| Failure::new(format!("`du` printed \"{printed}\"")))
}

/// Returns the checksums of all files, in the form of `md5sums`.
fn checksums(folder: &Path) -> Outcome<String> {
    let script = "find . -type f -printf '%P\\0' | LC_ALL=C sort -z | xargs -0 md5sum";
    run_quiet(Command::new("sh").args(["-c", script]).current_dir(folder))
}

/// Replaces the names in the template of `control`.
fn fill(template: &str, version: &str, architecture: &str, size: u64) -> String {
    template
        .replace("@VERSION@", version)
        .replace("@ARCHITECTURE@", architecture)
        .replace("@SIZE@", &size.to_string())
        .replace("@GLIBC@", OLDEST_GLIBC)
}

fn set_mode(file: &Path, mode: u32) -> Outcome {
    fs::set_permissions(file, Permissions::from_mode(mode)).context(format!("cannot change {}", file.display()))
}

fn write(file: &Path, text: &str) -> Outcome {
    fs::write(file, text).context(format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_each_name_of_the_template() {
        let control = fill(include_str!("../../../packaging/debian/control"), "1.2.3", "amd64", 42);
        assert!(control.contains("\nVersion: 1.2.3\nArchitecture: amd64\n"), "{control}");
        assert!(control.contains("\nInstalled-Size: 42\nDepends: libc6 (>= 2.28), "), "{control}");
        // What remains is the address of the maintainer.
        assert_eq!(control.matches('@').count(), 1, "{control}");
    }

    #[test]
    fn scripts_can_be_read_by_a_shell() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/debian");
        for script in SCRIPTS {
            assert!(Command::new("sh").arg("-n").arg(folder.join(script)).status().unwrap().success(), "{script}");
        }
    }
}
