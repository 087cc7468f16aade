//! What a turn is meant to be. The question itself is the plan, so that the model, the server of the tools and those who
//! check need no other word of each other.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::Step;

/// A tool that the person has allowed for good.
pub const ALLOWED: &str = "note";
/// A tool that asks each time.
pub const ASKS: &str = "send";
/// How far apart the model's pieces are.
const PACE: Duration = Duration::from_millis(4);
/// The most words of one round.
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
    /// Tells it from all others of a run of the harness.
    pub turn: u64,
    /// In order.
    pub rounds: Vec<Round>,
}

impl Plan {
    /// Anything that a turn can be.
    pub fn random(turn: u64, dice: &mut fastrand::Rng) -> Self {
        let mut rounds = Vec::new();
        for _ in 0..dice.usize(0..3) {
            let tools = (0..dice.usize(1..4)).map(|_| if dice.u8(0..3) == 0 { ASKS } else { ALLOWED });
            rounds.push(Round::Calls(tools.collect()));
        }
        rounds.push(Round::Says(dice.usize(1..WORDS)));
        Self { turn, rounds }
    }

    /// The message that the person sends.
    pub fn question(&self) -> String {
        let round = |round: &Round| match round {
            Round::Says(words) => json!(words),
            Round::Calls(tools) => json!(tools),
        };
        json!({ "turn": self.turn, "rounds": self.rounds.iter().map(round).collect::<Vec<_>>() }).to_string()
    }

    /// What the model says when all goes well.
    pub fn words(&self) -> String {
        let said = |(index, round): (usize, &Round)| match round {
            Round::Says(words) => Some(words_of(self.turn, index, *words as u64)),
            Round::Calls(_) => None,
        };
        self.rounds.iter().enumerate().filter_map(said).collect::<Vec<_>>().join("\n\n")
    }

    /// The arguments of each call, in order, with the tool.
    pub fn calls(&self) -> Vec<(&'static str, String)> {
        let of = |(index, round): (usize, &Round)| match round {
            Round::Says(_) => Vec::new(),
            Round::Calls(tools) => {
                tools.iter().enumerate().map(|(call, tool)| (*tool, token(self.turn, index, call))).collect()
            }
        };
        self.rounds.iter().enumerate().flat_map(of).collect()
    }
}

/// What the model does: the newest question is a plan, and the calls after it tell how far it has come.
pub fn step(request: &Value) -> Step {
    let messages = request["messages"].as_array().unwrap();
    let asked = messages.iter().rposition(|message| message["role"] == "user").unwrap();
    let plan: Value = serde_json::from_str(messages[asked]["content"].as_str().unwrap()).unwrap();
    let turn = plan["turn"].as_u64().unwrap();
    let rounds = plan["rounds"].as_array().unwrap();
    let made = |round: usize| {
        let first = token(turn, round, 0);
        messages[asked..].iter().any(|message| message["tool_calls"].to_string().contains(&first))
    };
    let round = (0..rounds.len()).rev().find(|round| made(*round)).map_or(0, |last| last + 1);
    match rounds.get(round) {
        Some(Value::Number(words)) => Step::Slowly(words_of(turn, round, words.as_u64().unwrap()), PACE),
        Some(Value::Array(tools)) => {
            let call = |(index, tool): (usize, &Value)| {
                (tool.as_str().unwrap().to_owned(), json!({ "token": token(turn, round, index) }))
            };
            Step::Calls(tools.iter().enumerate().map(call).collect())
        }
        _ => Step::Status(400, format!("turn {turn} was asked for round {round}, which it does not have")),
    }
}

fn token(turn: u64, round: usize, call: usize) -> String {
    format!("t{turn}r{round}c{call};")
}

fn words_of(turn: u64, round: usize, words: u64) -> String {
    (0..words).fold(String::new(), |mut text, word| {
        let space = if word == 0 { "" } else { " " };
        write!(text, "{space}t{turn}r{round}w{word}").unwrap();
        text
    })
}
