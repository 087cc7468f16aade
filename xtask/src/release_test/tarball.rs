//! Test of the tarball: the guide's commands install it as a service, and remove it without a trace.

use std::fs;

use super::installation_guide::commands_after;
use super::target_system::{Program, TargetSystem, unpack, user_ids};
use super::{ReleaseTest, debian_package, list_files, megabytes};
use crate::failure::{Context, Failure, Outcome};

/// Lines of the guide before the commands.
const INSTALLATION: &str = "As a service, as root in the unpacked folder:";
const REMOVAL: &str = "the last two lines delete the settings and the data";
/// Copies that the programs for accounts make of their files, and their lock; a folder for the manuals of all programs.
const LEFT_BY_SYSTEM: [&str; 6] =
    ["usr/local/share/man/man1", "etc/passwd-", "etc/group-", "etc/shadow-", "etc/gshadow-", "etc/.pwd.lock"];

/// Installs, uses and removes the tarball.
pub fn check(release: &ReleaseTest) -> Outcome<String> {
    let system = TargetSystem::create(&release.debian, release.work.join("tarball-system"))?;
    let before = list_files(&system.root)?;
    unpack(&release.files.tarball, &system.path("/tmp"))?;
    let folder = format!("/tmp/ai-chat-mcp-{}-{}-linux", release.files.version, std::env::consts::ARCH);
    run_guide(release, &system, &folder, INSTALLATION)?;
    check_image_names(release)?;
    let unit = "/etc/systemd/system/ai-chat-mcp.service";
    let exposure = debian_package::check_unit(&system, unit)?;
    system.run_script("/etc/ai-chat-mcp", "runuser -u ai-chat-mcp -- ai-chat-mcp check")?;
    let (user, group) = user_ids(&system, "ai-chat-mcp")?;
    release.use_program(&Program {
        system: &system,
        path: "/usr/local/bin/ai-chat-mcp".to_owned(),
        user,
        group,
        folder: "/etc/ai-chat-mcp".to_owned(),
        volume: "/var/lib/ai-chat-mcp".to_owned(),
    })?;
    run_guide(release, &system, "/", REMOVAL)?;
    let mut left = list_files(&system.root)?;
    left.retain(|path| !before.contains(path) && !LEFT_BY_SYSTEM.contains(&path.as_str()));
    if !left.is_empty() {
        return Err(Failure::new(format!("its removal leaves {}", left.join(", "))));
    }
    Ok(format!(
        "{:.1} MB; installed, used and removed by the guide's commands; exposure {exposure}",
        megabytes(&release.files.tarball)?
    ))
}

/// Checks that the files for containers name the image of this release.
fn check_image_names(release: &ReleaseTest) -> Outcome {
    let name = format!("image: ai-chat-mcp:{}\n", release.files.version);
    for file in ["container/compose.yaml", "container/kubernetes.yaml"] {
        if !fs::read_to_string(release.unpacked.join(file)).context(file)?.contains(&name) {
            return Err(Failure::new(format!("{file} does not name the image of version {}", release.files.version)));
        }
    }
    Ok(())
}

/// Runs commands of the guide in a folder. No service manager runs in the system, so the service is not started.
fn run_guide(release: &ReleaseTest, system: &TargetSystem, folder: &str, text: &str) -> Outcome {
    let commands = commands_after(release.workspace, text)?.replace(" --now ", " ");
    system.run_script(folder, &commands).map(drop)
}
