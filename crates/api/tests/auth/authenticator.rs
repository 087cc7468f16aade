//! An authenticator in software: it creates passkeys and signs with them, as a device does over a browser.

use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ciborium::Value as Cbor;
use serde_json::{Value, json};
use testkit::{Database, MockClock, Person, TestApp};

/// Address of the site whose credentials an authenticator creates.
pub const SITE: &str = "http://chat.example.com";

/// A lie of an authenticator, and how it is told.
pub type Lie = (&'static str, fn(&mut Authenticator));

// Flags of authenticator data (W3C Web Authentication, section 6.1).
pub const USER_PRESENT: u8 = 1;
pub const USER_VERIFIED: u8 = 1 << 2;
pub const BACKUP_ELIGIBLE: u8 = 1 << 3;
pub const BACKED_UP: u8 = 1 << 4;
const HAS_CREDENTIAL: u8 = 1 << 6;

/// Starts an app at [`SITE`], with one account.
pub async fn start(database: Database) -> (Arc<MockClock>, TestApp, Person) {
    let clock = MockClock::new();
    let app = TestApp::builder().database(database).clock(&clock).set("CHAT_SITE_URL", SITE).start().await;
    let person = app.person().await;
    (clock, app, person)
}

/// The key pair of a passkey.
enum Key {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
    Rs256(Box<RsaKeyPair>),
}

/// A passkey on a device, and the browser that it answers through. Its fields may be changed to lie.
pub struct Authenticator {
    key: Key,
    pub credential_id: Vec<u8>,
    pub origin: String,
    pub domain: String,
    pub flags: u8,
    pub sign_count: u32,
    pub user_handle: Vec<u8>,
    pub is_cross_origin: bool,
}

impl Authenticator {
    pub fn es256(site: &str) -> Self {
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
        Self::new(Key::Es256(key), site)
    }

    pub fn ed25519(site: &str) -> Self {
        Self::new(Key::EdDsa(Ed25519KeyPair::generate().unwrap()), site)
    }

    pub fn rs256(site: &str) -> Self {
        let key = RsaKeyPair::generate(aws_lc_rs::rsa::KeySize::Rsa2048).unwrap();
        Self::new(Key::Rs256(Box::new(key)), site)
    }

    fn new(key: Key, site: &str) -> Self {
        let credential_id = domain::ids::fresh().as_bytes().to_vec();
        let domain = url::Url::parse(site).unwrap().domain().unwrap().to_owned();
        let flags = USER_PRESENT | USER_VERIFIED;
        let origin = site.trim_end_matches('/').to_owned();
        Self {
            key,
            credential_id,
            origin,
            domain,
            flags,
            sign_count: 1,
            user_handle: Vec::new(),
            is_cross_origin: false,
        }
    }

    /// Creates the credential for these options.
    pub fn create(&mut self, options: &Value) -> Value {
        self.user_handle = decode(&options["user"]["id"]);
        let client_data = self.client_data("webauthn.create", &options["challenge"]);
        let mut data = self.authenticator_data(self.flags | HAS_CREDENTIAL);
        data.extend([0; 16]);
        data.extend(u16::try_from(self.credential_id.len()).unwrap().to_be_bytes());
        data.extend(&self.credential_id);
        data.extend(to_cbor(&self.cose_key()));
        self.registration(&client_data, &data)
    }

    /// Returns the response of a registration with this authenticator data.
    pub fn registration(&self, client_data: &str, data: &[u8]) -> Value {
        let attestation = Cbor::Map(vec![
            (Cbor::from("fmt"), Cbor::from("none")),
            (Cbor::from("attStmt"), Cbor::Map(Vec::new())),
            (Cbor::from("authData"), Cbor::from(data.to_vec())),
        ]);
        self.credential(json!({
            "clientDataJSON": encode(client_data.as_bytes()),
            "attestationObject": encode(&to_cbor(&attestation)),
            "transports": ["internal"],
        }))
    }

    /// Signs in with these options.
    pub fn sign(&mut self, options: &Value) -> Value {
        self.sign_count += 1;
        let client_data = self.client_data("webauthn.get", &options["challenge"]);
        let data = self.authenticator_data(self.flags);
        let signed = [data.as_slice(), digest(&SHA256, client_data.as_bytes()).as_ref()].concat();
        self.credential(json!({
            "clientDataJSON": encode(client_data.as_bytes()),
            "authenticatorData": encode(&data),
            "signature": encode(&self.signature(&signed)),
            "userHandle": encode(&self.user_handle),
        }))
    }

    pub fn client_data(&self, ceremony: &str, challenge: &Value) -> String {
        let data = json!({
            "type": ceremony,
            "challenge": challenge,
            "origin": self.origin,
            "crossOrigin": self.is_cross_origin,
        });
        data.to_string()
    }

    /// Returns the authenticator data without a credential.
    pub fn authenticator_data(&self, flags: u8) -> Vec<u8> {
        let hash = digest(&SHA256, self.domain.as_bytes());
        [hash.as_ref(), &[flags], &self.sign_count.to_be_bytes()].concat()
    }

    fn credential(&self, response: Value) -> Value {
        let id = encode(&self.credential_id);
        json!({ "id": id, "rawId": id, "type": "public-key", "response": response, "clientExtensionResults": {} })
    }

    fn cose_key(&self) -> Cbor {
        let number = |value: i64| Cbor::from(value);
        let bytes = |value: &[u8]| Cbor::from(value.to_vec());
        let parameters = match &self.key {
            Key::Es256(key) => {
                let point = key.public_key().as_ref();
                vec![
                    (1, number(2)),
                    (3, number(-7)),
                    (-1, number(1)),
                    (-2, bytes(&point[1..33])),
                    (-3, bytes(&point[33..])),
                ]
            }
            Key::EdDsa(key) => {
                vec![(1, number(1)), (3, number(-8)), (-1, number(6)), (-2, bytes(key.public_key().as_ref()))]
            }
            Key::Rs256(key) => {
                let modulus = key.public_key().modulus().big_endian_without_leading_zero();
                let exponent = key.public_key().exponent().big_endian_without_leading_zero();
                vec![(1, number(3)), (3, number(-257)), (-1, bytes(modulus)), (-2, bytes(exponent))]
            }
        };
        Cbor::Map(parameters.into_iter().map(|(label, value)| (number(label), value)).collect())
    }

    fn signature(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.key {
            Key::Es256(key) => key.sign(&random, message).unwrap().as_ref().to_vec(),
            Key::EdDsa(key) => key.sign(message).as_ref().to_vec(),
            Key::Rs256(key) => {
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                signature
            }
        }
    }
}

fn to_cbor(value: &Cbor) -> Vec<u8> {
    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes).unwrap();
    bytes
}

pub fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn decode(text: &Value) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text.as_str().unwrap()).unwrap()
}
