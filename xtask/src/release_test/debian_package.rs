//! Test of the Debian package: apt installs, upgrades, removes and purges it, and then its data are deleted.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::target_system::{Program, TargetSystem, user_ids};
use super::{ReleaseTest, list_files, megabytes};
use crate::failure::{Context, Failure, Outcome};

const SETTINGS_FILE: &str = "/etc/ai-chat-mcp/ai-chat-mcp.toml";
const DATA_FOLDER: &str = "/var/lib/ai-chat-mcp";
const UNIT: &str = "/usr/lib/systemd/system/ai-chat-mcp.service";
const ENABLED_UNIT: &str = "/etc/systemd/system/multi-user.target.wants/ai-chat-mcp.service";
/// Greatest exposure of the service by `systemd-analyze security`, from 0 to 10.
const MAX_EXPOSURE: f64 = 2.0;
/// Paths that the package manager itself writes, and copies of the accounts before a change.
const LEFT_BY_SYSTEM: [&str; 8] = [
    "var/lib/dpkg/",
    "var/lib/apt/",
    "var/cache/apt/",
    "etc/passwd-",
    "etc/group-",
    "etc/shadow-",
    "etc/gshadow-",
    "var/log/",
];

/// Installs, uses, upgrades, removes and purges the package, by the commands of `docs/guide/install.md`.
pub fn check(release: &ReleaseTest) -> Outcome<String> {
    let system = TargetSystem::create(&release.debian, release.work.join("debian-system"))?;
    let before = list_files(&system.root)?;
    let package = &release.files.debian_package;
    fs::copy(package, system.path("/tmp/package.deb")).context(package.display())?;
    system.run_script("/tmp", "apt install --yes ./package.deb")?;
    let exposure = check_unit(&system, UNIT)?;
    if !system.path(ENABLED_UNIT).is_symlink() {
        return Err(Failure::new("the service does not start with the system"));
    }
    let (user, group) = user_ids(&system, "ai-chat-mcp")?;
    check_settings(&system, group)?;
    system.run_script("/etc/ai-chat-mcp", "runuser -u ai-chat-mcp -- ai-chat-mcp check")?;
    release.use_program(&Program {
        system: &system,
        path: "/usr/bin/ai-chat-mcp".to_owned(),
        user,
        group,
        folder: "/etc/ai-chat-mcp".to_owned(),
        volume: DATA_FOLDER.to_owned(),
    })?;
    // What an administrator changed stays through an upgrade and a removal.
    let line = "\n# A change.\n";
    let settings = system.path(SETTINGS_FILE);
    let changed = fs::read_to_string(&settings).context(SETTINGS_FILE)? + line;
    fs::write(&settings, &changed).context(SETTINGS_FILE)?;
    fs::write(system.path(DATA_FOLDER).join("data"), "").context(DATA_FOLDER)?;
    // The same version again takes the place of a newer one.
    system.run_script("/tmp", "apt install --yes --reinstall ./package.deb")?;
    check_settings(&system, group)?;
    system.run(&["apt", "remove", "--yes", "ai-chat-mcp"])?;
    if fs::read_to_string(&settings).context(SETTINGS_FILE)? != changed {
        return Err(Failure::new("an upgrade or the removal changes the settings"));
    }
    system.run(&["apt", "purge", "--yes", "ai-chat-mcp"])?;
    let list_left = || -> Outcome<Vec<String>> {
        let mut left = list_files(&system.root)?;
        left.retain(|path| !before.contains(path) && !LEFT_BY_SYSTEM.iter().any(|start| path.starts_with(start)));
        left.sort();
        Ok(left)
    };
    let left = list_left()?;
    if left != ["var/lib/ai-chat-mcp", "var/lib/ai-chat-mcp/data"] || user_ids(&system, "ai-chat-mcp").is_err() {
        return Err(Failure::new(format!("only the data and their user should be left, not {}", left.join(", "))));
    }
    system.run_script("/", "rm -r /var/lib/ai-chat-mcp && deluser ai-chat-mcp")?;
    let left = list_left()?;
    if !left.is_empty() || user_ids(&system, "ai-chat-mcp").is_ok() {
        return Err(Failure::new(format!("after the data were deleted, this is left: {}", left.join(", "))));
    }
    Ok(format!(
        "{:.1} MB; installed, used, upgraded, removed, purged and deleted; exposure {exposure}",
        megabytes(package)?
    ))
}

/// Checks a unit with systemd, and returns its exposure.
pub fn check_unit(system: &TargetSystem, unit: &str) -> Outcome<f64> {
    system.run(&["systemd-analyze", "verify", "--man=no", unit])?;
    let printed = system.run(&["systemd-analyze", "security", "--offline=true", "--no-pager", unit])?;
    let exposure = exposure(&printed)
        .ok_or_else(|| Failure::new(format!("systemd-analyze printed no exposure level:\n{printed}")))?;
    if exposure > MAX_EXPOSURE {
        return Err(Failure::new(format!("the exposure of the service is {exposure}, above {MAX_EXPOSURE}")));
    }
    Ok(exposure)
}

/// Returns the overall exposure level that `systemd-analyze security` prints in its last line.
fn exposure(printed: &str) -> Option<f64> {
    let line = printed.lines().find(|line| line.contains("Overall exposure level"))?;
    line.split(": ").nth(1)?.split_whitespace().next()?.parse().ok()
}

/// Checks that only root and the service can read the settings.
fn check_settings(system: &TargetSystem, group: u32) -> Outcome {
    let settings = fs::metadata(system.path(SETTINGS_FILE)).context(SETTINGS_FILE)?;
    if (settings.uid(), settings.gid(), settings.permissions().mode() & 0o777) != (0, group, 0o640) {
        return Err(Failure::new("others than root and the service can read the settings"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_exposure() {
        let printed = "✓ User=/DynamicUser=\n\n→ Overall exposure level for ai-chat-mcp.service: 1.3 OK 🙂\n";
        assert_eq!(exposure(printed), Some(1.3));
        assert_eq!(exposure("no such line"), None);
    }
}
