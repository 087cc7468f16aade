//! What has to hold of a turn that is over.

use std::collections::HashMap;
use std::time::Instant;

use serde_json::Value;

use crate::plan::{ASKS, Plan};
use crate::witness::{Asked, Witness};

/// Everything that is wrong with a turn, in words.
pub struct Verdict<'a> {
    /// What it was meant to be.
    pub plan: &'a Plan,
    /// What its person was told.
    pub witness: &'a Witness,
    /// When the program was killed while it ran.
    pub kills: &'a [Instant],
    /// By token: how often the tool ran.
    pub runs: &'a HashMap<String, usize>,
}

/// How a turn ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The message was never taken.
    Void,
    /// The word in the database.
    Ended(String),
}

impl Verdict<'_> {
    /// Looks at the messages of the chat.
    pub fn check(&self, messages: &[Value]) -> (Outcome, Vec<String>) {
        let mut faults: Vec<String> = self.witness.faults.clone();
        let question = self.plan.question();
        let places: Vec<usize> =
            (0..messages.len()).filter(|&at| messages[at]["content"] == question.as_str()).collect();
        let Some(&at) = places.first() else {
            if self.witness.taken == Some(Asked::Surely) {
                faults.push("lost: the message was taken and is gone".to_owned());
            }
            if self.plan.calls().iter().any(|(_, token)| self.runs.contains_key(token)) {
                faults.push("a tool ran for a message that is not there".to_owned());
            }
            return (Outcome::Void, faults);
        };
        if places.len() > 1 {
            faults.push(format!("repeated: the message is there {} times", places.len()));
        }
        let Some(answer) = messages.get(at + 1).filter(|answer| answer["role"] == "assistant") else {
            faults.push("lost: the message has no answer".to_owned());
            return (Outcome::Void, faults);
        };
        if messages.get(at + 2).is_some_and(|next| next["role"] == "assistant") {
            faults.push("repeated: the message has two answers".to_owned());
        }
        let status = answer["status"].as_str().unwrap_or_default();
        self.status(status, &mut faults);
        self.words(status, answer["content"].as_str().unwrap_or_default(), &mut faults);
        self.calls(status, answer["tool_calls"].as_array().map_or(&[][..], Vec::as_slice), &mut faults);
        (Outcome::Ended(status.to_owned()), faults)
    }

    fn status(&self, status: &str, faults: &mut Vec<String>) {
        let told = self.witness.ended.as_deref();
        match status {
            "done" => {}
            "stopped" if self.witness.stopped.is_some() => {}
            "interrupted" if !self.kills.is_empty() => {}
            _ => faults.push(format!("it ended as {status:?} (the person was told {told:?})")),
        }
        if let Some(told) = told
            && told != status
        {
            faults.push(format!("the person was told {told:?}, and it is kept as {status:?}"));
        }
    }

    fn words(&self, status: &str, content: &str, faults: &mut Vec<String>) {
        let whole = self.plan.words();
        if status == "done" && content != whole {
            faults.push(format!("the words are {content:?} and not {whole:?}"));
        } else if !whole.starts_with(content) {
            faults.push(format!("the words {content:?} do not begin {whole:?}"));
        }
        if !whole.starts_with(self.witness.said()) {
            faults.push(format!("the person read {:?}, which does not begin {whole:?}", self.witness.said()));
        }
        let settled = self.witness.settled_letters(self.kills);
        if content.len() < settled {
            faults.push(format!("lost: {settled} letters were read in time, {} are kept", content.len()));
        }
    }

    fn calls(&self, status: &str, kept: &[Value], faults: &mut Vec<String>) {
        let outcome = |token: &str| {
            let mut with_token = kept.iter().filter(|call| call["arguments"]["token"] == token);
            let first = with_token.next();
            let outcome = first.map(|call| call["outcome"].as_str().unwrap_or_default().to_owned());
            (outcome, first.map_or(Value::Null, |call| call["error"].clone()), with_token.count())
        };
        let results = self.witness.results();
        for (tool, token) in self.plan.calls() {
            let runs = self.runs.get(&token).copied().unwrap_or_default();
            let (outcome, error, more) = outcome(&token);
            let decided = self.witness.decided.get(&token);
            let mut fault = |what: &str| {
                faults.push(format!("{tool} {token} ran {runs} times, is kept as {outcome:?} ({error}): {what}"));
            };
            if runs > 1 {
                fault("repeated: it ran twice");
            }
            if more > 0 {
                fault("repeated: it is kept twice");
            }
            let fits = match outcome.as_deref() {
                Some("done") => runs == 1,
                Some("denied") => runs == 0,
                Some("unknown") => !self.kills.is_empty() || self.witness.stopped.is_some(),
                Some("stopped") => self.witness.stopped.is_some(),
                Some(_) => false,
                None => runs == 0 && status != "done",
            };
            if !fits {
                fault("what is kept does not fit");
            }
            if results.contains(token.as_str()) && outcome.as_deref() != Some("done") {
                fault("lost: the person saw its result");
            }
            match decided {
                Some((false, Asked::Surely)) if runs > 0 => fault("it was denied"),
                None if tool == ASKS && runs > 0 => fault("nobody allowed it"),
                Some((true, Asked::Surely)) if outcome.as_deref() == Some("denied") => fault("it was allowed"),
                _ => {}
            }
        }
    }
}
