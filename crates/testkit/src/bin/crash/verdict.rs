//! Invariants of a completed answer.

use std::collections::HashMap;
use std::time::Instant;

use serde_json::{Value, json};

use crate::plan::Expected;
use crate::tools::{APPROVED_TOOL, FORM_TOOL, HELD, Ran, Servers};
use crate::witness::{Asked, Kind, Witness};

/// A user's response to an interaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Said {
    /// Whether the user agreed: approved the call, or filled in the form.
    pub yes: bool,
    /// The value in the form.
    pub number: u64,
    /// Whether the server confirmed the response.
    pub asked: Asked,
}

/// Check of an answer, which returns its violations.
pub struct Verdict<'a> {
    /// Expected content.
    pub expected: &'a Expected,
    /// Events that the user received.
    pub witness: &'a Witness,
    /// The user's responses, by token.
    pub said: &'a HashMap<String, Said>,
    /// Times of the kills during the episode.
    pub kills: &'a [Instant],
    /// Whether the user stopped a turn, or sent a queued message at once.
    pub may_be_stopped: bool,
    /// The MCP servers, with their record of calls.
    pub servers: &'a Servers,
}

impl Verdict<'_> {
    /// Checks the stored message, and returns all violations.
    pub fn check(&self, answer: &Value) -> Vec<String> {
        let mut faults: Vec<String> = self.witness.faults.clone();
        let status = answer["status"].as_str().unwrap_or_default();
        self.status(status, &mut faults);
        self.words(status, answer["content"].as_str().unwrap_or_default(), &mut faults);
        self.calls(status, answer["tool_calls"].as_array().map_or(&[][..], Vec::as_slice), &mut faults);
        faults
    }

    /// Checks the status: it matches the events, and an interruption has a cause.
    fn status(&self, status: &str, faults: &mut Vec<String>) {
        let told = self.witness.ended.as_deref();
        match status {
            "done" => {}
            "stopped" if self.may_be_stopped => {}
            "interrupted" if !self.kills.is_empty() => {
                // An interruption must not lose an interaction that survives restarts.
                let waits = self.witness.waiting.values().find(|waiting| {
                    waiting.kind != Kind::Form { held: true } && !self.said.contains_key(&waiting.token)
                });
                if let Some(waiting) = waits {
                    faults.push(format!("lost: {waiting:?} waited for its person, and does not wait any more"));
                }
            }
            _ => faults.push(format!("it ended as {status:?} (the person was told {told:?})")),
        }
        if let Some(told) = told
            // The end that the user received must be the stored one.
            && told != status
        {
            faults.push(format!("the person was told {told:?}, and it is kept as {status:?}"));
        }
    }

    /// Checks the text: it is a prefix of the plan, and contains what was received long enough before a kill.
    fn words(&self, status: &str, content: &str, faults: &mut Vec<String>) {
        let whole = self.expected.words.as_str();
        if status == "done" && content != whole {
            faults.push(format!("the words are {content:?} and not {whole:?}"));
        } else if !whole.starts_with(content) {
            faults.push(format!("the words {content:?} do not begin {whole:?}"));
        }
        if !whole.starts_with(self.witness.said()) {
            faults.push(format!("the person read {:?}, which does not begin {whole:?}", self.witness.said()));
        }
        // The journal is written in batches, so the last moments before a kill may be missing.
        let settled = self.witness.settled_letters(self.kills);
        if content.len() < settled {
            faults.push(format!("lost: {settled} letters were read in time, {} are kept", content.len()));
        }
    }

    /// Checks each tool call: it ran at most once, and its stored outcome matches.
    fn calls(&self, status: &str, kept: &[Value], faults: &mut Vec<String>) {
        let results = self.witness.results();
        for (tool, token) in &self.expected.calls {
            let mut with_token = kept.iter().filter(|call| call["arguments"]["token"] == token.as_str());
            let call = with_token.next();
            let ran = self.servers.ran(token);
            let mut fault = |what: &str| {
                let kept = call.map(|call| (&call["outcome"], &call["error"]));
                faults.push(format!("{tool} {token} came as {ran:?}, is kept as {kept:?}: {what}"));
            };
            if ran.begun > 1 || ran.gone_on > 1 {
                fault("repeated: it ran twice");
            }
            if with_token.next().is_some() {
                fault("repeated: it is kept twice");
            }
            let outcome = call.and_then(|call| call["outcome"].as_str());
            if !self.fits(tool, outcome, &ran, status) {
                fault("what is kept does not fit");
            }
            if results.contains(token.as_str()) && outcome != Some("done") {
                fault("lost: the person saw its result");
            }
            match *tool {
                APPROVED_TOOL => self.allowed(token, outcome, &ran, &mut fault),
                FORM_TOOL | HELD => self.filled_in(tool, token, outcome, &ran, &mut fault),
                _ => {}
            }
        }
    }

    /// Returns whether a stored outcome is possible, given what happened to the call.
    fn fits(&self, tool: &str, outcome: Option<&str>, ran: &Ran, status: &str) -> bool {
        // A resumable call ends only after it was resumed with the input.
        let ended = if tool == FORM_TOOL { ran.gone_on } else { ran.begun };
        match outcome {
            Some("done") => ended == 1,
            Some("denied") => ran.begun == 0,
            Some("unknown") => !self.kills.is_empty() || self.may_be_stopped,
            Some("stopped") => self.may_be_stopped,
            Some(_) => false,
            None => ran.begun == 0 && status != "done",
        }
    }

    /// Checks a call that needed approval.
    fn allowed(&self, token: &str, outcome: Option<&str>, ran: &Ran, fault: &mut impl FnMut(&str)) {
        match self.said.get(token) {
            Some(Said { yes: false, asked: Asked::Surely, .. }) if ran.begun > 0 => fault("it was denied"),
            Some(Said { yes: true, asked: Asked::Surely, .. }) if outcome == Some("denied") => fault("it was allowed"),
            None if ran.begun > 0 => fault("nobody allowed it"),
            _ => {}
        }
    }

    /// Checks a call that needed a form.
    fn filled_in(&self, tool: &str, token: &str, outcome: Option<&str>, ran: &Ran, fault: &mut impl FnMut(&str)) {
        let has_waited = self.witness.waiting.values().any(|waiting| waiting.token == token);
        match self.said.get(token) {
            None if ran.gone_on > 0 || outcome == Some("done") => fault("nobody filled it in"),
            None if tool == FORM_TOOL && has_waited && outcome == Some("unknown") => {
                fault("lost: it waited for its person, and does not wait any more");
            }
            Some(said) if ran.gone_on > 0 => {
                let meant = if said.yes {
                    json!({ "action": "accept", "content": { "number": said.number } })
                } else {
                    json!({ "action": "decline" })
                };
                if ran.filled_in["action"] != meant["action"] || ran.filled_in["content"] != meant["content"] {
                    fault("its person said something else");
                }
            }
            _ => {}
        }
    }
}
