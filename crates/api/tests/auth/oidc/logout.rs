//! Logout in both directions: reports of the provider, and its page for users who sign out here.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::StatusCode;
use serde_json::{Value, json};
use testkit::{TestApp, databases, run_sql};
use url::Url;

use super::browser::{Browser, Site};
use super::provider::{CLIENT_ID, Signature};
use crate::auth::caller::refresh;

/// Reports a logout with changed claims, and returns the status and the reason of a rejection.
async fn report(site: &Site, changes: Value) -> (u16, Value) {
    let token = {
        let script = site.provider.script();
        let mut claims = json!({
            "iss": site.provider.issuer, "aud": CLIENT_ID, "sub": "ann-1", "jti": "1", "iat": script.now, "exp": script.now + 120,
            "events": { "http://schemas.openid.net/event/backchannel-logout": {} }
        });
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
        }
        script.sign(&claims)
    };
    send(site, &token).await
}

async fn send(site: &Site, token: &str) -> (u16, Value) {
    let url = format!("{}/auth/v1/oidc/backchannel-logout", site.app.url);
    let response = site.app.http.post(url).form(&[("logout_token", token)]).send().await.unwrap();
    assert_eq!(response.headers()["cache-control"], "no-store");
    let status = response.status().as_u16();
    (status, response.json().await.unwrap_or_default())
}

async fn status_of(site: &Site, token: &Value) -> StatusCode {
    let request = site.app.http.get(format!("{}/auth/v1/user", site.app.url)).bearer_auth(token.as_str().unwrap());
    request.send().await.unwrap().status()
}

#[tokio::test]
async fn a_logout_at_the_provider_ends_the_sessions_that_it_began() {
    for database in databases() {
        let site = Site::start(database).await;
        let (one, two) = (site.sign_in().await.body, site.sign_in().await.body);
        let other = site.app.person().await;
        assert_eq!(report(&site, json!({ "sub": "bob-2" })).await.0, 200, "of a user who never came");
        assert_eq!(status_of(&site, &one["access_token"]).await, 200);

        assert_eq!(report(&site, json!({})).await, (200, Value::Null));
        for session in [&one, &two] {
            assert_eq!(status_of(&site, &session["access_token"]).await, 403);
        }
        assert_eq!(status_of(&site, &json!(other.token)).await, 200, "others are not affected");
        let user = one["user"]["id"].as_str().unwrap().parse().unwrap();
        let storage = &site.app.state.storage;
        let events = storage.audit_events().list(Some(user), domain::Timestamp(0), None, 100).await.unwrap();
        let ends = events.iter().filter(|event| event.kind == "sign_out").count();
        assert_eq!(ends, 1);

        // A replayed report does not end sessions that began later.
        let issued = site.provider.script().now;
        site.advance(90);
        let later = site.sign_in().await.body;
        assert_eq!(report(&site, json!({ "iat": issued, "exp": issued + 120 })).await.0, 200);
        assert_eq!(status_of(&site, &later["access_token"]).await, 200);
        site.app.stop().await;
    }
}

/// Signs in with PKCE in a session at the provider with this id; null stands for an ID token without one.
async fn sign_in_within(site: &Site, sid: Value) -> Value {
    site.provider.script().claims = json!({ "sid": sid });
    site.sign_in().await.body
}

/// Returns which of the sessions have not ended.
async fn alive(site: &Site, sessions: &[&Value]) -> Vec<bool> {
    let mut alive = Vec::new();
    for session in sessions {
        alive.push(status_of(site, &session["access_token"]).await == StatusCode::OK);
    }
    alive
}

async fn count_sign_outs(site: &Site, session: &Value) -> usize {
    let user = session["user"]["id"].as_str().unwrap().parse().unwrap();
    let events = site.app.state.storage.audit_events().list(Some(user), domain::Timestamp(0), None, 100).await.unwrap();
    events.iter().filter(|event| event.kind == "sign_out").count()
}

#[tokio::test]
async fn a_logout_of_one_session_at_the_provider_ends_the_sessions_that_began_in_it() {
    for database in databases() {
        let site = Site::start(database).await;
        let laptop = sign_in_within(&site, json!("s-1")).await;
        // A client without PKCE.
        let mut browser = Browser::new(&site);
        let page = browser.begin_with("").await;
        let callback = browser.consent(&page).await;
        let token = browser.arrive(&callback).await.fragment["access_token"].clone();
        let implicit = json!({ "access_token": token });
        let phone = sign_in_within(&site, json!("s-2")).await;
        // New tokens do not change where the session began.
        let phone = refresh(&site.app, phone["refresh_token"].as_str().unwrap()).await.body;
        let sessions = [&laptop, &implicit, &phone];

        for changes in [
            json!({ "sub": null, "sid": "s-3" }),
            json!({ "sub": "bob-2", "sid": "s-1" }),
            json!({ "sub": "ann-1", "sid": "s-3" }),
        ] {
            assert_eq!(report(&site, changes.clone()).await.0, 200, "{changes}");
            assert_eq!(alive(&site, &sessions).await, [true, true, true], "{changes}");
        }
        assert_eq!(count_sign_outs(&site, &laptop).await, 0);
        assert_eq!(report(&site, json!({ "sub": null, "sid": "s-1" })).await, (200, Value::Null));
        assert_eq!(alive(&site, &sessions).await, [false, false, true]);
        assert_eq!(report(&site, json!({ "sid": "s-2" })).await, (200, Value::Null));
        assert_eq!(alive(&site, &sessions).await, [false, false, false]);
        assert_eq!(count_sign_outs(&site, &laptop).await, 2);

        // A replayed report does not end sessions that began later.
        let issued = site.provider.script().now;
        site.advance(90);
        let later = sign_in_within(&site, json!("s-1")).await;
        for sub in [json!("ann-1"), Value::Null] {
            let replayed = json!({ "sub": sub, "sid": "s-1", "iat": issued, "exp": issued + 120 });
            assert_eq!(report(&site, replayed).await.0, 200);
            assert_eq!(alive(&site, &[&later]).await, [true]);
        }
        // A report without a session is about all of them.
        assert_eq!(report(&site, json!({})).await.0, 200);
        assert_eq!(alive(&site, &[&later]).await, [false]);
        site.app.stop().await;
    }
}

#[tokio::test]
async fn a_session_unknown_at_the_provider_ends_with_any_of_its_user() {
    for database in databases() {
        let site = Site::start(database).await;
        for (reported, ends) in [
            (json!({ "sid": "s-3" }), [false, true, false]),
            (json!({ "sid": "s-1" }), [true, true, false]),
            (json!({ "sub": null, "sid": "s-1" }), [true, true, false]),
            (json!({ "sub": null, "sid": "s-3" }), [false, false, false]),
        ] {
            let known = sign_in_within(&site, json!("s-1")).await;
            let unknown = sign_in_within(&site, Value::Null).await;
            let other = sign_in_within(&site, json!("s-2")).await;
            assert_eq!(report(&site, reported.clone()).await.0, 200);
            let ended = alive(&site, &[&known, &unknown, &other]).await.into_iter().map(|is_alive| !is_alive);
            assert_eq!(ended.collect::<Vec<_>>(), ends, "{reported}");
            assert_eq!(report(&site, json!({})).await.0, 200);
        }
        // An id that is too long or empty is not stored, so that the session counts as unknown.
        for sid in [json!("s".repeat(1_001)), json!("")] {
            let session = sign_in_within(&site, sid.clone()).await;
            assert_eq!(report(&site, json!({ "sid": "s-3" })).await.0, 200);
            assert_eq!(alive(&site, &[&session]).await, [false], "{sid}");
        }
        site.app.stop().await;
    }
}

#[tokio::test]
async fn a_session_at_the_provider_ends_no_session_that_did_not_begin_in_it() {
    for database in databases() {
        let site = Site::start(database).await;
        let person = site.app.person().await;
        site.provider.script().claims = json!({ "sid": "s-1" });
        let mut browser = Browser::new(&site);
        let page = browser.begin_link(&person.token).await.unwrap_or_else(|answer| panic!("{}", answer.body));
        let callback = browser.consent(&page).await;
        let end = browser.arrive(&callback).await;
        let linked = site.exchange(&end.query["code"]).await.body;
        assert_eq!(linked["user"]["id"], json!(person.id));
        let foreign = sign_in_within(&site, json!("s-0")).await;
        let own = json!({ "access_token": person.token });
        // The same id at another issuer, from before the setting was changed.
        let statement = "UPDATE auth_sessions SET provider_issuer = 'https://old.example', provider_session_id = 's-1'
            WHERE provider_session_id = 's-0'";
        run_sql(&site.app.database_url, statement).await;

        assert_eq!(report(&site, json!({ "sub": null, "sid": "s-1" })).await.0, 200);
        assert_eq!(alive(&site, &[&own, &linked, &foreign]).await, [true, false, true]);
        assert_eq!(report(&site, json!({ "sid": "s-1" })).await.0, 200);
        assert_eq!(alive(&site, &[&own, &foreign]).await, [true, true]);
        site.app.stop().await;
    }
}

#[tokio::test]
async fn a_logout_makes_auth_codes_invalid() {
    for database in databases() {
        let site = Site::start(database).await;
        // The first session makes the user known.
        let session = site.sign_in().await.body;
        let sign_out = async || {
            let request = site.app.http.post(format!("{}/auth/v1/logout?scope=global", site.app.url));
            let token = site.sign_in().await.body["access_token"].as_str().unwrap().to_owned();
            assert_eq!(request.bearer_auth(token).send().await.unwrap().status(), 204);
        };
        for (sid, reported, is_valid) in [
            (json!("s-1"), Some(json!({ "sub": null, "sid": "s-1" })), false),
            (json!("s-1"), Some(json!({ "sid": "s-1" })), false),
            (json!("s-1"), Some(json!({})), false),
            (json!("s-1"), Some(json!({ "sid": "s-3" })), true),
            (json!("s-1"), Some(json!({ "sub": null, "sid": "s-3" })), true),
            (json!("s-1"), Some(json!({ "sub": "bob-2" })), true),
            (Value::Null, Some(json!({ "sid": "s-3" })), false),
            (json!("s-1"), None, false),
        ] {
            site.provider.script().claims = json!({ "sid": sid });
            let code = Browser::new(&site).sign_in("").await.query["code"].clone();
            match &reported {
                Some(changes) => assert_eq!(report(&site, changes.clone()).await.0, 200, "{changes}"),
                None => sign_out().await,
            }
            let answer = site.exchange(&code).await;
            let expected = if is_valid { 200 } else { 404 };
            assert_eq!(answer.status, expected, "{sid} {reported:?} {}", answer.body);
        }
        // A replayed report does not affect a sign-in that began later.
        let issued = site.provider.script().now;
        site.advance(90);
        let code = Browser::new(&site).sign_in("").await.query["code"].clone();
        assert_eq!(report(&site, json!({ "iat": issued, "exp": issued + 120 })).await.0, 200);
        assert_eq!(site.exchange(&code).await.status, 200);
        assert_eq!(status_of(&site, &session["access_token"]).await, 403);
        site.app.stop().await;
    }
}

#[tokio::test]
async fn forged_reports_end_nothing() {
    let site = Site::start(testkit::Database::Sqlite).await;
    let session = sign_in_within(&site, json!("s-1")).await;
    for signature in [Signature::None, Signature::PublicKeyAsSecret, Signature::ClientSecret, Signature::ForeignKey] {
        site.provider.script().signature = signature;
        for changes in [json!({}), json!({ "sub": null, "sid": "s-1" })] {
            let (status, reason) = report(&site, changes).await;
            assert_eq!((status, &reason["error"]), (400, &json!("invalid_request")), "{reason}");
        }
    }
    site.provider.script().signature = Signature::Own;
    for changes in [
        json!({ "iss": "https://evil.example" }),
        json!({ "aud": "another-client" }),
        json!({ "events": {} }),
        json!({ "nonce": "n" }),
        json!({ "sub": null }),
        json!({ "sub": null, "sid": "" }),
        json!({ "sid": 1 }),
        json!({ "exp": 1 }),
    ] {
        assert_eq!(report(&site, changes.clone()).await.0, 400, "{changes}");
    }
    for garbage in ["", "a.b.c", &"x".repeat(100_000)] {
        assert_eq!(send(&site, garbage).await.0, 400);
    }
    assert_eq!(status_of(&site, &session["access_token"]).await, 200);
    site.app.stop().await;
}

#[tokio::test]
async fn without_a_provider_there_is_no_logout() {
    let app = testkit::TestApp::start().await;
    let url = format!("{}/auth/v1/oidc/backchannel-logout", app.url);
    let response = app.http.post(url).form(&[("logout_token", "a.b.c")]).send().await.unwrap();
    assert_eq!(response.status(), 400);
    app.stop().await;
}

/// Returns the provider's page for a logout with this session.
async fn logout_page(site: &Site, token: &Value) -> Value {
    let request = site.app.http.post(format!("{}/auth/v1/oidc/logout", site.app.url));
    let response = request.bearer_auth(token.as_str().unwrap()).send().await.unwrap();
    assert_eq!(response.status(), 200);
    response.json::<Value>().await.unwrap()["url"].clone()
}

#[tokio::test]
async fn who_signs_out_here_is_sent_to_the_page_of_the_provider() {
    for database in databases() {
        let site = Site::start_with(TestApp::builder().database(database).set("CHAT_OIDC_LOGOUT", "on")).await;
        let session = site.sign_in().await.body;
        assert_eq!(logout_page(&site, &session["access_token"]).await, Value::Null, "the provider has no such page");
        let page = format!("{}/logout?ui=1", site.provider.issuer);
        site.provider.script().metadata = json!({ "end_session_endpoint": page });
        // The metadata is requested again after an hour.
        site.advance(3_601);
        let session = site.sign_in().await.body;
        let url: Url = logout_page(&site, &session["access_token"]).await.as_str().unwrap().parse().unwrap();
        assert!(url.as_str().starts_with(&page), "{url}");
        let query: HashMap<_, _> = url.query_pairs().into_owned().collect();
        assert_eq!(query["client_id"], CLIENT_ID);
        assert_eq!(query["post_logout_redirect_uri"], format!("{}/auth", site.origin()));
        let claims = query["id_token_hint"].split('.').nth(1).unwrap();
        let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
        assert_eq!((&claims["sub"], &claims["iat"]), (&json!("ann-1"), &json!(site.provider.script().now)));
        let user = session["user"]["id"].as_str().unwrap().parse().unwrap();
        let identities = site.app.state.storage.identities();
        let (_, sealed) = identities.get_id_token(user, &site.provider.issuer).await.unwrap().unwrap();
        assert!(!String::from_utf8_lossy(&sealed).contains(&query["id_token_hint"]), "it is stored encrypted");

        let other = site.app.person().await;
        assert_eq!(logout_page(&site, &json!(other.token)).await, Value::Null, "a session with a password");
        site.app.stop().await;
    }
}

#[tokio::test]
async fn without_the_setting_nobody_is_signed_out_at_the_provider() {
    let site = Site::start(testkit::Database::Sqlite).await;
    site.provider.script().metadata = json!({ "end_session_endpoint": format!("{}/logout", site.provider.issuer) });
    let session = site.sign_in().await.body;
    assert_eq!(logout_page(&site, &session["access_token"]).await, Value::Null);
    let user = session["user"]["id"].as_str().unwrap().parse().unwrap();
    let kept = site.app.state.storage.identities().get_id_token(user, &site.provider.issuer).await.unwrap();
    assert_eq!(kept, None, "the token is not stored");
    site.app.stop().await;
}
