//! Checks of a chat at rest: the stored messages against everything that its user did and received.

use std::collections::HashMap;
use std::time::Instant;

use reqwest::Method;
use serde_json::Value;

use crate::actor::Actor;
use crate::episode::{Episode, Queued, Wish};
use crate::ledger::id_of;
use crate::plan::{Expected, Plan};
use crate::verdict::Verdict;
use crate::witness::{Asked, Witness};

/// Stored messages of a chat.
struct Stored {
    present: Vec<Value>,
    aside: Vec<Value>,
}

impl Actor<'_> {
    /// Returns what is missing ([`Expected`]) of the answers to a message, of which the last one is at index `at`.
    pub fn rest_of(&self, plan: &Plan, attempt: u64, at: usize) -> Expected {
        let from = self.chat.question_of(at).unwrap_or_default();
        let answers: Vec<&Value> = (from + 1..=at).filter_map(|at| Some(&self.chat.present(at)?.row)).collect();
        let said: String = answers.iter().filter_map(|row| row["content"].as_str()).collect();
        let has_made = |token: &str| answers.iter().any(|row| row["tool_calls"].to_string().contains(token));
        plan.rest(attempt, &said, has_made)
    }

    /// Checks all invariants, and adds the violations to the results.
    pub async fn judge(&mut self, mut episode: Episode) {
        let Some(stored) = self.stored().await else { return };
        let kills = self.kills_after(episode.kills);
        let mut faults = std::mem::take(&mut episode.faults);
        faults.append(&mut episode.heard.faults);
        faults.extend(self.chat.compare(&stored.present, &stored.aside));
        // The messages from before must precede the new ones.
        // The actions of this episode decide how many of them are still on the branch.
        let (kept, has_begun) = self.kept(&episode, &stored);
        let ids: Vec<String> = stored.present.iter().map(id_of).collect();
        let fresh = if ids.starts_with(&self.chat.present[..kept]) {
            stored.present[kept..].to_vec()
        } else {
            faults.push(format!("the messages {ids:?} do not begin with {:?}", &self.chat.present[..kept]));
            Vec::new()
        };
        if episode.taken == Some(Asked::Surely) && !has_begun {
            faults.push("lost: the message was taken and is gone".to_owned());
        }
        if !has_begun {
            *self.tally.ended.entry("not taken".to_owned()).or_default() += 1;
            let (plan, attempt) = episode.wish.plan();
            let expected = self.expected(&episode.wish, plan, attempt);
            // Without the message none of its tools may have run.
            if expected.calls.iter().any(|(_, token)| self.servers.ran(token).begun > 0) {
                faults.push("a tool ran for a message that is not there".to_owned());
            }
        }
        // Each new message is either a known plan or an answer to the one before it.
        let order = self.answers(&episode, (&fresh, has_begun), &kills, &mut faults);
        queue_held(&episode, &order, &mut faults);
        let attempt = episode.wish.plan().1;
        let first = fresh.first().map(id_of);
        // Only the first new message can be a new attempt at an earlier answer.
        faults.extend(self.chat.learn(&stored.present, |row| if Some(id_of(row)) == first { attempt } else { 0 }));
        faults.extend(self.forks().await);
        self.count(&episode);
        let (chat, turn) = (&self.chat.id, episode.wish.plan().0.turn);
        for fault in faults {
            self.tally.fault(format!("chat {chat}, turn {turn}: {fault}"));
        }
        self.servers.forget_requests();
    }

    /// Returns how many messages of the current branch remain, and whether the first action took effect.
    fn kept(&self, episode: &Episode, stored: &Stored) -> (usize, bool) {
        let all = self.chat.present.len();
        let place = |id: &String| self.chat.present.iter().position(|other| other == id).unwrap_or(all);
        let asked = |plan: &Plan, at: usize| {
            stored.present.get(at).is_some_and(|row| row["content"] == plan.question().as_str())
        };
        let answered = |at: usize| {
            let row = stored.present.get(at);
            row.is_some_and(|row| row["role"] == "assistant" && !self.chat.known.contains_key(&id_of(row)))
        };
        let (at, has_begun) = match &episode.wish {
            Wish::Ask(plan) => (all, asked(plan, all)),
            Wish::Edit(id, plan) => (place(id), asked(plan, place(id))),
            Wish::Again(id, ..) => {
                let at = self.chat.question_of(place(id)).map_or(all, |question| question + 1);
                (at, answered(at))
            }
            Wish::GoOn(..) => (all, answered(all)),
        };
        if has_begun { (at, true) } else { (all, false) }
    }

    /// Returns what the answer to the first action ([`Wish`]) must contain.
    fn expected(&self, wish: &Wish, plan: &Plan, attempt: u64) -> Expected {
        match wish {
            Wish::GoOn(id, ..) => {
                let at = self.chat.present.iter().position(|other| other == id).unwrap_or_default();
                self.rest_of(plan, attempt, at)
            }
            _ => plan.whole(attempt),
        }
    }

    /// Checks each new answer. Returns the turn ids of the new user messages, in order.
    fn answers(
        &mut self,
        episode: &Episode,
        (fresh, has_begun): (&[Value], bool),
        kills: &[Instant],
        faults: &mut Vec<String>,
    ) -> Vec<u64> {
        let mut order = Vec::new();
        let mut stopped = 0;
        let mut expected = match &episode.wish {
            wish @ (Wish::Again(_, plan, attempt) | Wish::GoOn(_, plan, attempt)) if has_begun => {
                Some(self.expected(wish, plan, *attempt))
            }
            _ => None,
        };
        let nothing = Witness::default();
        for row in fresh {
            if row["role"] == "user" {
                if expected.is_some() {
                    faults.push(format!("lost: the message before {row} has no answer"));
                }
                let plan = row["content"].as_str().and_then(Plan::read);
                let Some(plan) = plan else {
                    faults.push(format!("nobody said {row}"));
                    continue;
                };
                order.push(plan.turn);
                expected = Some(plan.whole(0));
                continue;
            }
            let Some(expected) = expected.take() else {
                faults.push(format!("repeated: another answer is {row}"));
                continue;
            };
            let status = row["status"].as_str().unwrap_or_default().to_owned();
            stopped += usize::from(status == "stopped");
            *self.tally.ended.entry(status).or_default() += 1;
            let verdict = Verdict {
                expected: &expected,
                witness: episode.heard.answers.get(&id_of(row)).unwrap_or(&nothing),
                said: &episode.said,
                kills,
                may_be_stopped: episode.stops > 0,
                servers: self.servers,
            };
            faults.extend(verdict.check(row));
        }
        if expected.is_some() && !fresh.is_empty() {
            faults.push("lost: the last message has no answer".to_owned());
        }
        // A requested stop can come too late, so there may be fewer stopped answers than requests.
        if stopped > episode.stops {
            faults.push(format!("{stopped} answers were stopped, {} were to be", episode.stops));
        }
        let known: Vec<String> = fresh.iter().map(id_of).collect();
        for (id, witness) in episode.heard.answers.iter().filter(|(id, _)| !known.contains(id)) {
            faults.push(format!("lost: the person read {:?} of answer {id}, which is not there", witness.said()));
        }
        order
    }

    /// Loads the messages from the export ([`Stored`]), and compares them with the rest API.
    async fn stored(&mut self) -> Option<Stored> {
        let path = format!("/api/sessions/{}/export?format=json", self.chat.id);
        let file = loop {
            let text = self.steadily(|person| person.request(Method::GET, &path)).await?;
            // A document that ends early, because the server was killed, is not valid JSON.
            if let Ok(file) = serde_json::from_str::<Value>(&text) {
                break file;
            }
        };
        let chat = &file["chats"][0];
        let list = |name: &str| chat[name].as_array().cloned().unwrap_or_default();
        let stored = Stored { present: list("messages"), aside: list("branches") };
        // The rest API must show the same messages.
        let path =
            format!("/rest/v1/ai_chat_messages?select=id,status&session_id=eq.{}&order=created_at.asc", self.chat.id);
        let rows = self.steadily(|person| person.request(Method::GET, &path)).await?;
        let rows: Vec<Value> = serde_json::from_str(&rows).unwrap_or_default();
        let brief = |row: &Value| (id_of(row), row["status"].clone());
        if !rows.iter().map(brief).eq(stored.present.iter().map(brief)) {
            self.tally.fault(format!("chat {}: the list and the export differ", self.chat.id));
        }
        Some(stored)
    }

    /// Compares the branches that the server reports.
    async fn forks(&mut self) -> Option<String> {
        let path = format!("/api/sessions/{}/branches", self.chat.id);
        let told = self.steadily(|person| person.request(Method::GET, &path)).await?;
        self.chat.compare_forks(&serde_json::from_str(&told).unwrap_or_default())
    }

    /// Checks a chat after switching to the branch through a message.
    pub async fn look_at_branch(&mut self, through: &str) {
        let Some(stored) = self.stored().await else { return };
        let mut faults = self.chat.compare(&stored.present, &stored.aside);
        if !stored.present.iter().any(|row| id_of(row) == through) {
            faults.push(format!("message {through} is not on the present branch"));
        }
        faults.extend(self.chat.learn(&stored.present, |_| 0));
        faults.extend(self.forks().await);
        let chat = &self.chat.id;
        for fault in faults {
            self.tally.fault(format!("chat {chat}: {fault}"));
        }
    }

    /// Counts the actions of an episode.
    fn count(&mut self, episode: &Episode) {
        self.tally.count(match episode.wish {
            Wish::Ask(_) => "asked",
            Wish::Edit(..) => "edited",
            Wish::Again(..) => "answered anew",
            Wish::GoOn(..) => "gone on with",
        });
        for queued in &episode.queued {
            self.tally.count("queued");
            if queued.reworded.is_some() || queued.removed.is_some() {
                self.tally.count("changed in the queue");
            }
        }
        for _ in episode.said.keys() {
            self.tally.count("questions answered");
        }
    }
}

/// Checks that each queued message was sent exactly once with its last text, unless it was removed.
fn queue_held(episode: &Episode, order: &[u64], faults: &mut Vec<String>) {
    // By turn id: number of messages that no expectation has matched yet.
    let mut rest: HashMap<u64, usize> = HashMap::new();
    for turn in order {
        *rest.entry(*turn).or_default() += 1;
    }
    if let Wish::Ask(plan) | Wish::Edit(_, plan) = &episode.wish
        && rest.remove(&plan.turn).is_some_and(|times| times > 1)
    {
        faults.push("repeated: the message is there twice".to_owned());
    }
    let mut places = Vec::new();
    for queued in &episode.queued {
        let first = rest.remove(&queued.plan.turn).unwrap_or_default();
        let second = queued.reworded.as_ref().and_then(|(plan, _)| rest.remove(&plan.turn)).unwrap_or_default();
        // A lost response allows both outcomes; a confirmed one allows one.
        let fits = match queued {
            Queued { removed: Some(Asked::Surely), .. } => first + second == 0,
            Queued { removed: Some(Asked::Perhaps), .. } | Queued { id: None, .. } => first + second <= 1,
            Queued { reworded: Some((_, Asked::Surely)), .. } => (first, second) == (0, 1),
            Queued { reworded: Some((_, Asked::Perhaps)), .. } => first + second == 1,
            Queued { reworded: None, .. } => (first, second) == (1, 0),
        };
        if !fits {
            let what = if first + second > 1 { "repeated" } else { "lost" };
            let described = queued.describe();
            faults.push(format!("{what}: what waited was sent {first} and {second} times: {described}"));
        }
        let turn = queued.reworded.as_ref().filter(|_| second > 0).map_or(queued.plan.turn, |(plan, _)| plan.turn);
        places.extend(order.iter().position(|other| *other == turn));
    }
    if !rest.is_empty() {
        faults.push(format!("nobody asked for the turns {:?}", rest.keys()));
    }
    if !episode.is_out_of_order && !places.is_sorted() {
        faults.push(format!("what waited was sent in another order: {places:?}"));
    }
}
