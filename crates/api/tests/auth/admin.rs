//! Administration of accounts.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Database, MockClock, TestApp, databases};

use super::caller::{Answer, PASSWORD, get_user, refresh, refused, request, send, sign_in};

pub const KEY: &str = "a service role key that nobody guesses";

pub async fn governed(database: Database) -> TestApp {
    TestApp::builder().database(database).set("CHAT_SERVICE_ROLE_KEY", KEY).start().await
}

pub async fn admin(app: &TestApp, method: Method, path: &str, body: &Value) -> Answer {
    send(request(app, method, path).bearer_auth(KEY).json(body)).await
}

async fn get(app: &TestApp, path: &str) -> Answer {
    send(request(app, Method::GET, path).bearer_auth(KEY)).await
}

async fn create(app: &TestApp, body: &Value) -> Answer {
    admin(app, Method::POST, "/admin/users", body).await
}

async fn change(app: &TestApp, id: &str, body: &Value) -> Answer {
    admin(app, Method::PUT, &format!("/admin/users/{id}"), body).await
}

/// All administration routes that need only the key.
const ROUTES: [(Method, &str); 9] = [
    (Method::GET, "/admin/users"),
    (Method::POST, "/admin/users"),
    (Method::GET, "/admin/users/x"),
    (Method::PUT, "/admin/users/x"),
    (Method::DELETE, "/admin/users/x"),
    (Method::POST, "/admin/users/x/logout"),
    (Method::GET, "/admin/users/x/passkeys"),
    (Method::GET, "/admin/oauth/clients"),
    (Method::GET, "/admin/custom-providers"),
];

#[tokio::test]
async fn only_the_key_opens_the_administrators_part() {
    for database in databases() {
        let (app, shut) = (governed(database).await, TestApp::on(database).await);
        let (person, other) = (app.person().await, shut.person().await);
        for (method, path) in ROUTES {
            let call = |app: &TestApp| request(app, method.clone(), path).body("no JSON");
            for app in [&app, &shut] {
                assert_eq!(send(call(app)).await.refusal(), refused(401, "no_authorization"), "{path}");
                for token in ["sb_publishable_x", "a.b.c", &KEY[1..], &format!("{KEY} ")[1..]] {
                    let answer = send(call(app).bearer_auth(token)).await;
                    assert_eq!(answer.refusal(), refused(403, "bad_jwt"), "{path} {token}");
                }
            }
            let answer = send(call(&app).bearer_auth(&person.token)).await;
            assert_eq!(answer.refusal(), refused(403, "not_admin"), "{path}");
            assert_eq!(answer.text("/msg"), "User not allowed");
            let answer = send(call(&shut).bearer_auth(&other.token)).await;
            assert_eq!(answer.refusal(), refused(403, "not_admin"), "{path}");
            assert_eq!(send(call(&shut).bearer_auth(KEY)).await.refusal(), refused(403, "bad_jwt"), "{path}");
        }
        app.state.storage.auth_sessions().delete_all(person.id.parse().unwrap()).await.unwrap();
        let ended = send(request(&app, Method::GET, "/admin/users").bearer_auth(&person.token)).await;
        assert_eq!(ended.refusal(), refused(403, "session_not_found"));
    }
}

#[tokio::test]
async fn an_account_is_made_as_the_wish_says() {
    for database in databases() {
        let app = governed(database).await;
        let made = create(
            &app,
            &json!({ "email": "Ann@Example.com", "password": PASSWORD, "email_confirm": true,
            "user_metadata": { "name": "Ann", "none": null }, "app_metadata": { "team": "blue" } }),
        )
        .await;
        assert_eq!((made.status, made.text("/email").as_str()), (200, "ann@example.com"));
        assert_eq!(made.body["user_metadata"], json!({ "name": "Ann", "email_verified": true }));
        let kept = json!({ "provider": "email", "providers": ["email"], "team": "blue" });
        assert_eq!(made.body["app_metadata"], kept);
        assert!(made.body["email_confirmed_at"].is_string() && made.body.get("last_sign_in_at").is_none());
        assert_eq!(sign_in(&app, "ann@example.com", PASSWORD).await.text("/user/id"), made.text("/id"));

        let id = "3f0c1c0e-8a55-4c38-9bb1-6f1f6f0e6d5a";
        let other = create(&app, &json!({ "id": id, "email": "b@example.com", "password": null, "role": "" })).await;
        assert_eq!((other.status, other.text("/id").as_str()), (200, id));
        assert_eq!(other.body["user_metadata"], json!({}));
        assert!(other.body.get("email_confirmed_at").is_none());
        let closed = sign_in(&app, "b@example.com", "").await;
        assert_eq!(closed.refusal(), refused(400, "invalid_credentials"), "without a password none is right");

        let table = [
            (json!({}), 400, "validation_failed", "Cannot create a user without either an email or phone"),
            (
                json!({ "email": null }),
                400,
                "validation_failed",
                "Cannot create a user without either an email or phone",
            ),
            (
                json!({ "email": "xx:;x@x.x" }),
                400,
                "validation_failed",
                "Unable to validate email address: invalid format",
            ),
            (
                json!({ "email": "ANN@example.com" }),
                422,
                "email_exists",
                "A user with this email address has already been registered",
            ),
            (json!({ "email": "c@example.com", "id": id }), 422, "user_already_exists", "User already registered"),
            (
                json!({ "email": "c@example.com", "id": "x" }),
                400,
                "validation_failed",
                "ID must conform to the uuid v4 format",
            ),
            (
                json!({ "email": "c@example.com", "id": uuid_nil() }),
                400,
                "validation_failed",
                "ID cannot be a nil uuid",
            ),
            (
                json!({ "email": "c@example.com", "password": "a".repeat(73) }),
                400,
                "validation_failed",
                "Password cannot be longer than 72 characters",
            ),
            (
                json!({ "email": "c@example.com", "ban_duration": "soon" }),
                400,
                "validation_failed",
                "invalid format for ban duration: time: invalid duration \"soon\"",
            ),
            (
                json!({ "email": "c@example.com", "phone": "123" }),
                400,
                "phone_provider_disabled",
                "Unsupported phone provider",
            ),
            (
                json!({ "email": "c@example.com", "role": "service_role" }),
                400,
                "validation_failed",
                "Only the role and the audience 'authenticated' are supported",
            ),
            (
                json!({ "email": "c@example.com", "password_hash": "$2a$" }),
                400,
                "validation_failed",
                "password_hash is not supported, use password instead",
            ),
            (
                json!({ "email": "c@example.com", "user_metadata": { "a": "a".repeat(9000) } }),
                400,
                "validation_failed",
                "User metadata cannot be larger than 8 KiB",
            ),
        ];
        for (body, status, code, message) in table {
            let answer = create(&app, &body).await;
            assert_eq!((answer.refusal(), answer.text("/msg").as_str()), (refused(status, code), message), "{body}");
        }
        let unnamed = create(&app, &Value::Null).await;
        assert_eq!(unnamed.text("/msg"), "Cannot create a user without either an email or phone");
        for body in [json!([]), json!({ "email": 1 }), json!({ "email": "c@d.e", "user_metadata": [] })] {
            assert_eq!(create(&app, &body).await.refusal(), refused(400, "bad_json"), "{body}");
        }
        assert_eq!(sign_in(&app, "c@example.com", PASSWORD).await.status, 400, "nothing was made");
    }
}

fn uuid_nil() -> &'static str {
    "00000000-0000-0000-0000-000000000000"
}

#[tokio::test]
async fn what_is_wrong_with_a_new_account_is_said_in_the_protocols_order() {
    for database in databases() {
        let app = governed(database).await;
        let taken = app.person().await.email;
        let mut body = json!({ "id": "x", "password": "a".repeat(73), "password_hash": "$2a$", "role": "admin",
                               "ban_duration": "soon" });
        let table = [
            ("email", json!("no address"), "Cannot create a user without either an email or phone"),
            ("email", json!(taken), "Unable to validate email address: invalid format"),
            ("email", json!("new@example.com"), "A user with this email address has already been registered"),
            ("role", json!("authenticated"), "Only a password or a password hash should be provided"),
            ("password_hash", json!(""), "Only a password or a password hash should be provided"),
            ("password", json!("weak"), "Password cannot be longer than 72 characters"),
            ("id", json!(null), "ID must conform to the uuid v4 format"),
            ("ban_duration", json!("none"), "invalid format for ban duration: time: invalid duration \"soon\""),
        ];
        // Each step corrects what the previous error complained about, or leaves it.
        for (field, mended, message) in table {
            assert_eq!(create(&app, &body).await.text("/msg"), message, "{body}");
            body[field] = mended;
        }
        body["email_confirm"] = json!(true);
        let made = create(&app, &body).await;
        assert_eq!(made.status, 200, "{}", made.body);
        let changed = change(&app, &made.text("/id"), &json!({ "id": "x", "user_metadata": { "a": 1 } })).await;
        assert_eq!(changed.text("/id"), made.text("/id"), "an account keeps its id");

        let answer = sign_in(&app, "new@example.com", "weak").await;
        assert_eq!(answer.status, 200);
        let weak = json!({ "message": "Password should be at least 6 characters.", "reasons": ["length"] });
        assert_eq!(answer.body["weak_password"], weak, "the person's program may tell them");
        let refreshed = refresh(&app, &answer.text("/refresh_token")).await;
        assert_eq!(refreshed.body.get("weak_password"), None);
    }
}

#[tokio::test]
async fn lists_accounts_in_pages_newest_first() {
    for database in databases() {
        let clock = MockClock::new();
        let app = TestApp::builder().database(database).clock(&clock).set("CHAT_SERVICE_ROLE_KEY", KEY).start().await;
        for number in 0..5 {
            clock.advance_seconds(1);
            assert_eq!(create(&app, &json!({ "email": format!("{number}@example.com") })).await.status, 200);
        }
        let page = async |query: &str| {
            let answer =
                request(&app, Method::GET, &format!("/admin/users{query}")).bearer_auth(KEY).send().await.unwrap();
            let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
            let (total, link) = (header("x-total-count"), header("link"));
            let body: Value = answer.json().await.unwrap();
            assert_eq!(body["aud"], "authenticated");
            let emails: Vec<String> = body["users"]
                .as_array()
                .unwrap()
                .iter()
                .map(|user| user["email"].as_str().unwrap()[..1].to_owned())
                .collect();
            (emails.join(""), total, link)
        };
        let link = |page: u32, per_page: u32, rel: &str| {
            format!("</auth/v1/admin/users?page={page}&per_page={per_page}>; rel=\"{rel}\"")
        };
        let table = [
            ("?page=&per_page=", "43210", link(1, 50, "last")),
            ("", "43210", link(1, 50, "last")),
            ("?page=1&per_page=2", "43", format!("{}, {}", link(2, 2, "next"), link(3, 2, "last"))),
            ("?page=2&per_page=2", "21", format!("{}, {}", link(3, 2, "next"), link(3, 2, "last"))),
            ("?page=3&per_page=2", "0", link(3, 2, "last")),
            ("?page=9&per_page=2", "", link(3, 2, "last")),
            ("?page=0&per_page=0", "43210", link(1, 50, "last")),
            ("?page=18446744073709551615&per_page=5000", "", link(1, 1000, "last")),
        ];
        for (query, emails, link) in table {
            assert_eq!(page(query).await, (emails.to_owned(), "5".to_owned(), link), "{query}");
        }
        for query in ["?page=-1", "?per_page=x", "?page=99999999999999999999", "?filter=ann", "?sort=email"] {
            let answer = get(&app, &format!("/admin/users{query}")).await;
            assert_eq!(answer.refusal(), refused(400, "validation_failed"), "{query}");
        }
    }
}

#[tokio::test]
async fn a_change_counts_at_once() {
    for database in databases() {
        let app = governed(database).await;
        let (person, other) = (app.person().await, app.person().await);
        let answer = change(
            &app,
            &person.id,
            &json!({ "user_metadata": { "name": "Ann", "email_verified": null },
            "app_metadata": { "team": "blue" }, "email": "New@Example.com" }),
        )
        .await;
        assert_eq!((answer.status, answer.text("/email").as_str()), (200, "new@example.com"));
        assert_eq!(answer.body["app_metadata"]["team"], "blue");
        assert!(answer.body["user_metadata"].get("email_verified").is_none());
        assert_eq!(get(&app, &format!("/admin/users/{}", person.id)).await.body, answer.body);
        assert_eq!(get_user(&app, &person.token).await.status, 200, "nobody is signed out");

        let answer = change(&app, &person.id, &json!({ "password": "another horse" })).await;
        assert_eq!(answer.status, 200);
        assert_eq!(get_user(&app, &person.token).await.refusal(), refused(403, "session_not_found"));
        assert_eq!(sign_in(&app, "new@example.com", PASSWORD).await.status, 400);
        assert_eq!(sign_in(&app, "new@example.com", "another horse").await.status, 200);

        let table = [
            (json!({ "email": other.email }), 422, "email_exists"),
            (json!({ "email": "no address" }), 400, "validation_failed"),
            (json!({ "password": "12345" }), 422, "weak_password"),
            (json!({ "password": "" }), 422, "weak_password"),
            (json!({ "ban_duration": "1 day" }), 400, "validation_failed"),
            (json!({ "role": "admin" }), 400, "validation_failed"),
            (json!({ "aud": "elsewhere" }), 400, "validation_failed"),
        ];
        for (body, status, code) in table {
            assert_eq!(change(&app, &person.id, &body).await.refusal(), refused(status, code), "{body}");
        }
        assert_eq!(get_user(&app, &other.token).await.text("/email"), other.email, "others are left alone");
    }
}

#[tokio::test]
async fn an_address_is_confirmed_by_the_administrators_word() {
    for database in databases() {
        let app = governed(database).await;
        let made = create(&app, &json!({ "email": "a@example.com", "password": PASSWORD })).await;
        assert_eq!(sign_in(&app, "a@example.com", PASSWORD).await.refusal(), refused(400, "email_not_confirmed"));
        let events = app.state.storage.audit_events().list_of_user(made.text("/id").parse().unwrap(), None, 1).await;
        assert_eq!(events.unwrap()[0].kind, "sign_in_failed");
        let answer = change(&app, &made.text("/id"), &json!({ "email_confirm": true })).await;
        assert!(answer.body["email_confirmed_at"].is_string());
        assert_eq!(answer.body["user_metadata"], json!({ "email_verified": true }));
        assert_eq!(sign_in(&app, "a@example.com", PASSWORD).await.status, 200);
    }
}

#[tokio::test]
async fn a_banned_person_is_kept_out_until_the_ban_ends() {
    for database in databases() {
        let clock = MockClock::new();
        let app = TestApp::builder().database(database).clock(&clock).set("CHAT_SERVICE_ROLE_KEY", KEY).start().await;
        let person = app.person().await;
        let answer = change(&app, &person.id, &json!({ "ban_duration": "1h" })).await;
        assert!(answer.body["banned_until"].is_string());
        let banned = |status| refused(status, "user_banned");
        let refreshed = refresh(&app, &person.refresh_token).await;
        assert_eq!(
            (refreshed.refusal(), refreshed.text("/msg")),
            (banned(400), "Invalid Refresh Token: User Banned".into())
        );
        assert_eq!(sign_in(&app, &person.email, PASSWORD).await.refusal(), banned(400));
        let wrong = sign_in(&app, &person.email, "wrong").await;
        assert_eq!(wrong.refusal(), refused(400, "invalid_credentials"), "a stranger does not learn of it");
        assert_eq!(get_user(&app, &person.token).await.refusal(), banned(403));
        let rows = person.request(Method::GET, "/rest/v1/ai_chat_sessions").send().await.unwrap();
        assert_eq!(rows.status(), 401);

        clock.advance_seconds(3600);
        assert_eq!(refresh(&app, &person.refresh_token).await.status, 200);
        assert_eq!(sign_in(&app, &person.email, PASSWORD).await.status, 200);
        change(&app, &person.id, &json!({ "ban_duration": "876000h" })).await;
        assert_eq!(sign_in(&app, &person.email, PASSWORD).await.refusal(), banned(400));
        let lifted = change(&app, &person.id, &json!({ "ban_duration": "none" })).await;
        assert!(lifted.body.get("banned_until").is_none());
        assert_eq!(sign_in(&app, &person.email, PASSWORD).await.status, 200);
    }
}

#[tokio::test]
async fn a_removed_account_is_gone_with_everything_and_an_emptied_one_keeps_its_id() {
    for database in databases() {
        let app = governed(database).await;
        let (gone, emptied, other) = (app.person().await, app.person().await, app.person().await);
        let chat = emptied.new_chat().await;
        gone.new_chat().await;
        let path = |id: &str| format!("/admin/users/{id}");

        let answer = send(request(&app, Method::DELETE, &path(&gone.id)).bearer_auth(KEY)).await;
        assert_eq!((answer.status, answer.body), (200, json!({})), "the body may be left out");
        assert_eq!(get(&app, &path(&gone.id)).await.refusal(), refused(404, "user_not_found"));
        assert_ne!(get_user(&app, &gone.token).await.status, 200);
        assert_eq!(sign_in(&app, &gone.email, PASSWORD).await.status, 400);

        for _ in 0..2 {
            let answer = admin(&app, Method::DELETE, &path(&emptied.id), &json!({ "should_soft_delete": true })).await;
            assert_eq!((answer.status, answer.body), (200, json!({})));
        }
        let left = get(&app, &path(&emptied.id)).await;
        assert!(left.body["deleted_at"].is_string() && !left.body.to_string().contains(&emptied.email));
        assert_eq!((&left.body["user_metadata"], &left.body["app_metadata"]), (&json!({}), &json!({})));
        assert_ne!(get_user(&app, &emptied.token).await.status, 200);
        assert_eq!(sign_in(&app, &emptied.email, PASSWORD).await.status, 400);
        let rows = app.state.storage.chats().get(emptied.id.parse().unwrap(), chat.parse().unwrap()).await.unwrap();
        assert!(rows.is_some(), "what belongs to the id stays with it");
        let again = create(&app, &json!({ "email": emptied.email })).await;
        assert_eq!(again.status, 200, "the address is free again");

        for (id, code) in [("x", "validation_failed"), (&*gone.id, "user_not_found"), (uuid_nil(), "user_not_found")] {
            for method in [Method::GET, Method::PUT, Method::DELETE] {
                let answer = send(request(&app, method, &path(id)).bearer_auth(KEY).body("no JSON")).await;
                assert_eq!(answer.refusal(), refused(404, code), "the account is looked for first");
            }
        }
        let bad = admin(&app, Method::DELETE, &path(&other.id), &json!({ "should_soft_delete": "yes" })).await;
        assert_eq!(bad.refusal(), refused(400, "bad_json"));
        assert_eq!(get_user(&app, &other.token).await.status, 200);
    }
}

#[tokio::test]
async fn what_is_not_offered_says_so_to_the_administrator() {
    let app = governed(Database::Sqlite).await;
    let person = app.person().await;
    assert_eq!(get(&app, &format!("/admin/users/{}/passkeys", person.id)).await.body, json!([]));
    let path = format!("/admin/users/{}/passkeys/1", person.id);
    assert_eq!(admin(&app, Method::DELETE, &path, &json!({})).await.refusal(), refused(404, "validation_failed"));
    for (path, message) in [
        ("/admin/oauth/clients", "OAuth server is disabled"),
        ("/admin/custom-providers", "Custom OAuth providers are disabled"),
    ] {
        let answer = get(&app, path).await;
        assert_eq!((answer.refusal(), answer.text("/msg").as_str()), (refused(404, "feature_disabled"), message));
    }
}
