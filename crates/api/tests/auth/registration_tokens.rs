//! Registration tokens: sign-up where it is by invitation.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use accounts::registration_tokens::{IssuedRegistrationToken, RegistrationTokenParams, revoke};
use domain::{Clock, RegistrationTokenId, Timestamp};
use futures_util::future::join_all;
use platform::config::SignUps;
use serde_json::json;
use storage::registration_tokens::RegistrationToken;
use testkit::{Builder, Database, MockClock, TestApp, databases};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

use super::caller::{Answer, PASSWORD, post, refused};
use super::oidc::browser::{Browser, Site};

const DAY: i64 = 24 * 60 * 60;

fn by_invitation(database: Database, clock: &Arc<MockClock>) -> Builder {
    TestApp::builder().database(database).clock(clock).set("CHAT_SIGNUPS", "invite")
}

/// Creates a token as if sign-up were by invitation.
async fn create(app: &TestApp, max_uses: u32, domain: Option<&str>) -> IssuedRegistrationToken {
    let now = app.state.clock.now();
    let params = RegistrationTokenParams {
        max_uses: NonZeroU32::new(max_uses).unwrap(),
        expires_at: now.plus_seconds(DAY),
        domain: domain.map(|domain| domain.parse().unwrap()),
        note: "Team A".to_owned(),
    };
    params.create(&app.state.storage, &SignUps::Invite, now, &app.state.audit).await.unwrap()
}

async fn stored(app: &TestApp, id: RegistrationTokenId) -> RegistrationToken {
    let tokens = app.state.storage.registration_tokens().list().await.unwrap();
    tokens.into_iter().find(|token| token.id == id).unwrap()
}

async fn sign_up(app: &TestApp, email: &str, token: &str) -> Answer {
    let data = json!({ "name": "Ann", "registration_token": token });
    post(app, "/signup", &json!({ "email": email, "password": PASSWORD, "data": data })).await
}

#[tokio::test]
async fn a_token_permits_as_many_sign_ups_as_it_has_uses() {
    for database in databases() {
        let app = by_invitation(database, &MockClock::new()).start().await;
        let issued = create(&app, 2, None).await;
        let ann = sign_up(&app, "ann@example.com", &issued.token).await;
        assert_eq!(ann.status, 200, "{}", ann.body);
        let metadata = ann.body["user"]["user_metadata"].as_object().unwrap();
        assert!(metadata.contains_key("name") && !metadata.contains_key("registration_token"), "{metadata:?}");
        // What fails uses nothing up.
        let again = sign_up(&app, "ann@example.com", &issued.token).await;
        assert_eq!(again.refusal(), refused(422, "user_already_exists"));
        assert_eq!(sign_up(&app, "no address", &issued.token).await.refusal(), refused(400, "validation_failed"));
        assert_eq!(stored(&app, issued.stored.id).await.uses, 1);
        assert_eq!(sign_up(&app, "bob@example.com", &issued.token).await.status, 200);
        let late = sign_up(&app, "eve@example.com", &issued.token).await;
        assert_eq!(late.refusal(), refused(422, "registration_token_used_up"));
        assert!(app.state.storage.users().get_by_email("eve@example.com").await.unwrap().is_none());

        let events = app.state.storage.audit_events().list(None, Timestamp(0), None, 100).await.unwrap();
        let with_token = events.iter().filter(|event| event.registration_token == Some(issued.stored.id));
        let kinds: Vec<String> = with_token.map(|event| format!("{} {}", event.actor, event.kind)).collect();
        assert_eq!(kinds, ["admin registration_token_created", "user account_created", "user account_created"]);
        app.stop().await;
    }
}

#[tokio::test]
async fn a_guess_learns_less_than_who_has_a_token() {
    for database in databases() {
        let clock = MockClock::new();
        let app = by_invitation(database, &clock).start().await;
        let invalid = || refused(422, "registration_token_invalid");
        for guess in ["x", "registration_token", "é"] {
            assert_eq!(sign_up(&app, "ann@example.com", guess).await.refusal(), invalid());
        }
        let data = json!({ "registration_token": ["x"] });
        let wrong = json!({ "email": "ann@example.com", "password": PASSWORD, "data": data });
        assert_eq!(post(&app, "/signup", &wrong).await.refusal(), invalid());
        for none in [json!(""), json!(null)] {
            let data = json!({ "registration_token": none });
            let none = json!({ "email": "ann@example.com", "password": PASSWORD, "data": data });
            assert_eq!(post(&app, "/signup", &none).await.refusal(), refused(422, "signup_disabled"));
        }

        let revoked = create(&app, 1, None).await;
        let revoke_it =
            async || revoke(&app.state.storage, revoked.stored.id, clock.now(), &app.state.audit).await.unwrap();
        assert!(revoke_it().await && !revoke_it().await);
        assert_eq!(sign_up(&app, "ann@example.com", &revoked.token).await.refusal(), invalid());

        let bound = create(&app, 1, Some("Example.ORG")).await;
        for outside in ["ann@example.com", "ann@sub.example.org"] {
            let refusal = sign_up(&app, outside, &bound.token).await.refusal();
            assert_eq!(refusal, refused(400, "email_address_not_authorized"), "{outside}");
        }
        clock.advance_seconds(DAY - 1);
        assert_eq!(sign_up(&app, "Ann@Example.org", &bound.token).await.status, 200);
        let expired = create(&app, 1, None).await;
        clock.advance_seconds(DAY);
        let refusal = sign_up(&app, "bob@example.com", &expired.token).await.refusal();
        assert_eq!(refusal, refused(422, "registration_token_expired"));
        app.stop().await;
    }
}

#[tokio::test]
async fn of_parallel_sign_ups_no_more_succeed_than_there_are_uses() {
    for database in databases() {
        let app = by_invitation(database, &MockClock::new()).start().await;
        let issued = create(&app, 3, None).await;
        let emails: Vec<String> = (0..10).map(|n| format!("user{n}@example.com")).collect();
        let answers = join_all(emails.iter().map(|email| sign_up(&app, email, &issued.token))).await;
        let (made, rejected): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 200);
        assert_eq!(made.len(), 3);
        assert!(rejected.iter().all(|answer| answer.refusal() == refused(422, "registration_token_used_up")));
        assert_eq!(stored(&app, issued.stored.id).await.uses, 3);
        app.stop().await;
    }
}

#[tokio::test]
async fn of_parallel_sign_ups_with_one_address_one_use_is_taken() {
    for database in databases() {
        let app = by_invitation(database, &MockClock::new()).start().await;
        let issued = create(&app, 6, None).await;
        let answers = join_all((0..6).map(|_| sign_up(&app, "race@example.com", &issued.token))).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
        assert_eq!(stored(&app, issued.stored.id).await.uses, 1, "what was rolled back is given back");
        app.stop().await;
    }
}

#[tokio::test]
async fn a_token_is_for_invited_sign_ups_only() {
    for database in databases() {
        for (name, value, expected) in [
            ("CHAT_SIGNUPS", "closed", Some((422, "signup_disabled"))),
            ("CHAT_SIGNUP_DOMAINS", "example.org", Some((400, "email_address_not_authorized"))),
            ("CHAT_SIGNUPS", "open", None),
        ] {
            let app = TestApp::builder().database(database).set(name, value).start().await;
            let issued = create(&app, 1, None).await;
            let answer = sign_up(&app, "ann@example.com", &issued.token).await;
            match expected {
                Some((status, code)) => assert_eq!(answer.refusal(), refused(status, code), "{value}"),
                None => assert!(answer.status == 200 && !answer.body.to_string().contains(&issued.token)),
            }
            assert_eq!(stored(&app, issued.stored.id).await.uses, 0, "{value}");
            app.stop().await;
        }
        // No address, so that the token could not be bound to one.
        let app = by_invitation(database, &MockClock::new()).set("CHAT_ANONYMOUS_SIGN_IN", "on").start().await;
        let issued = create(&app, 1, None).await;
        let anonymous = json!({ "data": { "registration_token": issued.token } });
        assert_eq!(post(&app, "/signup", &anonymous).await.refusal(), refused(422, "signup_disabled"));
        let settings = app.http.get(format!("{}/auth/v1/settings", app.url)).send().await.unwrap();
        assert_eq!(settings.json::<serde_json::Value>().await.unwrap()["disable_signup"], true);
        app.stop().await;
        // Without a way to confirm addresses there are no accounts, as without tokens.
        let app = by_invitation(database, &MockClock::new()).set("CHAT_AUTOCONFIRM", "off").start().await;
        let issued = create(&app, 1, None).await;
        assert_eq!(sign_up(&app, "a@b.c", &issued.token).await.refusal(), refused(422, "signup_disabled"));
        app.stop().await;
    }
}

/// A mail server that accepts every email and keeps its recipient.
async fn mail_server() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("smtp://{}", listener.local_addr().unwrap());
    let recipients = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&recipients);
    #[expect(clippy::disallowed_methods, reason = "it ends with the test")]
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (read, mut write) = stream.into_split();
            let mut lines = BufReader::new(read).lines();
            write.write_all(b"220 ready\r\n").await.unwrap();
            let mut is_text = false;
            while let Ok(Some(line)) = lines.next_line().await {
                let reply = match line.as_str() {
                    "." => "250 kept\r\n",
                    _ if is_text => continue,
                    "DATA" => "354 go on\r\n",
                    "QUIT" => break,
                    _ => "250 ok\r\n",
                };
                is_text = line == "DATA";
                if let Some(to) = line.strip_prefix("RCPT TO:") {
                    kept.lock().unwrap().push(to.trim_matches(['<', '>']).to_owned());
                }
                if write.write_all(reply.as_bytes()).await.is_err() {
                    break;
                }
            }
        }
    });
    (url, recipients)
}

#[tokio::test]
async fn uses_do_not_disclose_which_addresses_have_accounts() {
    for database in databases() {
        let (smtp, recipients) = mail_server().await;
        let app = by_invitation(database, &MockClock::new()).set("SMTP_URL", smtp).start().await;
        let issued = create(&app, 4, None).await;
        let uses = async || stored(&app, issued.stored.id).await.uses;
        let fresh = sign_up(&app, "ann@example.com", &issued.token).await;
        assert_eq!((fresh.status, uses().await), (200, 1), "{}", fresh.body);
        assert!(fresh.body["confirmation_sent_at"].is_string() && fresh.body.get("access_token").is_none());
        assert!(!fresh.body.to_string().contains(&issued.token));
        // An account that is not confirmed, and one that is.
        assert_eq!(sign_up(&app, "ann@example.com", &issued.token).await.status, 200);
        assert_eq!(uses().await, 2);
        let users = app.state.storage.users();
        let mut ann = users.get_by_email("ann@example.com").await.unwrap().unwrap();
        let seen = ann.updated_at;
        ann.email_confirmed_at = Some(app.state.clock.now());
        assert!(users.update(&ann, seen, None).await.unwrap());
        assert_eq!(sign_up(&app, "ann@example.com", &issued.token).await.status, 200);
        assert_eq!(uses().await, 3);
        assert_eq!(sign_up(&app, "bob@example.com", &issued.token).await.status, 200);
        let sent = recipients.lock().unwrap().len();
        assert_eq!(sent, 4);
        for email in ["ann@example.com", "eve@example.com"] {
            let refusal = sign_up(&app, email, &issued.token).await.refusal();
            assert_eq!(refusal, refused(422, "registration_token_used_up"));
        }
        assert_eq!(recipients.lock().unwrap().len(), sent, "nobody gets an email about a token that is used up");
        app.stop().await;
    }
}

#[tokio::test]
async fn a_token_permits_an_account_of_the_identity_provider() {
    for database in databases() {
        let builder = || TestApp::builder().database(database).set("CHAT_SIGNUPS", "invite");
        let site = Site::start_with(builder()).await;
        let error = async |token: &str| {
            let end = Browser::new(&site).sign_in(&format!("&registration_token={token}")).await;
            end.query.get("error_code").cloned()
        };
        let disabled = || Some("signup_disabled".to_owned());
        assert_eq!(error("").await, disabled());
        assert_eq!(error("x").await.as_deref(), Some("registration_token_invalid"));
        let other = create(&site.app, 1, Some("example.org")).await;
        assert_eq!(error(&other.token).await.as_deref(), Some("email_address_not_authorized"));
        let bound = create(&site.app, 1, Some("example.com")).await;
        site.provider.script().claims = json!({ "email_verified": false });
        assert_eq!(error(&bound.token).await.as_deref(), Some("email_address_not_authorized"), "an unproven domain");
        site.provider.script().claims = json!({});
        assert_eq!(error(&bound.token).await, None);
        let user = site.app.state.storage.users().get_by_email("ann@example.com").await.unwrap().unwrap();
        assert!(!serde_json::to_string(&user.user_metadata).unwrap().contains(&bound.token));
        assert_eq!(stored(&site.app, bound.stored.id).await.uses, 1);
        // A known user needs none, and takes no use.
        assert_eq!(error(&other.token).await, None);
        assert_eq!(stored(&site.app, other.stored.id).await.uses, 0);
        site.provider.script().claims = json!({ "sub": "bob", "email": "bob@example.com" });
        assert_eq!(error(&bound.token).await.as_deref(), Some("registration_token_used_up"));
        site.app.stop().await;
    }
}
