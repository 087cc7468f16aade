//! What a turn is meant to be. The question itself is the plan, so that the model, the servers of the tools and those who
//! check need no other word of each other; but which attempt at its answer is made stands in [`Attempts`].

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::Step;

use crate::tools::{ALLOWED, ASKS, FORM, HELD};

/// How far apart the model's pieces are.
const PACE: Duration = Duration::from_millis(4);
/// The most words of the last round.
const WORDS: usize = 90;

/// One call of the model within a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Round {
    /// So many words.
    Says(usize),
    /// These tools, at once.
    Calls(Vec<&'static str>),
}

/// A turn: rounds, the last of which says something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Tells it from all others of the same program.
    pub turn: u64,
    /// In order.
    pub rounds: Vec<Round>,
}

/// What one answer to a plan is to be: all of it, or what is missing when it goes on with one that broke off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// What the model says when all goes well.
    pub words: String,
    /// The tool and the token of each call, in order.
    pub calls: Vec<(&'static str, String)>,
}

/// By turn: which attempt at its answer is being made. Shared with the model, which says and calls something else each time.
#[derive(Debug, Clone, Default)]
pub struct Attempts(Arc<Mutex<HashMap<u64, u64>>>);

impl Attempts {
    /// The present one.
    pub fn of(&self, turn: u64) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&turn).copied().unwrap_or_default()
    }

    /// This one begins, or goes on.
    pub fn set(&self, turn: u64, attempt: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(turn, attempt);
    }
}

impl Plan {
    /// Anything that a turn can be.
    pub fn random(turn: u64, dice: &mut fastrand::Rng) -> Self {
        let mut rounds = Vec::new();
        for _ in 0..dice.usize(0..3) {
            let mut tools: Vec<&'static str> = (0..dice.usize(1..4))
                .map(|_| match dice.u8(0..16) {
                    0..8 => ALLOWED,
                    8..12 => ASKS,
                    12..14 => FORM,
                    _ => HELD,
                })
                .collect();
            // Nothing in a question of such a server tells to which of several calls it belongs.
            if let Some(held) = tools.iter().position(|tool| *tool == HELD) {
                let others = tools.split_off(held + 1).into_iter().filter(|tool| *tool != HELD);
                tools.extend(others.collect::<Vec<_>>());
            }
            rounds.push(Round::Calls(tools));
        }
        rounds.push(Round::Says(dice.usize(1..WORDS)));
        Self { turn, rounds }
    }

    /// The plan that a message is; nothing for any other message.
    pub fn read(question: &str) -> Option<Self> {
        let plan: Value = serde_json::from_str(question).ok()?;
        let name = |tool: &Value| [ALLOWED, ASKS, FORM, HELD].into_iter().find(|name| *tool == **name);
        let round = |round: &Value| match round {
            Value::Number(words) => Some(Round::Says(usize::try_from(words.as_u64()?).ok()?)),
            Value::Array(tools) => Some(Round::Calls(tools.iter().map(name).collect::<Option<_>>()?)),
            _ => None,
        };
        let rounds = plan["rounds"].as_array()?.iter().map(round).collect::<Option<_>>()?;
        Some(Self { turn: plan["turn"].as_u64()?, rounds })
    }

    /// The message that the person sends.
    pub fn question(&self) -> String {
        let round = |round: &Round| match round {
            Round::Says(words) => json!(words),
            Round::Calls(tools) => json!(tools),
        };
        json!({ "turn": self.turn, "rounds": self.rounds.iter().map(round).collect::<Vec<_>>() }).to_string()
    }

    /// A whole answer.
    pub fn whole(&self, attempt: u64) -> Expected {
        self.rest(attempt, "", |_| false)
    }

    /// What is missing of an answer that said something and made the calls with some tokens.
    pub fn rest(&self, attempt: u64, said: &str, has_made: impl Fn(&str) -> bool) -> Expected {
        let mut expected = Expected { words: String::new(), calls: Vec::new() };
        let tokens = |round: usize, tools: &[&'static str]| -> Vec<(&'static str, String)> {
            tools.iter().enumerate().map(|(call, tool)| (*tool, token(self.turn, attempt, round, call))).collect()
        };
        let made = self.rounds.iter().enumerate().rposition(|(index, round)| match round {
            Round::Says(_) => false,
            Round::Calls(tools) => tokens(index, tools).iter().any(|(_, token)| has_made(token)),
        });
        for (index, round) in self.rounds.iter().enumerate() {
            match round {
                Round::Says(words) => {
                    let whole = words_of(self.turn, attempt, index, *words as u64);
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

/// What the model does: the newest question is a plan, and what was said and called after it tells how far it has come.
pub fn step(attempts: &Attempts, request: &Value) -> Step {
    let messages = request["messages"].as_array().unwrap();
    let plan_of = |message: &Value| {
        // What the model is asked when it is to go on is no plan.
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
                Some(rest) => Step::Slowly(rest.to_owned(), PACE),
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

fn token(turn: u64, attempt: u64, round: usize, call: usize) -> String {
    format!("t{turn}a{attempt}r{round}c{call};")
}

fn words_of(turn: u64, attempt: u64, round: usize, words: u64) -> String {
    (0..words).fold(String::new(), |mut text, word| {
        let space = if word == 0 { "" } else { " " };
        write!(text, "{space}t{turn}a{attempt}r{round}w{word}").unwrap();
        text
    })
}
