//! Progress of a download: a bar on a terminal, otherwise a line for every tenth.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Width of the bar, in characters.
const BAR_WIDTH: u64 = 30;
/// Minimum interval between two updates of the bar.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);

/// Progress display of a download.
pub struct Progress {
    /// Total size, in bytes.
    total: u64,
    /// Bytes that were present at the start; they do not count for the rate.
    began_with: u64,
    began: Instant,
    /// Last update of the bar.
    drawn: Option<Instant>,
    /// Number of tenths that have been printed.
    tenth: u64,
}

impl Progress {
    /// Creates the display for a file of `total` bytes, of which `done` are present.
    pub fn new(done: u64, total: u64) -> Self {
        Self { total, began_with: done, began: Instant::now(), drawn: None, tenth: done * 10 / total.max(1) }
    }

    /// Shows that `done` bytes are present. Errors are ignored: they are no reason to abort the download.
    pub fn tell(&mut self, done: u64) {
        let mut terminal = std::io::stderr();
        if terminal.is_terminal() {
            // Redrawing for every chunk would slow the download down.
            let is_due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= UPDATE_INTERVAL) || done == self.total;
            if is_due {
                self.drawn = Some(Instant::now());
                let end = if done == self.total { "\n" } else { "" };
                let _ = write!(terminal, "\r{}{end}", self.bar(done));
            }
        } else if done * 10 / self.total.max(1) > self.tenth {
            self.tenth = done * 10 / self.total.max(1);
            let _ = writeln!(terminal, "{}", self.line(done));
        }
    }

    /// Formats the bar with percentage and rate.
    fn bar(&self, done: u64) -> String {
        let full = (done * BAR_WIDTH / self.total.max(1)) as usize;
        format!("[{}{}] {}", "#".repeat(full), "-".repeat(BAR_WIDTH as usize - full), self.line(done))
    }

    /// Formats percentage, size and rate.
    fn line(&self, done: u64) -> String {
        let megabytes = |bytes: u64| bytes / 1_000_000;
        let rate = (done - self.began_with) as f64 / 1e6 / self.began.elapsed().as_secs_f64().max(0.001);
        let percent = done * 100 / self.total.max(1);
        format!("{percent:>3} % of {} MB, {rate:.1} MB/s", megabytes(self.total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills() {
        let progress = Progress::new(0, 200_000_000);
        assert!(progress.bar(0).starts_with(&format!("[{}]   0 % of 200 MB", "-".repeat(30))));
        assert!(progress.bar(100_000_000).starts_with(&format!("[{}{}]  50 %", "#".repeat(15), "-".repeat(15))));
        assert!(progress.bar(200_000_000).starts_with(&format!("[{}] 100 %", "#".repeat(30))));
    }
}
