//! A push service with browsers that subscribe at it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement::{ECDH_P256, PrivateKey, UnparsedPublicKey, agree};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use testkit::Background;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A request to the push service.
pub struct Received {
    /// Browser that it was for.
    pub browser: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

#[derive(Clone)]
struct Shared {
    requests: UnboundedSender<Received>,
    /// Next responses by browser; 201 where there is none.
    statuses: Arc<Mutex<HashMap<String, Vec<u16>>>>,
}

/// A push service that records what it receives.
pub struct ScriptedPushService {
    pub origin: String,
    requests: UnboundedReceiver<Received>,
    statuses: Arc<Mutex<HashMap<String, Vec<u16>>>>,
    _server: Background,
}

/// A browser with the keys of a subscription.
pub struct Browser {
    pub name: String,
    key: PrivateKey,
    auth_secret: [u8; 16],
}

impl ScriptedPushService {
    pub async fn start() -> Self {
        let (sender, requests) = unbounded_channel();
        let statuses = Arc::<Mutex<HashMap<String, Vec<u16>>>>::default();
        let shared = Shared { requests: sender, statuses: Arc::clone(&statuses) };
        let server = Background::serve(Router::new().route("/push/{browser}", post(receive)).with_state(shared)).await;
        Self { origin: server.origin.clone(), requests, statuses, _server: server }
    }

    /// Sets the responses to the next requests for a browser.
    pub fn respond(&self, browser: &Browser, statuses: impl IntoIterator<Item = u16>) {
        let mut all = self.statuses.lock().unwrap();
        all.insert(browser.name.clone(), statuses.into_iter().collect());
    }

    /// Waits for the next request.
    pub async fn next(&mut self) -> Received {
        self.requests.recv().await.unwrap()
    }

    /// Returns whether a request has arrived that was not [taken](Self::next).
    pub fn has_more(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Returns the subscription of a browser at this service.
    pub fn subscription(&self, browser: &Browser) -> Value {
        json!({
            "endpoint": format!("{}/push/{}", self.origin, browser.name),
            "expirationTime": null,
            "keys": {
                "p256dh": URL_SAFE_NO_PAD.encode(browser.public_key()),
                "auth": URL_SAFE_NO_PAD.encode(browser.auth_secret),
            },
        })
    }
}

async fn receive(
    State(shared): State<Shared>,
    Path(browser): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let status = shared.statuses.lock().unwrap().get_mut(&browser).and_then(|next| {
        let is_set = !next.is_empty();
        is_set.then(|| next.remove(0))
    });
    drop(shared.requests.send(Received { browser, headers, body }));
    StatusCode::from_u16(status.unwrap_or(201)).unwrap()
}

impl Browser {
    pub fn new(name: &str) -> Self {
        let key = PrivateKey::generate(&ECDH_P256).unwrap();
        Self { name: name.to_owned(), key, auth_secret: [7; 16] }
    }

    fn public_key(&self) -> Vec<u8> {
        self.key.compute_public_key().unwrap().as_ref().to_vec()
    }

    /// Decrypts a message as a browser does (RFC 8291 section 3, RFC 8188 section 2).
    pub fn decrypt(&self, body: &[u8]) -> Value {
        let (salt, rest) = body.split_at(16);
        let (record_size, rest) = rest.split_at(4);
        assert_eq!(u32::from_be_bytes(record_size.try_into().unwrap()), 4096);
        let (sender, sealed) = rest[1..].split_at(usize::from(rest[0]));
        let public_key = self.public_key();
        let info = [b"WebPush: info\0".as_slice(), &public_key, sender].concat();
        let sender = UnparsedPublicKey::new(&ECDH_P256, sender);
        let secret = agree(&self.key, sender, (), |secret| Ok(derive(&self.auth_secret, secret, &info, 32))).unwrap();
        let key = derive(salt, &secret, b"Content-Encoding: aes128gcm\0", 16);
        let nonce = derive(salt, &secret, b"Content-Encoding: nonce\0", 12);
        let cipher = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).unwrap());
        let mut record = sealed.to_vec();
        let nonce = Nonce::try_assume_unique_for_key(&nonce).unwrap();
        let plain = cipher.open_in_place(nonce, Aad::empty(), &mut record).unwrap();
        let (last, message) = plain.split_last().unwrap();
        assert_eq!(*last, 2, "the only record is the last one");
        serde_json::from_slice(message).unwrap()
    }
}

fn derive(salt: &[u8], secret: &[u8], info: &[u8], length: usize) -> Vec<u8> {
    struct Length(usize);
    impl KeyType for Length {
        fn len(&self) -> usize {
            self.0
        }
    }
    let mut out = vec![0; length];
    let secret = Salt::new(HKDF_SHA256, salt).extract(secret);
    secret.expand(&[info], Length(length)).unwrap().fill(&mut out).unwrap();
    out
}
