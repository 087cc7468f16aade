//! Invariants of an answer that has ended: its status, text and tool calls.

use std::collections::HashMap;
use std::time::Instant;

use serde_json::{Value, json};

use crate::mcp_servers::{APPROVED_TOOL, CallRecord, FORM_TOOL, McpServers, OPEN_FORM_TOOL};
use crate::plan::ExpectedAnswer;
use crate::stream_log::{Acceptance, ObservedInteractionKind, StreamLog};

/// A user's response to an interaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserResponse {
    /// Whether the user agreed: approved the call, or filled in the form.
    pub accepts: bool,
    /// The value in the form.
    pub number: u64,
    /// Whether the server confirmed the response.
    pub acceptance: Acceptance,
}

/// Check of an answer, which returns its violations.
pub struct AnswerCheck<'a> {
    /// Expected content.
    pub expected: &'a ExpectedAnswer,
    /// Events that the user received.
    pub log: &'a StreamLog,
    /// The user's responses, by token.
    pub responses: &'a HashMap<String, UserResponse>,
    /// Times of the kills during the scenario.
    pub kills: &'a [Instant],
    /// Whether the kills were of the database.
    pub kills_database: bool,
    /// Whether the user stopped a turn, or sent a queued message at once.
    pub may_be_stopped: bool,
    /// The MCP servers, with their record of calls.
    pub servers: &'a McpServers,
}

impl AnswerCheck<'_> {
    /// Checks the stored message, and returns all violations.
    pub fn check(&self, answer: &Value) -> Vec<String> {
        let mut violations: Vec<String> = self.log.violations.clone();
        let status = answer["status"].as_str().unwrap_or_default();
        self.check_status(status, &mut violations);
        self.check_text(status, answer["content"].as_str().unwrap_or_default(), &mut violations);
        self.check_calls(status, answer["tool_calls"].as_array().map_or(&[][..], Vec::as_slice), &mut violations);
        violations
    }

    /// Checks the status: it matches the events, and an interruption has a cause.
    fn check_status(&self, status: &str, violations: &mut Vec<String>) {
        let received = self.log.end.as_ref();
        match status {
            "done" => {}
            "stopped" if self.may_be_stopped => {}
            // A turn that begins without a database says so.
            "failed" if self.kills_database && !self.kills.is_empty() => {}
            "interrupted" if !self.kills.is_empty() => {
                // An interruption must not lose an interaction that survives restarts.
                let lost = self.log.pending.values().find(|interaction| {
                    interaction.kind != ObservedInteractionKind::Elicitation { in_flight: true }
                        && !self.responses.contains_key(&interaction.token)
                });
                if let Some(interaction) = lost {
                    violations.push(format!("lost: {interaction:?} was pending, and its answer was interrupted"));
                }
            }
            _ => violations.push(format!("it ended as {status:?} (the user received {received:?})")),
        }
        if let Some(received) = received
            // The end that the user received must be the stored one.
            && received.status() != status
        {
            violations.push(format!("the user received {received:?}, and {status:?} is stored"));
        }
    }

    /// Checks the text: it is a prefix of the plan, and contains what was received long enough before a kill.
    fn check_text(&self, status: &str, content: &str, violations: &mut Vec<String>) {
        let expected_text = self.expected.text.as_str();
        if status == "done" && content != expected_text {
            violations.push(format!("the text is {content:?}, expected {expected_text:?}"));
        } else if !expected_text.starts_with(content) {
            violations.push(format!("the text {content:?} is not a prefix of {expected_text:?}"));
        }
        if !expected_text.starts_with(self.log.text()) {
            violations
                .push(format!("the user received {:?}, which is not a prefix of {expected_text:?}", self.log.text()));
        }
        // The journal is written in batches, so the last moments before a kill may be missing.
        let durable = self.log.durable_bytes(self.kills);
        if content.len() < durable {
            violations.push(format!("lost: {durable} bytes were received in time, {} are stored", content.len()));
        }
    }

    /// Checks each tool call: it ran at most once, and its stored outcome matches.
    fn check_calls(&self, status: &str, stored: &[Value], violations: &mut Vec<String>) {
        let received_results = self.log.received_results();
        for (tool, token) in &self.expected.calls {
            let mut with_token = stored.iter().filter(|call| call["arguments"]["token"] == token.as_str());
            let call = with_token.next();
            let record = self.servers.call_record(token);
            let mut violation = |what: &str| {
                let stored = call.map(|call| (&call["outcome"], &call["error"]));
                violations.push(format!("{tool} {token} ran as {record:?}, is stored as {stored:?}: {what}"));
            };
            if record.started > 1 || record.resumed > 1 {
                violation("repeated: it ran twice");
            }
            if with_token.next().is_some() {
                violation("repeated: it is stored twice");
            }
            let outcome = call.and_then(|call| call["outcome"].as_str());
            if !self.is_possible_outcome(tool, outcome, &record, status) {
                violation("the stored outcome is impossible");
            }
            if received_results.contains(token.as_str()) && outcome != Some("done") {
                violation("lost: the user received its result");
            }
            match *tool {
                APPROVED_TOOL => self.check_approval(token, outcome, &record, &mut violation),
                // A form that cannot be stored is cancelled, so that the server knows. The result of an open call is the
                // answer to its form.
                FORM_TOOL | OPEN_FORM_TOOL
                    if self.kills_database
                        && (record.input["action"] == "cancel"
                            || call.is_some_and(|call| call["result"].to_string().contains("cancel"))) => {}
                FORM_TOOL | OPEN_FORM_TOOL => self.check_elicitation(tool, token, outcome, &record, &mut violation),
                _ => {}
            }
        }
    }

    /// Returns whether a stored outcome is possible, given what happened to the call.
    fn is_possible_outcome(&self, tool: &str, outcome: Option<&str>, record: &CallRecord, status: &str) -> bool {
        // A resumable call ends only after it was resumed with the input.
        let ended = if tool == FORM_TOOL { record.resumed } else { record.started };
        match outcome {
            Some("done") => ended == 1,
            Some("denied") => record.started == 0,
            Some("unknown") => !self.kills.is_empty() || self.may_be_stopped,
            Some("stopped") => self.may_be_stopped,
            // A call that cannot be stored is not made, and neither is one to a server that could not be reached without
            // the database.
            Some("error") => self.kills_database && ended == 0,
            Some(_) => false,
            None => record.started == 0 && status != "done",
        }
    }

    /// Checks a call that needed approval.
    fn check_approval(
        &self,
        token: &str,
        outcome: Option<&str>,
        record: &CallRecord,
        violation: &mut impl FnMut(&str),
    ) {
        match self.responses.get(token) {
            Some(UserResponse { accepts: false, acceptance: Acceptance::Confirmed, .. }) if record.started > 0 => {
                violation("it was denied");
            }
            Some(UserResponse { accepts: true, acceptance: Acceptance::Confirmed, .. })
                if outcome == Some("denied") =>
            {
                violation("it was approved");
            }
            None if record.started > 0 => violation("it was not approved"),
            _ => {}
        }
    }

    /// Checks a call that needed an elicitation.
    fn check_elicitation(
        &self,
        tool: &str,
        token: &str,
        outcome: Option<&str>,
        record: &CallRecord,
        violation: &mut impl FnMut(&str),
    ) {
        let was_pending = self.log.pending.values().any(|interaction| interaction.token == token);
        match self.responses.get(token) {
            None if record.resumed > 0 || outcome == Some("done") => violation("the user did not fill in the form"),
            None if tool == FORM_TOOL && was_pending && outcome == Some("unknown") => {
                violation("lost: its elicitation was pending");
            }
            Some(response) if record.resumed > 0 => {
                let expected = if response.accepts {
                    json!({ "action": "accept", "content": { "number": response.number } })
                } else {
                    json!({ "action": "decline" })
                };
                if record.input["action"] != expected["action"] || record.input["content"] != expected["content"] {
                    violation("its input differs from the user's");
                }
            }
            _ => {}
        }
    }
}
