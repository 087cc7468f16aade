//! An unpacked system of its own, and programs that run in it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::run_quiet;
use crate::failure::{Context, Outcome};

/// Runs a program as root: `$1` is the root folder, then come the program and its arguments.
const ENTER_SCRIPT: &str = r#"set -e
root=$1
shift
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
exec chroot "$root" "$@""#;

/// Runs a server: its data folder is the working folder, which the tests of the web app create for it.
const LAUNCHER: &str = r#"#!/bin/sh
set -e
chown -R @USER@:@GROUP@ "$PWD"
# The tests name the folder as this machine sees it.
unset DATABASE_URL
# Without a command of its own, it serves.
[ $# -gt 0 ] || set -- serve
export CHAT_DATA_DIR='@VOLUME@' HOME='@VOLUME@'
exec unshare --mount sh -c '
    set -e
    mount --bind "@ROOT@" "@ROOT@"
    mount -t proc proc "@ROOT@/proc"
    mount --rbind /dev "@ROOT@/dev"
    mount -t tmpfs tmpfs "@ROOT@/tmp"
    mount --bind "$PWD" "@ROOT@@VOLUME@"
    mount -o remount,bind,ro "@ROOT@"
    exec setpriv --clear-groups --no-new-privs \
        unshare --root="@ROOT@" --wd="@FOLDER@" --setgid=@GROUP@ --setuid=@USER@ "$@"
' launcher "@PROGRAM@" "$@"
"#;

/// The root folder of an unpacked system.
pub struct TargetSystem {
    pub root: PathBuf,
}

impl TargetSystem {
    /// Unpacks an archive of a system.
    pub fn create(archive: &Path, root: PathBuf) -> Outcome<Self> {
        fs::create_dir_all(&root).context(format!("cannot create {}", root.display()))?;
        unpack(archive, &root)?;
        Ok(Self { root })
    }

    /// Runs a program of the system as its root, and returns what it prints.
    pub fn run(&self, command: &[&str]) -> Outcome<String> {
        let mut enter = Command::new("unshare");
        enter.args(["--mount", "sh", "-c", ENTER_SCRIPT, "enter"]).arg(&self.root).args(command);
        // `systemctl enable` writes its links, and leaves a service manager alone that is not there.
        enter.env("SYSTEMD_OFFLINE", "1");
        // The home folder of the user who runs the tests is not there.
        run_quiet(enter.env("HOME", "/root").env("LC_ALL", "C.UTF-8").env("DEBIAN_FRONTEND", "noninteractive"))
    }

    /// Runs a shell script in a folder of the system, which stops at the first command that fails.
    pub fn run_script(&self, folder: &str, script: &str) -> Outcome<String> {
        self.run(&["sh", "-e", "-c", &format!("cd '{folder}'\n{script}")])
    }

    /// Returns the path of a file of the system on this machine.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }
}

/// A server program in a system, which runs with a read-only root and the permissions of its user alone.
pub struct Program<'a> {
    pub system: &'a TargetSystem,
    /// Path in the system.
    pub path: String,
    pub user: u32,
    pub group: u32,
    /// Folder in which the program runs.
    pub folder: String,
    /// Folder of the data, the only one that it can write to beside `/tmp`.
    pub volume: String,
}

impl Program<'_> {
    /// Writes a script that runs the program, and returns its path.
    pub fn write_launcher(&self, work: &Path) -> Outcome<PathBuf> {
        fs::create_dir_all(self.system.path(&self.volume)).context(&self.volume)?;
        let script = LAUNCHER
            .replace("@ROOT@", &self.system.root.display().to_string())
            .replace("@USER@", &self.user.to_string())
            .replace("@GROUP@", &self.group.to_string())
            .replace("@VOLUME@", &self.volume)
            .replace("@FOLDER@", &self.folder)
            .replace("@PROGRAM@", &self.path);
        let file = work.join("launcher");
        fs::write(&file, script).context(format!("cannot write {}", file.display()))?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).context(file.display())?;
        Ok(file)
    }
}

/// Unpacks a tar archive with its owners and permissions.
pub fn unpack(archive: &Path, folder: &Path) -> Outcome {
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--same-owner", "--same-permissions", "--numeric-owner", "--file"]);
    run_quiet(tar.arg(archive).arg("--directory").arg(folder)).map(drop)
}

/// Returns the numbers of a user and of the user's group in a system.
pub fn user_ids(system: &TargetSystem, name: &str) -> Outcome<(u32, u32)> {
    let number = |option: &str| system.run(&["id", option, name])?.trim().parse().context("id");
    Ok((number("-u")?, number("-g")?))
}
