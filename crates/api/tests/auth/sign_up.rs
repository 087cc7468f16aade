//! Sign-up.

use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use testkit::{TestApp, databases};

use super::caller::{PASSWORD, post, put_user, refused};

fn names(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test]
async fn a_new_account_is_signed_in_at_once() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let body = json!({ "email": "Ann@Example.com", "password": PASSWORD, "data": { "name": "Ann", "none": null },
                           "code_challenge": null, "gotrue_meta_security": {} });
        let answer = post(&app, "/signup?redirect_to=http%3A%2F%2Flocalhost", &body).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let mut session = names(&answer.body);
        session.sort_unstable();
        assert_eq!(session, ["access_token", "expires_at", "expires_in", "refresh_token", "token_type", "user"]);
        assert_eq!((answer.text("/token_type").as_str(), &answer.body["expires_in"]), ("bearer", &json!(3600)));

        let user = &answer.body["user"];
        let id = &user["id"];
        let mut fields = names(user);
        fields.sort_unstable();
        let expected = [
            "app_metadata",
            "aud",
            "confirmed_at",
            "created_at",
            "email",
            "email_confirmed_at",
            "id",
            "identities",
            "is_anonymous",
            "last_sign_in_at",
            "phone",
            "role",
            "updated_at",
            "user_metadata",
        ];
        assert_eq!(fields, expected);
        assert_eq!(user["email"], "ann@example.com");
        assert_eq!((&user["aud"], &user["role"]), (&json!("authenticated"), &json!("authenticated")));
        assert_eq!((&user["phone"], &user["is_anonymous"]), (&json!(""), &json!(false)));
        assert_eq!(user["app_metadata"], json!({ "provider": "email", "providers": ["email"] }));
        let metadata = json!({ "name": "Ann", "sub": id, "email": "ann@example.com", "email_verified": true,
                               "phone_verified": false });
        assert_eq!(user["user_metadata"], metadata);
        for time in ["created_at", "updated_at", "confirmed_at", "email_confirmed_at", "last_sign_in_at"] {
            let time = user[time].as_str().unwrap();
            assert!(time.len() == 27 && time.ends_with('Z'), "{time}");
        }

        let identity = &user["identities"][0];
        assert_eq!(user["identities"].as_array().unwrap().len(), 1);
        assert_eq!((&identity["id"], &identity["user_id"]), (id, id));
        assert_ne!(&identity["identity_id"], id);
        assert_eq!((&identity["provider"], &identity["email"]), (&json!("email"), &user["email"]));
        let data = json!({ "sub": id, "email": "ann@example.com", "email_verified": true, "phone_verified": false });
        assert_eq!(identity["identity_data"], data);
    }
}

#[tokio::test]
async fn what_is_wrong_is_said_in_the_protocols_order() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let taken = app.person().await.email;
        let long = "a".repeat(73);
        let table = [
            (json!({}), 422, "anonymous_provider_disabled", "Anonymous sign-ins are disabled"),
            (json!({ "data": { "a": 1 } }), 422, "anonymous_provider_disabled", "Anonymous sign-ins are disabled"),
            (json!({ "email": "no address" }), 400, "validation_failed", "Signup requires a valid password"),
            (
                json!({ "email": "no address", "password": "12345" }),
                422,
                "weak_password",
                "Password should be at least 6 characters.",
            ),
            (
                json!({ "email": "a@b.c", "password": long }),
                400,
                "validation_failed",
                "Password cannot be longer than 72 characters",
            ),
            (
                json!({ "email": "no address", "password": PASSWORD }),
                400,
                "validation_failed",
                "Unable to validate email address: invalid format",
            ),
            (
                json!({ "email": "a\u{0}@b.c", "password": PASSWORD }),
                400,
                "validation_failed",
                "Unable to validate email address: invalid format",
            ),
            (json!({ "email": taken, "password": PASSWORD }), 422, "user_already_exists", "User already registered"),
            (
                json!({ "email": taken.to_uppercase(), "password": "123456" }),
                422,
                "user_already_exists",
                "User already registered",
            ),
            (
                json!({ "phone": "123456789", "password": PASSWORD }),
                400,
                "phone_provider_disabled",
                "Phone signups are disabled",
            ),
            (
                json!({ "email": "a@b.c", "phone": "123456789", "password": PASSWORD }),
                400,
                "validation_failed",
                "Only an email address or phone number should be provided on signup.",
            ),
            (
                json!({ "phone": "1", "password": PASSWORD, "channel": "fax", "code_challenge": "short" }),
                400,
                "validation_failed",
                "Invalid channel, supported values are 'sms' or 'whatsapp'. 'whatsapp' is only supported if Twilio or \
                 Twilio Verify is used as the provider.",
            ),
            (
                json!({ "phone": "1", "password": PASSWORD, "channel": "sms", "code_challenge": "short" }),
                400,
                "validation_failed",
                "PKCE not supported for phone signups",
            ),
            (
                json!({ "phone": "1", "password": PASSWORD, "code_challenge_method": "s256" }),
                400,
                "validation_failed",
                "PKCE flow requires code_challenge_method and code_challenge",
            ),
            (
                json!({ "email": "no address", "password": PASSWORD, "code_challenge": "short", "code_challenge_method": "s256" }),
                400,
                "validation_failed",
                "code challenge has to be between 43 and 128 characters",
            ),
        ];
        for (body, status, code, message) in table {
            let answer = post(&app, "/signup", &body).await;
            assert_eq!(answer.refusal(), refused(status, code), "{body}");
            assert_eq!(answer.text("/message"), message, "{body}");
        }
    }
}

#[tokio::test]
async fn of_several_sign_ups_with_one_address_one_succeeds() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let body = json!({ "email": "race@example.com", "password": PASSWORD });
        let answers = join_all((0..6).map(|_| post(&app, "/signup", &body))).await;
        let (made, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 200);
        assert_eq!(made.len(), 1);
        assert!(refused.iter().all(|answer| answer.refusal() == (422, "user_already_exists".to_owned())));
    }
}

#[tokio::test]
async fn metadata_that_would_make_tokens_too_large_is_refused() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let data: Map<String, Value> = (0..100).map(|n| (format!("field{n}"), json!("x".repeat(100)))).collect();
        let body = json!({ "email": "a@example.com", "password": PASSWORD, "data": data });
        assert_eq!(post(&app, "/signup", &body).await.refusal(), refused(400, "validation_failed"));
        let person = app.person().await;
        let answer = put_user(&app, &person.token, &json!({ "data": data })).await;
        assert_eq!(answer.refusal(), refused(400, "validation_failed"));
    }
}

#[tokio::test]
async fn without_a_way_to_confirm_addresses_there_are_no_new_ones() {
    for database in databases() {
        let app = TestApp::builder().database(database).set("CHAT_AUTOCONFIRM", "off").start().await;
        let answer = post(&app, "/signup", &json!({ "email": "a@b.c", "password": PASSWORD })).await;
        assert_eq!(answer.refusal(), refused(422, "signup_disabled"));
    }
}
