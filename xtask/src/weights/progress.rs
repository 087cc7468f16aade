//! Progress of a download, measured by the size of the files on the disk.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crate::failure::Outcome;
use crate::steps::progress;

const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// Runs `work` and prints the progress in `folder` every few seconds.
pub fn watch(name: &str, folder: &Path, size: u64, work: impl FnOnce() -> Outcome) -> Outcome {
    let (ended, watched) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut before = written(folder);
            while watched.recv_timeout(PROGRESS_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                // While an archive is extracted, its content is on the disk twice; the progress must not go back
                // afterwards.
                let now = written(folder).max(before);
                progress(name, &line(now, size, now - before));
                before = now;
            }
        });
        let outcome = work();
        drop(ended);
        outcome
    })
}

/// Formats a line: "312 of 1117 MB (27 %), 24.1 MB/s".
fn line(now: u64, size: u64, since: u64) -> String {
    let megabytes = |bytes: u64| bytes / 1_000_000;
    let now = now.min(size);
    let rate = since as f64 / 1e6 / PROGRESS_INTERVAL.as_secs_f64();
    format!("{} of {} MB ({} %), {rate:.1} MB/s", megabytes(now), megabytes(size), now * 100 / size)
}

/// Returns the size of the files in a folder, in bytes.
fn written(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => written(&entry.path()),
        // The extracted file belongs to an archive that is counted already.
        Ok(data) if entry.file_name() != "unpacked" => data.len(),
        _ => 0,
    };
    entries.flatten().map(size).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_bytes_and_rate() {
        assert_eq!(line(312_000_000, 1_117_320_768, 120_500_000), "312 of 1117 MB (27 %), 24.1 MB/s");
        assert_eq!(line(99_000_000, 98_000_000, 0), "98 of 98 MB (100 %), 0.0 MB/s");
    }
}
