//! Passkeys: registration, sign-in, management, and responses that must be rejected.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Database, Person, TestApp, databases};

use super::authenticator::{
    Authenticator, BACKED_UP, BACKUP_ELIGIBLE, Lie, SITE, USER_PRESENT, USER_VERIFIED, encode, start,
};
use super::caller::{Answer, claims_of, enroll, get_user, post, refused, request, secret_of, send};

async fn call(app: &TestApp, token: &str, method: Method, path: &str, body: Value) -> Answer {
    send(request(app, method, &format!("/passkeys{path}")).bearer_auth(token).json(&body)).await
}

async fn begin_registration(app: &TestApp, token: &str) -> Answer {
    call(app, token, Method::POST, "/registration/options", json!({})).await
}

async fn finish_registration(app: &TestApp, token: &str, begun: &Answer, credential: Value) -> Answer {
    let body = json!({ "challenge_id": begun.body["challenge_id"], "credential": credential });
    call(app, token, Method::POST, "/registration/verify", body).await
}

/// Registers the passkey of an authenticator.
pub async fn register(app: &TestApp, token: &str, authenticator: &mut Authenticator) -> Answer {
    let begun = begin_registration(app, token).await;
    assert_eq!(begun.status, 200, "{}", begun.body);
    let credential = authenticator.create(&begun.body["options"]);
    finish_registration(app, token, &begun, credential).await
}

async fn begin_sign_in(app: &TestApp) -> Answer {
    post(app, "/passkeys/authentication/options", &json!({})).await
}

async fn finish_sign_in(app: &TestApp, begun: &Answer, credential: Value) -> Answer {
    let body = json!({ "challenge_id": begun.body["challenge_id"], "credential": credential });
    post(app, "/passkeys/authentication/verify", &body).await
}

async fn sign_in(app: &TestApp, authenticator: &mut Authenticator) -> Answer {
    let begun = begin_sign_in(app).await;
    let credential = authenticator.sign(&begun.body["options"]);
    finish_sign_in(app, &begun, credential).await
}

#[tokio::test]
async fn a_passkey_signs_in_without_address_and_password() {
    for database in databases() {
        let (clock, app, person) = start(database).await;
        for mut authenticator in [Authenticator::es256(SITE), Authenticator::ed25519(SITE), Authenticator::rs256(SITE)]
        {
            let begun = begin_registration(&app, &person.token).await;
            let options = &begun.body["options"];
            assert_eq!(options["rp"], json!({ "id": "chat.example.com", "name": "AI Chat MCP" }));
            assert_eq!(options["user"]["name"], person.email);
            assert_eq!(options["user"]["id"], encode(person.id.as_bytes()));
            assert_eq!(options["authenticatorSelection"]["residentKey"], "required");
            assert_eq!(begun.body["expires_at"], app.state.clock.now().as_seconds() + 300);
            let created = authenticator.create(options);
            let passkey = finish_registration(&app, &person.token, &begun, created).await;
            assert_eq!((passkey.status, passkey.text("/friendly_name")), (200, "Passkey".into()), "{}", passkey.body);

            clock.advance_seconds(60);
            let session = sign_in(&app, &mut authenticator).await;
            assert_eq!(session.status, 200, "{}", session.body);
            assert_eq!(session.text("/user/id"), person.id);
            let claims = claims_of(&session.text("/access_token"));
            assert_eq!((&claims["aal"], &claims["amr"][0]["method"]), (&json!("aal1"), &json!("passkey")));
            assert_eq!(get_user(&app, &session.text("/access_token")).await.status, 200);
        }
        let listed = call(&app, &person.token, Method::GET, "", json!({})).await;
        let listed = listed.body.as_array().unwrap();
        assert_eq!(listed.len(), 3);
        assert!(listed.iter().all(|passkey| passkey["last_used_at"].is_string()), "{listed:?}");
        let begun = begin_registration(&app, &person.token).await;
        let known = begun.body["options"]["excludeCredentials"].as_array().unwrap();
        assert_eq!(known.len(), 3, "an authenticator that has a passkey of the user creates no second one");
    }
}

#[tokio::test]
async fn passkeys_are_renamed_and_deleted_by_their_user_alone() {
    for database in databases() {
        let (_, app, person) = start(database).await;
        let stranger = app.person().await;
        let mut authenticator = Authenticator::es256(SITE);
        let passkey = format!("/{}", register(&app, &person.token, &mut authenticator).await.text("/id"));

        let name = json!({ "friendly_name": "Ann's phone" });
        for (method, path) in [
            (Method::PATCH, passkey.as_str()),
            (Method::DELETE, &passkey),
            (Method::PATCH, "/1"),
            (Method::DELETE, "/1"),
        ] {
            let answer = call(&app, &stranger.token, method, path, name.clone()).await;
            assert_eq!(answer.refusal(), refused(404, "validation_failed"));
        }
        let renamed = call(&app, &person.token, Method::PATCH, &passkey, name).await;
        assert_eq!((renamed.status, renamed.text("/friendly_name")), (200, "Ann's phone".into()));
        for wrong in [json!({}), json!({ "friendly_name": "" }), json!({ "friendly_name": "a".repeat(121) })] {
            let answer = call(&app, &person.token, Method::PATCH, &passkey, wrong).await;
            assert_eq!(answer.refusal(), refused(400, "validation_failed"));
        }

        let admin = app.person().await;
        assert_eq!(call(&app, &admin.token, Method::GET, "", json!({})).await.body, json!([]));
        assert_eq!(call(&app, &person.token, Method::DELETE, &passkey, json!({})).await.status, 204);
        assert_eq!(call(&app, &person.token, Method::GET, "", json!({})).await.body, json!([]));
        let refusal = sign_in(&app, &mut authenticator).await.refusal();
        assert_eq!(refusal, refused(400, "webauthn_verification_failed"));
    }
}

#[tokio::test]
async fn a_challenge_is_answered_once_in_time_and_by_who_asked_for_it() {
    for database in databases() {
        let (clock, app, person) = start(database).await;
        let stranger = app.person().await;
        let mut authenticator = Authenticator::es256(SITE);
        let begun = begin_registration(&app, &person.token).await;
        let created = authenticator.create(&begun.body["options"]);
        let unknown = refused(400, "webauthn_challenge_not_found");
        let begun_by_stranger = begin_registration(&app, &stranger.token).await;
        let taken = finish_registration(&app, &person.token, &begun_by_stranger, created.clone()).await;
        assert_eq!(taken.refusal(), unknown, "of another user");
        assert_eq!(finish_sign_in(&app, &begun, created).await.refusal(), unknown, "of a registration");
        assert_eq!(register(&app, &person.token, &mut authenticator).await.status, 200);

        let begun = begin_sign_in(&app).await;
        let signed = authenticator.sign(&begun.body["options"]);
        assert_eq!(finish_sign_in(&app, &begun, signed.clone()).await.status, 200);
        assert_eq!(finish_sign_in(&app, &begun, signed).await.refusal(), unknown, "used");

        let begun = begin_sign_in(&app).await;
        let signed = authenticator.sign(&begun.body["options"]);
        clock.advance_seconds(300);
        assert_eq!(finish_sign_in(&app, &begun, signed).await.refusal(), refused(400, "webauthn_challenge_expired"));

        for body in [
            json!({}),
            json!({ "challenge_id": "1", "credential": {} }),
            json!({ "challenge_id": "00000000-0000-0000-0000-000000000000" }),
        ] {
            let answer = post(&app, "/passkeys/authentication/verify", &body).await;
            assert_eq!(answer.refusal(), refused(400, "validation_failed"), "{body}");
        }
    }
}

#[tokio::test]
async fn hostile_responses_are_rejected() {
    let (_, app, person) = start(Database::Sqlite).await;
    let mut authenticator = Authenticator::es256(SITE);
    authenticator.flags |= BACKUP_ELIGIBLE;
    assert_eq!(register(&app, &person.token, &mut authenticator).await.status, 200);
    let rejected = refused(400, "webauthn_verification_failed");

    let lies: [Lie; 9] = [
        ("a page of another site", |it| it.origin = "http://chat.example.org".into()),
        ("another port", |it| it.origin = "http://chat.example.com:8080".into()),
        ("a frame", |it| it.is_cross_origin = true),
        ("a credential of another site", |it| it.domain = "example.com".into()),
        ("nobody there", |it| it.flags = USER_VERIFIED | BACKUP_ELIGIBLE),
        ("an unverified user", |it| it.flags = USER_PRESENT | BACKUP_ELIGIBLE),
        ("a credential that can no longer be copied", |it| it.flags = USER_PRESENT | USER_VERIFIED),
        ("a copy of what cannot be copied", |it| it.flags = USER_PRESENT | USER_VERIFIED | BACKED_UP),
        ("another user", |it| it.user_handle = domain::ids::fresh().to_string().into_bytes()),
    ];
    for (lie, change) in lies {
        let truth = (
            authenticator.origin.clone(),
            authenticator.domain.clone(),
            authenticator.flags,
            authenticator.user_handle.clone(),
        );
        change(&mut authenticator);
        assert_eq!(sign_in(&app, &mut authenticator).await.refusal(), rejected, "{lie}");
        (authenticator.origin, authenticator.domain, authenticator.flags, authenticator.user_handle) = truth;
        authenticator.is_cross_origin = false;
    }

    // The key of another authenticator under the id of this one.
    let mut forger = Authenticator::es256(SITE);
    forger.credential_id.clone_from(&authenticator.credential_id);
    forger.user_handle.clone_from(&authenticator.user_handle);
    forger.flags = authenticator.flags;
    forger.sign_count = authenticator.sign_count;
    assert_eq!(sign_in(&app, &mut forger).await.refusal(), rejected, "a forged signature");

    // A response to a registration in place of one to a sign-in, and the other way round.
    let begun = begin_sign_in(&app).await;
    let created = authenticator.create(&begun_options(&begun, &person));
    assert_eq!(finish_sign_in(&app, &begun, created).await.refusal(), rejected);
    let begun = begin_registration(&app, &person.token).await;
    let signed = authenticator.sign(&begun.body["options"]);
    assert_eq!(finish_registration(&app, &person.token, &begun, signed).await.refusal(), rejected);

    // The challenge of another ceremony.
    let (begun, other) = (begin_sign_in(&app).await, begin_sign_in(&app).await);
    let signed = authenticator.sign(&other.body["options"]);
    assert_eq!(finish_sign_in(&app, &begun, signed).await.refusal(), rejected);

    assert_eq!(sign_in(&app, &mut authenticator).await.status, 200, "the true one still signs in");
}

/// Returns the options of a sign-in with the user, whom those of a registration contain.
fn begun_options(begun: &Answer, person: &Person) -> Value {
    let mut options = begun.body["options"].clone();
    options["user"] = json!({ "id": encode(person.id.as_bytes()) });
    options
}

#[tokio::test]
async fn malformed_responses_are_rejected() {
    let (_, app, person) = start(Database::Sqlite).await;
    let authenticator = Authenticator::es256(SITE);
    let head = authenticator.authenticator_data(USER_PRESENT | USER_VERIFIED | 1 << 6);
    let credential = |length: u16, rest: &[u8]| [&head, &[0; 16][..], &length.to_be_bytes(), rest].concat();
    let datas: [(&str, Vec<u8>); 7] = [
        ("empty", Vec::new()),
        ("shorter than its head", head[..36].to_vec()),
        ("no credential", authenticator.authenticator_data(USER_PRESENT | USER_VERIFIED)),
        ("an id that ends early", credential(100, &[1; 10])),
        ("an empty id", credential(0, &[0xa0])),
        ("a key that is no map", credential(1, &[1, 0x01])),
        ("nested beyond measure", credential(1, &[&[1][..], &vec![0x81; 100_000]].concat())),
    ];
    for (what, data) in datas {
        let begun = begin_registration(&app, &person.token).await;
        let client_data = authenticator.client_data("webauthn.create", &begun.body["options"]["challenge"]);
        let credential = authenticator.registration(&client_data, &data);
        let answer = finish_registration(&app, &person.token, &begun, credential).await;
        assert_eq!(answer.refusal(), refused(400, "webauthn_verification_failed"), "{what}");
    }
    for credential in [json!(1), json!({}), json!({ "response": { "clientDataJSON": "!", "attestationObject": "" } })] {
        let begun = begin_registration(&app, &person.token).await;
        let answer = finish_registration(&app, &person.token, &begun, credential.clone()).await;
        assert_eq!(answer.refusal(), refused(400, "webauthn_verification_failed"), "{credential}");
    }
}

#[tokio::test]
async fn a_copied_passkey_is_noticed_by_its_counter() {
    for database in databases() {
        let (_, app, person) = start(database).await;
        let mut authenticator = Authenticator::es256(SITE);
        authenticator.sign_count = 5;
        register(&app, &person.token, &mut authenticator).await;
        assert_eq!(sign_in(&app, &mut authenticator).await.status, 200);
        authenticator.sign_count = 5;
        let refusal = sign_in(&app, &mut authenticator).await.refusal();
        assert_eq!(refusal, refused(400, "webauthn_verification_failed"), "the same counter again");
        assert_eq!(sign_in(&app, &mut authenticator).await.status, 200, "the one that went on");
    }
}

#[tokio::test]
async fn a_credential_is_registered_once_and_a_user_has_ten() {
    for database in databases() {
        let (_, app, person) = start(database).await;
        let stranger = app.person().await;
        let mut authenticator = Authenticator::es256(SITE);
        assert_eq!(register(&app, &person.token, &mut authenticator).await.status, 200);
        let taken = register(&app, &stranger.token, &mut authenticator).await;
        assert_eq!(taken.refusal(), refused(422, "webauthn_credential_exists"));
        for _ in 1..10 {
            assert_eq!(register(&app, &person.token, &mut Authenticator::ed25519(SITE)).await.status, 200);
        }
        assert_eq!(begin_registration(&app, &person.token).await.refusal(), refused(422, "too_many_passkeys"));
    }
}

#[tokio::test]
async fn who_has_a_second_factor_needs_it_for_passkeys() {
    let (_, app, person) = start(Database::Sqlite).await;
    let mut authenticator = Authenticator::es256(SITE);
    register(&app, &person.token, &mut authenticator).await;
    let enrolled = enroll(&app, &person.token, "phone").await;
    let factor = enrolled.text("/id");
    let challenge =
        send(request(&app, Method::POST, &format!("/factors/{factor}/challenge")).bearer_auth(&person.token));
    let challenge = challenge.await.text("/id");
    let code = secret_of(&enrolled).code_at(app.state.clock.now().as_seconds());
    let body = json!({ "challenge_id": challenge, "code": code });
    send(request(&app, Method::POST, &format!("/factors/{factor}/verify")).bearer_auth(&person.token).json(&body))
        .await;

    let session = sign_in(&app, &mut authenticator).await;
    let token = session.text("/access_token");
    assert_eq!(claims_of(&token)["aal"], "aal1", "the second factor is still due");
    for (method, path) in [
        (Method::GET, ""),
        (Method::POST, "/registration/options"),
        (Method::PATCH, "/00000000-0000-0000-0000-000000000000"),
        (Method::DELETE, "/00000000-0000-0000-0000-000000000000"),
    ] {
        let answer = call(&app, &token, method.clone(), path, json!({ "friendly_name": "a" })).await;
        assert_eq!(answer.refusal(), refused(403, "insufficient_aal"), "{method} {path}");
    }
}

#[tokio::test]
async fn passkeys_are_off_where_browsers_have_none_or_only_the_provider_may_sign_in() {
    let app = TestApp::builder().set("CHAT_SITE_URL", "http://192.0.2.1").start().await;
    let settings = send(request(&app, Method::GET, "/settings")).await;
    assert_eq!(settings.body["passkeys_enabled"], false, "a site without a domain name");
    let begun = begin_sign_in(&app).await;
    assert_eq!(
        (begun.refusal(), begun.text("/message")),
        (refused(404, "passkey_disabled"), "Passkeys are disabled".into())
    );
}

#[tokio::test]
async fn the_audit_log_records_passkeys_with_who_removed_them() {
    for database in databases() {
        let (_, app, person) = start(database).await;
        for is_own in [true, false] {
            let passkey = register(&app, &person.token, &mut Authenticator::es256(SITE)).await.text("/id");
            if is_own {
                let path = format!("/{passkey}");
                assert_eq!(call(&app, &person.token, Method::DELETE, &path, json!({})).await.status, 204);
            } else {
                let accounts = &app.state.accounts;
                let user = app.state.storage.users().get(person.id.parse().unwrap()).await.unwrap().unwrap();
                accounts.remove_passkey_as_admin(&user, passkey.parse().unwrap()).await.unwrap();
            }
        }
        let log = app.state.storage.audit_events();
        let events = log.list(None, domain::Timestamp(0), None, 100).await.unwrap();
        let told: Vec<_> = events.iter().skip(2).map(|event| format!("{} {}", event.actor, event.kind)).collect();
        assert_eq!(told, ["user passkey_added", "user passkey_removed", "user passkey_added", "admin passkey_removed"]);
    }
}
