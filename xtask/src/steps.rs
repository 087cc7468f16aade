//! Progress messages of a command: one line when a step starts, and one when it ends.

use std::time::{Duration, Instant};

use crate::failure::Outcome;

/// Prints the start of a step, runs it, and prints its duration.
pub fn step<T>(name: &str, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    println!("start   {name}");
    let started = Instant::now();
    let outcome = work();
    let word = if outcome.is_ok() { "done  " } else { "failed" };
    println!("{word}  {name} ({})", duration(started.elapsed()));
    outcome
}

/// Prints that a step is not necessary, and why.
pub fn nothing_to_do(name: &str, why: &str) {
    println!("done    {name}: {why}");
}

/// Prints a line of progress within a long step.
pub fn progress(name: &str, line: &str) {
    println!("        {name}: {line}");
}

/// Formats a duration: "0.4 s", "3 min 07 s".
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds < 60 {
        format!("{:.1} s", duration.as_secs_f64())
    } else {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        assert_eq!(duration(Duration::from_millis(440)), "0.4 s");
        assert_eq!(duration(Duration::from_secs(187)), "3 min 07 s");
    }
}
