//! Script of a turn: its text, and the tools that it calls. A message's text is the plan as JSON, so that the model, the
//! MCP servers and the checks share it. Only the number of the attempt is shared separately, in [`Attempts`].

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::Step;

use crate::mcp_servers::{ALLOWED_TOOL, APPROVED_TOOL, FORM_TOOL, OPEN_FORM_TOOL};

/// Pause between the model's chunks.
const CHUNK_PAUSE: Duration = Duration::from_millis(4);
/// Maximum number of words of the last step.
const MAX_ANSWER_WORDS: usize = 90;

/// A step: one call of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlannedStep {
    /// Text with this number of words.
    Text(usize),
    /// Parallel calls of these tools.
    Calls(Vec<&'static str>),
}

/// Plan of a turn. The last step is text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Id that is unique within the server's lifetime.
    pub turn: u64,
    /// Steps in order.
    pub steps: Vec<PlannedStep>,
}

/// Expected content of an answer: all of the plan, or the rest when an interrupted answer is continued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedAnswer {
    /// Text of the model if nothing fails.
    pub text: String,
    /// Tool and token of each call, in order.
    pub calls: Vec<(&'static str, String)>,
}

/// Number of the current attempt of each turn. It is shared with the model, whose text and tokens differ between
/// attempts.
#[derive(Debug, Clone, Default)]
pub struct Attempts(Arc<Mutex<HashMap<u64, u64>>>);

impl Attempts {
    /// Returns the current attempt.
    pub fn current(&self, turn: u64) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&turn).copied().unwrap_or_default()
    }

    /// Sets the current attempt.
    pub fn set(&self, turn: u64, attempt: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(turn, attempt);
    }
}

impl Plan {
    /// Returns a random plan.
    pub fn random(turn: u64, rng: &mut fastrand::Rng) -> Self {
        let mut steps = Vec::new();
        for _ in 0..rng.usize(0..3) {
            let mut tools: Vec<&'static str> = (0..rng.usize(1..4))
                .map(|_| match rng.u8(0..16) {
                    0..8 => ALLOWED_TOOL,
                    8..12 => APPROVED_TOOL,
                    12..14 => FORM_TOOL,
                    _ => OPEN_FORM_TOOL,
                })
                .collect();
            // An elicitation of this server does not say which of several parallel calls it belongs to, so there is
            // at most one.
            if let Some(first) = tools.iter().position(|tool| *tool == OPEN_FORM_TOOL) {
                let others = tools.split_off(first + 1).into_iter().filter(|tool| *tool != OPEN_FORM_TOOL);
                tools.extend(others.collect::<Vec<_>>());
            }
            steps.push(PlannedStep::Calls(tools));
        }
        steps.push(PlannedStep::Text(rng.usize(1..MAX_ANSWER_WORDS)));
        Self { turn, steps }
    }

    /// Parses the text of a message; `None` if it is not a plan.
    pub fn parse(message: &str) -> Option<Self> {
        let plan: Value = serde_json::from_str(message).ok()?;
        let name = |tool: &Value| {
            [ALLOWED_TOOL, APPROVED_TOOL, FORM_TOOL, OPEN_FORM_TOOL].into_iter().find(|name| *tool == **name)
        };
        let step = |step: &Value| match step {
            Value::Number(words) => Some(PlannedStep::Text(usize::try_from(words.as_u64()?).ok()?)),
            Value::Array(tools) => Some(PlannedStep::Calls(tools.iter().map(name).collect::<Option<_>>()?)),
            _ => None,
        };
        let steps = plan["steps"].as_array()?.iter().map(step).collect::<Option<_>>()?;
        Some(Self { turn: plan["turn"].as_u64()?, steps })
    }

    /// Returns the text of the message, which [`Plan::parse`] parses.
    pub fn message_text(&self) -> String {
        let step = |step: &PlannedStep| match step {
            PlannedStep::Text(words) => json!(words),
            PlannedStep::Calls(tools) => json!(tools),
        };
        json!({ "turn": self.turn, "steps": self.steps.iter().map(step).collect::<Vec<_>>() }).to_string()
    }

    /// Returns the content of a complete answer as [`ExpectedAnswer`].
    pub fn complete_answer(&self, attempt: u64) -> ExpectedAnswer {
        self.remaining_answer(attempt, "", |_| false)
    }

    /// Returns what is missing of an answer with the text `written` and the calls whose tokens fulfil `has_call`.
    pub fn remaining_answer(&self, attempt: u64, written: &str, has_call: impl Fn(&str) -> bool) -> ExpectedAnswer {
        let mut expected = ExpectedAnswer { text: String::new(), calls: Vec::new() };
        let tokens = |step: usize, tools: &[&'static str]| -> Vec<(&'static str, String)> {
            tools.iter().enumerate().map(|(call, tool)| (*tool, call_token(self.turn, attempt, step, call))).collect()
        };
        // Calls of earlier steps are never repeated, even if their outcome is unknown.
        let last_called = self.steps.iter().enumerate().rposition(|(index, step)| match step {
            PlannedStep::Text(_) => false,
            PlannedStep::Calls(tools) => tokens(index, tools).iter().any(|(_, token)| has_call(token)),
        });
        for (index, step) in self.steps.iter().enumerate() {
            match step {
                PlannedStep::Text(words) => {
                    let text = step_text(self.turn, attempt, index, *words as u64);
                    // A continued answer begins where the interrupted one ended.
                    text.strip_prefix(written).unwrap_or(&text).clone_into(&mut expected.text);
                }
                PlannedStep::Calls(tools) if last_called.is_none_or(|last| index > last) => {
                    expected.calls.extend(tokens(index, tools));
                }
                PlannedStep::Calls(_) => {}
            }
        }
        expected
    }
}

/// Returns the model's behaviour as a [`Step`]: the last user message is a plan, and the messages after it show which
/// steps are done.
pub fn model_step(attempts: &Attempts, request: &Value) -> Step {
    let messages = request["messages"].as_array().unwrap();
    let plan_of = |message: &Value| {
        // The prompt for continuing an answer is not a plan.
        let plan: Value = serde_json::from_str(message["content"].as_str()?.lines().next()?).ok()?;
        (message["role"] == "user" && plan["turn"].is_u64()).then_some(plan)
    };
    let Some((message_index, plan)) =
        messages.iter().enumerate().rev().find_map(|(at, message)| Some((at, plan_of(message)?)))
    else {
        return Step::Status(400, "the request has no plan".to_owned());
    };
    let turn = plan["turn"].as_u64().unwrap();
    let attempt = attempts.current(turn);
    let steps = plan["steps"].as_array().unwrap();
    let later_messages = &messages[message_index..];
    let is_called = |step: usize| {
        let token_prefix = format!("t{turn}a{attempt}s{step}c");
        later_messages.iter().any(|message| message["tool_calls"].to_string().contains(&token_prefix))
    };
    let step = (0..steps.len()).rev().find(|step| is_called(*step)).map_or(0, |last| last + 1);
    match steps.get(step) {
        Some(Value::Number(words)) => {
            let answers = later_messages.iter().filter(|message| message["role"] == "assistant");
            let written: String = answers.filter_map(|message| message["content"].as_str()).collect();
            match step_text(turn, attempt, step, words.as_u64().unwrap()).strip_prefix(&written) {
                Some(rest) => Step::Slowly(rest.to_owned(), CHUNK_PAUSE),
                None => Step::Status(400, format!("the earlier text of turn {turn} is {written:?}")),
            }
        }
        Some(Value::Array(tools)) => {
            let call = |(index, tool): (usize, &Value)| {
                (tool.as_str().unwrap().to_owned(), json!({ "token": call_token(turn, attempt, step, index) }))
            };
            Step::Calls(tools.iter().enumerate().map(call).collect())
        }
        _ => Step::Status(400, format!("turn {turn} has no step {step}")),
    }
}

/// Returns the token of a call. The semicolon ends it, so that no token contains another one.
fn call_token(turn: u64, attempt: u64, step: usize, call: usize) -> String {
    format!("t{turn}a{attempt}s{step}c{call};")
}

/// Returns the text of a step, whose words are unique, so that lost and repeated text is visible.
fn step_text(turn: u64, attempt: u64, step: usize, words: u64) -> String {
    (0..words).fold(String::new(), |mut text, word| {
        let space = if word == 0 { "" } else { " " };
        write!(text, "{space}t{turn}a{attempt}s{step}w{word}").unwrap();
        text
    })
}
