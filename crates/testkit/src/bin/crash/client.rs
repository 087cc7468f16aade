//! A simulated user who keeps sending messages while the server is killed and restarted.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use testkit::Person;
use tokio::sync::{Semaphore, watch};

use crate::expected_chat::ExpectedChat;
use crate::mcp_servers::McpServers;
use crate::plan::{Attempts, Plan};
use crate::results::TestResults;
use crate::scenario::{InitialAction, Scenario};
use crate::server::ServerState;
use crate::stream_log::Acceptance;

/// Delay before a request is repeated that was refused because of the database.
pub const OUTAGE_DELAY: Duration = Duration::from_millis(100);

/// Time after which a user signs in again, before the access token expires after an hour.
const SIGN_IN_INTERVAL: Duration = Duration::from_mins(30);

/// A simulated user, with the expected state of the current chat.
pub struct TestClient<'a> {
    pub(crate) user: Person,
    signed_in_at: Instant,
    pub(crate) tools: Value,
    pub(crate) servers: &'a McpServers,
    pub(crate) attempts: Attempts,
    state: watch::Receiver<ServerState>,
    pub(crate) rng: fastrand::Rng,
    next_turn: u64,
    /// Number of the newest attempt of each turn.
    newest_attempts: HashMap<u64, u64>,
    pub(crate) chat: ExpectedChat,
    pub(crate) results: TestResults,
}

impl<'a> TestClient<'a> {
    /// Creates a user whose turns have ids above `first_turn`.
    pub fn new(
        (user, tools): (Person, Value),
        servers: &'a McpServers,
        attempts: Attempts,
        state: watch::Receiver<ServerState>,
        rng: fastrand::Rng,
        first_turn: u64,
    ) -> Self {
        Self {
            user,
            signed_in_at: Instant::now(),
            tools,
            servers,
            attempts,
            state,
            rng,
            next_turn: first_turn,
            newest_attempts: HashMap::new(),
            chat: ExpectedChat::default(),
            results: TestResults::default(),
        }
    }

    /// Runs scenarios until the server is no longer killed, each with one of the permits of `turns`. Returns the
    /// [`TestResults`].
    pub async fn run(mut self, turns: &Semaphore) -> TestResults {
        while !self.state.borrow().kills_are_over {
            // The semaphore is never closed.
            let _permit = turns.acquire().await.unwrap();
            if self.signed_in_at.elapsed() > SIGN_IN_INTERVAL {
                self.sign_in_again().await;
            }
            if self.chat.id.is_empty() || self.rng.u8(0..6) == 0 {
                self.create_chat().await;
            }
            if self.rng.u8(0..4) == 0 {
                self.switch_branch().await;
            }
            self.run_scenario().await;
        }
        self.results
    }

    /// Replaces the access token.
    async fn sign_in_again(&mut self) {
        let body = json!({ "email": self.user.email, "password": "correct horse" });
        let path = "/auth/v1/token?grant_type=password";
        let session = self.send_until_answered(|user| user.request(Method::POST, path).json(&body)).await;
        let session: Value = session.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        match session["access_token"].as_str() {
            Some(token) => token.clone_into(&mut self.user.token),
            None => self.results.add_violation(format!("signing in again failed: {session}")),
        }
        self.signed_in_at = Instant::now();
    }

    /// Starts a new chat, whose id is chosen here so that the request can be repeated.
    async fn create_chat(&mut self) {
        let id = domain::ids::fresh().to_string();
        let row = json!({ "id": id, "user_id": self.user.id, "title": "New Chat" });
        // A conflict means that an earlier attempt, whose response was lost, had succeeded.
        self.send_until_answered(|user| user.request(Method::POST, "/rest/v1/ai_chat_sessions").json(&row)).await;
        self.chat = ExpectedChat { id, ..ExpectedChat::default() };
        self.newest_attempts.clear();
    }

    /// Returns a [`Plan`] that was never sent before.
    pub fn new_plan(&mut self) -> Plan {
        self.next_turn += 1;
        Plan::random(self.next_turn, &mut self.rng)
    }

    /// Chooses the next action, as an [`InitialAction`].
    fn choose_initial_action(&mut self) -> InitialAction {
        let last_index = self.chat.current_branch.len().checked_sub(1);
        let interrupted = last_index.filter(|at| {
            self.chat
                .message_at(*at)
                .is_some_and(|message| matches!(message.row["status"].as_str(), Some("interrupted" | "stopped")))
        });
        match (self.rng.u8(0..8), interrupted) {
            (0..3, Some(at)) => self.continue_action(at),
            (3..5, Some(at)) => self.regenerate_action(at),
            (0, None) => {
                let indices = self.chat.indices_of("user");
                match self.rng.choice(indices) {
                    Some(at) => Some(InitialAction::Edit(self.chat.current_branch[at].clone(), self.new_plan())),
                    None => None,
                }
            }
            (1, None) => {
                let indices = self.chat.indices_of("assistant");
                self.rng.choice(indices).and_then(|at| self.regenerate_action(at))
            }
            _ => None,
        }
        .unwrap_or_else(|| InitialAction::Send(self.new_plan()))
    }

    /// Returns the action to regenerate an answer.
    fn regenerate_action(&mut self, at: usize) -> Option<InitialAction> {
        let plan = self.plan_of_answer(at)?;
        let attempt = self.newest_attempts.entry(plan.turn).or_default();
        *attempt += 1;
        Some(InitialAction::Regenerate(self.chat.current_branch[at].clone(), plan, *attempt))
    }

    /// Returns the action to continue an interrupted answer.
    fn continue_action(&self, at: usize) -> Option<InitialAction> {
        let (plan, attempt) = (self.plan_of_answer(at)?, self.chat.message_at(at)?.attempt);
        // A complete answer cannot be continued.
        let is_complete = self.remaining_content(&plan, attempt, at).text.is_empty();
        (!is_complete).then(|| InitialAction::Continue(self.chat.current_branch[at].clone(), plan, attempt))
    }

    /// Returns the [`Plan`] of the message that an answer belongs to.
    fn plan_of_answer(&self, at: usize) -> Option<Plan> {
        let user_message = self.chat.message_at(self.chat.user_message_of(at)?)?;
        Plan::parse(user_message.row["content"].as_str()?)
    }

    /// Runs a [`Scenario`]: sends a message, follows the chat until it is idle, and checks the result.
    async fn run_scenario(&mut self) {
        let initial_action = self.choose_initial_action();
        let (plan, attempt) = initial_action.plan();
        self.attempts.set(plan.turn, attempt);
        let mut body = json!({ "sessionId": self.chat.id, "tools": self.tools });
        match &initial_action {
            InitialAction::Send(plan) => body["message"] = plan.message_text().into(),
            InitialAction::Edit(id, plan) => {
                body["message"] = plan.message_text().into();
                body["replaces"] = id.as_str().into();
            }
            InitialAction::Regenerate(id, ..) => body["replaces"] = id.as_str().into(),
            InitialAction::Continue(id, ..) => body["continues"] = id.as_str().into(),
        }
        let mut scenario = Scenario::new(initial_action, self.kill_count());
        self.plan_actions(&mut scenario);
        let request = self.user.request(Method::POST, "/functions/v1/ai-chat");
        let stream = match request.header("accept", "text/event-stream").json(&body).send().await {
            Ok(answer) if answer.status() == StatusCode::OK => {
                scenario.accepted = Some(Acceptance::Confirmed);
                Some(answer)
            }
            Ok(answer) if self.is_outage(answer.status()) => {
                scenario.accepted = Some(Acceptance::Unknown);
                None
            }
            Ok(answer) => {
                let status = answer.status();
                let body = answer.text().await.unwrap_or_default();
                scenario.violations.push(format!("the message was rejected: {status} {body}"));
                None
            }
            // The connection broke: the message may be stored or not.
            Err(_) => {
                scenario.accepted = Some(Acceptance::Unknown);
                None
            }
        };
        self.follow_until_idle(stream, &mut scenario).await;
        self.check_scenario(scenario).await;
    }

    /// Switches to another branch of the chat, if there is one.
    async fn switch_branch(&mut self) {
        let other_branches = self.chat.other_branches();
        let Some(to) = self.rng.choice(other_branches) else { return };
        let (path, body) = (format!("/api/sessions/{}/branches", self.chat.id), json!({ "messageId": to }));
        self.send_until_answered(|user| user.request(Method::POST, &path).json(&body)).await;
        self.results.count_action("branches switched");
        self.check_switched_branch(&to).await;
    }

    /// Repeats a request until there is a response, and returns its body.
    pub async fn send_until_answered(
        &mut self,
        request: impl Fn(&Person) -> reqwest::RequestBuilder,
    ) -> Option<String> {
        loop {
            self.wait_until_up().await;
            let Ok(response) = request(&self.user).send().await else { continue };
            let status = response.status();
            if self.is_outage(status) {
                tokio::time::sleep(OUTAGE_DELAY).await;
                continue;
            }
            // A server that is killed breaks the connection; an error status is always a violation.
            if status.is_server_error() {
                self.results.add_violation(format!("the server answered {status}"));
                return None;
            }
            if let Ok(body) = response.text().await {
                return Some(body);
            }
        }
    }

    /// Returns whether a response says that the database is out of order, which is no violation if it is killed. Whether
    /// the request was accepted is unknown: the database may have been killed after its commit.
    pub fn is_outage(&self, status: StatusCode) -> bool {
        status == StatusCode::SERVICE_UNAVAILABLE && self.kills_database()
    }

    /// Returns whether the database is killed instead of the nodes.
    pub fn kills_database(&self) -> bool {
        self.state.borrow().kills_database
    }

    /// Returns the number of kills so far.
    pub fn kill_count(&self) -> usize {
        self.state.borrow().kills.len()
    }

    /// Returns the times of the kills after the first ones.
    pub fn kills_since(&self, first: usize) -> Vec<std::time::Instant> {
        self.state.borrow().kills[first..].to_vec()
    }

    /// Waits until the server runs.
    pub async fn wait_until_up(&mut self) {
        // The sender belongs to the task that kills the server, which outlives all users.
        drop(self.state.wait_for(|state| state.is_up).await);
        // Requests may still fail for a moment, and an immediate retry would spin.
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
