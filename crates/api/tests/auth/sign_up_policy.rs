//! The sign-up policy: `CHAT_SIGNUPS` and `CHAT_SIGNUP_DOMAINS`.

use reqwest::Method;
use serde_json::json;
use testkit::{Builder, TestApp, databases};

use super::admin::{KEY, admin};
use super::caller::{Answer, PASSWORD, post, put_user, refused, request, send, sign_in};

async fn sign_up(app: &TestApp, email: &str) -> Answer {
    post(app, "/signup", &json!({ "email": email, "password": PASSWORD })).await
}

fn with_policy(name: &str, value: &str) -> Builder {
    TestApp::builder().set(name, value).set("CHAT_ANONYMOUS_SIGN_IN", "on").set("CHAT_SERVICE_ROLE_KEY", KEY)
}

#[tokio::test]
async fn without_open_sign_up_only_the_operator_creates_accounts() {
    for database in databases() {
        for word in ["invite", "closed"] {
            let app = with_policy("CHAT_SIGNUPS", word).database(database).start().await;
            let disabled = || refused(422, "signup_disabled");
            assert_eq!(sign_up(&app, "ann@example.com").await.refusal(), disabled());
            assert_eq!(post(&app, "/signup", &json!({ "data": {} })).await.refusal(), disabled(), "anonymously");
            let otp = post(&app, "/otp", &json!({ "email": "ann@example.com", "create_user": true })).await;
            assert_eq!(otp.refusal(), refused(422, "otp_disabled"));
            let settings = send(request(&app, Method::GET, "/settings")).await;
            assert_eq!(settings.body["disable_signup"], true);

            let account = json!({ "email": "ann@example.com", "password": PASSWORD, "email_confirm": true });
            assert_eq!(admin(&app, Method::POST, "/admin/users", &account).await.status, 200);
            assert_eq!(sign_in(&app, "ann@example.com", PASSWORD).await.status, 200);
            // There is no mail server, so that an invitation gets no further than this.
            let invited = admin(&app, Method::POST, "/invite", &json!({ "email": "bob@example.com" })).await;
            let expected = if word == "invite" { refused(400, "email_provider_disabled") } else { disabled() };
            assert_eq!(invited.refusal(), expected);
            app.stop().await;
        }
    }
}

#[tokio::test]
async fn only_addresses_of_the_domains_sign_up() {
    let app = with_policy("CHAT_SIGNUP_DOMAINS", "example.com").start().await;
    let outside = || refused(400, "email_address_not_authorized");
    assert_eq!(sign_up(&app, "eve@evil.example").await.refusal(), outside());
    assert_eq!(sign_up(&app, "eve@sub.example.com").await.refusal(), outside());
    assert_eq!(sign_up(&app, "Ann@Example.COM").await.status, 200);
    // An anonymous account with an address is an account like any other.
    let visitor = post(&app, "/signup", &json!({ "data": {} })).await;
    assert_eq!(visitor.status, 200);
    let token = visitor.text("/access_token");
    let changed = put_user(&app, &token, &json!({ "email": "eve@evil.example" })).await;
    assert_eq!(changed.refusal(), outside());
    let changed = put_user(&app, &token, &json!({ "email": "bob@example.com" })).await;
    assert_eq!((changed.status, changed.text("/email").as_str()), (200, "bob@example.com"));
    // Neither does a later change lead out of the domains.
    let changed = put_user(&app, &token, &json!({ "email": "eve@evil.example" })).await;
    assert_eq!(changed.refusal(), outside());
    let changed = put_user(&app, &token, &json!({ "email": "bobby@example.com" })).await;
    assert_eq!((changed.status, changed.text("/email").as_str()), (200, "bobby@example.com"));
    app.stop().await;
}
