//! Results of the suites, and the summary.

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use crate::command::{run_kept, tail};
use crate::failure::{Failure, Outcome};
use crate::steps::{duration, step};
use crate::test_counts::{Count, count};

/// Number of lines of a failed suite's output that are repeated at the end.
const OUTPUT_TAIL_LINES: usize = 80;

/// Result of a suite.
pub struct Suite {
    name: String,
    count: Count,
    took: Duration,
    /// Reason of the failure: a message, or the end of the output.
    reason: Option<String>,
}

/// Results of all suites so far.
#[derive(Default)]
pub struct Report(Vec<Suite>);

/// Runs a check as a [`Suite`] of one test.
pub fn check(name: &str, work: impl FnOnce() -> Outcome) -> Suite {
    let started = Instant::now();
    let reason = step(name, work).err().map(|failure| failure.to_string());
    let failed = u32::from(reason.is_some());
    Suite { name: name.to_owned(), count: Count { passed: 1 - failed, failed }, took: started.elapsed(), reason }
}

/// Runs a test runner, whose command `prepare` returns, and counts its tests.
pub fn suite(name: &str, prepare: impl FnOnce() -> Outcome<Command>) -> Suite {
    suite_of(name, || Ok(vec![prepare()?]))
}

/// Runs several test runners as one [`Suite`], whatever fails in between.
pub fn suite_of(name: &str, prepare: impl FnOnce() -> Outcome<Vec<Command>>) -> Suite {
    let started = Instant::now();
    let mut count = Count { passed: 0, failed: 0 };
    let mut reasons = Vec::new();
    let ran = step(name, || {
        for mut command in prepare()? {
            let ended = run_kept(&mut command)?;
            let (part, reason) = judge(ended.success, &ended.output);
            count.passed += part.passed;
            count.failed += part.failed;
            reasons.extend(reason);
        }
        if reasons.is_empty() { Ok(()) } else { Err(Failure::new("the tests failed")) }
    });
    // A runner that did not start counts as one failed test.
    if let (Err(failure), true) = (ran, reasons.is_empty()) {
        count.failed += 1;
        reasons.push(failure.to_string());
    }
    let reason = (!reasons.is_empty()).then(|| reasons.join("\n\n"));
    Suite { name: name.to_owned(), count, took: started.elapsed(), reason }
}

/// Evaluates a runner's result. A runner that fails without a failed test, or that ran no test, is a failure, too.
fn judge(success: bool, output: &str) -> (Count, Option<String>) {
    let counted = count(output);
    let mut count = counted.unwrap_or(Count { passed: 0, failed: 0 });
    if success && count.failed == 0 && count.passed > 0 {
        return (count, None);
    }
    // A runner that crashes reports no failed test, but the suite must not pass.
    count.failed = count.failed.max(1);
    let reason = if success && counted.is_none_or(|count| count.failed == 0) {
        "the runner ended well and told of no test".to_owned()
    } else {
        tail(output, OUTPUT_TAIL_LINES)
    };
    (count, Some(reason))
}

impl Report {
    /// Adds the result of a [`Suite`].
    pub fn add(&mut self, suite: Suite) {
        self.0.push(suite);
    }

    /// Runs a step that is not a test. It appears in the report only if it fails.
    pub fn unless_done(&mut self, name: &str, work: impl FnOnce() -> Outcome) {
        let started = Instant::now();
        if let Err(failure) = work() {
            self.failed(name, failure, started.elapsed());
        }
    }

    /// Adds a step that failed as a [`Suite`].
    fn failed(&mut self, name: &str, failure: Failure, took: Duration) {
        let count = Count { passed: 0, failed: 1 };
        self.add(Suite { name: name.to_owned(), count, took, reason: Some(failure.to_string()) });
    }

    /// Prints the failures, the table and the total, and returns the exit code.
    pub fn close(self) -> ExitCode {
        for suite in &self.0 {
            if let Some(reason) = &suite.reason {
                println!("\n---- {} ----\n{reason}", suite.name);
            }
        }
        println!("\n{:<32}{:>8}{:>8}", "", "passed", "failed");
        for Suite { name, count, took, .. } in &self.0 {
            println!("{name:<32}{:>8}{:>8}   {}", count.passed, count.failed, duration(*took));
        }
        let sum = |part: fn(&Count) -> u32| self.0.iter().map(|suite| part(&suite.count)).sum::<u32>();
        let failed = sum(|count| count.failed);
        println!("\n{} passed, {failed} failed", sum(|count| count.passed));
        if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSED: &str = "2 passed, 0 failed\n";

    #[test]
    fn only_a_runner_that_ran_and_passed_tests_has_passed() {
        assert_eq!(judge(true, PASSED), (Count { passed: 2, failed: 0 }, None));
        for (success, output, failed) in [
            (false, PASSED, 1),
            (true, "nothing to do", 1),
            (true, "0 passed, 0 failed", 1),
            (false, "1 passed, 3 failed", 3),
        ] {
            let (count, reason) = judge(success, output);
            assert_eq!(count.failed, failed, "{output}");
            assert!(reason.is_some());
        }
    }
}
