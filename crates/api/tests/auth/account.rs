//! Changes of an account.

use futures_util::future::join_all;
use serde_json::json;
use testkit::{TestApp, databases};

use super::caller::{PASSWORD, another_device, get_user, put_user, refresh, refused, sign_in};

#[tokio::test]
async fn data_is_merged_and_null_removes() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let person = app.person().await;
        let before = get_user(&app, &person.token).await;
        put_user(&app, &person.token, &json!({ "data": { "a": 1, "b": { "c": "\u{0}é" } } })).await;
        let answer = put_user(&app, &person.token, &json!({ "data": { "a": null, "d": [1] } })).await;
        assert_eq!(answer.status, 200);
        let metadata = &answer.body["user_metadata"];
        assert_eq!((metadata.get("a"), &metadata["b"], &metadata["d"]), (None, &json!({ "c": "\u{0}é" }), &json!([1])));
        assert!(answer.text("/updated_at") > before.text("/updated_at"));
        assert_eq!(get_user(&app, &person.token).await.body, answer.body, "what was answered is what is kept");
        let refreshed = refresh(&app, &person.refresh_token).await;
        assert_eq!(&refreshed.body["user"]["user_metadata"], metadata);
    }
}

#[tokio::test]
async fn changes_at_the_same_time_are_all_kept() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let person = app.person().await;
        let bodies: Vec<_> = (0..4).map(|n| json!({ "data": { format!("field{n}"): n } })).collect();
        let answers = join_all(bodies.iter().map(|body| put_user(&app, &person.token, body))).await;
        assert!(answers.iter().all(|answer| answer.status == 200));
        let user = get_user(&app, &person.token).await;
        assert!((0..4).all(|n| user.body["user_metadata"][format!("field{n}")] == n), "{}", user.body);
    }
}

#[tokio::test]
async fn a_new_password_counts_at_once_and_ends_other_sign_ins() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let person = app.person().await;
        let other = another_device(&app, &person.email).await;
        let bad = [
            (json!({ "password": PASSWORD }), 422, "same_password"),
            (json!({ "password": "12345" }), 422, "weak_password"),
            (json!({ "password": "" }), 422, "weak_password"),
            (json!({ "password": "another horse", "current_password": "wrong" }), 400, "current_password_invalid"),
        ];
        for (body, status, code) in bad {
            let answer = put_user(&app, &person.token, &body).await;
            assert_eq!(answer.refusal(), refused(status, code), "{body}");
        }
        assert_eq!(get_user(&app, &other).await.status, 200, "nothing has happened yet");
        let change = json!({ "password": "another horse", "current_password": PASSWORD });
        assert_eq!(put_user(&app, &person.token, &change).await.status, 200);
        assert_eq!(get_user(&app, &person.token).await.status, 200);
        assert_eq!(get_user(&app, &other).await.refusal(), refused(403, "session_not_found"));
        assert_eq!(sign_in(&app, &person.email, PASSWORD).await.refusal(), refused(400, "invalid_credentials"));
        assert_eq!(sign_in(&app, &person.email, "another horse").await.status, 200);
    }
}

#[tokio::test]
async fn a_new_address_is_the_new_name_to_sign_in_with() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let (person, other) = (app.person().await, app.person().await);
        let taken = put_user(&app, &person.token, &json!({ "email": other.email })).await;
        assert_eq!(taken.refusal(), refused(422, "email_exists"));
        let bad = put_user(&app, &person.token, &json!({ "email": "no address" })).await;
        assert_eq!(bad.refusal(), refused(400, "validation_failed"));
        let same = put_user(&app, &person.token, &json!({ "email": person.email.to_uppercase() })).await;
        assert_eq!((same.status, same.text("/email")), (200, person.email.clone()));

        let answer = put_user(&app, &person.token, &json!({ "email": "New@Example.com" })).await;
        assert_eq!((answer.status, answer.text("/email").as_str()), (200, "new@example.com"));
        assert_eq!(answer.text("/identities/0/identity_data/email"), "new@example.com");
        assert_eq!(sign_in(&app, "new@example.com", PASSWORD).await.text("/user/id"), person.id);
        assert_eq!(sign_in(&app, &person.email, PASSWORD).await.status, 400);
    }
}

#[tokio::test]
async fn what_is_not_the_persons_to_change_stays() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let person = app.person().await;
        let before = get_user(&app, &person.token).await.body;
        let table = [
            (json!({ "app_metadata": { "role": "admin" } }), 403, "not_admin"),
            (json!({ "phone": "123456789" }), 400, "phone_provider_disabled"),
            (json!({ "phone": "no number" }), 400, "validation_failed"),
        ];
        for (body, status, code) in table {
            assert_eq!(put_user(&app, &person.token, &body).await.refusal(), refused(status, code));
        }
        let answer = put_user(&app, &person.token, &json!({ "id": "x", "role": "service_role", "aud": "x" })).await;
        assert_eq!(answer.status, 200, "unknown fields are not looked at");
        let after = get_user(&app, &person.token).await.body;
        for field in ["id", "role", "aud", "app_metadata", "email", "phone"] {
            assert_eq!(after[field], before[field]);
        }
    }
}

#[tokio::test]
async fn what_is_wrong_is_said_in_the_protocols_order() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let (person, other) = (app.person().await, app.person().await);
        let mut body = json!({ "email": "no address", "phone": "no number", "channel": "fax", "password": "12345",
                               "app_metadata": { "a": 1 }, "nonce": "123456", "code_challenge": "short" });
        let table = [
            ("email", json!(other.email), 400, "Unable to validate email address: invalid format"),
            ("phone", json!("123"), 400, "Invalid phone number format (E.164 required)"),
            (
                "channel",
                json!("sms"),
                400,
                "Invalid channel, supported values are 'sms' or 'whatsapp'. 'whatsapp' is only supported if Twilio or \
                 Twilio Verify is used as the provider.",
            ),
            ("password", json!(PASSWORD), 422, "Password should be at least 6 characters."),
            ("app_metadata", json!(null), 403, "Updating app_metadata requires admin privileges"),
            ("email", json!(""), 422, "A user with this email address has already been registered"),
            ("phone", json!(""), 400, "Unsupported phone provider"),
            ("nonce", json!(""), 422, "Nonce has expired or is invalid"),
            ("current_password", json!("wrong"), 422, "New password should be different from the old password."),
            ("current_password", json!(""), 400, "Current password required when setting new password."),
            ("password", json!(null), 422, "New password should be different from the old password."),
        ];
        // Each step corrects what the previous error complained about.
        for (field, mended, status, message) in table {
            let answer = put_user(&app, &person.token, &body).await;
            assert_eq!((answer.status, answer.text("/msg").as_str()), (status, message), "{body}");
            body[field] = mended;
        }
        assert_eq!(put_user(&app, &person.token, &body).await.status, 200, "{body}");
        for wrong in [json!({ "app_metadata": 1 }), json!({ "channel": 1 }), json!({ "nonce": [] })] {
            assert_eq!(put_user(&app, &person.token, &wrong).await.refusal(), refused(400, "bad_json"), "{wrong}");
        }
    }
}

#[tokio::test]
async fn without_mail_an_address_that_needs_confirming_cannot_change() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let person = app.person().await;
        let (folder, url) = app.stop().await;
        let app = TestApp::builder().on_data_of(&folder, &url).set("CHAT_AUTOCONFIRM", "off").start().await;
        let answer = put_user(&app, &person.token, &json!({ "email": "new@example.com" })).await;
        assert_eq!(answer.refusal(), refused(422, "email_provider_disabled"));
        assert_eq!(sign_in(&app, &person.email, PASSWORD).await.status, 200);
    }
}
