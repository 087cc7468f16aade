//! Usage of all users, and the audit log.

use axum::http::Method;
use reqwest::StatusCode;
use serde_json::json;
use testkit::{MockClock, ScriptedModel, Step, databases};

use super::{Operator, builder};

#[tokio::test]
async fn totals_usage_by_user_and_model_over_a_period() {
    for database in databases() {
        let model = ScriptedModel::start((0..8).map(|_| Step::Text("Fine.".to_owned()))).await;
        let clock = MockClock::new();
        let app = builder(database)
            .set("OPENAI_API_KEY", "key")
            .set("OPENAI_BASE_URL", &model.base_url)
            .set("CHAT_MODEL", "openai/scripted")
            .clock(&clock)
            .start()
            .await;
        let operator = Operator { app: &app };
        let (person, other, idle) = (app.person().await, app.person().await, app.person().await);
        for person in [&person, &other] {
            person.ask(&person.new_chat().await, "Hello", json!([])).await;
        }
        other.ask(&other.new_chat().await, "Hello again", json!([])).await;
        let usage = operator.get("/usage").await;
        assert_eq!((&usage["from"], &usage["to"]), (&json!("2026-11-01"), &json!("2026-11-30")));
        let users = usage["users"].as_array().unwrap();
        assert_eq!((users.len(), &users[0]["email"], &users[1]["id"]), (2, &json!(other.email), &json!(person.id)));
        assert!(users[0]["calls"].as_u64().unwrap() > users[1]["calls"].as_u64().unwrap(), "{usage}");
        assert!(!usage.to_string().contains(&idle.email));
        let models = usage["models"].as_array().unwrap();
        assert_eq!((models.len(), &models[0]["model"], &models[0]["users"]), (1, &json!("openai/scripted"), &json!(2)));
        let calls = users.iter().map(|user| user["calls"].as_u64().unwrap()).sum::<u64>();
        assert_eq!(models[0]["calls"], calls);
        let day = operator.get("/usage?period=day&date=2026-11-21").await;
        assert_eq!(
            (&day["from"], &day["to"], &day["users"]),
            (&json!("2026-11-21"), &json!("2026-11-21"), &usage["users"])
        );
        for query in ["period=day&date=2026-11-20", "period=month&date=2026-10-31"] {
            assert_eq!(operator.get(&format!("/usage?{query}")).await["users"], json!([]), "{query}");
        }
        for query in ["period=week", "date=yesterday", "date=2026-13-01", "date=2026-11-2"] {
            let (status, _) = operator.send(Method::GET, &format!("/usage?{query}"), &json!({})).await;
            assert_eq!(status, StatusCode::BAD_REQUEST, "{query}");
        }
    }
}

#[tokio::test]
async fn pages_and_filters_the_audit_log() {
    for database in databases() {
        let app = builder(database).start().await;
        let operator = Operator { app: &app };
        let (person, other) = (app.person().await, app.person().await);
        for _ in 0..30 {
            for action in ["lock", "unlock"] {
                operator.call(Method::POST, &format!("/users/{}/{action}", person.id), &json!({})).await;
            }
        }
        let first = operator.get(&format!("/audit-events?user={}", person.email)).await;
        let events = first["events"].as_array().unwrap();
        assert_eq!((events.len(), &first["hasMore"]), (50, &json!(true)));
        assert_eq!((&events[0]["kind"], &events[0]["actor"]), (&json!("account_unlocked"), &json!("admin")));
        assert_eq!((&events[0]["user"], &events[0]["email"]), (&json!(person.id), &json!(person.email)));
        let before = events[49]["id"].as_str().unwrap();
        let rest = operator.get(&format!("/audit-events?user={}&before={before}", person.id)).await;
        assert_eq!(rest["hasMore"], false);
        let rest: Vec<_> = rest["events"].as_array().unwrap().clone();
        assert_eq!(rest.last().unwrap()["kind"], "account_created");
        assert!(rest.iter().all(|event| !events.contains(event)));
        let created = operator.get("/audit-events?kind=account_created").await;
        assert_eq!(
            (created["events"].as_array().unwrap().len(), &created["events"][0]["email"]),
            (2, &json!(other.email))
        );
        assert_eq!(operator.get("/audit-events?kind=nothing").await["events"], json!([]));
        for (query, status) in [("before=now", 400), ("user=nobody%40example.com", 422)] {
            let (answered, error) = operator.send(Method::GET, &format!("/audit-events?{query}"), &json!({})).await;
            assert_eq!(answered.as_u16(), status, "{query}: {error}");
        }
    }
}
