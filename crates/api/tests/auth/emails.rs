//! Order of the protocol's errors for requests of emails and for tokens from emails. No email has to be sent for
//! that.

use serde_json::{Value, json};
use testkit::{TestApp, databases};

use super::caller::{post, refused};

const NO_FORMAT: &str = "Unable to validate email address: invalid format";
const PKCE: &str = "PKCE flow requires code_challenge_method and code_challenge";
const BOTH: &str = "Only an email address or phone number should be provided on verify";
const ALONE: &str = "Only the token_hash and type should be provided";
const ONE: &str = "Verify requires either a token or a token hash";

async fn check(path: &str, table: &[(Value, u16, &str, &str)]) {
    for database in databases() {
        let app = TestApp::builder().database(database).set("SMTP_URL", "smtp://127.0.0.1:9").start().await;
        for (body, status, code, message) in table {
            let answer = post(&app, path, body).await;
            assert_eq!(answer.refusal(), refused(*status, code), "{path} {body}");
            assert_eq!(answer.text("/msg"), *message, "{path} {body}");
        }
    }
}

fn invalid(body: Value, message: &str) -> (Value, u16, &str, &str) {
    (body, 400, "validation_failed", message)
}

#[tokio::test]
async fn for_a_new_password() {
    let half = json!({ "email": "no address", "code_challenge": "short" });
    let table = [
        invalid(json!({ "email": null, "code_challenge": "short" }), "Password recovery requires an email"),
        invalid(half, NO_FORMAT),
        invalid(json!({ "email": "a@b.c", "code_challenge": "short" }), PKCE),
    ];
    check("/recover", &table).await;
}

#[tokio::test]
async fn to_be_let_in() {
    let disabled = "Signups not allowed for otp";
    let table = [
        invalid(
            json!({ "email": "x", "phone": "1", "channel": "sms" }),
            "Only an email address or phone number should be provided",
        ),
        invalid(
            json!({ "email": "x", "channel": "sms", "code_challenge": "short" }),
            "Channel should only be specified with Phone OTP",
        ),
        invalid(json!({ "email": "x", "code_challenge": "short" }), PKCE),
        invalid(json!({ "code_challenge_method": "s256", "create_user": false }), PKCE),
        invalid(json!({ "email": "", "phone": null, "create_user": false }), "One of email or phone must be set"),
        invalid(json!({ "email": "x" }), NO_FORMAT),
        (json!({ "email": "x", "create_user": false }), 422, "otp_disabled", disabled),
        (json!({ "email": "nobody@example.com", "create_user": false }), 422, "otp_disabled", disabled),
        (json!({ "phone": "123", "create_user": false }), 422, "otp_disabled", disabled),
        (json!({ "phone": "123", "create_user": null }), 400, "phone_provider_disabled", "Unsupported phone provider"),
    ];
    check("/otp", &table).await;
    let table = [
        (json!({ "phone": "1" }), 422, "validation_failed", "Password recovery requires an email"),
        invalid(json!({ "email": "x", "code_challenge": "short" }), NO_FORMAT),
        invalid(json!({ "email": "a@b.c", "code_challenge": "short" }), PKCE),
    ];
    check("/magiclink", &table).await;
}

#[tokio::test]
async fn once_more() {
    let types = "Missing one of these types: signup, email_change, sms, phone_change";
    let no_phone = "Phone logins are disabled";
    let table = [
        invalid(json!({ "email": "a@b.c", "code_challenge": "short" }), types),
        invalid(json!({ "type": "recovery", "email": "a@b.c" }), types),
        invalid(json!({ "type": "signup", "code_challenge": "short" }), PKCE),
        invalid(json!({ "type": "signup", "phone": "1" }), "Type provided requires an email address"),
        invalid(
            json!({ "type": "sms", "email": "x", "code_challenge": "short" }),
            "Type provided requires a phone number",
        ),
        invalid(
            json!({ "type": "email_change", "email": "x", "phone": "x" }),
            "Only an email address or phone number should be provided.",
        ),
        invalid(json!({ "type": "email_change" }), "Missing email address or phone number"),
        invalid(json!({ "type": "phone_change", "code_challenge": "short" }), "Missing email address or phone number"),
        (json!({ "type": "sms", "phone": "x" }), 400, "phone_provider_disabled", no_phone),
        (json!({ "type": "email_change", "phone": "x" }), 400, "phone_provider_disabled", no_phone),
        invalid(json!({ "type": "signup", "email": "x" }), NO_FORMAT),
    ];
    check("/resend", &table).await;
}

#[tokio::test]
async fn where_no_mail_is_sent() {
    let app = TestApp::start().await;
    let table = [
        ("/otp", json!({ "email": "a@b.c" }), 422, "otp_disabled"),
        ("/otp", json!({ "phone": "123" }), 400, "phone_provider_disabled"),
        ("/otp", json!({}), 400, "validation_failed"),
        ("/magiclink", json!({ "email": "a@b.c" }), 422, "email_provider_disabled"),
        ("/recover", json!({ "email": "a@b.c" }), 400, "email_provider_disabled"),
        ("/resend", json!({ "type": "signup", "email": "x" }), 400, "email_provider_disabled"),
        ("/resend", json!({ "type": "signup" }), 400, "validation_failed"),
    ];
    for (path, body, status, code) in table {
        assert_eq!(post(&app, path, &body).await.refusal(), refused(status, code), "{path} {body}");
    }
}

#[tokio::test]
async fn showing_what_was_mailed() {
    let expired = "Token has expired or is invalid";
    let table = [
        invalid(json!({ "token": "1", "token_hash": "1" }), "Verify requires a verification type"),
        invalid(json!({ "type": "", "email": "x" }), "Verify requires a verification type"),
        invalid(json!({ "type": "email", "email": "x" }), ONE),
        invalid(json!({ "type": "email", "email": "x", "token": "1", "token_hash": "1" }), ONE),
        invalid(json!({ "type": "email", "token": "1" }), BOTH),
        invalid(json!({ "type": "email", "token": "1", "email": "x", "phone": "x" }), BOTH),
        (json!({ "type": "email", "token": "1", "email": "x" }), 422, "validation_failed", "Invalid email format"),
        invalid(json!({ "type": "sms", "token": "1", "phone": "x" }), "Invalid phone number format (E.164 required)"),
        invalid(json!({ "type": "email", "token_hash": "1", "email": "x" }), ALONE),
        invalid(json!({ "type": "email", "token_hash": "1", "redirect_to": "x" }), ALONE),
        invalid(json!({ "type": "smell", "token_hash": "1" }), "Invalid email verification type"),
        invalid(json!({ "type": "sms", "token_hash": "1" }), "Invalid email verification type"),
        (json!({ "type": "smell", "token": "1", "email": "a@b.c" }), 403, "otp_expired", expired),
        (json!({ "type": "email", "token": "1", "email": "a@b.c", "redirect_to": "x" }), 403, "otp_expired", expired),
        (json!({ "type": "sms", "token": "1", "phone": "123" }), 403, "otp_expired", expired),
        (
            json!({ "type": "email", "token_hash": "1", "phone": "" }),
            403,
            "otp_expired",
            "Email link is invalid or has expired",
        ),
    ];
    check("/verify", &table).await;
}
