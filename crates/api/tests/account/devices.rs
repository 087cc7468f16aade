//! The list of devices on which a user is signed in.

use accounts::admin::AdminUserParams;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::{MockClock, Person, TestApp, databases};

use super::visitor::{Page, another_device, call};

async fn list(person: &Person) -> Vec<Value> {
    person.get("/api/account/devices").await["devices"].as_array().unwrap().clone()
}

#[tokio::test]
async fn every_sign_in_is_a_device() {
    for database in databases() {
        let clock = MockClock::new();
        let app = TestApp::builder().database(database).clock(&clock).start().await;
        let person = app.person().await;
        app.person().await;
        clock.advance_seconds(60);
        let other = another_device(&app, &person, "Browser/1").await;
        let devices = list(&person).await;
        assert_eq!(devices.len(), 2, "those of others are not among them");
        assert_eq!((&devices[0]["userAgent"], &devices[0]["current"]), (&json!("Browser/1"), &json!(false)));
        assert_eq!((&devices[1]["current"], &devices[1]["aal"]), (&json!(true), &json!("aal1")));
        assert_eq!(devices[0]["createdAt"], json!("2026-11-21T10:01:00.000000Z"));
        assert_eq!(devices[0]["lastUsedAt"], devices[0]["createdAt"]);
        assert_eq!(list(&other).await[0]["current"], true);
    }
}

#[tokio::test]
async fn the_last_use_is_kept_to_five_minutes() {
    for database in databases() {
        let clock = MockClock::new();
        let app = TestApp::builder().database(database).clock(&clock).start().await;
        let person = app.person().await;
        let used = || async { list(&person).await[0]["lastUsedAt"].as_str().unwrap().to_owned() };
        let first = used().await;
        clock.advance_seconds(299);
        used().await;
        assert_eq!(used().await, first, "not written for every call");
        clock.advance_seconds(1);
        // The time of use is stored in parallel to the request.
        while used().await == first {
            tokio::task::yield_now().await;
        }
        assert_eq!(used().await, app.state.clock.now().to_rfc3339());
    }
}

#[tokio::test]
async fn a_device_is_signed_out_from_another_and_its_page_hears_it() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let person = app.person().await;
        let other = another_device(&app, &person, "Browser/1").await;
        let (mut here, there) = (Page::open(&person).await, Page::open(&other).await);
        let devices = list(&person).await;
        let id = devices.iter().find(|device| device["current"] == false).unwrap()["id"].as_str().unwrap().to_owned();
        let path = format!("/api/account/devices/{id}");

        let stranger = app.person().await;
        assert_eq!(call(&stranger, Method::DELETE, &path, None).await.0, 404);
        assert_eq!(list(&other).await.len(), 2, "a stranger ends nothing");

        assert_eq!(call(&person, Method::DELETE, &path, None).await.0, 204);
        assert_eq!(call(&person, Method::DELETE, &path, None).await.0, 404);
        assert_eq!(call(&person, Method::DELETE, "/api/account/devices/mine", None).await.0, 404);
        assert_eq!(call(&other, Method::GET, "/api/models", None).await.0, 401);
        assert_eq!(there.rest().await, "data: {\"type\":\"devices\"}\n\n", "and then the stream ends");
        assert_eq!(here.next().await.unwrap(), "data: {\"type\":\"devices\"}\n\n");
        assert_eq!(list(&person).await.len(), 1);
    }
}

#[tokio::test]
async fn all_others_are_signed_out_at_once() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let person = app.person().await;
        let others = [another_device(&app, &person, "a").await, another_device(&app, &person, "b").await];
        let pages = [Page::open(&others[0]).await, Page::open(&others[1]).await];
        assert_eq!(call(&person, Method::POST, "/auth/v1/logout?scope=others", None).await.0, 204);
        for page in pages {
            assert!(page.rest().await.ends_with("data: {\"type\":\"devices\"}\n\n"));
        }
        assert_eq!(list(&person).await.len(), 1);
    }
}

#[tokio::test]
async fn a_lock_ends_the_streams_of_the_account() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let (person, other) = (app.person().await, app.person().await);
        let (page, mut others) = (Page::open(&person).await, Page::open(&other).await);
        let lock = AdminUserParams { ban_duration: Some("24h".to_owned()), ..AdminUserParams::default() };
        app.state.accounts.update_user_as_admin(person.id.parse().unwrap(), lock).await.unwrap();
        assert_eq!(page.rest().await, "data: {\"type\":\"devices\"}\n\n", "and then the stream ends");
        app.state.events.publish(other.id.parse().unwrap(), &platform::UserEvent::Devices);
        assert!(others.next().await.is_some(), "those of others go on");
    }
}

#[tokio::test]
async fn streams_end_when_their_session_is_too_old() {
    for database in databases() {
        let clock = MockClock::new();
        let app = TestApp::builder().database(database).clock(&clock).set("CHAT_SESSION_MAX", "90m").start().await;
        let person = app.person().await;
        let page = Page::open(&person).await;
        clock.advance_seconds(60 * 60);
        let mut newer = Page::open(&another_device(&app, &person, "Browser/1").await).await;
        clock.advance_seconds(30 * 60);
        assert_eq!(app.state.accounts.delete_ended_sessions().await.unwrap(), 1);
        assert_eq!(page.rest().await, "data: {\"type\":\"devices\"}\n\n", "and then the stream ends");
        assert_eq!(newer.next().await.unwrap(), "data: {\"type\":\"devices\"}\n\n");
    }
}
