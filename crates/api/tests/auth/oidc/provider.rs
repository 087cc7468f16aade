//! A scripted identity provider, as strict as the specification, that can be told to lie.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use accounts::signing_keys::{SigningKeys, generate};
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac;
use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;

pub const CLIENT_ID: &str = "chat";
pub const CLIENT_SECRET: &str = "a secret: with/signs+";
pub const ACCESS_TOKEN: &str = "access-token-1";

type Fields = HashMap<String, String>;

/// How an ID token is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signature {
    /// With the provider's key.
    Own,
    /// Not at all.
    None,
    /// With the public key as the secret of HMAC.
    PublicKeyAsSecret,
    /// With the client secret.
    ClientSecret,
    /// With another key that has the id of the provider's.
    ForeignKey,
}

/// What the provider does.
pub struct Script {
    /// Claims of ID tokens that replace or, with null, remove the regular ones.
    pub claims: Value,
    pub signature: Signature,
    /// Fields of the metadata that replace the regular ones.
    pub metadata: Value,
    /// Parameter `iss` of redirects.
    pub iss: Option<String>,
    pub user_info: Value,
    /// Time of ID tokens, in seconds since 1970.
    pub now: i64,
    /// Number of requests for keys.
    pub key_requests: usize,
    /// Number of codes that were exchanged.
    pub exchanges: usize,
    keys: SigningKeys,
    codes: HashMap<String, Fields>,
    made: usize,
}

impl Script {
    /// Replaces the key.
    pub fn rotate_key(&mut self) {
        self.keys = SigningKeys::from_json(&generate().unwrap()).unwrap();
    }

    pub fn sign(&self, claims: &Value) -> String {
        let kid = &self.keys.jwk_set()["keys"][0]["kid"];
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let hmac = |secret: &[u8]| {
            let text = format!("{}.{}", encode(&json!({ "alg": "HS256", "kid": kid })), encode(claims));
            let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), text.as_bytes());
            format!("{text}.{}", URL_SAFE_NO_PAD.encode(tag))
        };
        match self.signature {
            Signature::Own => self.keys.sign(claims).unwrap(),
            Signature::None => format!("{}.{}.", encode(&json!({ "alg": "none", "kid": kid })), encode(claims)),
            Signature::PublicKeyAsSecret => hmac(self.keys.jwk_set()["keys"][0].to_string().as_bytes()),
            Signature::ClientSecret => hmac(CLIENT_SECRET.as_bytes()),
            Signature::ForeignKey => {
                let mut key: Value = serde_json::from_str(&generate().unwrap()).unwrap();
                key["kid"] = kid.clone();
                SigningKeys::from_json(&key.to_string()).unwrap().sign(claims).unwrap()
            }
        }
    }
}

type Shared = Arc<Mutex<(String, Script)>>;

/// A scripted provider on a free port. It stops when it is dropped.
pub struct ScriptedProvider {
    pub issuer: String,
    shared: Shared,
    served: JoinHandle<()>,
}

impl ScriptedProvider {
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}/realm", listener.local_addr().unwrap());
        let script = Script {
            claims: json!({}),
            signature: Signature::Own,
            metadata: json!({}),
            iss: Some(issuer.clone()),
            user_info: json!({}),
            now: 0,
            key_requests: 0,
            exchanges: 0,
            keys: SigningKeys::from_json(&generate().unwrap()).unwrap(),
            codes: HashMap::new(),
            made: 0,
        };
        let shared = Arc::new(Mutex::new((issuer.clone(), script)));
        let routes = Router::new()
            .route("/realm/.well-known/openid-configuration", get(metadata))
            .route("/realm/keys", get(keys))
            .route("/realm/authorize", get(authorize))
            .route("/realm/token", post(token))
            .route("/realm/userinfo", get(user_info))
            .with_state(Arc::clone(&shared));
        #[expect(clippy::disallowed_methods, reason = "it is aborted when the scripted provider is dropped")]
        let served = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { issuer, shared, served }
    }

    /// Returns what the provider does, to change it.
    pub fn script(&self) -> Guard<'_> {
        Guard(self.shared.lock().unwrap())
    }
}

impl Drop for ScriptedProvider {
    fn drop(&mut self) {
        self.served.abort();
    }
}

/// The locked [`Script`].
pub struct Guard<'a>(MutexGuard<'a, (String, Script)>);

impl std::ops::Deref for Guard<'_> {
    type Target = Script;

    fn deref(&self) -> &Script {
        &self.0.1
    }
}

impl std::ops::DerefMut for Guard<'_> {
    fn deref_mut(&mut self) -> &mut Script {
        &mut self.0.1
    }
}

/// Replaces fields, and removes those that are null.
fn merge(mut fields: Value, changes: &Value) -> Value {
    let object: &mut Map<String, Value> = fields.as_object_mut().unwrap();
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            object.remove(name);
        } else {
            object.insert(name.clone(), value.clone());
        }
    }
    fields
}

async fn metadata(State(shared): State<Shared>) -> Json<Value> {
    let (issuer, script) = &*shared.lock().unwrap();
    let regular = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "userinfo_endpoint": format!("{issuer}/userinfo"),
        "jwks_uri": format!("{issuer}/keys"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256", "ES256"],
        "authorization_response_iss_parameter_supported": true,
    });
    Json(merge(regular, &script.metadata))
}

async fn keys(State(shared): State<Shared>) -> Json<Value> {
    let (_, script) = &mut *shared.lock().unwrap();
    script.key_requests += 1;
    let mut keys = script.keys.jwk_set().clone();
    // A key of a kind that this server does not know.
    keys["keys"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "kty": "AKP", "alg": "ML-DSA-44", "kid": "future", "pub": "AA" }));
    Json(keys)
}

/// Signs the user in immediately.
async fn authorize(State(shared): State<Shared>, Query(request): Query<Fields>) -> Response {
    let (_, script) = &mut *shared.lock().unwrap();
    for (name, value) in [("client_id", CLIENT_ID), ("response_type", "code"), ("code_challenge_method", "S256")] {
        if request.get(name).map(String::as_str) != Some(value) {
            return (StatusCode::BAD_REQUEST, format!("{name} is wrong")).into_response();
        }
    }
    if !request["scope"].split(' ').any(|scope| scope == "openid") || request["nonce"].len() < 40 {
        return (StatusCode::BAD_REQUEST, "scope or nonce is wrong").into_response();
    }
    script.made += 1;
    let code = format!("code-{}", script.made);
    let mut back = url::Url::parse(&request["redirect_uri"]).unwrap();
    back.query_pairs_mut().append_pair("state", &request["state"]).append_pair("code", &code);
    if let Some(iss) = &script.iss {
        back.query_pairs_mut().append_pair("iss", iss);
    }
    script.codes.insert(code, request);
    (StatusCode::FOUND, [(header::LOCATION, back.to_string())]).into_response()
}

fn refusal(error: &str) -> Response {
    (StatusCode::BAD_REQUEST, Json(json!({ "error": error }))).into_response()
}

async fn token(State(shared): State<Shared>, headers: HeaderMap, body: Bytes) -> Response {
    let form: Fields = url::form_urlencoded::parse(&body).into_owned().collect();
    let (issuer, script) = &mut *shared.lock().unwrap();
    // Both parts of the header are encoded as in a form.
    let encode = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let basic = STANDARD.encode(format!("{}:{}", encode(CLIENT_ID), encode(CLIENT_SECRET)));
    let has_basic = headers.get(header::AUTHORIZATION).is_some_and(|value| *value == format!("Basic {basic}"));
    let posts = script.metadata.get("token_endpoint_auth_methods_supported").is_some();
    let has_posted = form.get("client_secret").map(String::as_str) == Some(CLIENT_SECRET);
    // In exactly one way, the one that the metadata names.
    if has_posted != posts || has_basic == posts {
        return refusal("invalid_client");
    }
    // A code is valid once.
    let Some(request) = form.get("code").and_then(|code| script.codes.remove(code)) else {
        return refusal("invalid_grant");
    };
    let verifier = form.get("code_verifier").map_or("", String::as_str);
    let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
    if request["code_challenge"] != challenge || form.get("redirect_uri") != request.get("redirect_uri") {
        return refusal("invalid_grant");
    }
    script.exchanges += 1;
    let hash = digest(&SHA256, ACCESS_TOKEN.as_bytes());
    let regular = json!({
        "iss": issuer,
        "sub": "ann-1",
        "aud": CLIENT_ID,
        "exp": script.now + 300,
        "iat": script.now,
        "nonce": request["nonce"],
        "at_hash": URL_SAFE_NO_PAD.encode(&hash.as_ref()[..16]),
        "email": "ann@example.com",
        "email_verified": true,
        "name": "Ann Example",
    });
    let id_token = script.sign(&merge(regular, &script.claims));
    Json(json!({ "access_token": ACCESS_TOKEN, "token_type": "Bearer", "expires_in": 300, "id_token": id_token }))
        .into_response()
}

async fn user_info(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    let (_, script) = &*shared.lock().unwrap();
    if headers.get(header::AUTHORIZATION).is_none_or(|value| *value != format!("Bearer {ACCESS_TOKEN}")) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    Json(script.user_info.clone()).into_response()
}
