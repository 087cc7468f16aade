//! Counts and violations that the crash test prints at its end.

use std::collections::BTreeMap;

/// Results of one or more users.
#[derive(Debug, Default)]
pub struct TestResults {
    /// Number of answers, by status.
    pub answers: BTreeMap<String, usize>,
    /// Number of the users' actions, by kind.
    pub actions: BTreeMap<&'static str, usize>,
    /// Number of streams that were resumed after a kill.
    pub resumed: usize,
    /// Violated invariants.
    pub violations: Vec<String>,
}

impl TestResults {
    /// Adds the results of another user.
    pub fn add(&mut self, other: &Self) {
        for (status, count) in &other.answers {
            *self.answers.entry(status.clone()).or_default() += count;
        }
        for (action, count) in &other.actions {
            *self.actions.entry(action).or_default() += count;
        }
        self.resumed += other.resumed;
        self.violations.extend(other.violations.iter().cloned());
    }

    /// Records a violation. It is printed at once, since a run can take hours.
    #[expect(clippy::print_stdout, reason = "the crash test prints its results")]
    pub fn add_violation(&mut self, violation: String) {
        println!("VIOLATION {violation}");
        self.violations.push(violation);
    }

    /// Counts an action.
    pub fn count_action(&mut self, action: &'static str) {
        *self.actions.entry(action).or_default() += 1;
    }
}
