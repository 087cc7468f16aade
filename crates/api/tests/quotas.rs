//! Quotas of users: tokens, costs, turns, files and connections, on one node and on two.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use storage::quotas::{QuotaException, QuotaExceptions};
use testkit::{Database, MockClock, Person, ScriptedModel, Step, TestApp, databases, run_sql};

use crate::usage::{catalogue, cost};

/// Starts a server with a daily quota of 100 tokens.
async fn limited(database: Database, clock: &Arc<MockClock>, model: &ScriptedModel) -> TestApp {
    TestApp::builder()
        .database(database)
        .clock(clock)
        .set("OPENAI_BASE_URL", &model.base_url)
        .set("CHAT_TOKENS_PER_DAY", "100")
        .start()
        .await
}

#[tokio::test]
async fn who_has_used_what_they_may_waits_until_midnight_and_loses_nothing() {
    for database in databases() {
        let model = ScriptedModel::start([]).await;
        model.always(Step::Text("Hello.".into()));
        let clock = MockClock::new();
        let app = limited(database, &clock, &model).await;
        let (mut person, stranger) = (app.person().await, app.person().await);
        let chat = person.new_chat().await;
        assert_eq!(person.ask(&chat, "Hello", json!([])).await.0, 200);
        cost(&person, &chat, 1).await;
        let usage = person.get("/api/usage").await;
        let quota =
            json!({ "kind": "tokensPerDay", "limit": 100.0, "used": 130.0, "resetsAt": "2026-11-22T00:00:00.000000Z" });
        assert_eq!(usage["quotas"][0], quota);
        assert_eq!(person.get("/api/quotas").await["quotas"], usage["quotas"]);
        let body = json!({ "message": "More", "sessionId": chat, "tools": [] });
        let refused = person.request(Method::POST, "/functions/v1/ai-chat").json(&body).send().await.unwrap();
        // The clock is at ten in the morning.
        assert_eq!((refused.status().as_u16(), refused.headers()["retry-after"].to_str().unwrap()), (429, "50400"));
        let told: Value = refused.json().await.unwrap();
        assert_eq!(told["code"], "tokens_spent");
        assert!(told["error"].as_str().unwrap().contains("midnight"), "{told}");
        assert_eq!(person.messages(&chat).await.len(), 2, "what was refused was not sent");

        let (_, made) = person.post("/api/keys", &json!({ "name": "A program", "scopes": ["chat"] })).await;
        let question = json!({ "model": "openai/scripted", "messages": [{ "role": "user", "content": "Hi" }] });
        let url = format!("{}/v1/chat/completions", app.url);
        let answer = app.http.post(url).bearer_auth(made["secret"].as_str().unwrap()).json(&question).send().await;
        let answer = answer.unwrap();
        assert_eq!((answer.status().as_u16(), answer.headers()["retry-after"].to_str().unwrap()), (429, "50400"));
        assert_eq!(answer.json::<Value>().await.unwrap()["error"]["code"], "tokens_spent");

        // Other users are not affected, and users with a key of their own are not limited.
        let theirs = stranger.new_chat().await;
        assert_eq!(stranger.ask(&theirs, "Hello", json!([])).await.0, 200);
        let own = json!({ "kind": "compatible", "name": "Mine", "baseUrl": model.base_url, "key": "sk" });
        assert_eq!(person.post("/api/model-providers", &own).await.0, 201);
        let path = format!("/api/sessions/{chat}/model");
        let choose = async |person: &Person, name: Value| {
            let request = person.request(Method::PUT, &path).json(&json!({ "model": name }));
            assert_eq!(request.send().await.unwrap().status(), 200);
        };
        choose(&person, json!("my-mine/scripted")).await;
        assert_eq!(person.ask(&chat, "More", json!([])).await.0, 200);
        choose(&person, Value::Null).await;
        assert_eq!(person.ask(&chat, "More", json!([])).await.0, 429);
        clock.advance_seconds(50_400);
        person.sign_in_again().await;
        assert_eq!(person.ask(&chat, "More", json!([])).await.0, 200);
        app.stop().await;
    }
}

#[tokio::test]
async fn what_waits_at_the_limit_says_why() {
    for database in databases() {
        let model = ScriptedModel::start([Step::Text("Hello.".into())]).await;
        let clock = MockClock::new();
        let app = limited(database, &clock, &model).await;
        let mut person = app.person().await;
        let chat = person.new_chat().await;
        let path = format!("/api/sessions/{chat}/queue");
        assert_eq!(person.ask(&chat, "Hello", json!([])).await.0, 200);
        cost(&person, &chat, 1).await;
        assert_eq!(person.get(&path).await, json!({ "messages": [], "hindrance": null }));
        let message = json!({ "message": "More", "sessionId": chat, "tools": [] });
        assert_eq!(person.post(&path, &message).await.0, 201);
        let queue = person.get(&path).await;
        assert_eq!(queue["messages"][0]["content"], "More", "{queue}");
        assert!(queue["hindrance"].as_str().unwrap().contains("midnight"), "{queue}");
        clock.advance_seconds(50_400);
        person.sign_in_again().await;
        let queue = person.get(&path).await;
        assert_eq!((&queue["messages"][0]["content"], &queue["hindrance"]), (&json!("More"), &Value::Null), "{queue}");
        app.stop().await;
    }
}

#[tokio::test]
async fn a_turn_that_goes_over_the_limit_ends_with_what_it_has() {
    let model = ScriptedModel::start([]).await;
    model.always(Step::Calls(vec![("calculate".into(), json!({ "expression": "6*7" }))]));
    let app = TestApp::builder().set("OPENAI_BASE_URL", &model.base_url).set("CHAT_TOKENS_PER_DAY", "1").start().await;
    let person = app.person().await;
    person.connect_to("toolbox", &format!("{}/mcp/toolbox", app.url)).await;
    let chat = person.new_chat().await;
    let (status, told) = person.ask(&chat, "6*7?", json!([{ "name": "calculate", "serverName": "toolbox" }])).await;
    assert!(status == 502 && told["error"].as_str().unwrap().contains("midnight"), "{told}");
    let answer = person.messages(&chat).await.pop().unwrap();
    assert_eq!(answer["status"], "failed");
    assert!(!answer["tool_calls"].as_array().unwrap().is_empty(), "{answer}");
    app.stop().await;
}

/// Starts another node on PostgreSQL, and returns it with the same user there.
async fn second_node(
    database: Database,
    app: &TestApp,
    person: &Person,
    settings: impl Fn(testkit::Builder) -> testkit::Builder,
) -> (Option<TestApp>, Person) {
    if database == Database::Sqlite {
        return (None, person.clone());
    }
    let node = settings(TestApp::builder().on_data_of(&app.folder, &app.database_url)).start().await;
    let mut elsewhere = person.clone();
    elsewhere.move_to(&node);
    (Some(node), elsewhere)
}

#[tokio::test]
async fn chats_at_the_same_time_do_not_pass_a_quota_together() {
    const QUOTA: u64 = 60_000;
    for database in databases() {
        let model = ScriptedModel::start([]).await;
        model.always(Step::Hang("Hello.".into()));
        let settings = |builder: testkit::Builder| {
            builder.set("OPENAI_BASE_URL", &model.base_url).set("CHAT_TOKENS_PER_DAY", QUOTA.to_string())
        };
        let app = settings(TestApp::builder().database(database)).start().await;
        let person = app.person().await;
        let other = app.person().await;
        let (second, elsewhere) = second_node(database, &app, &person, settings).await;
        let mut streams = Vec::new();
        let mut limited = 0;
        // Each call reserves the tokens of the instructions and 16,384 of its answer, as long as they are left.
        for number in 0..10 {
            let chat = person.new_chat().await;
            let asking = if number % 2 == 0 { &person } else { &elsewhere };
            let mut stream = asking.ask_streaming(&chat, "Hello", json!([])).await;
            assert_eq!(stream.status(), 200);
            let mut seen = String::new();
            while !seen.contains("Hello.") && !seen.contains("reserved for answers that are in progress") {
                seen.push_str(&String::from_utf8_lossy(&stream.chunk().await.unwrap().expect("it says something")));
            }
            limited += usize::from(seen.contains("reserved"));
            assert_eq!(limited > 0, number > 3, "the fourth gets the rest: {number}");
            streams.push((chat, stream));
        }
        let requests = model.requests();
        assert_eq!(requests.len(), 4, "the provider was not asked for the others");
        let max_tokens: Vec<u64> = requests.iter().map(|request| request["max_tokens"].as_u64().unwrap()).collect();
        assert_eq!(max_tokens[..3], [16_384; 3]);
        // Whatever the answers become, they do not pass the quota together.
        assert!(max_tokens.iter().sum::<u64>() < QUOTA, "{max_tokens:?}");

        let theirs = other.new_chat().await;
        assert_eq!(other.ask_streaming(&theirs, "Hello", json!([])).await.status(), 200, "others are not affected");
        for (chat, _) in &streams {
            person.post(&format!("/api/sessions/{chat}/stop"), &json!({})).await;
            person.follow(chat).await;
        }
        let used = person.get("/api/quotas").await["quotas"][0]["used"].as_f64().unwrap();
        assert!(used > 0.0 && used < 12_000.0, "{used}");
        model.always(Step::Text("Again.".into()));
        assert_eq!(person.ask(&streams[0].0, "More", json!([])).await.0, 200);
        let answer = person.messages(&streams[0].0).await.pop().unwrap();
        assert_eq!(answer["content"], "Again.", "what was not used is free again");
        if let Some(second) = second {
            second.stop().await;
        }
        app.stop().await;
    }
}

#[tokio::test]
async fn long_message_does_not_pass_the_rest_of_a_quota() {
    for database in databases() {
        let model = ScriptedModel::start([]).await;
        model.always(Step::Text("Hello.".into()));
        let app = TestApp::builder()
            .database(database)
            .set("OPENAI_BASE_URL", &model.base_url)
            .set("CHAT_TOKENS_PER_DAY", "8000")
            .start()
            .await;
        let person = app.person().await;
        let chat = person.new_chat().await;
        assert_eq!(person.ask(&chat, "Hello", json!([])).await.0, 200);
        cost(&person, &chat, 1).await;
        let (status, told) = person.ask(&chat, &"word ".repeat(12_000), json!([])).await;
        let expected = "The rest of your 8000 tokens for today is not enough for this message";
        assert!(status == 502 && told["error"].as_str().unwrap().starts_with(expected), "{told}");
        assert_eq!(model.requests().len(), 1, "the provider was not asked");
        let other = person.new_chat().await;
        assert_eq!(person.ask(&other, "Short", json!([])).await.0, 200);
        app.stop().await;
    }
}

#[tokio::test]
async fn a_limit_on_costs_refuses_models_whose_price_is_unknown() {
    for (key, status) in [("sk-paid", 502), ("", 200)] {
        let model = ScriptedModel::start([]).await;
        model.always(Step::Text("Hello.".into()));
        let app = TestApp::builder()
            .set("OPENAI_BASE_URL", &model.base_url)
            .set("OPENAI_API_KEY", key)
            .set("CHAT_COST_PER_DAY", "1")
            .start()
            .await;
        let person = app.person().await;
        let (found, told) = person.ask(&person.new_chat().await, "Hello", json!([])).await;
        assert_eq!(found, status, "{told}");
        let is_told = told.to_string().contains("The price of openai/scripted is unknown");
        assert_eq!(is_told, status == 502, "{told}");
        assert_eq!(model.requests().len(), usize::from(status == 200));
        app.stop().await;
    }
}

#[tokio::test]
async fn no_turn_begins_while_quotas_cannot_be_read() {
    for database in databases() {
        let model = ScriptedModel::start([]).await;
        model.always(Step::Text("Hello.".into()));
        let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url).start().await;
        let person = app.person().await;
        let chat = person.new_chat().await;
        run_sql(&app.database_url, "ALTER TABLE user_quotas RENAME TO lost").await;
        assert_eq!(person.ask(&chat, "Hello", json!([])).await.0, 500);
        assert!(model.requests().is_empty());
        run_sql(&app.database_url, "ALTER TABLE lost RENAME TO user_quotas").await;
        assert_eq!(person.ask(&chat, "Hello", json!([])).await.0, 200);
        app.stop().await;
    }
}

#[tokio::test]
async fn quotas_of_a_month_and_of_costs_hold_with_exceptions() {
    for database in databases() {
        let model = ScriptedModel::start([]).await;
        model.always(Step::Text("Hello.".into()));
        let folder = tempfile::TempDir::new().unwrap();
        let file = folder.path().join("models.json");
        std::fs::write(&file, catalogue(2.0)).unwrap();
        let clock = MockClock::new();
        let app = TestApp::builder()
            .database(database)
            .clock(&clock)
            .set("OPENAI_BASE_URL", &model.base_url)
            .set("CHAT_MODEL_CATALOGUE", file.display().to_string())
            .set("CHAT_COST_PER_MONTH", "0.0002")
            .start()
            .await;
        let mut person = app.person().await;
        let chat = person.new_chat().await;
        assert_eq!(person.ask(&chat, "Hello", json!([])).await.0, 200);
        cost(&person, &chat, 1).await;
        let quota = person.get("/api/quotas").await["quotas"][0].clone();
        assert_eq!((&quota["kind"], &quota["limit"]), (&json!("costPerMonth"), &json!(0.0002)));
        assert_eq!(quota["resetsAt"], "2026-12-01T00:00:00.000000Z");
        let (status, refused) = person.ask(&chat, "More", json!([])).await;
        assert_eq!(status, 429, "{refused}");
        assert!(refused["error"].as_str().unwrap().contains("for this month"), "{refused}");

        let quotas = app.state.storage.quotas();
        let owner = person.id.parse().unwrap();
        let with = |exception| QuotaExceptions([None, None, None, Some(exception), None, None, None]);
        quotas.set_exceptions(owner, with(QuotaException::Unlimited)).await.unwrap();
        assert_eq!(person.get("/api/quotas").await["quotas"][0]["kind"], "storedBytes");
        assert_eq!(person.ask(&chat, "More", json!([])).await.0, 200);
        quotas.set_exceptions(owner, with(QuotaException::Limit(100))).await.unwrap();
        assert_eq!(person.ask(&chat, "More", json!([])).await.0, 429);
        quotas.set_exceptions(owner, QuotaExceptions::default()).await.unwrap();
        // Ten days later the month is over.
        clock.advance_seconds(10 * 86_400);
        person.sign_in_again().await;
        assert_eq!(person.ask(&chat, "More", json!([])).await.0, 200);
        app.stop().await;
    }
}

#[tokio::test]
async fn turns_per_hour_are_counted_before_they_begin() {
    for database in databases() {
        let model = ScriptedModel::start([]).await;
        model.always(Step::Text("Hello.".into()));
        let clock = MockClock::new();
        let settings = |builder: testkit::Builder| {
            builder.clock(&clock).set("OPENAI_BASE_URL", &model.base_url).set("CHAT_TURNS_PER_HOUR", "3")
        };
        let app = settings(TestApp::builder().database(database)).start().await;
        let (mut person, stranger) = (app.person().await, app.person().await);
        let (second, elsewhere) = second_node(database, &app, &person, settings).await;
        let owner = person.id.parse().unwrap();
        let quotas = app.state.storage.quotas();
        let mut chats = Vec::new();
        for _ in 0..8 {
            chats.push(person.new_chat().await);
        }
        // What does not begin is not counted: here there is no such chat.
        assert_eq!(person.ask(&stranger.new_chat().await, "Hello", json!([])).await.0, 404);
        let together = chats.iter().enumerate().map(async |(number, chat)| {
            let asking = if number % 2 == 0 { &person } else { &elsewhere };
            asking.ask(chat, "Hello", json!([])).await
        });
        let answers = futures_util::future::join_all(together).await;
        let count = |wanted: u16| answers.iter().filter(|(status, _)| *status == wanted).count();
        assert_eq!((count(200), count(429)), (3, 5), "{answers:?}");
        let (_, refused) = answers.iter().find(|(status, _)| *status == 429).unwrap();
        assert_eq!(refused["code"], "turns_spent");
        let told = "You have used your 3 messages for this hour; the quota is reset at the full hour.";
        assert_eq!(refused["error"], told);
        let spent =
            json!({ "kind": "turnsPerHour", "limit": 3.0, "used": 3.0, "resetsAt": "2026-11-21T11:00:00.000000Z" });
        assert_eq!(person.get("/api/quotas").await["quotas"][0], spent);

        let (_, made) = person.post("/api/keys", &json!({ "name": "A program", "scopes": ["chat"] })).await;
        let question = json!({ "model": "openai/scripted", "messages": [{ "role": "user", "content": "Hi" }] });
        let complete = async || {
            let url = format!("{}/v1/chat/completions", app.url);
            let request = app.http.post(url).bearer_auth(made["secret"].as_str().unwrap()).json(&question);
            request.send().await.unwrap()
        };
        let answer = complete().await;
        assert_eq!((answer.status().as_u16(), answer.headers()["retry-after"].to_str().unwrap()), (429, "3600"));
        assert_eq!(answer.json::<Value>().await.unwrap()["error"]["code"], "turns_spent");
        let theirs = stranger.new_chat().await;
        assert_eq!(stranger.ask(&theirs, "Hello", json!([])).await.0, 200, "others are not affected");

        let with = |limit| QuotaExceptions([None, None, None, None, Some(QuotaException::Limit(limit)), None, None]);
        quotas.set_exceptions(owner, with(4)).await.unwrap();
        assert_eq!(complete().await.status(), 200, "an exception allows one more");
        assert_eq!(person.ask(&chats[0], "More", json!([])).await.0, 429);
        clock.advance_seconds(3_600);
        person.sign_in_again().await;
        assert_eq!(person.ask(&chats[0], "More", json!([])).await.0, 200, "the next hour has begun");
        assert_eq!(person.get("/api/quotas").await["quotas"][0]["used"], 1.0);
        if let Some(second) = second {
            second.stop().await;
        }
        app.stop().await;
    }
}

#[tokio::test]
async fn an_exception_changes_the_room_for_files() {
    for database in databases() {
        let app = TestApp::builder().database(database).set("CHAT_MAX_FILES_MIB_PER_USER", "1").start().await;
        let person = app.person().await;
        let most = async || person.get("/api/usage").await["files"]["most"].clone();
        assert_eq!(most().await, 1024 * 1024);
        let exceptions =
            QuotaExceptions([None, None, None, None, None, Some(QuotaException::Limit(3 * 1024 * 1024)), None]);
        app.state.storage.quotas().set_exceptions(person.id.parse().unwrap(), exceptions).await.unwrap();
        assert_eq!(most().await, 3 * 1024 * 1024);
        let upload = async || {
            let request = person.request(Method::POST, "/v1/files?name=a").header("content-type", "text/plain");
            request.body("x".repeat(2 * 1024 * 1024)).send().await.unwrap().status().as_u16()
        };
        assert_eq!((upload().await, upload().await), (201, 413));
        app.stop().await;
    }
}

/// Adds connections to the data API with these names in one request, and returns status and body.
async fn add_connections(person: &Person, names: &[&str], preferences: &'static str) -> (u16, Value) {
    let row = |name: &&str| json!({ "name": name, "url": "https://example.com/mcp" });
    let rows: Vec<Value> = names.iter().map(row).collect();
    let request = person.request(Method::POST, "/rest/v1/mcp_servers?on_conflict=user_id,name");
    let answer = request.header("prefer", preferences).json(&rows).send().await.unwrap();
    let status = answer.status().as_u16();
    (status, answer.json().await.unwrap_or_default())
}

#[tokio::test]
async fn connections_are_counted_where_they_are_stored() {
    const MERGE: &str = "resolution=merge-duplicates";
    for database in databases() {
        let settings = |builder: testkit::Builder| builder.set("CHAT_MAX_SAVED_CONNECTIONS_PER_USER", "3");
        let app = settings(TestApp::builder().database(database)).start().await;
        let person = app.person().await;
        let (second, elsewhere) = second_node(database, &app, &person, settings).await;
        let names: Vec<String> = (0..8).map(|number| format!("server {number}")).collect();
        let all = names.iter().enumerate().map(async |(number, name)| {
            let person = if number % 2 == 0 { &person } else { &elsewhere };
            add_connections(person, &[name], MERGE).await
        });
        let answers = futures_util::future::join_all(all).await;
        assert_eq!(answers.iter().filter(|(status, _)| *status == 201).count(), 3, "{answers:?}");
        let (status, refused) = answers.into_iter().find(|(status, _)| *status != 201).unwrap();
        let told = "You can have at most 3 connections. Delete one first.";
        assert_eq!((status, &refused["code"], &refused["message"]), (400, &json!("P0001"), &json!(told)));

        let stored = person.get("/rest/v1/mcp_servers?select=name").await;
        let stored: Vec<&str> = stored.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
        assert_eq!(stored.len(), 3);
        assert_eq!(add_connections(&person, &stored, MERGE).await.0, 200, "no new one");
        let quota = json!({ "kind": "connections", "limit": 3.0, "used": 3.0, "resetsAt": null });
        assert_eq!(person.get("/api/quotas").await["quotas"][1], quota);
        let offer = connections::shared_servers::ServerOffer {
            name: "post",
            url: "https://example.com/mcp",
            description: "",
            headers: &std::collections::BTreeMap::new(),
            domains: &[],
            groups: &[],
        };
        let now = domain::Clock::now(&domain::SystemClock);
        offer.store(&app.state.storage, &app.state.secrets, now, &app.state.audit).await.unwrap();
        let shared = person.get("/api/shared-servers").await["servers"][0]["id"].as_str().unwrap().to_owned();
        let path = format!("/api/shared-servers/{shared}/connect");
        let (status, refused) = person.post(&path, &Value::Null).await;
        assert_eq!((status.as_u16(), &refused["error"]["code"]), (409, &json!("too_many_connections")), "{refused}");

        // An exception adds one, which the shared server takes; a deletion another.
        let exceptions = QuotaExceptions([None, None, None, None, None, None, Some(QuotaException::Limit(4))]);
        app.state.storage.quotas().set_exceptions(person.id.parse().unwrap(), exceptions).await.unwrap();
        for _ in 0..2 {
            assert_eq!(person.post(&path, &Value::Null).await.0, 200, "the second time, it is the same connection");
        }
        assert_eq!(add_connections(&person, &["more"], MERGE).await.0, 400);
        let delete = person.request(Method::DELETE, "/rest/v1/mcp_servers?name=like.server*").send().await.unwrap();
        assert_eq!(delete.status(), 204);
        assert_eq!(add_connections(&person, &["a", "b", "c", "d"], MERGE).await.0, 400, "all or none");
        assert_eq!(add_connections(&person, &["a", "b", "c"], MERGE).await.0, 201);
        let other = app.person().await;
        assert_eq!(add_connections(&other, &["a", "b", "c"], MERGE).await.0, 201, "each user's own");
        if let Some(second) = second {
            second.stop().await;
        }
        app.stop().await;
    }
}
