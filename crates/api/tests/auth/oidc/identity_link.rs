//! Linking and unlinking of an account at the provider by a user who is signed in.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Person, TestApp, databases};

use super::browser::{Browser, End, Site};
use crate::auth::caller::{Answer, PASSWORD, get_user, log_out, refused, request, send, sign_in};

/// Links the account at the provider to that of a session, from the begin to the end.
async fn link(site: &Site, token: &str) -> End {
    let mut browser = Browser::new(site);
    let page = browser.begin_link(token).await.unwrap_or_else(|answer| panic!("{}", answer.body));
    let callback = browser.consent(&page).await;
    browser.arrive(&callback).await
}

async fn unlink(site: &Site, token: &str, identity: &str) -> Answer {
    let path = format!("/user/identities/{identity}");
    send(request(&site.app, Method::DELETE, &path).bearer_auth(token)).await
}

/// Returns the identities of a user: provider and id of each.
async fn identities(site: &Site, token: &str) -> Vec<(String, String)> {
    let user = get_user(&site.app, token).await.body;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let listed = user["identities"].as_array().unwrap().iter();
    listed.map(|identity| (text(&identity["provider"]), text(&identity["identity_id"]))).collect()
}

async fn kinds(person: &Person) -> Vec<String> {
    let listed = person.get("/api/account/events").await;
    listed["events"].as_array().unwrap().iter().map(|event| event["kind"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_user_links_an_identity_signs_in_with_it_and_unlinks_it() {
    for database in databases() {
        let site = Site::start(database).await;
        let (person, other) = (site.app.person().await, site.app.person().await);
        let end = link(&site, &person.token).await;
        let session = site.exchange(&end.query["code"]).await;
        assert_eq!(session.text("/user/id"), person.id, "{}", session.body);
        let linked = identities(&site, &person.token).await;
        assert_eq!(linked.iter().map(|(provider, _)| provider.as_str()).collect::<Vec<_>>(), ["email", "oidc"]);
        let user = get_user(&site.app, &person.token).await.body;
        assert_eq!(user["email"], json!(person.email), "the account keeps its address");
        assert_eq!(user["app_metadata"]["providers"], json!(["email", "oidc"]));
        assert_eq!(site.sign_in().await.text("/user/id"), person.id, "it signs in");
        // Again it changes nothing, and another user cannot take it.
        link(&site, &person.token).await;
        assert_eq!(identities(&site, &person.token).await, linked);
        let end = link(&site, &other.token).await;
        assert_eq!(end.query["error_code"], "identity_already_exists");
        assert_eq!(identities(&site, &other.token).await.len(), 1);

        // Sessions that the user began at the provider.
        let at_provider = site.sign_in().await.text("/access_token");
        let own = site.sign_in().await.text("/access_token");
        let (email, oidc) = (&linked[0].1, &linked[1].1);
        let table = [
            (&other.token, oidc.as_str(), refused(422, "identity_not_found")),
            (&person.token, email.as_str(), refused(422, "single_identity_not_deletable")),
            (&person.token, "1", refused(404, "validation_failed")),
        ];
        for (token, identity, expected) in table {
            assert_eq!(unlink(&site, token, identity).await.refusal(), expected, "{identity}");
        }
        let unlinked = unlink(&site, &own, oidc).await;
        assert_eq!((unlinked.status, &unlinked.body), (200, &json!({})));
        assert_eq!(get_user(&site.app, &at_provider).await.refusal(), refused(403, "session_not_found"));
        assert_eq!(get_user(&site.app, &own).await.status, 200, "the session that unlinked it goes on");
        assert_eq!(identities(&site, &person.token).await.len(), 1, "as do those that did not begin at the provider");
        let user = get_user(&site.app, &person.token).await.body;
        assert_eq!(user["app_metadata"], json!({ "provider": "email", "providers": ["email"] }));
        assert_eq!(unlink(&site, &person.token, oidc).await.refusal(), refused(422, "identity_not_found"));
        assert_eq!(sign_in(&site.app, &person.email, PASSWORD).await.status, 200);
        assert_ne!(site.sign_in().await.text("/user/id"), person.id, "the provider's user has an own account now");
        let told = kinds(&person).await;
        let told: Vec<&str> = told.iter().map(String::as_str).filter(|kind| kind.starts_with("identity")).collect();
        assert_eq!(told, ["identity_unlinked", "identity_linked"]);
        site.app.stop().await;
    }
}

#[tokio::test]
async fn the_last_way_to_sign_in_cannot_be_unlinked() {
    for database in databases() {
        let site = Site::start(database).await;
        let session = site.sign_in().await;
        let token = session.text("/access_token");
        site.provider.script().claims = json!({ "sub": "ann-2", "email": "ann@example.org" });
        link(&site, &token).await;
        let both = identities(&site, &token).await;
        assert_eq!(both.iter().map(|(provider, _)| provider.as_str()).collect::<Vec<_>>(), ["oidc", "oidc"]);
        // At the same time, they do not count for each other.
        let (first, second) = futures_util::join!(unlink(&site, &token, &both[0].1), unlink(&site, &token, &both[1].1));
        let mut statuses = [first.status, second.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 422], "{} {}", first.body, second.body);
        let left = identities(&site, &token).await.remove(0).1;
        assert_eq!(unlink(&site, &token, &left).await.refusal(), refused(422, "single_identity_not_deletable"));
        let chosen =
            request(&site.app, Method::PUT, "/user").bearer_auth(&token).json(&json!({ "password": PASSWORD }));
        assert_eq!(send(chosen).await.status, 200);
        assert_eq!(unlink(&site, &token, &left).await.status, 200, "a password is another way");
        site.app.stop().await;
    }
}

#[tokio::test]
async fn a_link_is_of_the_session_that_began_it_and_needs_a_recent_proof() {
    for database in databases() {
        let builder = TestApp::builder().database(database).set("CHAT_REAUTHENTICATION_MINUTES", "10");
        let site = Site::start_with(builder).await;
        let person = site.app.person().await;
        let mut browser = Browser::new(&site);
        let page = browser.begin_link(&person.token).await.unwrap_or_else(|answer| panic!("{}", answer.body));
        let callback = browser.consent(&page).await;
        let other_browser = Browser::new(&site).arrive(&callback).await;
        assert!(other_browser.query.contains_key("error_code"), "{other_browser:?}");

        let page = browser.begin_link(&person.token).await.unwrap_or_else(|answer| panic!("{}", answer.body));
        let callback = browser.consent(&page).await;
        assert_eq!(log_out(&site.app, &person.token, "").await.status, 204);
        assert_eq!(browser.arrive(&callback).await.query["error_code"], "session_not_found");

        let token = sign_in(&site.app, &person.email, PASSWORD).await.text("/access_token");
        assert_eq!(identities(&site, &token).await.len(), 1);
        site.advance(11 * 60);
        let refusal = browser.begin_link(&token).await.unwrap_err().refusal();
        assert_eq!(refusal, refused(400, "reauthentication_needed"));
        site.app.stop().await;
    }
}
