//! Plans of turns. The text of a message is the plan itself, so that the model, the MCP servers and the checks need
//! no other communication. Only the number of the attempt is shared separately, in [`Attempts`].

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::Step;

use crate::tools::{ALLOWED_TOOL, APPROVED_TOOL, FORM_TOOL, HELD};

/// Pause between the model's chunks.
const CHUNK_PAUSE: Duration = Duration::from_millis(4);
/// Maximum number of words of the last step.
const MAX_LAST_WORDS: usize = 90;

/// A step of the agent loop: one call of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Round {
    /// An answer with this number of words.
    Says(usize),
    /// Parallel calls of these tools.
    Calls(Vec<&'static str>),
}

/// Plan of a turn. The last step is text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Id that is unique within the server's lifetime.
    pub turn: u64,
    /// Steps in order.
    pub rounds: Vec<Round>,
}

/// Expected content of an answer: all of the plan, or the rest when an interrupted answer is continued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// Text of the model if nothing fails.
    pub words: String,
    /// Tool and token of each call, in order.
    pub calls: Vec<(&'static str, String)>,
}

/// Number of the current attempt of each turn. It is shared with the model, whose text and tokens differ between
/// attempts.
#[derive(Debug, Clone, Default)]
pub struct Attempts(Arc<Mutex<HashMap<u64, u64>>>);

impl Attempts {
    /// Returns the current attempt.
    pub fn of(&self, turn: u64) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&turn).copied().unwrap_or_default()
    }

    /// Sets the current attempt.
    pub fn set(&self, turn: u64, attempt: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(turn, attempt);
    }
}

impl Plan {
    /// Returns a random plan.
    pub fn random(turn: u64, dice: &mut fastrand::Rng) -> Self {
        let mut rounds = Vec::new();
        for _ in 0..dice.usize(0..3) {
            let mut tools: Vec<&'static str> = (0..dice.usize(1..4))
                .map(|_| match dice.u8(0..16) {
                    0..8 => ALLOWED_TOOL,
                    8..12 => APPROVED_TOOL,
                    12..14 => FORM_TOOL,
                    _ => HELD,
                })
                .collect();
            // An elicitation of this server does not say which of several parallel calls it belongs to, so there is
            // at most one.
            if let Some(held) = tools.iter().position(|tool| *tool == HELD) {
                let others = tools.split_off(held + 1).into_iter().filter(|tool| *tool != HELD);
                tools.extend(others.collect::<Vec<_>>());
            }
            rounds.push(Round::Calls(tools));
        }
        rounds.push(Round::Says(dice.usize(1..MAX_LAST_WORDS)));
        Self { turn, rounds }
    }

    /// Parses the text of a message; `None` if it is not a plan.
    pub fn read(question: &str) -> Option<Self> {
        let plan: Value = serde_json::from_str(question).ok()?;
        let name =
            |tool: &Value| [ALLOWED_TOOL, APPROVED_TOOL, FORM_TOOL, HELD].into_iter().find(|name| *tool == **name);
        let round = |round: &Value| match round {
            Value::Number(words) => Some(Round::Says(usize::try_from(words.as_u64()?).ok()?)),
            Value::Array(tools) => Some(Round::Calls(tools.iter().map(name).collect::<Option<_>>()?)),
            _ => None,
        };
        let rounds = plan["rounds"].as_array()?.iter().map(round).collect::<Option<_>>()?;
        Some(Self { turn: plan["turn"].as_u64()?, rounds })
    }

    /// Returns the text of the message, which [`Plan::read`] parses.
    pub fn question(&self) -> String {
        let round = |round: &Round| match round {
            Round::Says(words) => json!(words),
            Round::Calls(tools) => json!(tools),
        };
        json!({ "turn": self.turn, "rounds": self.rounds.iter().map(round).collect::<Vec<_>>() }).to_string()
    }

    /// Returns the content of a complete answer as [`Expected`].
    pub fn whole(&self, attempt: u64) -> Expected {
        self.rest(attempt, "", |_| false)
    }

    /// Returns what is missing of an answer with the text `said` and the calls whose tokens `has_made` knows.
    pub fn rest(&self, attempt: u64, said: &str, has_made: impl Fn(&str) -> bool) -> Expected {
        let mut expected = Expected { words: String::new(), calls: Vec::new() };
        let tokens = |round: usize, tools: &[&'static str]| -> Vec<(&'static str, String)> {
            tools.iter().enumerate().map(|(call, tool)| (*tool, token(self.turn, attempt, round, call))).collect()
        };
        // Calls of earlier steps are never repeated, even if their outcome is unknown.
        let made = self.rounds.iter().enumerate().rposition(|(index, round)| match round {
            Round::Says(_) => false,
            Round::Calls(tools) => tokens(index, tools).iter().any(|(_, token)| has_made(token)),
        });
        for (index, round) in self.rounds.iter().enumerate() {
            match round {
                Round::Says(words) => {
                    let whole = words_of(self.turn, attempt, index, *words as u64);
                    // A continued answer begins where the interrupted one ended.
                    whole.strip_prefix(said).unwrap_or(&whole).clone_into(&mut expected.words);
                }
                Round::Calls(tools) if made.is_none_or(|made| index > made) => {
                    expected.calls.extend(tokens(index, tools));
                }
                Round::Calls(_) => {}
            }
        }
        expected
    }
}

/// Returns the model's behaviour as a [`Step`]: the last user message is a plan, and the messages after it show which
/// steps are done.
pub fn step(attempts: &Attempts, request: &Value) -> Step {
    let messages = request["messages"].as_array().unwrap();
    let plan_of = |message: &Value| {
        // The prompt for continuing an answer is not a plan.
        let plan: Value = serde_json::from_str(message["content"].as_str()?.lines().next()?).ok()?;
        (message["role"] == "user" && plan["turn"].is_u64()).then_some(plan)
    };
    let Some((asked, plan)) = messages.iter().enumerate().rev().find_map(|(at, one)| Some((at, plan_of(one)?))) else {
        return Step::Status(400, "there is no question".to_owned());
    };
    let turn = plan["turn"].as_u64().unwrap();
    let attempt = attempts.of(turn);
    let rounds = plan["rounds"].as_array().unwrap();
    let since = &messages[asked..];
    let made = |round: usize| {
        let tokens = format!("t{turn}a{attempt}r{round}c");
        since.iter().any(|message| message["tool_calls"].to_string().contains(&tokens))
    };
    let round = (0..rounds.len()).rev().find(|round| made(*round)).map_or(0, |last| last + 1);
    match rounds.get(round) {
        Some(Value::Number(words)) => {
            let answers = since.iter().filter(|message| message["role"] == "assistant");
            let said: String = answers.filter_map(|message| message["content"].as_str()).collect();
            match words_of(turn, attempt, round, words.as_u64().unwrap()).strip_prefix(&said) {
                Some(rest) => Step::Slowly(rest.to_owned(), CHUNK_PAUSE),
                None => Step::Status(400, format!("turn {turn} is told to have said {said:?}")),
            }
        }
        Some(Value::Array(tools)) => {
            let call = |(index, tool): (usize, &Value)| {
                (tool.as_str().unwrap().to_owned(), json!({ "token": token(turn, attempt, round, index) }))
            };
            Step::Calls(tools.iter().enumerate().map(call).collect())
        }
        _ => Step::Status(400, format!("turn {turn} was asked for round {round}, which it does not have")),
    }
}

/// Returns the token of a call. The semicolon ends it, so that no token contains another one.
fn token(turn: u64, attempt: u64, round: usize, call: usize) -> String {
    format!("t{turn}a{attempt}r{round}c{call};")
}

/// Returns the words of a step; each one is unique, so that lost and repeated text is visible.
fn words_of(turn: u64, attempt: u64, round: usize, words: u64) -> String {
    (0..words).fold(String::new(), |mut text, word| {
        let space = if word == 0 { "" } else { " " };
        write!(text, "{space}t{turn}a{attempt}r{round}w{word}").unwrap();
        text
    })
}
