//! Events on other nodes than the one where they happen.

use accounts::admin::AdminUserParams;
use reqwest::{Method, Response};
use serde_json::json;
use testkit::{PageEvents, ScriptedMcp, Step, run_sql};

use crate::nodes::{Fixture, no_tools};

impl Fixture {
    async fn page(&self) -> Response {
        self.elsewhere.request(Method::GET, "/api/events").send().await.unwrap()
    }

    /// Repeats an action until a subscriber at the other node receives this text, and returns the stream.
    async fn page_hears(&self, told: &str, does: impl AsyncFn()) -> Response {
        let mut page = self.page().await;
        let mut seen = String::new();
        does().await;
        while !seen.contains(told) {
            if let Some(piece) = page.chunk().await.unwrap() {
                seen.push_str(&String::from_utf8_lossy(&piece));
            } else {
                // The other node has just started to listen, which ends its streams: clients reconnect and reload.
                page = self.page().await;
                does().await;
            }
        }
        page
    }

    /// Sends a message at this node and waits for the answer.
    async fn ask(&self) {
        let (status, _) = self.person.ask(&self.chat, "Hi", no_tools()).await;
        assert!(status.is_success(), "{status}");
    }
}

fn answers() -> Vec<Step> {
    vec![Step::Text("Hello.".into()); 20]
}

#[tokio::test]
async fn pages_on_another_node_are_told() {
    let Some(fixture) = Fixture::new(answers()).await else { return };
    fixture.page_hears(r#""state":"started""#, || fixture.ask()).await;
    fixture.page_hears(r#""state":"ended""#, || fixture.ask()).await;
    fixture.stop().await;
}

#[tokio::test]
async fn news_that_are_too_long_for_a_notification_reach_pages_on_another_node() {
    let Some(fixture) = Fixture::new([]).await else { return };
    let tool = |number: usize| json!({ "name": format!("tool_{number}"), "description": "Does it. ".repeat(40) });
    let server = ScriptedMcp::start((0..100).map(tool)).await;
    let connection = fixture.person.connect_to("workshop", &server.url).await;
    let refresh = format!("/api/connections/{connection}/refresh");
    let refreshes = async || assert!(fixture.person.post(&refresh, &json!({})).await.0.is_success());
    fixture.page_hears(r#""name":"tool_99""#, refreshes).await;
    fixture.stop().await;
}

/// Terminates the connections over which the nodes listen, and returns their number.
async fn cut_listeners(url: &str) -> usize {
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'LISTEN%'";
    run_sql(url, cut).await.lines().filter(|line| *line == "t").count()
}

#[tokio::test]
async fn a_node_that_could_not_hear_the_others_for_a_while_lets_its_pages_load_afresh() {
    let Some(fixture) = Fixture::new(answers()).await else { return };
    // Once it listens, its streams stay open.
    let mut page = fixture.page_hears(r#""state":"ended""#, || fixture.ask()).await;
    assert!(cut_listeners(&fixture.there.database_url).await > 0);
    while page.chunk().await.unwrap().is_some() {}
    fixture.page_hears(r#""state":"ended""#, || fixture.ask()).await;
    fixture.stop().await;
}

#[tokio::test]
async fn page_on_another_node_first_hears_of_turn_that_waits() {
    let calls = Step::Calls(vec![("send".into(), json!({}))]);
    let Some(fixture) = Fixture::new([calls, Step::Text("Sent.".into())]).await else { return };
    let server = ScriptedMcp::start([json!({ "name": "send", "description": "Sends a letter." })]).await;
    fixture.person.connect_to("post", &server.url).await;
    let tools = json!([{ "name": "send", "serverName": "post" }]);
    // Once the other node listens, its streams stay open.
    fixture.page_hears(r#""type":"session""#, async || drop(fixture.person.new_chat().await)).await;
    let mut page = PageEvents::open(&fixture.person).await;
    let (_, waiting) = fixture.person.ask(&fixture.chat, "Send it", tools).await;
    while page.turn_state(&fixture.chat).await != "waiting" {}

    let mut elsewhere = PageEvents::open(&fixture.elsewhere).await;
    assert_eq!(elsewhere.turn_state(&fixture.chat).await, "waiting");
    // The node that runs the turn stops, and the other one takes over.
    let Fixture { here, there, elsewhere: person, chat, .. } = fixture;
    here.stop().await;
    let mut elsewhere = PageEvents::open(&person).await;
    assert_eq!(elsewhere.turn_state(&chat).await, "waiting");
    let approval = &waiting["approvals"][0]["approvalId"];
    assert_eq!(person.decide(&chat, approval, &json!({ "decision": "once" })).await.0, 200);
    while elsewhere.turn_state(&chat).await != "ended" {}
    let mut later = PageEvents::open(&person).await;
    person.new_chat().await;
    assert_eq!(later.find(|_| true).await.unwrap()["type"], "session", "a turn that ended is not told");
    there.stop().await;
}

#[tokio::test]
async fn a_lock_ends_pages_on_another_node() {
    let Some(fixture) = Fixture::new(answers()).await else { return };
    let mut page = fixture.page_hears(r#""state":"started""#, || fixture.ask()).await;
    let lock = AdminUserParams { ban_duration: Some("24h".to_owned()), ..AdminUserParams::default() };
    fixture.here.state.accounts.update_user_as_admin(fixture.person.id.parse().unwrap(), lock).await.unwrap();
    let mut rest = String::new();
    while let Some(piece) = page.chunk().await.unwrap() {
        rest.push_str(&String::from_utf8_lossy(&piece));
    }
    assert!(rest.ends_with("data: {\"type\":\"devices\"}\n\n"), "{rest}");
    fixture.stop().await;
}
