//! Lifetime and use of emailed tokens. They are issued as in every flow, and no email has to be sent for that.

use std::sync::Arc;

use accounts::emails::LinkType;
use accounts::one_time_tokens::IssuedToken;
use reqwest::Method;
use serde_json::json;
use storage::auth_codes::{Challenge, ChallengeMethod};
use storage::one_time_tokens::TokenKind;
use storage::users::{Along, Written};
use testkit::{Builder, MockClock, Person, TestApp, databases};

use super::caller::{Answer, PASSWORD, get_user, post, put_user, refresh, refused, request, send, sign_in};

const HOUR: i64 = 3600;

/// Configures a mail server that is never used.
fn with_mail(builder: Builder) -> Builder {
    builder.set("SMTP_URL", "smtp://127.0.0.1:9").set("CHAT_AUTOCONFIRM", "on")
}

/// Issues and stores a token for a user.
async fn issue(app: &TestApp, person: &Person, kind: TokenKind, challenge: Option<Challenge>) -> IssuedToken {
    let app = &app.state;
    let user = app.storage.users().get_by_email(&person.email).await.unwrap().unwrap();
    let issued = app.accounts.issue_one_time_token(user.id, kind, &person.email, challenge).unwrap();
    let along = Along { issue: std::slice::from_ref(&issued.token), ..Along::default() };
    assert_eq!(app.storage.users().update_with(&user, user.updated_at, &along).await.unwrap(), Written::Done);
    issued
}

async fn show_code(app: &TestApp, email: &str, code: &str) -> Answer {
    post(app, "/verify", &json!({ "type": "magiclink", "email": email, "token": code })).await
}

/// Returns where a link leads, without the site's origin.
async fn follow(app: &TestApp, issued: &IssuedToken, link: LinkType) -> String {
    let site = app.state.site_url.0.clone();
    let link = app.state.accounts.action_link(issued, link, &site).unwrap();
    let http = reqwest_without_redirects();
    let answer = http.get(format!("{}{}?{}", app.url, link.path(), link.query().unwrap())).send().await.unwrap();
    assert_eq!(answer.status(), 303);
    let location = answer.headers()["location"].to_str().unwrap();
    location.strip_prefix(site.as_str()).unwrap().to_owned()
}

#[expect(clippy::disallowed_methods, reason = "tests talk to loopback only")]
fn reqwest_without_redirects() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

async fn start(clock: &Arc<MockClock>, database: testkit::Database) -> TestApp {
    with_mail(TestApp::builder().database(database).clock(clock)).start().await
}

#[tokio::test]
async fn links_and_codes_are_good_for_an_hour() {
    for database in databases() {
        let clock = MockClock::new();
        let app = start(&clock, database).await;
        let person = app.person().await;
        let issued = issue(&app, &person, TokenKind::Recovery, None).await;
        clock.advance_seconds(HOUR - 1);
        assert_eq!(show_code(&app, &person.email, &issued.code).await.status, 200);

        let issued = issue(&app, &person, TokenKind::Recovery, None).await;
        clock.advance_seconds(HOUR);
        let late = show_code(&app, &person.email, &issued.code).await;
        assert_eq!(late.refusal(), refused(403, "otp_expired"));
        let landing = follow(&app, &issued, LinkType::Recovery).await;
        let expected = "#error=access_denied&error_code=otp_expired\
                        &error_description=Email+link+is+invalid+or+has+expired&sb=";
        assert_eq!(landing, expected);
    }
}

#[tokio::test]
async fn a_code_can_be_tried_ten_times_and_its_link_stays_good() {
    for database in databases() {
        let app = start(&MockClock::new(), database).await;
        let person = app.person().await;
        let issued = issue(&app, &person, TokenKind::Recovery, None).await;
        let wrong = if issued.code == "000000" { "000001" } else { "000000" };
        for _ in 0..10 {
            assert_eq!(show_code(&app, &person.email, wrong).await.refusal(), refused(403, "otp_expired"));
        }
        assert_eq!(show_code(&app, &person.email, &issued.code).await.refusal(), refused(403, "otp_expired"));
        assert!(follow(&app, &issued, LinkType::Recovery).await.starts_with("#access_token="));
    }
}

#[tokio::test]
async fn a_pkce_code_is_good_for_five_minutes() {
    for database in databases() {
        let clock = MockClock::new();
        let app = start(&clock, database).await;
        let person = app.person().await;
        let verifier = "v".repeat(43);
        for (wait, expected) in [(299, 200), (300, 422)] {
            let challenge = Challenge { text: verifier.clone(), method: ChallengeMethod::Plain };
            let issued = issue(&app, &person, TokenKind::Recovery, Some(challenge)).await;
            let landing = follow(&app, &issued, LinkType::Recovery).await;
            let code = landing.strip_prefix("?code=").unwrap();
            clock.advance_seconds(wait);
            let body = json!({ "auth_code": code, "code_verifier": verifier });
            let answer = post(&app, "/token?grant_type=pkce", &body).await;
            assert_eq!(answer.status, expected);
            if expected != 200 {
                assert_eq!(answer.refusal(), refused(422, "flow_state_expired"));
            }
        }
    }
}

#[tokio::test]
async fn what_a_new_password_voids_cannot_be_exchanged_either() {
    for database in databases() {
        let app = start(&MockClock::new(), database).await;
        let person = app.person().await;
        let verifier = "v".repeat(43);
        let challenge = Challenge { text: verifier.clone(), method: ChallengeMethod::Plain };
        let issued = issue(&app, &person, TokenKind::Recovery, Some(challenge)).await;
        let landing = follow(&app, &issued, LinkType::Recovery).await;
        let pending = issue(&app, &person, TokenKind::Recovery, None).await;
        assert_eq!(put_user(&app, &person.token, &json!({ "password": "another horse" })).await.status, 200);
        let body = json!({ "auth_code": landing.strip_prefix("?code=").unwrap(), "code_verifier": verifier });
        let answer = post(&app, "/token?grant_type=pkce", &body).await;
        assert_eq!(answer.refusal(), refused(404, "flow_state_not_found"));
        assert_eq!(show_code(&app, &person.email, &pending.code).await.refusal(), refused(403, "otp_expired"));
    }
}

#[tokio::test]
async fn a_banned_person_follows_no_link_and_the_link_is_kept() {
    for database in databases() {
        let clock = MockClock::new();
        let app = start(&clock, database).await;
        let person = app.person().await;
        let issued = issue(&app, &person, TokenKind::Recovery, None).await;
        let storage = &app.state.storage;
        let mut user = storage.users().get_by_email(&person.email).await.unwrap().unwrap();
        user.banned_until = Some(user.updated_at.plus_seconds(60));
        assert!(storage.users().update(&user, user.updated_at, None).await.unwrap());
        let answer = show_code(&app, &person.email, &issued.code).await;
        assert_eq!(answer.refusal(), refused(403, "user_banned"));
        clock.advance_seconds(60);
        assert_eq!(show_code(&app, &person.email, &issued.code).await.status, 200);
    }
}

#[tokio::test]
async fn an_old_sign_in_needs_a_mailed_code_for_a_new_password_where_that_is_asked_for() {
    for database in databases() {
        let clock = MockClock::new();
        let builder = TestApp::builder().database(database).clock(&clock);
        let app = with_mail(builder).set("CHAT_PASSWORD_REAUTHENTICATION", "on").start().await;
        let person = app.person().await;
        assert_eq!(put_user(&app, &person.token, &json!({ "password": "another horse" })).await.status, 200);
        clock.advance_seconds(24 * HOUR + 1);
        let token = refresh(&app, &person.refresh_token).await.text("/access_token");
        let change = json!({ "password": PASSWORD });
        let answer = put_user(&app, &token, &change).await;
        assert_eq!(answer.refusal(), refused(400, "reauthentication_needed"));
        assert_eq!(put_user(&app, &token, &json!({ "data": { "a": 1 } })).await.status, 200, "only for passwords");

        let issued = issue(&app, &person, TokenKind::Reauthentication, None).await;
        let as_link = json!({ "type": "email", "email": person.email, "token": issued.code });
        assert_eq!(post(&app, "/verify", &as_link).await.refusal(), refused(403, "otp_expired"), "it lets nobody in");
        let change = json!({ "password": PASSWORD, "nonce": issued.code });
        assert_eq!(put_user(&app, &token, &change).await.status, 200);
        assert_eq!(sign_in(&app, &person.email, PASSWORD).await.status, 200);
    }
}

#[tokio::test]
async fn a_mail_server_that_is_away_is_told_and_makes_nobody_wait() {
    for database in databases() {
        let app = start(&MockClock::new(), database).await;
        let person = app.person().await;
        for _ in 0..2 {
            let answer = send(request(&app, Method::GET, "/reauthenticate").bearer_auth(&person.token)).await;
            assert_eq!(answer.refusal(), refused(500, "unexpected_failure"));
            assert_eq!(answer.text("/message"), "Error sending reauthentication email");
        }
        let user = get_user(&app, &person.token).await;
        assert_eq!(user.body.get("reauthentication_sent_at"), None);
    }
}
