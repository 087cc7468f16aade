//! Prometheus's checker of metrics.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::command::{is_program, run_quiet};
use crate::failure::{Context, Failure, Outcome};
use crate::steps::step;
use crate::workspace::cache_folder;

/// Debian package of the program, which also has a service. It is unpacked, so that none is installed.
const PACKAGE: &str = "prometheus";

/// Returns the path of `promtool` in the user's cache.
pub fn ensure() -> Outcome<PathBuf> {
    let folder = cache_folder()?.join(PACKAGE);
    let program = folder.join("usr/bin/promtool");
    if is_program(&program) {
        return Ok(program);
    }
    fs::create_dir_all(&folder).context(folder.display())?;
    step("promtool", || {
        run_quiet(Command::new("apt-get").args(["download", "--quiet", PACKAGE]).current_dir(&folder))?;
        let script = "dpkg-deb --fsys-tarfile ./*.deb | tar --extract ./usr/bin/promtool && rm ./*.deb";
        run_quiet(Command::new("sh").args(["-c", script]).current_dir(&folder))
    })?;
    if is_program(&program) { Ok(program) } else { Err(Failure::new(format!("the package {PACKAGE} has no promtool"))) }
}
