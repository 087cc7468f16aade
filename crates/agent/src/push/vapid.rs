//! Identification of this server to push services (VAPID, RFC 8292).

use anyhow::Context;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::Timestamp;
use platform::SecretSealer;
use serde_json::json;
use storage::Storage;
use storage::signing_keys::SealedKey;
use url::Url;

/// Number of the key that is created at the first start.
const FIRST_KEY_NUMBER: i64 = 1;
/// Lifetime of a token, in seconds. Push services accept at most 24 hours.
const TOKEN_SECONDS: i64 = 12 * 3600;

/// Key by which push services recognize this server. Browsers subscribe with its public half.
#[derive(Debug)]
pub struct VapidKey {
    pair: EcdsaKeyPair,
    /// Address at which the operator of a push service can reach the operator of this server.
    contact: String,
}

impl VapidKey {
    /// Loads the key from the database. Creates one if there is none that the master key opens.
    ///
    /// # Errors
    ///
    /// The database is unreachable, or the key is damaged.
    pub async fn load_or_create(
        storage: &Storage,
        secrets: &SecretSealer,
        site_url: &Url,
        now: Timestamp,
    ) -> anyhow::Result<Self> {
        let open = |sealed: &SealedKey| secrets.open(&seal_context(sealed.number), &sealed.private_key).ok();
        let stored = storage.push().list_keys().await?;
        let mut key = stored.iter().find_map(open);
        if key.is_none() {
            let number = match stored.first() {
                // The subscriptions are under that master key as well, so that nothing more is lost.
                Some(newest) => {
                    tracing::warn!("the key for push messages was stored under another master key; it is replaced");
                    newest.number + 1
                }
                None => FIRST_KEY_NUMBER,
            };
            let generated = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new())
                .map_err(|_| anyhow::anyhow!("no key for push messages could be generated"))?;
            let private_key = secrets.seal(&seal_context(number), generated.as_ref())?;
            storage.push().insert_key(&SealedKey { number, private_key }, now).await?;
            // Two nodes may start on an empty database at the same time. Both use the key that was inserted first.
            key = storage.push().list_keys().await?.iter().find_map(open);
        }
        let key = key.context("the key for push messages is missing")?;
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &key)
            .map_err(|_| anyhow::anyhow!("the key for push messages is damaged"))?;
        Ok(Self { pair, contact: contact_of(site_url) })
    }

    /// Returns the public key in base64url, as browsers and push services take it.
    pub fn public_key(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.pair.public_key().as_ref())
    }

    /// Returns the value of the `Authorization` header for a push service.
    ///
    /// # Errors
    ///
    /// Fails if the token cannot be signed.
    pub fn authorization(&self, endpoint: &Url, now: Timestamp) -> anyhow::Result<String> {
        let header = json!({ "typ": "JWT", "alg": "ES256" });
        let claims = json!({
            "aud": endpoint.origin().ascii_serialization(),
            "exp": now.plus_seconds(TOKEN_SECONDS).as_seconds(),
            "sub": self.contact,
        });
        let encode = |part: &serde_json::Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let signed = format!("{}.{}", encode(&header), encode(&claims));
        let signature = self
            .pair
            .sign(&SystemRandom::new(), signed.as_bytes())
            .map_err(|_| anyhow::anyhow!("a token for a push service could not be signed"))?;
        let signature = URL_SAFE_NO_PAD.encode(signature.as_ref());
        Ok(format!("vapid t={signed}.{signature}, k={}", self.public_key()))
    }
}

/// Returns the `sub` of tokens. Push services reject others than `https:` and `mailto:` URLs.
fn contact_of(site_url: &Url) -> String {
    if site_url.scheme() == "https" {
        return site_url.origin().ascii_serialization();
    }
    format!("mailto:admin@{}", site_url.host_str().unwrap_or("localhost"))
}

/// Returns the context in which a stored key is encrypted.
fn seal_context(number: i64) -> String {
    format!("push_keys/private_key/{number}")
}
