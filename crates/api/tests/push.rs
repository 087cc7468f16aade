//! Push messages to the browsers of a user.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod scripted;

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Database, MockClock, Person, ScriptedMcp, ScriptedModel, Step, TestApp, databases};

use scripted::{Browser, Received, ScriptedPushService};

struct Fixture {
    app: TestApp,
    model: ScriptedModel,
    service: ScriptedPushService,
    person: Person,
    chat: String,
}

impl Fixture {
    async fn new(database: Database) -> Self {
        let model = ScriptedModel::start([]).await;
        model.always(Step::Text("The secret answer.".into()));
        let builder = TestApp::builder().database(database).clock(&MockClock::new());
        let app = builder.set("OPENAI_BASE_URL", &model.base_url).start().await;
        let person = app.person().await;
        let chat = person.new_chat().await;
        Self { app, model, service: ScriptedPushService::start().await, person, chat }
    }

    async fn subscribe(&self, browser: &Browser) -> String {
        self.subscribe_as(&self.person, browser).await
    }

    async fn subscribe_as(&self, person: &Person, browser: &Browser) -> String {
        let (status, made) = person.post("/api/push/subscriptions", &self.service.subscription(browser)).await;
        assert_eq!(status, 201, "{made}");
        made["id"].as_str().unwrap().to_owned()
    }

    /// Signs in once more, as another browser does.
    async fn sign_in_elsewhere(&self) -> Person {
        let mut other = self.person.clone();
        other.sign_in_again().await;
        other
    }

    async fn ask(&self) {
        assert_eq!(self.person.ask(&self.chat, "Hello", json!([])).await.0, 200);
    }
}

async fn devices(person: &Person) -> Vec<Value> {
    person.get("/api/push").await["devices"].as_array().unwrap().clone()
}

/// Checks that a request proves its sender by the server's key (RFC 8292).
fn check_sender(received: &Received, public_key: &str, origin: &str, now: i64) {
    let header = received.headers["authorization"].to_str().unwrap();
    let (token, key) = header.strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
    assert_eq!(key, public_key);
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let key = URL_SAFE_NO_PAD.decode(key).unwrap();
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key).verify(signed.as_bytes(), &signature).unwrap();
    let (header, claims) = signed.split_once('.').unwrap();
    let parse = |part: &str| -> Value { serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap() };
    assert_eq!(parse(header), json!({ "typ": "JWT", "alg": "ES256" }));
    let claims = parse(claims);
    assert_eq!(claims["aud"], origin);
    assert!((now..=now + 24 * 3600).contains(&claims["exp"].as_i64().unwrap()), "{claims}");
    assert!(claims["sub"].as_str().unwrap().starts_with("mailto:"), "{claims}");
}

#[tokio::test]
async fn every_subscribed_browser_hears_that_an_answer_is_done() {
    for database in databases() {
        let mut fixture = Fixture::new(database).await;
        let elsewhere = fixture.sign_in_elsewhere().await;
        let (here, there) = (Browser::new("here"), Browser::new("there"));
        fixture.subscribe(&here).await;
        fixture.subscribe_as(&elsewhere, &there).await;
        // Other users are told nothing.
        let stranger = fixture.app.person().await;
        fixture.subscribe_as(&stranger, &Browser::new("strange")).await;
        fixture.ask().await;
        let public_key = fixture.person.get("/api/push").await["publicKey"].as_str().unwrap().to_owned();
        let mut browsers = Vec::new();
        for _ in 0..2 {
            let received = fixture.service.next().await;
            let browser = [&here, &there].into_iter().find(|browser| browser.name == received.browser).unwrap();
            let message = browser.decrypt(&received.body);
            assert_eq!(message["sessionId"], json!(fixture.chat));
            assert_eq!(message["turnId"].as_str().unwrap().len(), 36);
            assert_eq!(
                (&message["title"], &message["state"], &message["outcome"]),
                (&json!("Hello"), &json!("ended"), &json!("done"))
            );
            assert_eq!(message.as_object().unwrap().len(), 5, "nothing of the answer: {message}");
            check_sender(&received, &public_key, &fixture.service.origin, fixture.app.state.clock.now().as_seconds());
            assert_eq!(received.headers["content-encoding"], "aes128gcm");
            assert_eq!(received.headers["ttl"], "43200");
            assert_eq!(received.headers["topic"].len(), 22, "the latest message of a chat is enough");
            browsers.push(received.browser);
        }
        browsers.sort();
        assert_eq!(browsers, ["here", "there"]);
        assert!(!fixture.service.has_more());
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn browser_hears_which_tool_asks() {
    for database in databases() {
        let mut fixture = Fixture::new(database).await;
        let server = ScriptedMcp::start([json!({ "name": "send", "description": "Sends a letter." })]).await;
        fixture.person.connect_to("post", &server.url).await;
        let browser = Browser::new("here");
        fixture.subscribe(&browser).await;
        fixture.model.push(Step::Calls(vec![("send".into(), json!({ "to": "Ada" }))]));
        let tools = json!([{ "name": "send", "serverName": "post" }]);
        let (_, waiting) = fixture.person.ask(&fixture.chat, "Send it", tools).await;
        let message = browser.decrypt(&fixture.service.next().await.body);
        assert_eq!(message["state"], "waiting");
        assert_eq!(message["waitingFor"], json!({ "kind": "approval", "tool": "send" }));
        let approval = &waiting["approvals"][0]["approvalId"];
        fixture.person.decide(&fixture.chat, approval, &json!({ "decision": "deny" })).await;
        assert_eq!(browser.decrypt(&fixture.service.next().await.body)["state"], "ended");
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn stopped_turns_and_temporary_chats_send_nothing() {
    for database in databases() {
        let mut fixture = Fixture::new(database).await;
        let browser = Browser::new("here");
        fixture.subscribe(&browser).await;
        fixture.model.push(Step::Hang("Once upon a time".into()));
        let stream = fixture.person.ask_streaming(&fixture.chat, "Tell me", json!([])).await;
        fixture.person.post(&format!("/api/sessions/{}/stop", fixture.chat), &json!({})).await;
        drop(stream.text().await);
        let temporary = fixture.person.post("/api/temporary-chats", &json!({})).await.1;
        let temporary = temporary["id"].as_str().unwrap().to_owned();
        assert_eq!(fixture.person.ask(&temporary, "Hello", json!([])).await.0, 200);
        // The next message is that of a stored answer.
        fixture.ask().await;
        let message = browser.decrypt(&fixture.service.next().await.body);
        assert_eq!((&message["sessionId"], &message["outcome"]), (&json!(fixture.chat), &json!("done")));
        assert!(!fixture.service.has_more());
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn messages_are_sent_again_after_a_failure() {
    for database in databases() {
        let mut fixture = Fixture::new(database).await;
        let browser = Browser::new("here");
        fixture.subscribe(&browser).await;
        fixture.service.respond(&browser, [503]);
        fixture.ask().await;
        let (first, second) = (fixture.service.next().await, fixture.service.next().await);
        assert_eq!(browser.decrypt(&first.body), browser.decrypt(&second.body));
        assert_ne!(first.body, second.body, "each attempt has keys of its own");
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn ended_subscriptions_are_removed() {
    for database in databases() {
        let mut fixture = Fixture::new(database).await;
        let browser = Browser::new("here");
        for status in [404, 410] {
            fixture.subscribe(&browser).await;
            fixture.service.respond(&browser, [status]);
            fixture.ask().await;
            fixture.service.next().await;
            // The row is deleted after the response of the push service.
            while !devices(&fixture.person).await.is_empty() {
                tokio::task::yield_now().await;
            }
        }
        // A rejected message is no reason to forget the browser.
        fixture.subscribe(&browser).await;
        fixture.service.respond(&browser, [400]);
        fixture.ask().await;
        fixture.service.next().await;
        fixture.ask().await;
        fixture.service.next().await;
        assert_eq!(devices(&fixture.person).await.len(), 1);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn subscription_ends_with_its_device_and_its_account() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        let elsewhere = fixture.sign_in_elsewhere().await;
        let here = fixture.subscribe(&Browser::new("here")).await;
        let there = fixture.subscribe_as(&elsewhere, &Browser::new("there")).await;
        let listed: Vec<(String, bool)> = devices(&fixture.person)
            .await
            .iter()
            .map(|device| (device["id"].as_str().unwrap().to_owned(), device["current"].as_bool().unwrap()))
            .collect();
        assert_eq!(listed, [(there, false), (here.clone(), true)]);

        // Another subscription of the same sign-in replaces the first.
        let newer = fixture.subscribe(&Browser::new("newer")).await;
        let remove = |id: String| fixture.person.request(Method::DELETE, &format!("/api/push/subscriptions/{id}"));
        assert_eq!(remove(here).send().await.unwrap().status(), 404);
        assert_eq!(remove(newer.clone()).send().await.unwrap().status(), 204);
        assert_eq!(remove(newer).send().await.unwrap().status(), 404);

        let (status, _) = elsewhere.post("/auth/v1/logout?scope=local", &json!({})).await;
        assert!(status.is_success());
        assert_eq!(devices(&fixture.person).await, Vec::<Value>::new());

        // A browser in which somebody else signs in is theirs.
        let shared = Browser::new("shared");
        fixture.subscribe(&shared).await;
        let next = fixture.app.person().await;
        fixture.subscribe_as(&next, &shared).await;
        assert_eq!(devices(&fixture.person).await, Vec::<Value>::new());
        let deleted = next.post("/api/account/delete", &json!({ "email": next.email })).await;
        assert!(deleted.0.is_success(), "{}", deleted.1);
        fixture.subscribe(&shared).await;
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn subscriptions_of_a_user_are_limited() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        for device in 0..20 {
            let person = fixture.sign_in_elsewhere().await;
            fixture.subscribe_as(&person, &Browser::new(&format!("device-{device}"))).await;
        }
        let subscription = fixture.service.subscription(&Browser::new("one-more"));
        let (status, refused) = fixture.person.post("/api/push/subscriptions", &subscription).await;
        assert_eq!((status.as_u16(), &refused["error"]["code"]), (409, &json!("too_many_devices")));
        assert_eq!(devices(&fixture.person).await.len(), 20);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn invalid_and_private_push_services_are_refused() {
    let app = TestApp::builder().exposed().start().await;
    let person = app.person().await;
    let service = ScriptedPushService::start().await;
    let subscription = service.subscription(&Browser::new("here"));
    let refused = async |endpoint: &str, keys: &Value| {
        let body = json!({ "endpoint": endpoint, "keys": keys });
        let (status, refused) = person.post("/api/push/subscriptions", &body).await;
        (status.as_u16(), refused["error"]["code"].as_str().unwrap_or_default().to_owned())
    };
    let keys = &subscription["keys"];
    let not_allowed = (422, "address_not_allowed".to_owned());
    let own = subscription["endpoint"].as_str().unwrap();
    for endpoint in [own, "https://10.0.0.1/a", "https://[::1]/a", "http://push.example.com/a", "file:///etc/passwd"] {
        assert_eq!(refused(endpoint, keys).await, not_allowed, "{endpoint}");
    }
    let invalid = (400, "bad_request".to_owned());
    assert_eq!(refused("no url", keys).await, invalid);
    let long = format!("https://push.example.com/{}", "a".repeat(2000));
    assert_eq!(refused(&long, keys).await, invalid);
    let no_point = URL_SAFE_NO_PAD.encode([4; 65]);
    let wrong = json!({ "p256dh": no_point, "auth": keys["auth"] });
    assert_eq!(refused("https://push.example.com/a", &wrong).await, invalid);
    let short = json!({ "p256dh": keys["p256dh"], "auth": "AAAA" });
    assert_eq!(refused("https://push.example.com/a", &short).await, invalid);
    app.stop().await;
}

#[tokio::test]
async fn name_of_a_private_address_is_not_reached() {
    let model = ScriptedModel::start([]).await;
    model.always(Step::Text("Yes.".into()));
    let (mut allowed, private) = (ScriptedPushService::start().await, ScriptedPushService::start().await);
    let allowed_host = allowed.origin.strip_prefix("http://").unwrap().to_owned();
    let app = TestApp::builder()
        .exposed()
        .set("OPENAI_BASE_URL", &model.base_url)
        .set("CHAT_NETWORK_ALLOW", allowed_host)
        .start()
        .await;
    let person = app.person().await;
    let mut elsewhere = person.clone();
    elsewhere.sign_in_again().await;
    // A name is checked when it is resolved, since its addresses change.
    let port = private.origin.rsplit_once(':').unwrap().1;
    let mut subscription = private.subscription(&Browser::new("private"));
    subscription["endpoint"] = json!(format!("http://localhost:{port}/push/private"));
    assert_eq!(elsewhere.post("/api/push/subscriptions", &subscription).await.0, 201);
    let subscription = allowed.subscription(&Browser::new("allowed"));
    assert_eq!(person.post("/api/push/subscriptions", &subscription).await.0, 201);
    let chat = person.new_chat().await;
    for _ in 0..2 {
        assert_eq!(person.ask(&chat, "Hello", json!([])).await.0, 200);
        // Both are tried at the same time.
        allowed.next().await;
    }
    assert!(!private.has_more());
    app.stop().await;
}
