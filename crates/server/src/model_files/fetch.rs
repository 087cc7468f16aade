//! Download of weights. It resumes where an earlier one was interrupted, and verifies the file before it gets its
//! final name.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use futures_util::StreamExt;
use local_model::weights::WeightFile;
use reqwest::StatusCode;
use reqwest::header::RANGE;

use super::progress::Progress;
use crate::digest::Digest;

/// Timeout for connecting and for each read.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Downloads a file of weights from `from` into `folder`, unless it exists.
///
/// # Errors
///
/// Fails if the download is interrupted, or if the file is not the expected one.
pub async fn fetch(weights: &WeightFile, from: &str, folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let file = folder.join(weights.file_name);
    // Concurrent commands share one download: the second waits for the lock and then finds the file.
    let lock = File::create(folder.join(".lock")).with_context(|| format!("cannot write to {}", folder.display()))?;
    lock.lock().context("cannot lock the folder of the weights")?;
    if file.is_file() {
        eprintln!("{} is there; its hash is compared.", file.display());
        return Ok(super::verify_whole(weights, &file)?);
    }
    let part = folder.join(format!("{}.part", weights.file_name));
    eprintln!("{} from {}", weights.name, shown(from));
    let digest = download(weights, from, &part).await?;
    // The partial file is removed, or the next attempt would resume a wrong one.
    if digest != weights.sha256 {
        fs::remove_file(&part).with_context(|| format!("cannot remove {}", part.display()))?;
        bail!(
            "what came from {} is not {}: its SHA-256 is {digest} and should be {}. It was thrown away; name another \
             mirror with --from",
            shown(from),
            weights.name,
            weights.sha256
        );
    }
    // The final name appears only now, so the server never loads an incomplete file.
    fs::rename(&part, &file).with_context(|| format!("cannot move the file to {}", file.display()))?;
    eprintln!("{} is whole.", file.display());
    Ok(())
}

/// Downloads the missing rest of a partial file, and returns the SHA-256 of the whole file.
async fn download(weights: &WeightFile, from: &str, part: &Path) -> anyhow::Result<String> {
    let cannot_write = || format!("cannot write to {}", part.display());
    let mut target = OpenOptions::new().read(true).append(true).create(true).open(part).with_context(cannot_write)?;
    let mut done = target.metadata().with_context(cannot_write)?.len();
    // The partial file is not of these weights.
    if done > weights.size {
        target.set_len(0).with_context(cannot_write)?;
        done = 0;
    }
    let mut digest = Digest::new();
    if done < weights.size {
        let response = ask(from, done).await?;
        if done > 0 && response.status() != StatusCode::PARTIAL_CONTENT {
            // The server ignored the range and sends the whole file.
            target.set_len(0).with_context(cannot_write)?;
            done = 0;
        }
        if let Some(length) = response.content_length() {
            ensure!(
                done + length == weights.size,
                "{} is {} bytes long and {} is {}: it is another file. Name another mirror with --from",
                shown(from),
                done + length,
                weights.name,
                weights.size
            );
        }
        // The part from an earlier attempt is hashed first.
        digest.read(&mut File::open(part).with_context(cannot_write)?).with_context(cannot_write)?;
        let mut progress = Progress::new(done, weights.size);
        let mut body = response.bytes_stream();
        while let Some(piece) = body.next().await {
            let piece = piece.map_err(|error| broken(&error, from, done))?;
            done += piece.len() as u64;
            // A server without `Content-Length` may send something else without end.
            ensure!(done <= weights.size, "{} sends more than {}: it is another file", shown(from), weights.name);
            target.write_all(&piece).with_context(cannot_write)?;
            digest.update(&piece);
            progress.tell(done);
        }
        ensure!(done == weights.size, "{} ended after {done} of {} bytes: {RETRY_ADVICE}", shown(from), weights.size);
        target.sync_all().with_context(cannot_write)?;
    } else {
        digest.read(&mut File::open(part).with_context(cannot_write)?).with_context(cannot_write)?;
    }
    Ok(digest.finish())
}

/// Advice after an interrupted download.
const RETRY_ADVICE: &str = "the same command goes on from there";

/// Requests the file from byte `done` on.
async fn ask(from: &str, done: u64) -> anyhow::Result<reqwest::Response> {
    #[expect(clippy::disallowed_methods, reason = "the administrator names the address on the command line")]
    let client = reqwest::Client::builder().connect_timeout(READ_TIMEOUT).read_timeout(READ_TIMEOUT).build()?;
    let mut request = client.get(from);
    if done > 0 {
        request = request.header(RANGE, format!("bytes={done}-"));
    }
    let response = request.send().await.map_err(|error| broken(&error, from, done))?;
    let status = response.status();
    ensure!(status.is_success(), "{} answered {status}: look at the address, or name another with --from", shown(from));
    Ok(response)
}

/// Returns the error of a failed download with its innermost cause, which names the reason.
fn broken(error: &reqwest::Error, from: &str, done: u64) -> anyhow::Error {
    let reason = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source()).last();
    let reason = reason.map(ToString::to_string).unwrap_or_default();
    let again = if done > 0 { RETRY_ADVICE } else { "look at the network, or name a mirror with --from" };
    anyhow::anyhow!("{} cannot be read ({reason}) after {done} bytes: {again}", shown(from))
}

/// Returns an address without user name, password and query, which may be secret.
fn shown(from: &str) -> String {
    match url::Url::parse(from) {
        Ok(url) => format!("{}{}", url.origin().ascii_serialization(), url.path()),
        Err(_) => "the address".to_owned(),
    }
}

#[cfg(test)]
mod tests;
