//! A person who goes on asking, whatever happens to the program.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use testkit::{Person, ScriptedMcp, events_of};
use tokio::sync::watch;

use crate::plan::Plan;
use crate::program::Life;
use crate::runs_of;
use crate::verdict::{Outcome, Verdict};
use crate::witness::{Asked, Witness};

/// How long a turn may take while the program is left alone.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most time that a person thinks about a question, in milliseconds.
const THOUGHT: u64 = 600;

/// What the turns of somebody came to.
#[derive(Debug, Default)]
pub struct Tally {
    /// By how they ended.
    pub ended: std::collections::BTreeMap<String, usize>,
    /// Turns that went on after a kill because they waited for the person.
    pub resumed: usize,
    /// What was wrong.
    pub faults: Vec<String>,
}

impl Tally {
    /// Adds those of somebody else.
    pub fn add(&mut self, other: &Self) {
        for (word, count) in &other.ended {
            *self.ended.entry(word.clone()).or_default() += count;
        }
        self.resumed += other.resumed;
        self.faults.extend(other.faults.iter().cloned());
    }
}

/// Somebody.
pub struct Actor<'a> {
    person: Person,
    tools: Value,
    server: &'a ScriptedMcp,
    life: watch::Receiver<Life>,
    dice: fastrand::Rng,
    next_turn: u64,
    chat: String,
    tally: Tally,
}

/// After which time something is said again whose answer was lost.
const AGAIN: Duration = Duration::from_millis(100);

/// Something that the person is going to do.
enum Deed {
    Decide { approval: String, token: String, allow: bool },
    Stop,
}

impl<'a> Actor<'a> {
    /// Somebody whose turns have the numbers from `first` on.
    pub fn new(
        person: Person,
        tools: Value,
        server: &'a ScriptedMcp,
        life: watch::Receiver<Life>,
        dice: fastrand::Rng,
        first: u64,
    ) -> Self {
        Self { person, tools, server, life, dice, next_turn: first, chat: String::new(), tally: Tally::default() }
    }

    /// Asks until the program is left alone, and ends the last turn. Returns what it came to.
    pub async fn live(mut self) -> Tally {
        while !self.life.borrow().calm {
            if self.chat.is_empty() || self.dice.u8(0..5) == 0 {
                self.begin_chat().await;
            }
            self.turn().await;
        }
        self.tally
    }

    async fn begin_chat(&mut self) {
        let id = domain::ids::fresh().to_string();
        let row = json!({ "id": id, "user_id": self.person.id, "title": "New Chat" });
        // A conflict says that the row of a try without an answer is there.
        self.steadily(|person| person.request(Method::POST, "/rest/v1/ai_chat_sessions").json(&row)).await;
        self.chat = id;
    }

    async fn turn(&mut self) {
        let plan = Plan::random(self.next_turn, &mut self.dice);
        self.next_turn += 1;
        let kills = self.life.borrow().kills.len();
        let mut witness = Witness::default();
        let mut deeds: Vec<(Instant, Deed)> = Vec::new();
        if self.dice.u8(0..8) == 0 {
            deeds.push((Instant::now() + Duration::from_millis(self.dice.u64(0..400)), Deed::Stop));
        }
        let body = json!({ "message": plan.question(), "sessionId": self.chat, "tools": self.tools });
        let request = self.person.request(Method::POST, "/functions/v1/ai-chat");
        let mut stream = match request.header("accept", "text/event-stream").json(&body).send().await {
            Ok(answer) if answer.status() == StatusCode::OK => {
                witness.taken = Some(Asked::Surely);
                Some(answer)
            }
            Ok(answer) => {
                let status = answer.status();
                let said = answer.text().await.unwrap_or_default();
                witness.faults.push(format!("the message was refused: {status} {said}"));
                None
            }
            Err(_) => {
                witness.taken = Some(Asked::Perhaps);
                None
            }
        };
        let mut quiet_since = Instant::now();
        loop {
            if let Some(answer) = stream.take() {
                let path = format!("/api/sessions/{}/stream", self.chat);
                let mut second = Witness::default();
                let looking = look_too(self.person.request(Method::GET, &path), &mut second);
                tokio::select! {
                    biased;
                    () = self.follow(answer, &mut witness, &mut deeds) => {}
                    never = looking => match never {},
                }
                witness.compare(second);
            }
            self.wait_until_up().await;
            witness.kills_before = self.life.borrow().kills.len() - kills;
            let path = format!("/api/sessions/{}/stream?after={}", self.chat, witness.last);
            let Ok(answer) = self.person.request(Method::GET, &path).send().await else {
                quiet_since = Instant::now();
                continue;
            };
            match answer.status() {
                StatusCode::OK if quiet_since.elapsed() < PATIENCE || !deeds.is_empty() => stream = Some(answer),
                StatusCode::NO_CONTENT => break,
                status => {
                    witness.faults.push(format!("the turn does not end: {status}"));
                    break;
                }
            }
            if self.life.borrow().kills.len() > kills {
                self.tally.resumed += 1;
            }
        }
        self.judge(&plan, &witness, kills).await;
    }

    async fn judge(&mut self, plan: &Plan, witness: &Witness, kills: usize) {
        let path = format!("/rest/v1/ai_chat_messages?select=*&session_id=eq.{}&order=created_at.asc", self.chat);
        let Some(answer) = self.steadily(|person| person.request(Method::GET, &path)).await else { return };
        let messages: Vec<Value> = serde_json::from_str(&answer).unwrap_or_default();
        let kills = self.life.borrow().kills[kills..].to_vec();
        let runs = runs_of(self.server);
        let (outcome, faults) = Verdict { plan, witness, kills: &kills, runs: &runs }.check(&messages);
        let name = match outcome {
            Outcome::Void => "not taken".to_owned(),
            Outcome::Ended(status) => status,
        };
        *self.tally.ended.entry(name).or_default() += 1;
        let chat = &self.chat;
        self.tally
            .faults
            .extend(faults.into_iter().map(|fault| format!("{} in chat {chat}: {fault}", plan.question())));
    }

    /// Reads a stream to its end, and does meanwhile what is to be done.
    async fn follow(&mut self, mut answer: Response, witness: &mut Witness, deeds: &mut Vec<(Instant, Deed)>) {
        let mut rest = String::new();
        for (approval, token) in witness.waiting.clone() {
            self.think_about(approval, token, deeds);
        }
        loop {
            deeds.sort_by_key(|(at, _)| *at);
            let due = deeds.first().map(|(at, _)| *at);
            let until = tokio::time::Instant::from_std(due.unwrap_or_else(|| Instant::now() + PATIENCE));
            tokio::select! {
                piece = answer.chunk() => {
                    let Ok(Some(piece)) = piece else { return };
                    rest.push_str(&String::from_utf8_lossy(&piece));
                    let Some(end) = rest.rfind("\n\n") else { continue };
                    let whole: String = rest.drain(..end + 2).collect();
                    for event in events_of(&whole) {
                        if let Some(approval) = witness.hear(event.id, &event.data) {
                            let token = witness.waiting[&approval].clone();
                            self.think_about(approval, token, deeds);
                        }
                    }
                }
                () = tokio::time::sleep_until(until) => {
                    if due.is_none() {
                        witness.faults.push("nothing was told for a long time".to_owned());
                        return;
                    }
                    let (_, deed) = deeds.remove(0);
                    // What was lost on its way is said again.
                    if let Some(deed) = self.act(deed, witness).await {
                        deeds.push((Instant::now() + AGAIN, deed));
                    }
                }
            }
        }
    }

    fn think_about(&mut self, approval: String, token: String, deeds: &mut Vec<(Instant, Deed)>) {
        let known =
            |(_, deed): &(Instant, Deed)| matches!(deed, Deed::Decide { approval: other, .. } if *other == approval);
        if deeds.iter().any(known) {
            return;
        }
        let at = Instant::now() + Duration::from_millis(self.dice.u64(0..THOUGHT));
        let allow = self.dice.u8(0..3) > 0;
        deeds.push((at, Deed::Decide { approval, token, allow }));
    }

    async fn act(&mut self, deed: Deed, witness: &mut Witness) -> Option<Deed> {
        match &deed {
            Deed::Stop => {
                witness.stopped = Some(Asked::Perhaps);
                let path = format!("/api/sessions/{}/stop", self.chat);
                let Ok(answer) = self.person.request(Method::POST, &path).send().await else { return Some(deed) };
                if answer.status() == 200 {
                    witness.stopped = Some(Asked::Surely);
                }
            }
            Deed::Decide { approval, token, allow } => {
                // What was asked for first may have been taken, although its answer was lost.
                let (token, allow) = (token.clone(), *allow);
                let before = witness.decided.insert(token.clone(), (allow, Asked::Perhaps));
                let body = json!({ "decision": if allow { "once" } else { "deny" } });
                let path = format!("/api/sessions/{}/approvals/{approval}", self.chat);
                let Ok(answer) = self.person.request(Method::POST, &path).json(&body).send().await else {
                    return Some(deed);
                };
                let status = answer.status();
                let held: Value = answer.json().await.unwrap_or_default();
                match held["decision"].as_str() {
                    Some(decision) => {
                        if before.is_none() && (decision == "once") != allow {
                            witness.faults.push(format!("{token} was decided by nobody: {held}"));
                        }
                        witness.decided.insert(token, (decision == "once", Asked::Surely));
                    }
                    None if status == StatusCode::CONFLICT => {}
                    None => witness.faults.push(format!("the decision about {token} was refused: {status} {held}")),
                }
            }
        }
        None
    }

    /// Sends until it is answered.
    async fn steadily(&mut self, request: impl Fn(&Person) -> reqwest::RequestBuilder) -> Option<String> {
        loop {
            self.wait_until_up().await;
            let Ok(answer) = request(&self.person).send().await else { continue };
            let status = answer.status();
            if status.is_server_error() {
                self.tally.faults.push(format!("the server answered {status}"));
                return None;
            }
            if let Ok(text) = answer.text().await {
                return Some(text);
            }
        }
    }

    async fn wait_until_up(&mut self) {
        // The program is killed by the one who holds the sender, which outlives everybody who asks.
        drop(self.life.wait_for(|life| life.up).await);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Looks at a turn from a second place, from its start, and stays there.
async fn look_too(request: reqwest::RequestBuilder, witness: &mut Witness) -> Infallible {
    if let Ok(mut answer) = request.send().await {
        let mut rest = String::new();
        while let Ok(Some(piece)) = answer.chunk().await {
            rest.push_str(&String::from_utf8_lossy(&piece));
            let Some(end) = rest.rfind("\n\n") else { continue };
            let whole: String = rest.drain(..end + 2).collect();
            for event in events_of(&whole) {
                witness.hear(event.id, &event.data);
            }
        }
    }
    std::future::pending().await
}
