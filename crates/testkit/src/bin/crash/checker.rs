//! Checks an idle chat: compares the stored messages with what its user did and received.

use std::collections::HashMap;
use std::time::Instant;

use reqwest::Method;
use serde_json::Value;

use crate::client::TestClient;
use crate::expected_chat::id_of;
use crate::invariants::AnswerCheck;
use crate::plan::{ExpectedAnswer, Plan};
use crate::scenario::{InitialAction, QueuedMessage, Scenario};
use crate::stream_log::{Acceptance, StreamLog};

/// Stored messages of a chat.
struct StoredChat {
    current_branch: Vec<Value>,
    other_branches: Vec<Value>,
}

impl TestClient<'_> {
    /// Returns what is missing ([`ExpectedAnswer`]) of the answers to a message, of which the last one is at index `at`.
    pub fn remaining_content(&self, plan: &Plan, attempt: u64, at: usize) -> ExpectedAnswer {
        let from = self.chat.user_message_of(at).unwrap_or_default();
        let answers: Vec<&Value> = (from + 1..=at).filter_map(|at| Some(&self.chat.message_at(at)?.row)).collect();
        let text: String = answers.iter().filter_map(|row| row["content"].as_str()).collect();
        let has_call = |token: &str| answers.iter().any(|row| row["tool_calls"].to_string().contains(token));
        plan.remaining_answer(attempt, &text, has_call)
    }

    /// Checks all invariants, and adds the violations to the results.
    pub async fn check_scenario(&mut self, mut scenario: Scenario) {
        let Some(stored_chat) = self.load_stored_chat().await else { return };
        let kills = self.kills_since(scenario.kills_before_start);
        let mut violations = std::mem::take(&mut scenario.violations);
        violations.append(&mut scenario.observed.violations);
        violations.extend(self.chat.compare(&stored_chat.current_branch, &stored_chat.other_branches));
        // The messages from before must precede the new ones.
        // The actions of this scenario decide how many of them are still on the branch.
        let (retained, is_accepted) = self.count_retained(&scenario, &stored_chat);
        let ids: Vec<String> = stored_chat.current_branch.iter().map(id_of).collect();
        let new_messages = if ids.starts_with(&self.chat.current_branch[..retained]) {
            stored_chat.current_branch[retained..].to_vec()
        } else {
            violations
                .push(format!("the messages {ids:?} do not start with {:?}", &self.chat.current_branch[..retained]));
            Vec::new()
        };
        if scenario.accepted == Some(Acceptance::Confirmed) && !is_accepted {
            violations.push("lost: the message was accepted and is not stored".to_owned());
        }
        if !is_accepted {
            *self.results.answers.entry("not accepted".to_owned()).or_default() += 1;
            let (plan, attempt) = scenario.initial_action.plan();
            let expected = self.expected_answer(&scenario.initial_action, plan, attempt);
            // Without the message none of its tools may have run.
            if expected.calls.iter().any(|(_, token)| self.servers.call_record(token).started > 0) {
                violations.push("a tool ran for a message that is not stored".to_owned());
            }
        }
        // Each new message is either a known plan or an answer to the one before it.
        let order = self.check_answers(&scenario, (&new_messages, is_accepted), &kills, &mut violations);
        check_queue(&scenario, &order, &mut violations);
        let attempt = scenario.initial_action.plan().1;
        let first = new_messages.first().map(id_of);
        // Only the first new message can be a new attempt at an earlier answer.
        violations.extend(
            self.chat
                .add_stored(&stored_chat.current_branch, |row| if Some(id_of(row)) == first { attempt } else { 0 }),
        );
        violations.extend(self.check_branches().await);
        self.count_actions(&scenario);
        let (chat, turn) = (&self.chat.id, scenario.initial_action.plan().0.turn);
        for violation in violations {
            self.results.add_violation(format!("chat {chat}, turn {turn}: {violation}"));
        }
        self.servers.forget_requests();
    }

    /// Returns how many messages of the current branch remain, and whether the first action took effect.
    fn count_retained(&self, scenario: &Scenario, stored_chat: &StoredChat) -> (usize, bool) {
        let all = self.chat.current_branch.len();
        let position_of = |id: &String| self.chat.current_branch.iter().position(|other| other == id).unwrap_or(all);
        let is_sent = |plan: &Plan, at: usize| {
            stored_chat.current_branch.get(at).is_some_and(|row| row["content"] == plan.message_text().as_str())
        };
        let is_new_answer = |at: usize| {
            let row = stored_chat.current_branch.get(at);
            row.is_some_and(|row| row["role"] == "assistant" && !self.chat.messages.contains_key(&id_of(row)))
        };
        let (at, is_accepted) = match &scenario.initial_action {
            InitialAction::Send(plan) => (all, is_sent(plan, all)),
            InitialAction::Edit(id, plan) => (position_of(id), is_sent(plan, position_of(id))),
            InitialAction::Regenerate(id, ..) => {
                let at = self.chat.user_message_of(position_of(id)).map_or(all, |user_message| user_message + 1);
                (at, is_new_answer(at))
            }
            InitialAction::Continue(..) => (all, is_new_answer(all)),
        };
        if is_accepted { (at, true) } else { (all, false) }
    }

    /// Returns what the answer to the first action ([`InitialAction`]) must contain.
    fn expected_answer(&self, initial_action: &InitialAction, plan: &Plan, attempt: u64) -> ExpectedAnswer {
        match initial_action {
            InitialAction::Continue(id, ..) => {
                let at = self.chat.current_branch.iter().position(|other| other == id).unwrap_or_default();
                self.remaining_content(plan, attempt, at)
            }
            _ => plan.complete_answer(attempt),
        }
    }

    /// Checks each new answer. Returns the turn ids of the new user messages, in order.
    fn check_answers(
        &mut self,
        scenario: &Scenario,
        (new_messages, is_accepted): (&[Value], bool),
        kills: &[Instant],
        violations: &mut Vec<String>,
    ) -> Vec<u64> {
        let mut order = Vec::new();
        let mut stopped = 0;
        let mut expected = match &scenario.initial_action {
            initial_action @ (InitialAction::Regenerate(_, plan, attempt)
            | InitialAction::Continue(_, plan, attempt))
                if is_accepted =>
            {
                Some(self.expected_answer(initial_action, plan, *attempt))
            }
            _ => None,
        };
        let empty_log = StreamLog::default();
        for row in new_messages {
            if row["role"] == "user" {
                if expected.is_some() {
                    violations.push(format!("lost: the message before {row} has no answer"));
                }
                let plan = row["content"].as_str().and_then(Plan::parse);
                let Some(plan) = plan else {
                    violations.push(format!("no user sent {row}"));
                    continue;
                };
                order.push(plan.turn);
                expected = Some(plan.complete_answer(0));
                continue;
            }
            let Some(expected) = expected.take() else {
                violations.push(format!("repeated: another answer is {row}"));
                continue;
            };
            let status = row["status"].as_str().unwrap_or_default().to_owned();
            stopped += usize::from(status == "stopped");
            *self.results.answers.entry(status).or_default() += 1;
            let check = AnswerCheck {
                expected: &expected,
                log: scenario.observed.logs.get(&id_of(row)).unwrap_or(&empty_log),
                responses: &scenario.responses,
                kills,
                kills_database: self.kills_database(),
                may_be_stopped: scenario.requested_stops > 0,
                servers: self.servers,
            };
            violations.extend(check.check(row));
        }
        if expected.is_some() && !new_messages.is_empty() {
            violations.push("lost: the last message has no answer".to_owned());
        }
        // A requested stop can come too late, so there may be fewer stopped answers than requests.
        if stopped > scenario.requested_stops {
            violations
                .push(format!("{stopped} answers were stopped, {} stops were requested", scenario.requested_stops));
        }
        let new_ids: Vec<String> = new_messages.iter().map(id_of).collect();
        for (id, log) in scenario.observed.logs.iter().filter(|(id, _)| !new_ids.contains(id)) {
            violations.push(format!("lost: the user received {:?} of answer {id}, which is not stored", log.text()));
        }
        order
    }

    /// Loads the messages from the export ([`StoredChat`]), and compares them with the rest API.
    async fn load_stored_chat(&mut self) -> Option<StoredChat> {
        let path = format!("/api/sessions/{}/export?format=json", self.chat.id);
        let export = loop {
            let text = self.send_until_answered(|user| user.request(Method::GET, &path)).await?;
            // A document that ends early, because the server was killed, is not valid JSON.
            if let Ok(export) = serde_json::from_str::<Value>(&text) {
                break export;
            }
        };
        let chat = &export["chats"][0];
        let list = |name: &str| chat[name].as_array().cloned().unwrap_or_default();
        let stored_chat = StoredChat { current_branch: list("messages"), other_branches: list("branches") };
        // The rest API must show the same messages.
        let path =
            format!("/rest/v1/ai_chat_messages?select=id,status&session_id=eq.{}&order=created_at.asc", self.chat.id);
        let rows = self.send_until_answered(|user| user.request(Method::GET, &path)).await?;
        let rows: Vec<Value> = serde_json::from_str(&rows).unwrap_or_default();
        let id_and_status = |row: &Value| (id_of(row), row["status"].clone());
        if !rows.iter().map(id_and_status).eq(stored_chat.current_branch.iter().map(id_and_status)) {
            self.results.add_violation(format!("chat {}: the rest API and the export differ", self.chat.id));
        }
        Some(stored_chat)
    }

    /// Compares the branches that the server reports.
    async fn check_branches(&mut self) -> Option<String> {
        let path = format!("/api/sessions/{}/branches", self.chat.id);
        let reported = self.send_until_answered(|user| user.request(Method::GET, &path)).await?;
        self.chat.compare_branches(&serde_json::from_str(&reported).unwrap_or_default())
    }

    /// Checks a chat after switching to the branch through a message.
    pub async fn check_switched_branch(&mut self, through: &str) {
        let Some(stored_chat) = self.load_stored_chat().await else { return };
        let mut violations = self.chat.compare(&stored_chat.current_branch, &stored_chat.other_branches);
        if !stored_chat.current_branch.iter().any(|row| id_of(row) == through) {
            violations.push(format!("message {through} is not on the current branch"));
        }
        violations.extend(self.chat.add_stored(&stored_chat.current_branch, |_| 0));
        violations.extend(self.check_branches().await);
        let chat = &self.chat.id;
        for violation in violations {
            self.results.add_violation(format!("chat {chat}: {violation}"));
        }
    }

    /// Counts the actions of a scenario.
    fn count_actions(&mut self, scenario: &Scenario) {
        self.results.count_action(match scenario.initial_action {
            InitialAction::Send(_) => "messages sent",
            InitialAction::Edit(..) => "messages edited",
            InitialAction::Regenerate(..) => "answers regenerated",
            InitialAction::Continue(..) => "answers continued",
        });
        for queued in &scenario.queued {
            self.results.count_action("messages queued");
            if queued.edited.is_some() || queued.removed.is_some() {
                self.results.count_action("queued messages changed");
            }
        }
        for _ in scenario.responses.keys() {
            self.results.count_action("interactions answered");
        }
    }
}

/// Checks that each queued message was sent exactly once with its last text, unless it was removed.
fn check_queue(scenario: &Scenario, order: &[u64], violations: &mut Vec<String>) {
    // By turn id: number of messages that no expectation has matched yet.
    let mut unmatched: HashMap<u64, usize> = HashMap::new();
    for turn in order {
        *unmatched.entry(*turn).or_default() += 1;
    }
    if let InitialAction::Send(plan) | InitialAction::Edit(_, plan) = &scenario.initial_action
        && unmatched.remove(&plan.turn).is_some_and(|times| times > 1)
    {
        violations.push("repeated: the message is stored twice".to_owned());
    }
    let mut positions = Vec::new();
    for queued in &scenario.queued {
        let first = unmatched.remove(&queued.plan.turn).unwrap_or_default();
        let second = queued.edited.as_ref().and_then(|(plan, _)| unmatched.remove(&plan.turn)).unwrap_or_default();
        // A lost response allows both outcomes; a confirmed one allows one.
        let is_allowed = match queued {
            QueuedMessage { removed: Some(Acceptance::Confirmed), .. } => first + second == 0,
            QueuedMessage { removed: Some(Acceptance::Unknown), .. } | QueuedMessage { id: None, .. } => {
                first + second <= 1
            }
            QueuedMessage { edited: Some((_, Acceptance::Confirmed)), .. } => (first, second) == (0, 1),
            QueuedMessage { edited: Some((_, Acceptance::Unknown)), .. } => first + second == 1,
            QueuedMessage { edited: None, .. } => (first, second) == (1, 0),
        };
        if !is_allowed {
            let what = if first + second > 1 { "repeated" } else { "lost" };
            let description = queued.describe();
            violations.push(format!(
                "{what}: a queued message was sent {first} times, and edited {second} times: {description}"
            ));
        }
        let turn = queued.edited.as_ref().filter(|_| second > 0).map_or(queued.plan.turn, |(plan, _)| plan.turn);
        positions.extend(order.iter().position(|other| *other == turn));
    }
    if !unmatched.is_empty() {
        violations.push(format!("no user sent the turns {:?}", unmatched.keys()));
    }
    if !scenario.is_out_of_order && !positions.is_sorted() {
        violations.push(format!("queued messages were sent in another order: {positions:?}"));
    }
}
