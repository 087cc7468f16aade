//! Links that the administrator generates.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{TestApp, databases};

use super::admin::{admin, governed};
use super::caller::{Answer, PASSWORD, get_user, post, refused, sign_in};

async fn make(app: &TestApp, body: &Value) -> Answer {
    admin(app, Method::POST, "/admin/generate_link", body).await
}

async fn follow(app: &TestApp, kind: &str, made: &Answer) -> Answer {
    post(app, "/verify", &json!({ "type": kind, "token_hash": made.text("/hashed_token") })).await
}

#[tokio::test]
async fn a_link_to_sign_up_makes_an_account_that_the_link_confirms() {
    for database in databases() {
        let app = governed(database).await;
        let wish = json!({ "type": "signup", "email": "A@example.com", "password": PASSWORD, "data": { "a": 1 } });
        let made = make(&app, &wish).await;
        assert_eq!((made.status, made.text("/email").as_str()), (200, "a@example.com"));
        assert_eq!(
            (made.text("/verification_type").as_str(), &made.body["user_metadata"]),
            ("signup", &json!({ "a": 1 }))
        );
        assert_eq!(made.text("/email_otp").len(), 6);
        let link = made.text("/action_link");
        assert!(link.contains("/auth/v1/verify?token=") && link.contains("&type=signup&redirect_to="), "{link}");
        assert!(link.contains(&made.text("/hashed_token")));
        assert_eq!(sign_in(&app, "a@example.com", PASSWORD).await.refusal(), refused(400, "email_not_confirmed"));

        let again = make(&app, &json!({ "type": "signup", "email": "a@example.com", "data": { "b": 2 } })).await;
        assert_eq!((again.status, again.text("/id")), (200, made.text("/id")));
        assert_eq!(
            follow(&app, "signup", &made).await.refusal(),
            refused(403, "otp_expired"),
            "a newer one took its place"
        );
        let followed = follow(&app, "signup", &again).await;
        assert_eq!((followed.status, followed.text("/user/id")), (200, made.text("/id")));
        assert_eq!(sign_in(&app, "a@example.com", PASSWORD).await.status, 200);
        assert_eq!(make(&app, &wish).await.refusal(), refused(422, "email_exists"));
    }
}

#[tokio::test]
async fn a_link_to_sign_in_is_one_to_sign_up_where_there_is_no_account() {
    for database in databases() {
        let app = governed(database).await;
        let person = app.person().await;
        for kind in ["magiclink", "recovery"] {
            let made = make(&app, &json!({ "type": kind, "email": person.email })).await;
            assert_eq!((made.status, made.text("/verification_type").as_str()), (200, kind));
            let followed = follow(&app, kind, &made).await;
            assert_eq!((followed.status, followed.text("/user/id")), (200, person.id.clone()), "{kind}");
            assert_eq!(follow(&app, kind, &made).await.status, 403, "once");
        }
        let made = make(&app, &json!({ "type": "magiclink", "email": "new@example.com" })).await;
        assert_eq!((made.status, made.text("/verification_type").as_str()), (200, "signup"));
        let code = json!({ "type": "signup", "email": "new@example.com", "token": made.text("/email_otp") });
        assert_eq!(post(&app, "/verify", &code).await.text("/user/email"), "new@example.com");
    }
}

#[tokio::test]
async fn an_invited_person_is_noted_and_let_in_by_the_link() {
    for database in databases() {
        let app = governed(database).await;
        let made = make(&app, &json!({ "type": "invite", "email": "a@example.com", "password": "ignored" })).await;
        assert!(made.body["invited_at"].is_string());
        assert_eq!(follow(&app, "invite", &made).await.text("/user/id"), made.text("/id"));
        let again = make(&app, &json!({ "type": "invite", "email": "a@example.com" })).await;
        assert_eq!(again.refusal(), refused(422, "email_exists"));
        let mailed = admin(&app, Method::POST, "/invite", &json!({ "email": "b@example.com" })).await;
        assert_eq!(mailed.refusal(), refused(400, "email_provider_disabled"), "there is no mail server");
        let after = make(&app, &json!({ "type": "recovery", "email": "b@example.com" })).await;
        assert_eq!(after.refusal(), refused(404, "user_not_found"), "and nothing was made");
    }
}

#[tokio::test]
async fn an_address_changes_when_both_links_are_followed() {
    for database in databases() {
        let app = governed(database).await;
        let person = app.person().await;
        let wish = |kind: &str| json!({ "type": kind, "email": person.email, "new_email": "New@Example.com" });
        let current = make(&app, &wish("email_change_current")).await;
        assert_eq!((current.status, current.text("/new_email").as_str()), (200, "new@example.com"));
        assert!(current.text("/action_link").contains("&type=email_change&"));
        let new = make(&app, &wish("email_change_new")).await;
        let half = follow(&app, "email_change", &current).await;
        assert_eq!((half.status, half.text("/code").as_str()), (200, "200"));
        assert_eq!(get_user(&app, &person.token).await.text("/email"), person.email);
        assert_eq!(follow(&app, "email_change", &new).await.text("/user/email"), "new@example.com");
    }
}

#[tokio::test]
async fn a_link_that_cannot_be_is_refused() {
    for database in databases() {
        let app = governed(database).await;
        let (person, other) = (app.person().await, app.person().await);
        let table = [
            (json!({}), 400, "validation_failed", "An email address is required"),
            (
                json!({ "type": "signup", "email": "x" }),
                400,
                "validation_failed",
                "Unable to validate email address: invalid format",
            ),
            (
                json!({ "type": "sms", "email": "a@b.c" }),
                400,
                "validation_failed",
                "Invalid email action link type requested: sms",
            ),
            (json!({ "email": "a@b.c" }), 400, "validation_failed", "Invalid email action link type requested: "),
            (
                json!({ "type": "signup", "email": "a@b.c" }),
                400,
                "validation_failed",
                "Signup requires a valid password",
            ),
            (
                json!({ "type": "signup", "email": "a@b.c", "password": "12345" }),
                422,
                "weak_password",
                "Password should be at least 6 characters.",
            ),
            (json!({ "type": "recovery", "email": "a@b.c" }), 404, "user_not_found", "User with this email not found"),
            (
                json!({ "type": "email_change_new", "email": "a@b.c" }),
                404,
                "user_not_found",
                "User with this email not found",
            ),
            (
                json!({ "type": "email_change_new", "email": person.email }),
                400,
                "validation_failed",
                "An email address is required",
            ),
            (
                json!({ "type": "email_change_new", "email": person.email, "new_email": other.email }),
                422,
                "email_exists",
                "A user with this email address has already been registered",
            ),
        ];
        for (body, status, code, message) in table {
            let answer = make(&app, &body).await;
            assert_eq!((answer.refusal(), answer.text("/msg").as_str()), (refused(status, code), message), "{body}");
        }
        let strange = json!({ "type": "magiclink", "email": person.email, "redirect_to": "https://evil.example" });
        assert!(!make(&app, &strange).await.text("/action_link").contains("evil"), "it leads to the site");
        let own = app.state.site_url.0.join("/auth").unwrap();
        let path = format!("/admin/generate_link?redirect_to={own}");
        let made = admin(&app, Method::POST, &path, &strange).await;
        assert_eq!(made.text("/redirect_to"), own.as_str(), "the next one that is allowed counts");
    }
}
