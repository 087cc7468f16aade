//! Lifetimes of sessions: `CHAT_SESSION_IDLE` and `CHAT_SESSION_MAX`.

use serde_json::json;
use testkit::{MockClock, TestApp, databases};

use super::caller::{Answer, get_user, refresh, refused, sign_in};

const HOUR: i64 = 3600;

/// Returns the lifetime of the access token in an answer, in seconds.
fn lifetime(answer: &Answer) -> i64 {
    answer.body["expires_in"].as_i64().unwrap()
}

#[tokio::test]
async fn idle_session_ends() {
    for database in databases() {
        let clock = MockClock::new();
        let app = TestApp::builder().database(database).clock(&clock).set("CHAT_SESSION_IDLE", "2h").start().await;
        let person = app.person().await;
        let mut token = person.refresh_token;
        for _ in 0..5 {
            clock.advance_seconds(2 * HOUR - 1);
            let answer = refresh(&app, &token).await;
            assert_eq!((answer.status, lifetime(&answer)), (200, HOUR));
            token = answer.text("/refresh_token");
        }
        clock.advance_seconds(2 * HOUR);
        for _ in 0..2 {
            let answer = refresh(&app, &token).await;
            assert_eq!(answer.refusal(), refused(400, "session_expired"));
            assert_eq!(answer.text("/msg"), "Invalid Refresh Token: Session Expired (Inactivity)");
        }
        app.stop().await;
    }
}

#[tokio::test]
async fn old_session_ends_however_much_it_is_used() {
    for database in databases() {
        let clock = MockClock::new();
        let app = TestApp::builder().database(database).clock(&clock).set("CHAT_SESSION_MAX", "90m").start().await;
        let person = app.person().await;
        clock.advance_seconds(HOUR);
        let answer = refresh(&app, &person.refresh_token).await;
        assert_eq!((answer.status, lifetime(&answer)), (200, HOUR / 2), "no longer than the session");
        let expires_at = answer.body["expires_at"].as_i64().unwrap();
        clock.advance_seconds(HOUR / 2 - 5);
        assert_eq!(get_user(&app, &answer.text("/access_token")).await.status, 200, "until {expires_at}");
        clock.advance_seconds(5);
        assert_eq!(get_user(&app, &answer.text("/access_token")).await.status, 403);
        let refusal = refresh(&app, &answer.text("/refresh_token")).await;
        assert_eq!(refusal.refusal(), refused(400, "session_expired"));
        assert_eq!(refusal.text("/msg"), "Invalid Refresh Token: Session Expired");
        app.stop().await;
    }
}

#[tokio::test]
async fn access_tokens_end_with_an_idle_session() {
    let clock = MockClock::new();
    let app = TestApp::builder().clock(&clock).set("CHAT_SESSION_IDLE", "10m").start().await;
    let person = app.person().await;
    let answer = refresh(&app, &person.refresh_token).await;
    assert_eq!(lifetime(&answer), 600);
    clock.advance_seconds(600);
    assert_eq!(get_user(&app, &answer.text("/access_token")).await.status, 403);
}

#[tokio::test]
async fn ended_sessions_are_deleted() {
    for database in databases() {
        for (name, value) in [("CHAT_SESSION_IDLE", "1h"), ("CHAT_SESSION_MAX", "1h"), ("CHAT_SESSION_MAX", "off")] {
            let clock = MockClock::new();
            let app = TestApp::builder().database(database).clock(&clock).set(name, value).start().await;
            let person = app.person().await;
            clock.advance_seconds(HOUR);
            let fresh = sign_in(&app, &person.email, super::caller::PASSWORD).await;
            let ended = u64::from(value != "off");
            assert_eq!(app.state.accounts.delete_ended_sessions().await.unwrap(), ended, "{name}={value}");
            assert_eq!(app.state.accounts.delete_ended_sessions().await.unwrap(), 0);
            assert_eq!(get_user(&app, &fresh.text("/access_token")).await.body["email"], json!(person.email));
            app.stop().await;
        }
    }
}
