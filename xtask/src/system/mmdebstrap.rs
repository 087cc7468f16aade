//! An archive of a small Debian, on which packages of a release are installed in tests.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::find_or_install;
use crate::command::{find_program, run_quiet};
use crate::failure::{Context, Outcome};
use crate::steps::{nothing_to_do, step};
use crate::workspace::cache_folder;

/// Debian's release.
const SUITE: &str = "bookworm";
/// What every Debian server has, beside the essential packages, and what the product's package depends on.
const PACKAGES: &str = "adduser,ca-certificates,init-system-helpers,systemd";
const NAME: &str = "Debian for packages";

/// Returns the archive in the user's cache, and creates it if it is missing.
pub fn ensure_debian() -> Outcome<PathBuf> {
    let archive = cache_folder()?.join(format!("debian-{SUITE}.tar"));
    if archive.is_file() {
        nothing_to_do(NAME, "it is there");
        return Ok(archive);
    }
    let mmdebstrap = find_or_install("mmdebstrap", "mmdebstrap, which creates a Debian to test packages on,", || {
        find_program("mmdebstrap")
    })?;
    fs::create_dir_all(cache_folder()?).context("cannot create the cache folder")?;
    step(NAME, || {
        let part = archive.with_extension("part.tar");
        let mut create = Command::new(mmdebstrap);
        create.args(["--quiet", "--variant=minbase", &format!("--include={PACKAGES}"), SUITE]).arg(&part);
        run_quiet(&mut create)?;
        // Only a complete archive has the name that is looked for.
        fs::rename(&part, &archive).context(archive.display())
    })?;
    Ok(archive)
}
