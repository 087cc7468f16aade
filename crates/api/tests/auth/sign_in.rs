//! Signing in and out, and the validity of access tokens.

use reqwest::Method;
use serde_json::json;
use testkit::{MockClock, TestApp, databases};

use super::caller::{PASSWORD, another_device, get_user, log_out, post, refresh, refused, request, send, sign_in};

#[tokio::test]
async fn the_right_password_signs_in_and_any_other_does_not() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let person = app.person().await;
        let answer = sign_in(&app, &person.email.to_uppercase(), PASSWORD).await;
        assert_eq!((answer.status, answer.text("/user/id")), (200, person.id.clone()));
        assert_eq!(get_user(&app, &answer.text("/access_token")).await.text("/email"), person.email);

        let wrong = sign_in(&app, &person.email, "correct horsf").await;
        assert_eq!(wrong.refusal(), refused(400, "invalid_credentials"));
        assert_eq!(wrong.text("/message"), "Invalid login credentials");
        for email in ["nobody@example.com", "no address", "a\u{0}@b.c", "' OR 1=1 --"] {
            let unknown = sign_in(&app, email, PASSWORD).await;
            assert_eq!((unknown.status, &unknown.body), (wrong.status, &wrong.body), "{email:?}");
        }
    }
}

#[tokio::test]
async fn a_grant_that_is_not_whole_or_not_offered_is_refused() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let email = app.person().await.email;
        let table = [
            ("password", json!({ "password": PASSWORD }), 400, "validation_failed"),
            ("password", json!({ "email": email }), 400, "invalid_credentials"),
            ("password", json!({ "email": email, "phone": "1", "password": PASSWORD }), 400, "validation_failed"),
            ("password", json!({ "phone": "1", "password": PASSWORD }), 422, "phone_provider_disabled"),
            ("refresh_token", json!({}), 400, "validation_failed"),
            ("refresh_token", json!({ "refresh_token": null }), 400, "validation_failed"),
            ("refresh_token", json!({ "refresh_token": 1 }), 400, "bad_json"),
            ("pkce", json!({ "auth_code": "a", "code_verifier": "" }), 400, "validation_failed"),
            ("pkce", json!({ "auth_code": null, "code_verifier": "b" }), 400, "validation_failed"),
            ("pkce", json!({ "auth_code": "a", "code_verifier": "b" }), 404, "flow_state_not_found"),
            ("id_token", json!({ "provider": "google", "id_token": "a" }), 400, "provider_disabled"),
            ("web3", json!({ "chain": "solana" }), 422, "web3_provider_disabled"),
            ("magic", json!({}), 400, "invalid_credentials"),
            ("", json!({}), 400, "invalid_credentials"),
        ];
        for (grant, body, status, code) in table {
            let answer = post(&app, &format!("/token?grant_type={grant}"), &body).await;
            assert_eq!(answer.refusal(), refused(status, code), "{grant} {body}");
        }
    }
}

#[tokio::test]
async fn an_access_token_is_good_for_an_hour() {
    for database in databases() {
        let clock = MockClock::new();
        let app = TestApp::builder().database(database).clock(&clock).start().await;
        let person = app.person().await;
        clock.advance_seconds(3599);
        assert_eq!(get_user(&app, &person.token).await.status, 200);
        clock.advance_seconds(1);
        assert_eq!(get_user(&app, &person.token).await.refusal(), refused(403, "bad_jwt"));
        assert_eq!(refresh(&app, &person.refresh_token).await.status, 200, "the refresh token lives on");
    }
}

#[tokio::test]
async fn what_is_not_an_access_token_of_this_server_opens_nothing() {
    for database in databases() {
        let (app, other) = (TestApp::on(database).await, TestApp::on(database).await);
        let (person, stranger) = (app.person().await, other.person().await);
        let (message, signature) = person.token.rsplit_once('.').unwrap();
        let internal = app.state.accounts.issue_internal(
            person.id.parse().unwrap(),
            accounts::Audience::Mcp,
            std::time::Duration::from_mins(1),
        );
        let tokens = [
            stranger.token,
            person.refresh_token.clone(),
            format!("{message}."),
            format!("{message}.{}", signature.chars().rev().collect::<String>()),
            message.to_owned(),
            internal.unwrap(),
            "sb_publishable_x".to_owned(),
        ];
        for token in tokens {
            assert_eq!(get_user(&app, &token).await.refusal(), refused(403, "bad_jwt"), "{token}");
        }
        for request in [
            request(&app, Method::GET, "/user"),
            request(&app, Method::GET, "/user").header("authorization", format!("Basic {}", person.token)),
            request(&app, Method::GET, "/user").header("authorization", "Bearer "),
        ] {
            assert_eq!(send(request).await.refusal(), refused(401, "no_authorization"));
        }
    }
}

#[tokio::test]
async fn signing_out_ends_what_it_says_and_nothing_else() {
    for database in databases() {
        let app = TestApp::on(database).await;
        // The devices of three that are still signed in after the first one has signed out.
        let table = [
            ("", [false, false, false]),
            ("?scope=global", [false, false, false]),
            ("?scope=local", [false, true, true]),
            ("?scope=others", [true, false, false]),
        ];
        let bystander = app.person().await;
        for (query, left) in table {
            let person = app.person().await;
            let devices = [
                person.token.clone(),
                another_device(&app, &person.email).await,
                another_device(&app, &person.email).await,
            ];
            let answer = log_out(&app, &devices[0], query).await;
            assert_eq!((answer.status, answer.body), (204, json!("")), "{query}");
            for (device, left) in devices.iter().zip(left) {
                let answer = get_user(&app, device).await;
                if left {
                    assert_eq!(answer.status, 200, "{query}");
                } else {
                    assert_eq!(answer.refusal(), refused(403, "session_not_found"), "{query}");
                }
            }
            let refreshed = refresh(&app, &person.refresh_token).await;
            if left[0] {
                assert_eq!(refreshed.status, 200);
            } else {
                assert_eq!(refreshed.refusal(), refused(400, "refresh_token_not_found"));
            }
        }
        assert_eq!(get_user(&app, &bystander.token).await.status, 200);
        let answer = log_out(&app, &bystander.token, "?scope=everything").await;
        assert_eq!(answer.refusal(), refused(400, "validation_failed"));
        assert_eq!(answer.text("/msg"), "Unsupported logout scope \"everything\"");
        let ended = log_out(&app, &bystander.token, "").await.status;
        let again = log_out(&app, &bystander.token, "").await.refusal();
        assert_eq!((ended, again), (204, refused(403, "session_not_found")));
    }
}
