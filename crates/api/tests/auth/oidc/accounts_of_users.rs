//! Accounts of users who come from the provider: policy, linking, bans, second factors.

use reqwest::Method;
use serde_json::json;
use testkit::{Builder, Database, TestApp, databases};

use super::browser::{Browser, Site};
use crate::auth::admin::{KEY, admin};
use crate::auth::caller::{
    PASSWORD, claims_of, enroll, get_user, post, put_user, refused, request, secret_of, send, sign_in,
};

fn with(settings: &[(&str, &str)]) -> Builder {
    let builder = TestApp::builder().set("CHAT_SERVICE_ROLE_KEY", KEY);
    settings.iter().fold(builder, |builder, (name, value)| builder.set(name, *value))
}

#[tokio::test]
async fn the_sign_up_policy_applies() {
    for (settings, expected) in [
        (vec![("CHAT_SIGNUPS", "closed")], "signup_disabled"),
        (vec![("CHAT_SIGNUPS", "invite")], "signup_disabled"),
        (vec![("CHAT_SIGNUP_DOMAINS", "example.org")], "email_address_not_authorized"),
    ] {
        let site = Site::start_with(with(&settings)).await;
        assert_eq!(site.refusal().await, expected);
        let end = Browser::new(&site).sign_in("").await;
        assert_eq!((end.query["error"].as_str(), end.fragment["error"].as_str()), ("access_denied", "access_denied"));
        assert_eq!(site.failed_sign_ins().await, 2);
        site.app.stop().await;
    }
    let site = Site::start_with(with(&[("CHAT_SIGNUP_DOMAINS", "example.com")])).await;
    site.provider.script().claims = json!({ "email_verified": false });
    assert_eq!(site.refusal().await, "email_address_not_authorized", "anybody could claim the address");
    site.provider.script().claims = json!({});
    assert_eq!(site.sign_in().await.status, 200);
    site.app.stop().await;
}

#[tokio::test]
async fn an_unverified_address_needs_a_server_that_asks_for_no_proof() {
    let site = Site::start_with(with(&[("CHAT_AUTOCONFIRM", "off")])).await;
    site.provider.script().claims = json!({ "email_verified": null });
    assert_eq!(site.refusal().await, "provider_email_needs_verification");
    assert_eq!(site.failed_sign_ins().await, 1);
    site.app.stop().await;
    let site = Site::start_with(with(&[])).await;
    site.provider.script().claims = json!({ "email_verified": null });
    let session = site.sign_in().await;
    assert_eq!((session.status, &session.body["user"]["user_metadata"]["email_verified"]), (200, &json!(false)));
    site.app.stop().await;
}

#[tokio::test]
async fn an_existing_account_is_an_error_unless_linking_is_allowed() {
    for database in databases() {
        let account = json!({ "email": "ann@example.com", "password": PASSWORD, "email_confirm": true });
        let site = Site::start_with(with(&[]).database(database)).await;
        assert_eq!(admin(&site.app, Method::POST, "/admin/users", &account).await.status, 200);
        assert_eq!(site.refusal().await, "email_exists");
        site.app.stop().await;

        let linking = [("CHAT_OIDC_LINK_BY_EMAIL", "on"), ("CHAT_SIGNUPS", "closed")];
        let site = Site::start_with(with(&linking).database(database)).await;
        let created = admin(&site.app, Method::POST, "/admin/users", &account).await;
        site.provider.script().claims = json!({ "email_verified": false });
        assert_eq!(site.refusal().await, "email_exists", "anybody could claim the address");
        site.provider.script().claims = json!({});
        let session = site.sign_in().await;
        assert_eq!(session.text("/user/id"), created.text("/id"));
        assert_eq!(session.body["user"]["app_metadata"]["providers"], json!(["email", "oidc"]));
        let providers: Vec<&str> = session.body["user"]["identities"]
            .as_array()
            .unwrap()
            .iter()
            .map(|identity| identity["provider"].as_str().unwrap())
            .collect();
        assert_eq!(providers, ["email", "oidc"]);
        assert_eq!(sign_in(&site.app, "ann@example.com", PASSWORD).await.status, 200, "the password still works");
        // The provider gives the address to somebody else.
        site.provider.script().claims = json!({ "sub": "ann-2" });
        assert_eq!(site.refusal().await, "email_exists");
        site.app.stop().await;
    }
}

#[tokio::test]
async fn the_owner_of_an_address_gets_the_account_that_nobody_confirmed() {
    let policy = [("CHAT_SIGNUPS", "invite"), ("CHAT_AUTOCONFIRM", "off")];
    let site = Site::start_with(with(&policy)).await;
    // Created by the operator, but not confirmed, and nobody was invited.
    let account = json!({ "email": "ann@example.com", "password": PASSWORD, "user_metadata": { "colour": "red" } });
    let created = admin(&site.app, Method::POST, "/admin/users", &account).await;
    assert_eq!(site.refusal().await, "email_exists");
    let id = domain::UserId(created.text("/id").parse().unwrap());
    let mut user = site.app.state.storage.users().get(id).await.unwrap().unwrap();
    user.invited_at = Some(site.app.state.clock.now());
    let seen = user.updated_at;
    assert!(site.app.state.storage.users().update(&user, seen, None).await.unwrap());
    let session = site.sign_in().await;
    assert_eq!(session.text("/user/id"), created.text("/id"));
    assert!(session.body["user"]["email_confirmed_at"].is_string());
    assert_eq!(session.body["user"]["user_metadata"]["colour"], "red", "the operator's");
    let password = sign_in(&site.app, "ann@example.com", PASSWORD).await;
    assert_eq!(password.refusal(), refused(400, "invalid_credentials"), "it may be an attacker's");
    site.app.stop().await;
}

#[tokio::test]
async fn banned_users_stay_out() {
    let site = Site::start_with(with(&[])).await;
    let session = site.sign_in().await;
    let path = format!("/admin/users/{}", session.text("/user/id"));
    assert_eq!(admin(&site.app, Method::PUT, &path, &json!({ "ban_duration": "24h" })).await.status, 200);
    assert_eq!(site.refusal().await, "user_banned");
    // Nobody else gets the account by its address either, and both attempts are recorded.
    assert_eq!(failed_sign_ins(&site, &session.text("/user/id")).await, 1);
    site.provider.script().claims = json!({ "sub": "ann-2" });
    assert_eq!(site.refusal().await, "user_banned");
    assert_eq!(admin(&site.app, Method::PUT, &path, &json!({ "ban_duration": "none" })).await.status, 200);
    assert_eq!(site.refusal().await, "email_exists");
    assert_eq!(failed_sign_ins(&site, &session.text("/user/id")).await, 3);
    site.app.stop().await;
}

/// Returns how many failed sign-ins the audit log has of a user.
async fn failed_sign_ins(site: &Site, user: &str) -> usize {
    let log = site.app.state.storage.audit_events();
    let events = log.list_of_user(user.parse().unwrap(), None, 100).await.unwrap();
    events.iter().filter(|event| event.kind == "sign_in_failed").count()
}

#[tokio::test]
async fn a_second_factor_is_still_needed() {
    let site = Site::start(Database::Sqlite).await;
    let session = site.sign_in().await;
    let token = session.text("/access_token");
    let enrolled = enroll(&site.app, &token, "phone").await;
    let factor = enrolled.text("/id");
    let challenge =
        send(request(&site.app, Method::POST, &format!("/factors/{factor}/challenge")).bearer_auth(&token)).await;
    let code = secret_of(&enrolled).code_at(site.app.state.clock.now().as_seconds());
    let verified = send(
        request(&site.app, Method::POST, &format!("/factors/{factor}/verify"))
            .bearer_auth(&token)
            .json(&json!({ "challenge_id": challenge.text("/id"), "code": code })),
    )
    .await;
    assert_eq!(verified.status, 200);
    let again = site.sign_in().await.text("/access_token");
    assert_eq!(claims_of(&again)["aal"], "aal1");
    let marks = site.app.http.get(format!("{}/api/sessions/marks", site.app.url)).bearer_auth(&again);
    assert_eq!(marks.send().await.unwrap().status(), 403);
    assert_eq!(get_user(&site.app, &again).await.status, 200, "enough to verify the factor");
    site.app.stop().await;
}

#[tokio::test]
async fn the_provider_can_be_the_only_way_in() {
    let site = Site::start_with(with(&[("CHAT_OIDC_ONLY", "on")])).await;
    let account = json!({ "email": "bob@example.com", "password": PASSWORD, "email_confirm": true });
    assert_eq!(admin(&site.app, Method::POST, "/admin/users", &account).await.status, 200);
    let settings = send(request(&site.app, Method::GET, "/settings")).await;
    assert_eq!(
        (&settings.body["external"]["oidc"], &settings.body["external"]["email"]),
        (&json!(true), &json!(false))
    );
    let disabled = |status| refused(status, "email_provider_disabled");
    let new = json!({ "email": "eve@example.com", "password": PASSWORD });
    assert_eq!(post(&site.app, "/signup", &new).await.refusal(), disabled(400));
    assert_eq!(sign_in(&site.app, "bob@example.com", PASSWORD).await.refusal(), disabled(422));
    for (path, body) in [
        ("/recover", json!({ "email": "bob@example.com" })),
        ("/otp", json!({ "email": "bob@example.com" })),
        ("/magiclink", json!({ "email": "bob@example.com" })),
        ("/resend", json!({ "type": "signup", "email": "bob@example.com" })),
        ("/verify", json!({ "type": "recovery", "email": "bob@example.com", "token": "123456" })),
    ] {
        assert_eq!(post(&site.app, path, &body).await.refusal(), disabled(422), "{path}");
    }
    // A link that the operator made before.
    let link = json!({ "type": "magiclink", "email": "bob@example.com" });
    let link = admin(&site.app, Method::POST, "/admin/generate_link", &link).await.text("/action_link");
    let end = Browser::new(&site).arrive(&link).await;
    assert_eq!(end.fragment["error_code"], "email_provider_disabled");

    let session = site.sign_in().await;
    let token = session.text("/access_token");
    let password = put_user(&site.app, &token, &json!({ "password": "another password" })).await;
    assert_eq!(password.refusal(), disabled(422));
    assert_eq!(put_user(&site.app, &token, &json!({ "email": "x@example.com" })).await.refusal(), disabled(422));
    assert_eq!(put_user(&site.app, &token, &json!({ "data": { "colour": "red" } })).await.status, 200);
    let key = json!({ "factor_type": "webauthn", "friendly_name": "key" });
    let key = send(request(&site.app, Method::POST, "/factors").bearer_auth(&token).json(&key)).await;
    assert_eq!(key.refusal(), refused(422, "mfa_webauthn_enroll_not_enabled"));
    site.app.stop().await;
}
