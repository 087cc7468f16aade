//! The container image, from the Containerfile that operators use as well. Its base consists of Debian's packages.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Output, Package, create_folder, set_public_permissions};
use crate::command::run_quiet;
use crate::failure::{Context, Failure, Outcome};

/// Debian packages of the base: directories, glibc, names of protocols, and certificates.
const BASE_PACKAGES: [&str; 4] = ["base-files", "libc6", "netbase", "ca-certificates"];
/// Folders of these packages that the program does not use.
const UNUSED_FOLDERS: [&str; 3] = ["usr/share/locale", "usr/share/man", "usr/share/lintian"];
/// Folder of the packages' documents, of which the image has the licences.
const DOCUMENT_FOLDER: &str = "usr/share/doc";
const COPYRIGHT_FILE: &str = "copyright";
/// Accounts of the image, with the user that the Containerfile names.
const ACCOUNT_FILES: [(&str, &str); 3] = [
    ("etc/passwd", "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/data:/sbin/nologin\n"),
    ("etc/group", "root:x:0:\nnonroot:x:65532:\n"),
    ("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
];
/// Name of the base in Buildah's storage.
const BASE_IMAGE: &str = "localhost/ai-chat-mcp-base";

/// Builds the image from the content of the tarball, and writes it for `docker load` and `podman load`.
pub fn build(package: &Package, output: &Output, buildah: &Path) -> Outcome {
    let root = base_folder(&output.staging)?;
    let timestamp = format!("--timestamp={}", package.release.time);
    // Through a shell script rather than one call: each step needs the container's name.
    let script = "set -e; container=$(\"$1\" from scratch); \"$1\" add --quiet \"$container\" \"$2\" / >/dev/null
        \"$1\" commit --quiet --rm \"$3\" \"$container\" \"$4\" >/dev/null";
    let mut base = Command::new("sh");
    base.args(["-c", script, "base"]).arg(buildah).arg(&root).arg(&timestamp).arg(BASE_IMAGE);
    run_quiet(&mut base)?;
    let context = output.staging.join(package.file_name(""));
    let tag = format!("ai-chat-mcp:{}", package.release.version);
    let image = format!("localhost/{tag}");
    let mut build = Command::new(buildah);
    // Only Docker's format has the health check.
    build.args(["build", "--quiet", "--format=docker", &timestamp, "--build-context"]);
    build.arg(format!("base=docker://{BASE_IMAGE}"));
    build.arg(format!("--label=org.opencontainers.image.version={}", package.release.version));
    build.arg(format!("--label=org.opencontainers.image.revision={}", package.release.revision));
    build.arg("--file").arg(context.join("container/Containerfile")).args(["--tag", &image]).arg(&context);
    run_quiet(&mut build)?;
    let archive = output.folder.join(package.file_name("-image.tar"));
    let target = format!("docker-archive:{}:{tag}", archive.display());
    run_quiet(Command::new(buildah).args(["push", "--quiet", &image, &target]))?;
    run_quiet(Command::new("gzip").arg("-9n").arg(archive)).map(drop)
}

/// Downloads the packages of the base with apt, and returns the folder with their files.
fn base_folder(staging: &Path) -> Outcome<PathBuf> {
    let (downloads, root) = (staging.join("debs"), staging.join("base"));
    create_folder(&downloads)?;
    run_quiet(Command::new("apt-get").args(["download", "--quiet"]).args(BASE_PACKAGES).current_dir(&downloads))
        .context("the base of the image is made of Debian's packages, which apt-get downloads")?;
    for entry in fs::read_dir(&downloads).context(downloads.display())?.flatten() {
        run_quiet(Command::new("dpkg-deb").arg("--extract").arg(entry.path()).arg(&root))?;
    }
    for folder in UNUSED_FOLDERS.map(|folder| root.join(folder)).iter().filter(|folder| folder.exists()) {
        fs::remove_dir_all(folder).context(folder.display())?;
    }
    remove_documents(&root.join(DOCUMENT_FOLDER))?;
    for (file, text) in ACCOUNT_FILES {
        fs::write(root.join(file), text).context(file)?;
        set_public_permissions(&root.join(file))?;
    }
    write_certificates(&root)?;
    set_public_permissions(&root.join("etc/ssl"))?;
    // As in every system, whatever the user's umask is.
    fs::set_permissions(root.join("tmp"), fs::Permissions::from_mode(0o1777)).context("tmp")?;
    Ok(root)
}

/// Removes the documents of packages, without their licences.
fn remove_documents(documents: &Path) -> Outcome {
    let folders = fs::read_dir(documents).context(documents.display())?.flatten();
    for folder in folders.filter(|folder| folder.path().is_dir()) {
        for entry in fs::read_dir(folder.path()).context(folder.path().display())?.flatten() {
            let path = entry.path();
            if path.ends_with(COPYRIGHT_FILE) {
                continue;
            }
            if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.context(path.display())?;
        }
    }
    Ok(())
}

/// Joins the certificates of the package in one file. In a system, a script of the package does this.
fn write_certificates(root: &Path) -> Outcome {
    let folder = root.join("usr/share/ca-certificates/mozilla");
    let files = fs::read_dir(&folder).context(folder.display())?.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = files.collect();
    files.sort();
    let mut all = String::new();
    for file in files {
        all.push_str(&fs::read_to_string(&file).context(file.display())?);
    }
    if all.is_empty() {
        return Err(Failure::new("the package ca-certificates has no certificates"));
    }
    create_folder(&root.join("etc/ssl/certs"))?;
    fs::write(root.join("etc/ssl/certs/ca-certificates.crt"), all).context("ca-certificates.crt")
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::process;

    use super::*;

    #[test]
    fn licences_of_packages_stay() {
        let documents = env::temp_dir().join(format!("image-documents-{}", process::id()));
        create_folder(&documents.join("libc6/examples")).unwrap();
        for file in ["libc6/copyright", "libc6/changelog.gz", "libc6/examples/one"] {
            fs::write(documents.join(file), "").unwrap();
        }
        remove_documents(&documents).unwrap();
        let left: Vec<_> =
            fs::read_dir(documents.join("libc6")).unwrap().flatten().map(|entry| entry.file_name()).collect();
        fs::remove_dir_all(&documents).unwrap();
        assert_eq!(left, ["copyright"]);
    }
}
