//! Weights by URL.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command::find_program;
use crate::failure::{Context, Failure, Outcome};

/// Fetches a URL; a broken download is taken up where it ended.
pub fn fetch(url: &str, partial: &Path, whole: &Path) -> Outcome {
    if find_program("curl").is_none() {
        return Err(Failure::new("curl is missing"));
    }
    let broken = partial.join("download");
    let mut curl = Command::new("curl");
    curl.args(["--fail", "--location", "--silent", "--show-error", "--retry", "3", "--connect-timeout", "20"]);
    let output = curl.args(["--continue-at", "-", "--output"]).arg(&broken).arg(url).output();
    let output = output.context("cannot start curl")?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::new(errors.lines().last().unwrap_or("curl failed").to_owned()));
    }
    fs::rename(&broken, whole).context("cannot name the download")
}
