//! Version and commit of a release.

use std::fs;
use std::process::Command;

use crate::command::run_quiet;
use crate::failure::{Context, Failure, Outcome};
use crate::workspace::Workspace;

/// Length of the abbreviated commit in versions.
const COMMIT_DIGITS: usize = 12;

/// Version and commit of a release.
pub struct Release {
    /// Version in the root `Cargo.toml`.
    pub version: String,
    /// Commit and its date, as `--version` prints them.
    pub commit: String,
    /// Whole hash of the commit, with `-dirty` if the sources are not the commit's.
    pub revision: String,
    /// Time of the commit, in seconds since 1970: the time of all files of the release (`SOURCE_DATE_EPOCH`).
    pub time: String,
}

impl Release {
    /// Reads the version from the root `Cargo.toml`, and the commit from git.
    pub fn read(workspace: &Workspace) -> Outcome<Self> {
        let manifest = fs::read_to_string(workspace.root.join("Cargo.toml")).context("Cargo.toml")?;
        let head = git(workspace, &["log", "-1", "--format=%H %cs %ct"])?;
        let changes = git(workspace, &["status", "--porcelain"])?;
        Self::parse(&manifest, &head, !changes.is_empty())
    }

    fn parse(manifest: &str, head: &str, is_changed: bool) -> Outcome<Self> {
        let manifest: toml::Table = toml::from_str(manifest).context("Cargo.toml")?;
        let version = manifest["workspace"].get("package").and_then(|package| package.get("version")?.as_str());
        let version = version.ok_or_else(|| Failure::new("Cargo.toml has no workspace.package.version"))?;
        let unreadable = || Failure::new(format!("git printed \"{head}\" for the last commit"));
        let [revision, date, time] = head.split_whitespace().collect::<Vec<_>>()[..] else { return Err(unreadable()) };
        let commit = revision.get(..COMMIT_DIGITS).ok_or_else(unreadable)?;
        // What is built from other sources than the commit's must not name the commit alone.
        let (changed, dirty) = if is_changed { (" with changes", "-dirty") } else { ("", "") };
        Ok(Self {
            version: version.to_owned(),
            commit: format!("{commit}{changed}, {date}"),
            revision: format!("{revision}{dirty}"),
            time: time.to_owned(),
        })
    }
}

fn git(workspace: &Workspace, arguments: &[&str]) -> Outcome<String> {
    let mut git = Command::new("git");
    git.arg("-c").arg(format!("safe.directory={}", workspace.root.display())).current_dir(&workspace.root);
    run_quiet(git.args(arguments)).context("a release names the commit that it is built from")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[workspace.package]\nversion = \"1.2.3\"\n";
    const HEAD: &str = "0123456789abcdef0123456789abcdef01234567 2026-11-27 1795761612\n";

    #[test]
    fn names_version_commit_and_its_date() {
        let release = Release::parse(MANIFEST, HEAD, false).unwrap();
        assert_eq!((release.version.as_str(), release.time.as_str()), ("1.2.3", "1795761612"));
        assert_eq!(release.commit, "0123456789ab, 2026-11-27");
        assert_eq!(release.revision, "0123456789abcdef0123456789abcdef01234567");
        assert_eq!(Release::parse(MANIFEST, HEAD, true).unwrap().commit, "0123456789ab with changes, 2026-11-27");
    }

    #[test]
    fn rejects_unreadable_input() {
        assert!(Release::parse("[workspace]\n", HEAD, false).is_err());
        assert!(Release::parse(MANIFEST, "", false).is_err());
    }
}
