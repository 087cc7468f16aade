//! Accounts and their quotas.

use axum::http::Method;
use domain::ids;
use reqwest::StatusCode;
use serde_json::{Value, json};
use testkit::{Person, databases};

use super::{Operator, builder};

#[tokio::test]
async fn lists_and_searches_accounts_in_pages() {
    for database in databases() {
        let app = builder(database).start().await;
        let operator = Operator { app: &app };
        let mut people = Vec::new();
        for _ in 0..3 {
            people.push(app.person().await);
        }
        let all = operator.get("/users").await;
        assert_eq!(all["total"], 3);
        assert_eq!(all["users"][0]["email"], people[2].email, "newest first");
        assert_eq!(all["users"][0]["state"], "active");
        assert!(!all.to_string().contains("argon2"), "no hash of a password is in a response");
        let rest = operator.get("/users?offset=2").await;
        assert_eq!((rest["users"].as_array().unwrap().len(), &rest["total"]), (1, &json!(3)));

        let (name, _) = people[1].email.split_once('@').unwrap();
        for search in [&name[5..20], &name[5..20].to_uppercase(), &people[1].id, &format!("{name}%40example.com")] {
            let found = operator.get(&format!("/users?search={search}")).await;
            assert_eq!((&found["total"], &found["users"][0]["id"]), (&json!(1), &json!(people[1].id)), "{search}");
        }
        // Signs of the pattern language stand for themselves.
        for search in ["%25", "_", "!", &ids::fresh().to_string()] {
            let found = operator.get(&format!("/users?search={search}")).await;
            assert_eq!((&found["total"], found["users"].as_array().unwrap().len()), (&json!(0), 0), "{search}");
        }
        let (status, error) = operator.send(Method::GET, "/users?offset=-1", &json!({})).await;
        assert_eq!((status, &error["error"]["code"]), (StatusCode::BAD_REQUEST, &json!("bad_request")));
    }
}

#[tokio::test]
async fn locks_unlocks_and_signs_out() {
    for database in databases() {
        let app = builder(database).start().await;
        let operator = Operator { app: &app };
        let (person, other) = (app.person().await, app.person().await);
        let path = format!("/users/{}", person.id);
        let (status, error) =
            operator.send(Method::POST, &format!("{path}/lock"), &json!({ "duration": "soon" })).await;
        assert_eq!((status, &error["error"]["code"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("validation_failed")));
        let locked = operator.call(Method::POST, &format!("{path}/lock"), &json!({ "duration": "24h" })).await;
        assert_eq!(locked["state"], "locked");
        assert!(locked["lockedUntil"].is_string());
        let models = person.request(Method::GET, "/api/models").send().await.unwrap();
        assert_eq!(models.status(), 401, "the session of a locked user is of no use");
        assert_eq!(other.request(Method::GET, "/api/models").send().await.unwrap().status(), 200);
        let unlocked = operator.call(Method::POST, &format!("{path}/unlock"), &json!({})).await;
        assert_eq!((&unlocked["state"], &unlocked["lockedUntil"]), (&json!("active"), &Value::Null));
        let forever = operator.call(Method::POST, &format!("{path}/lock"), &json!({})).await;
        assert_eq!(forever["state"], "locked");
        operator.call(Method::POST, &format!("{path}/unlock"), &json!({})).await;

        let again = Person::sign_in_at(&person.email, &app.url, &app.http).await;
        assert_eq!(operator.get(&path).await["devices"].as_array().unwrap().len(), 2);
        operator.call(Method::POST, &format!("{path}/sign-out"), &json!({})).await;
        assert_eq!(again.request(Method::GET, "/api/models").send().await.unwrap().status(), 401);
        assert_eq!(operator.get(&path).await["devices"], json!([]));
        let kinds = operator.kinds(&person.id).await;
        let expected =
            ["sign_out", "sign_in", "account_unlocked", "account_locked", "account_unlocked", "account_locked"];
        assert_eq!(kinds[..6], expected.map(str::to_owned));
    }
}

#[tokio::test]
async fn invites_by_link_and_says_why_not_by_email() {
    for database in databases() {
        let app = builder(database).set("CHAT_SIGNUPS", "invite").start().await;
        let operator = Operator { app: &app };
        let email = format!("{}@example.com", ids::fresh().simple());
        let body = json!({ "email": email, "way": "link" });
        let made = operator.call(Method::POST, "/users/invitations", &body).await;
        let link = made["link"].as_str().unwrap();
        assert!(link.starts_with(&app.url) || link.contains("/auth/v1/verify?token="), "{link}");
        let user = operator.get(&format!("/users/{}", made["id"].as_str().unwrap())).await;
        assert_eq!((&user["state"], &user["hasPassword"]), (&json!("invited"), &json!(false)));
        for (body, status, code) in [
            (json!({ "email": email, "way": "email" }), 422, "email_provider_disabled"),
            (json!({ "email": "nobody", "way": "link" }), 422, "validation_failed"),
            (json!({ "email": email, "way": "pigeon" }), 400, "bad_request"),
        ] {
            let (answered, error) = operator.send(Method::POST, "/users/invitations", &body).await;
            assert_eq!((answered.as_u16(), error["error"]["code"].as_str().unwrap()), (status, code), "{body}");
        }
    }
}

#[tokio::test]
async fn deletes_factors_and_passkeys_of_the_named_account_only() {
    for database in databases() {
        // Security keys belong to a domain.
        let app = builder(database).set("CHAT_SITE_URL", "http://chat.example.com").start().await;
        let operator = Operator { app: &app };
        let (person, other) = (app.person().await, app.person().await);
        for (kind, name) in [("totp", "phone"), ("webauthn", "blue key")] {
            let body = json!({ "factor_type": kind, "friendly_name": name });
            let (status, enrolled) = person.post("/auth/v1/factors", &body).await;
            assert_eq!(status, 200, "{enrolled}");
        }
        let path = format!("/users/{}", person.id);
        let user = operator.get(&path).await;
        assert!(!user.to_string().contains("secret"), "{user}");
        let factors = user["factors"].as_array().unwrap();
        let shown: Vec<[&Value; 3]> =
            factors.iter().map(|factor| ["kind", "name", "isVerified"].map(|field| &factor[field])).collect();
        assert_eq!(json!(shown), json!([["totp", "phone", false], ["webauthn", "blue key", false]]));
        let id = factors[0]["id"].as_str().unwrap();
        for (path, code) in [
            (format!("/users/{}/factors/{id}", other.id), 404),
            (format!("{path}/factors/{}", ids::fresh()), 404),
            (format!("{path}/passkeys/{}", ids::fresh()), 404),
            (format!("/users/{}/factors/{id}", ids::fresh()), 404),
            (format!("{path}/factors/{id}"), 204),
            (format!("{path}/factors/{}", factors[1]["id"].as_str().unwrap()), 204),
        ] {
            let (status, _) = operator.send(Method::DELETE, &path, &json!({})).await;
            assert_eq!(status.as_u16(), code, "{path}");
        }
        assert_eq!(operator.get(&path).await["factors"], json!([]));
        let kinds = operator.kinds(&person.id).await;
        assert_eq!(kinds.iter().filter(|kind| *kind == "factor_removed").count(), 2);
    }
}

#[tokio::test]
async fn deletes_account_after_confirmation() {
    for database in databases() {
        let app = builder(database).start().await;
        let operator = Operator { app: &app };
        let (person, other) = (app.person().await, app.person().await);
        let path = format!("/users/{}", person.id);
        let delete = format!("{path}/delete");
        let (status, error) = operator.send(Method::POST, &delete, &json!({ "confirmation": other.email })).await;
        assert_eq!((status, &error["error"]["code"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("not_confirmed")));
        assert_eq!(operator.get("/users").await["total"], 2);
        operator.call(Method::POST, &delete, &json!({ "confirmation": person.email })).await;
        assert_eq!(operator.get("/users").await["total"], 1);
        assert_eq!(operator.send(Method::GET, &path, &json!({})).await.0, StatusCode::NOT_FOUND);
        assert_eq!(operator.kinds(&person.id).await[0], "account_deleted", "the log outlives the account");
    }
}

#[tokio::test]
async fn sets_and_clears_quotas() {
    for database in databases() {
        let app = builder(database).set("CHAT_TOKENS_PER_DAY", "5000").start().await;
        let operator = Operator { app: &app };
        let (person, other) = (app.person().await, app.person().await);
        let path = format!("/users/{}/quotas", person.id);
        let quota = |list: &Value, kind: &str| {
            let quotas = list["quotas"].as_array().unwrap().clone();
            quotas.into_iter().find(|quota| quota["kind"] == kind).unwrap()
        };
        let before = operator.get(&path).await;
        let tokens = json!({ "kind": "tokensPerDay", "setting": 5000.0, "exception": null, "used": 0.0 });
        assert_eq!(quota(&before, "tokensPerDay"), tokens);
        let changes =
            json!({ "tokensPerDay": "none", "costPerMonth": "2.50", "storedBytes": "3", "turnsPerHour": "20" });
        let changed = operator.call(Method::PUT, &path, &json!({ "changes": changes })).await;
        assert_eq!(quota(&changed, "tokensPerDay")["exception"], json!({ "limit": null }));
        assert_eq!(quota(&changed, "costPerMonth")["exception"], json!({ "limit": 2.5 }));
        assert_eq!(quota(&changed, "storedBytes")["exception"], json!({ "limit": 3.0 }));
        let turns = json!({ "kind": "turnsPerHour", "setting": null, "exception": { "limit": 20.0 }, "used": 0.0 });
        assert_eq!(quota(&changed, "turnsPerHour"), turns);
        let back = json!({ "changes": { "tokensPerDay": "default" } });
        let changed = operator.call(Method::PUT, &path, &back).await;
        assert_eq!(quota(&changed, "tokensPerDay"), tokens);
        assert_eq!(quota(&changed, "costPerMonth")["exception"], json!({ "limit": 2.5 }), "others stay");
        for (changes, status) in [
            (json!({ "tokensPerDay": "-5" }), StatusCode::UNPROCESSABLE_ENTITY),
            (json!({ "tokensPerDay": "1", "costPerDay": "a lot" }), StatusCode::UNPROCESSABLE_ENTITY),
            (json!({ "wishes": "3" }), StatusCode::BAD_REQUEST),
        ] {
            assert_eq!(operator.send(Method::PUT, &path, &json!({ "changes": changes })).await.0, status);
        }
        assert_eq!(operator.get(&path).await, changed, "a bad change changes nothing");
        operator.call(Method::PUT, &path, &json!({ "changes": {} })).await;
        let kinds = operator.kinds(&person.id).await;
        assert_eq!(kinds[..3], ["quota_changed", "quota_changed", "sign_in"].map(str::to_owned), "each change");
        let others = operator.get(&format!("/users/{}/quotas", other.id)).await;
        assert_eq!(quota(&others, "costPerMonth")["exception"], Value::Null);
    }
}
