//! A server with two users, one of whom owns things that the other must never see.

use std::sync::Arc;
use std::time::Duration;

use accounts::signing_keys::{SigningKeys, generate};
use accounts::totp::TotpSecret;
use reqwest::Method;
use reqwest::redirect::Policy;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Database, Person, ScriptedModel, Step, TestApp};

use crate::auth::authenticator::Authenticator;

/// Maximum time of a request; a longer one hangs.
const BOUND: Duration = Duration::from_secs(30);

pub const PASSWORD: &str = "correct horse";
pub const SERVICE_ROLE_KEY: &str = "the service role key of these tests";
/// Texts in the owner's data that no request of these tests contains.
pub const PRIVATE_TEXTS: [&str; 3] = ["kept-title", "kept-message", "kept-connection"];
pub const TABLES: [&str; 3] = ["mcp_servers", "ai_chat_sessions", "ai_chat_messages"];

/// A server whose signing keys are known to the tests.
pub struct Fixture {
    pub app: TestApp,
    /// The client, which does not follow redirects and gives up on requests that hang.
    pub http: reqwest::Client,
    pub keys: Arc<SigningKeys>,
    /// The public key as the server publishes it.
    pub jwk: Value,
    /// A user with a second factor.
    guarded: Person,
    _model: ScriptedModel,
    _files: TempDir,
}

impl Fixture {
    pub async fn new(database: Database) -> Self {
        let model = ScriptedModel::start([]).await;
        model.always(Step::Text("Hello.".into()));
        let files = TempDir::new().unwrap();
        let jwk = generate().unwrap();
        let file = files.path().join("keys.json");
        std::fs::write(&file, &jwk).unwrap();
        let app = TestApp::builder()
            .database(database)
            .set("OPENAI_BASE_URL", &model.base_url)
            .set("CHAT_JWT_KEYS", file.display().to_string())
            .set("CHAT_SERVICE_ROLE_KEY", SERVICE_ROLE_KEY)
            .set("GOOGLE_CLIENT_ID", "client")
            .set("GOOGLE_CLIENT_SECRET", "secret")
            .start()
            .await;
        let keys = SigningKeys::from_json(&jwk).unwrap();
        let jwk = keys.jwk_set()["keys"][0].clone();
        let guarded = guarded(&app).await;
        Self { app, guarded, http: client(), keys: Arc::new(keys), jwk, _model: model, _files: files }
    }

    /// Returns an access token of a user whose second factor is not verified yet.
    pub async fn half_signed_in(&self) -> String {
        self.sign_in(&self.guarded.email).await
    }

    async fn sign_in(&self, email: &str) -> String {
        let url = format!("{}/auth/v1/token?grant_type=password", self.app.url);
        let body = json!({ "email": email, "password": PASSWORD });
        let session: Value = self.http.post(url).json(&body).send().await.unwrap().json().await.unwrap();
        session["access_token"].as_str().unwrap().to_owned()
    }
}

async fn guarded(app: &TestApp) -> Person {
    let person = app.person().await;
    let (_, factor) = person.post("/auth/v1/factors", &json!({ "factor_type": "totp" })).await;
    let factors = format!("/auth/v1/factors/{}", factor["id"].as_str().unwrap());
    let (_, challenge) = person.post(&format!("{factors}/challenge"), &json!({})).await;
    let secret = TotpSecret::from_base32(factor["totp"]["secret"].as_str().unwrap()).unwrap();
    let code = secret.code_at(app.state.clock.now().as_seconds());
    let sent =
        person.post(&format!("{factors}/verify"), &json!({ "challenge_id": challenge["id"], "code": code })).await;
    assert_eq!(sent.0, 200, "{}", sent.1);
    person
}

#[expect(clippy::disallowed_methods, reason = "tests talk to loopback only")]
fn client() -> reqwest::Client {
    // The server closes a connection if it left a part of a request unread, so no connection is used twice.
    let client =
        reqwest::Client::builder().no_proxy().redirect(Policy::none()).timeout(BOUND).pool_max_idle_per_host(0);
    client.build().unwrap()
}

/// The owner with all their data, and another user.
pub struct People {
    pub owner: Person,
    pub stranger: Person,
    pub chat: String,
    pub message: String,
    pub connection: String,
    /// The owner's share.
    pub share: String,
    /// The owner's other session.
    pub device: String,
    /// The owner's API key.
    pub key: String,
    /// The owner's model provider.
    pub model_provider: String,
    /// The owner's push subscription, of their other session.
    pub push_subscription: String,
    /// The owner's passkey.
    pub passkey: String,
    /// The owner's second factor, enrolled but never verified.
    pub factor: String,
}

/// Returns a push subscription of a browser, with the keys of RFC 8291's example.
pub fn push_subscription(name: &str) -> Value {
    json!({
        "endpoint": format!("http://127.0.0.1:9/{name}"),
        "keys": {
            "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
            "auth": "BTBZMqHH6r4Tts7J_aSIgg",
        },
    })
}

async fn register_passkey(person: &Person) -> Value {
    let (_, begun) = person.post("/auth/v1/passkeys/registration/options", &json!({})).await;
    let credential = Authenticator::es256("http://localhost").create(&begun["options"]);
    let body = json!({ "challenge_id": begun["challenge_id"], "credential": credential });
    let (status, passkey) = person.post("/auth/v1/passkeys/registration/verify", &body).await;
    assert_eq!(status, 200, "{passkey}");
    passkey
}

impl People {
    pub async fn new(fixture: &Fixture) -> Self {
        let (owner, stranger) = futures_util::join!(fixture.app.person(), fixture.app.person());
        let chat = owner.insert("ai_chat_sessions", &json!({ "user_id": owner.id, "title": "kept-title" })).await;
        let message = json!({ "session_id": chat["id"], "role": "user", "content": "kept-message" });
        let message = owner.insert("ai_chat_messages", &message).await;
        let toolbox = format!("{}/mcp/toolbox", fixture.app.url);
        let connection = owner.connect("kept-connection", &toolbox, json!([])).await;
        let id = |row: &Value| row["id"].as_str().unwrap().to_owned();
        let shares = format!("/api/sessions/{}/shares", id(&chat));
        let (_, share) = owner.post(&shares, &json!({ "tools": false })).await;
        let factor = json!({ "factor_type": "totp", "friendly_name": "kept" });
        let (_, factor) = owner.post("/auth/v1/factors", &factor).await;
        let passkey = register_passkey(&owner).await;
        let sign_in = json!({ "email": owner.email, "password": PASSWORD });
        let (_, session) = owner.post("/auth/v1/token?grant_type=password", &sign_in).await;
        let subscription = fixture
            .http
            .post(format!("{}/api/push/subscriptions", fixture.app.url))
            .bearer_auth(session["access_token"].as_str().unwrap())
            .json(&push_subscription("kept"));
        let subscription: Value = subscription.send().await.unwrap().json().await.unwrap();
        let devices = owner.get("/api/account/devices").await;
        let device = devices["devices"].as_array().unwrap().iter().find(|device| device["current"] == false);
        let (_, key) = owner.post("/api/keys", &json!({ "name": "kept", "scopes": ["chat"] })).await;
        let provider = json!({ "kind": "compatible", "name": "kept", "baseUrl": "http://127.0.0.1:9/v1" });
        let (_, provider) = owner.post("/api/model-providers", &provider).await;
        Self {
            model_provider: id(&provider["provider"]),
            push_subscription: id(&subscription),
            key: id(&key["key"]),
            chat: id(&chat),
            message: id(&message),
            connection: id(&connection),
            share: id(&share),
            device: id(device.unwrap()),
            factor: id(&factor),
            passkey: id(&passkey),
            owner,
            stranger,
        }
    }

    /// Returns the id of the owner's row in a table.
    pub fn row(&self, table: &str) -> &str {
        match table {
            "mcp_servers" => &self.connection,
            "ai_chat_sessions" => &self.chat,
            _ => &self.message,
        }
    }

    /// Returns whether the owner is signed in and still has all data.
    pub async fn have_all_data(&self) -> bool {
        let answer = self.owner.request(Method::GET, "/auth/v1/user").send().await.unwrap();
        let is_signed_in = answer.status().is_success();
        is_signed_in && self.owned_data().await.to_string().match_indices("kept-").count() >= PRIVATE_TEXTS.len()
    }

    /// Returns all data of the owner.
    pub async fn owned_data(&self) -> Value {
        let mut all = vec![self.owner.get("/auth/v1/user").await];
        for table in TABLES {
            all.push(self.owner.get(&format!("/rest/v1/{table}?select=*&order=id")).await);
        }
        all.into()
    }

    /// Returns the access token of a session of the owner that has ended.
    pub async fn ended(&self, fixture: &Fixture) -> String {
        let token = fixture.sign_in(&self.owner.email).await;
        let sign_out = fixture.http.post(format!("{}/auth/v1/logout?scope=local", fixture.app.url)).bearer_auth(&token);
        assert_eq!(sign_out.send().await.unwrap().status(), 204);
        token
    }
}
