//! Refresh tokens: rotation that tolerates simultaneous tabs and lost responses, and revocation after theft.

use futures_util::future::join_all;
use testkit::{MockClock, TestApp, databases};

use super::caller::{get_user, refresh, refused};

#[tokio::test]
async fn every_use_rotates_and_keeps_the_sign_in() {
    for database in databases() {
        let clock = MockClock::new();
        let app = TestApp::builder().database(database).clock(&clock).start().await;
        let person = app.person().await;
        let mut token = person.refresh_token.clone();
        for _ in 0..5 {
            clock.advance_seconds(3600);
            let answer = refresh(&app, &token).await;
            assert_eq!((answer.status, answer.text("/user/id")), (200, person.id.clone()));
            assert_ne!(answer.text("/refresh_token"), token);
            assert_eq!(get_user(&app, &answer.text("/access_token")).await.status, 200);
            token = answer.text("/refresh_token");
        }
    }
}

#[tokio::test]
async fn callers_at_the_same_time_get_the_same_next_token() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let person = app.person().await;
        let mut token = person.refresh_token;
        for _ in 0..3 {
            let answers = join_all((0..8).map(|_| refresh(&app, &token))).await;
            assert!(answers.iter().all(|answer| answer.status == 200));
            let next = answers[0].text("/refresh_token");
            assert_ne!(next, token);
            assert!(answers.iter().all(|answer| answer.text("/refresh_token") == next));
            token = next;
        }
    }
}

#[tokio::test]
async fn a_lost_answer_is_given_again_however_late() {
    for database in databases() {
        let clock = MockClock::new();
        let app = TestApp::builder().database(database).clock(&clock).start().await;
        let person = app.person().await;
        let lost = refresh(&app, &person.refresh_token).await.text("/refresh_token");
        clock.advance_seconds(30 * 24 * 3600);
        let answer = refresh(&app, &person.refresh_token).await;
        assert_eq!((answer.status, answer.text("/refresh_token")), (200, lost.clone()));
        assert_eq!(refresh(&app, &lost).await.status, 200, "and it is the good one");
    }
}

#[tokio::test]
async fn a_token_is_refused_once_its_successor_was_used() {
    for database in databases() {
        let clock = MockClock::new();
        let app = TestApp::builder().database(database).clock(&clock).start().await;
        let person = app.person().await;
        let owner = refresh(&app, &person.refresh_token).await;
        assert_eq!(get_user(&app, &owner.text("/access_token")).await.status, 200);
        clock.advance_seconds(10);
        let thief = refresh(&app, &person.refresh_token).await;
        assert_eq!(thief.refusal(), refused(400, "refresh_token_already_used"));
        let ended = refresh(&app, &owner.text("/refresh_token")).await;
        assert_eq!(ended.refusal(), refused(400, "refresh_token_not_found"));
    }
}

#[tokio::test]
async fn an_old_access_token_does_not_confirm_a_lost_answer() {
    for database in databases() {
        let clock = MockClock::new();
        let app = TestApp::builder().database(database).clock(&clock).start().await;
        let person = app.person().await;
        clock.advance_seconds(3000);
        let lost = refresh(&app, &person.refresh_token).await.text("/refresh_token");
        assert_eq!(get_user(&app, &person.token).await.status, 200);
        clock.advance_seconds(3000);
        let answer = refresh(&app, &person.refresh_token).await;
        assert_eq!((answer.status, answer.text("/refresh_token")), (200, lost));
    }
}

#[tokio::test]
async fn tabs_that_wake_together_are_all_answered_with_the_newest() {
    for database in databases() {
        let clock = MockClock::new();
        let app = TestApp::builder().database(database).clock(&clock).start().await;
        let first = app.person().await.refresh_token;
        let second = refresh(&app, &first).await.text("/refresh_token");
        let third = refresh(&app, &second).await.text("/refresh_token");
        clock.advance_seconds(9);
        let answer = refresh(&app, &first).await;
        assert_eq!((answer.status, answer.text("/refresh_token")), (200, third));
    }
}

#[tokio::test]
async fn a_used_token_that_comes_back_ends_the_sign_in() {
    for database in databases() {
        let clock = MockClock::new();
        let app = TestApp::builder().database(database).clock(&clock).start().await;
        let person = app.person().await;
        let second = refresh(&app, &person.refresh_token).await.text("/refresh_token");
        let newest = refresh(&app, &second).await;
        clock.advance_seconds(10);
        let stolen = refresh(&app, &person.refresh_token).await;
        assert_eq!(stolen.refusal(), refused(400, "refresh_token_already_used"));
        assert_eq!(stolen.text("/message"), "Invalid Refresh Token: Already Used");
        let (token, access) = (newest.text("/refresh_token"), newest.text("/access_token"));
        assert_eq!(refresh(&app, &token).await.refusal(), refused(400, "refresh_token_not_found"));
        assert_eq!(get_user(&app, &access).await.refusal(), refused(403, "session_not_found"));
    }
}

#[tokio::test]
async fn a_token_of_another_server_is_no_token() {
    for database in databases() {
        let (app, other) = (TestApp::on(database).await, TestApp::on(database).await);
        let (person, stranger) = (app.person().await, other.person().await);
        for token in [stranger.refresh_token.as_str(), "abcdefghijkl"] {
            let answer = refresh(&app, token).await;
            assert_eq!(answer.refusal(), refused(400, "refresh_token_not_found"), "{token}");
        }
        for token in ["x", &person.token, "\u{0}", &stranger.refresh_token[1..]] {
            let answer = refresh(&app, token).await;
            assert_eq!(answer.refusal(), refused(400, "validation_failed"), "{token}");
            assert_eq!(answer.text("/msg"), "Refresh token is not valid");
        }
    }
}
