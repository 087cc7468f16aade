//! A user who keeps sending messages, whatever happens to the server.

use std::collections::HashMap;
use std::time::Duration;

use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use testkit::Person;
use tokio::sync::watch;

use crate::episode::{Episode, Wish};
use crate::ledger::ChatState;
use crate::plan::{Attempts, Plan};
use crate::program::Life;
use crate::tools::Servers;
use crate::witness::Asked;

/// Results of the turns of one or more users.
#[derive(Debug, Default)]
pub struct Tally {
    /// Number of answers, by status.
    pub ended: std::collections::BTreeMap<String, usize>,
    /// Number of other events, by kind.
    pub done: std::collections::BTreeMap<&'static str, usize>,
    /// Number of streams that were resumed after a kill.
    pub resumed: usize,
    /// Violated invariants.
    pub faults: Vec<String>,
}

impl Tally {
    /// Adds the results of another user.
    pub fn add(&mut self, other: &Self) {
        for (word, count) in &other.ended {
            *self.ended.entry(word.clone()).or_default() += count;
        }
        for (word, count) in &other.done {
            *self.done.entry(word).or_default() += count;
        }
        self.resumed += other.resumed;
        self.faults.extend(other.faults.iter().cloned());
    }

    /// Records a violation. It is printed at once, since a run can take hours.
    #[expect(clippy::print_stdout, reason = "the harness prints what it found")]
    pub fn fault(&mut self, fault: String) {
        println!("FAULT {fault}");
        self.faults.push(fault);
    }

    /// Counts an event of a kind.
    pub fn count(&mut self, what: &'static str) {
        *self.done.entry(what).or_default() += 1;
    }
}

/// A user and their knowledge of the current chat.
pub struct Actor<'a> {
    pub(crate) person: Person,
    pub(crate) tools: Value,
    pub(crate) servers: &'a Servers,
    pub(crate) attempts: Attempts,
    life: watch::Receiver<Life>,
    pub(crate) dice: fastrand::Rng,
    next_turn: u64,
    /// The newest attempt at the answer of each turn.
    tries: HashMap<u64, u64>,
    pub(crate) chat: ChatState,
    pub(crate) tally: Tally,
}

impl<'a> Actor<'a> {
    /// Creates a user whose turns have ids after `first`.
    pub fn new(
        (person, tools): (Person, Value),
        servers: &'a Servers,
        attempts: Attempts,
        life: watch::Receiver<Life>,
        dice: fastrand::Rng,
        first: u64,
    ) -> Self {
        Self {
            person,
            tools,
            servers,
            attempts,
            life,
            dice,
            next_turn: first,
            tries: HashMap::new(),
            chat: ChatState::default(),
            tally: Tally::default(),
        }
    }

    /// Acts until the server is no longer killed, and finishes the last turn. Returns the results as a [`Tally`].
    pub async fn live(mut self) -> Tally {
        while !self.life.borrow().calm {
            if self.chat.id.is_empty() || self.dice.u8(0..6) == 0 {
                self.begin_chat().await;
            }
            if self.dice.u8(0..4) == 0 {
                self.switch_branch().await;
            }
            self.episode().await;
        }
        self.tally
    }

    /// Starts a new chat, whose id is chosen here so that the request can be repeated.
    async fn begin_chat(&mut self) {
        let id = domain::ids::fresh().to_string();
        let row = json!({ "id": id, "user_id": self.person.id, "title": "New Chat" });
        // A conflict means that an earlier attempt, whose response was lost, had succeeded.
        self.steadily(|person| person.request(Method::POST, "/rest/v1/ai_chat_sessions").json(&row)).await;
        self.chat = ChatState { id, ..ChatState::default() };
        self.tries.clear();
    }

    /// Returns a [`Plan`] that was never sent before.
    pub fn fresh_plan(&mut self) -> Plan {
        self.next_turn += 1;
        Plan::random(self.next_turn, &mut self.dice)
    }

    /// Chooses the next action, as a [`Wish`].
    fn wish(&mut self) -> Wish {
        let ends = self.chat.present.len().checked_sub(1);
        let broke_off = ends.filter(|at| {
            self.chat
                .present(*at)
                .is_some_and(|one| matches!(one.row["status"].as_str(), Some("interrupted" | "stopped")))
        });
        match (self.dice.u8(0..8), broke_off) {
            (0..3, Some(at)) => self.go_on(at),
            (3..5, Some(at)) => self.again(at),
            (0, None) => {
                let places = self.chat.places_of("user");
                match self.dice.choice(places) {
                    Some(at) => Some(Wish::Edit(self.chat.present[at].clone(), self.fresh_plan())),
                    None => None,
                }
            }
            (1, None) => {
                let places = self.chat.places_of("assistant");
                self.dice.choice(places).and_then(|at| self.again(at))
            }
            _ => None,
        }
        .unwrap_or_else(|| Wish::Ask(self.fresh_plan()))
    }

    /// Returns the action to regenerate an answer.
    fn again(&mut self, at: usize) -> Option<Wish> {
        let plan = self.plan_at(at)?;
        let attempt = self.tries.entry(plan.turn).or_default();
        *attempt += 1;
        Some(Wish::Again(self.chat.present[at].clone(), plan, *attempt))
    }

    /// Returns the action to continue an interrupted answer.
    fn go_on(&self, at: usize) -> Option<Wish> {
        let (plan, attempt) = (self.plan_at(at)?, self.chat.present(at)?.attempt);
        // A complete answer cannot be continued.
        let is_whole = self.rest_of(&plan, attempt, at).words.is_empty();
        (!is_whole).then(|| Wish::GoOn(self.chat.present[at].clone(), plan, attempt))
    }

    /// Returns the [`Plan`] of the message that an answer belongs to.
    fn plan_at(&self, at: usize) -> Option<Plan> {
        let question = self.chat.present(self.chat.question_of(at)?)?;
        Plan::read(question.row["content"].as_str()?)
    }

    /// Runs an [`Episode`]: sends a message, follows the chat until it is at rest, and checks the result.
    async fn episode(&mut self) {
        let wish = self.wish();
        let (plan, attempt) = wish.plan();
        self.attempts.set(plan.turn, attempt);
        let mut body = json!({ "sessionId": self.chat.id, "tools": self.tools });
        match &wish {
            Wish::Ask(plan) => body["message"] = plan.question().into(),
            Wish::Edit(id, plan) => {
                body["message"] = plan.question().into();
                body["replaces"] = id.as_str().into();
            }
            Wish::Again(id, ..) => body["replaces"] = id.as_str().into(),
            Wish::GoOn(id, ..) => body["continues"] = id.as_str().into(),
        }
        let mut episode = Episode::new(wish, self.kills());
        self.make_plans(&mut episode);
        let request = self.person.request(Method::POST, "/functions/v1/ai-chat");
        let stream = match request.header("accept", "text/event-stream").json(&body).send().await {
            Ok(answer) if answer.status() == StatusCode::OK => {
                episode.taken = Some(Asked::Surely);
                Some(answer)
            }
            Ok(answer) => {
                let status = answer.status();
                let said = answer.text().await.unwrap_or_default();
                episode.faults.push(format!("the message was refused: {status} {said}"));
                None
            }
            // The connection broke: the message may be stored or not.
            Err(_) => {
                episode.taken = Some(Asked::Perhaps);
                None
            }
        };
        self.follow_to_rest(stream, &mut episode).await;
        self.judge(episode).await;
    }

    /// Switches to another branch of the chat, if there is one.
    async fn switch_branch(&mut self) {
        let aside = self.chat.aside();
        let Some(to) = self.dice.choice(aside) else { return };
        let (path, body) = (format!("/api/sessions/{}/branches", self.chat.id), json!({ "messageId": to }));
        self.steadily(|person| person.request(Method::POST, &path).json(&body)).await;
        self.tally.count("branches switched");
        self.look_at_branch(&to).await;
    }

    /// Repeats a request until there is a response, and returns its body.
    pub async fn steadily(&mut self, request: impl Fn(&Person) -> reqwest::RequestBuilder) -> Option<String> {
        loop {
            self.wait_until_up().await;
            let Ok(answer) = request(&self.person).send().await else { continue };
            let status = answer.status();
            // A server that is killed breaks the connection; an error status is always a fault.
            if status.is_server_error() {
                self.tally.fault(format!("the server answered {status}"));
                return None;
            }
            if let Some(text) = whole(answer).await {
                return Some(text);
            }
        }
    }

    /// Returns the number of kills so far.
    pub fn kills(&self) -> usize {
        self.life.borrow().kills.len()
    }

    /// Returns the times of the kills after the first ones.
    pub fn kills_after(&self, first: usize) -> Vec<std::time::Instant> {
        self.life.borrow().kills[first..].to_vec()
    }

    /// Waits until the server runs.
    pub async fn wait_until_up(&mut self) {
        // The sender belongs to the task that kills the server, which outlives all users.
        drop(self.life.wait_for(|life| life.up).await);
        // Requests may still fail for a moment, and an immediate retry would spin.
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn whole(answer: Response) -> Option<String> {
    answer.text().await.ok()
}
