//! The keys that sign and verify tokens.

mod der;
mod jwk;

use std::path::Path;

use anyhow::Context;
use domain::Timestamp;
use jsonwebtoken::{Header, Validation, decode, decode_header, encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use storage::Storage;
use storage::signing_keys::{SealedKey, StoredSigningKey};

use jwk::SigningKey;
use platform::SecretSealer;

pub use jwk::{KeyError, generate};

/// Number of the key that is created at the first start.
const FIRST_KEY_NUMBER: i64 = 1;

/// Time for which a replaced key of the database still verifies tokens, in seconds: the lifetime of those that the server
/// signs for its own MCP servers, which is the longest.
const RETIRED_KEY_SECONDS: i64 = 24 * 60 * 60;

/// Keys of this server. One of them signs tokens, all of them verify tokens.
#[derive(Debug)]
pub struct SigningKeys {
    all: Vec<SigningKey>,
    signing: usize,
    jwk_set: Value,
}

/// Error of a token that was not signed by any of the [`SigningKeys`] with its algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidSignature;

impl SigningKeys {
    /// Parses a key file: a JWK, a JWK set, or an array of JWKs. The first private key signs.
    pub fn from_json(text: &str) -> Result<Self, KeyError> {
        // Installed explicitly: if the dependency tree enables a second crypto back end, the library panics instead of
        // choosing one. Later calls find it installed already.
        let _already = jsonwebtoken::crypto::aws_lc::DEFAULT_PROVIDER.install_default();
        let all = jwk::parse_keys(text)?;
        let signing = all.iter().position(SigningKey::can_sign).ok_or(KeyError::NoSigningKey)?;
        for (index, key) in all.iter().enumerate() {
            if all.iter().take(index).any(|other| other.kid == key.kid) {
                return Err(KeyError::DuplicateId(key.kid.clone()));
            }
        }
        let jwk_set = json!({ "keys": all.iter().filter_map(|key| key.published.clone()).collect::<Vec<_>>() });
        let keys = Self { all, signing, jwk_set };
        keys.check_key_pair()?;
        Ok(keys)
    }

    /// Loads a key file (`CHAT_JWT_KEYS`).
    pub fn from_file(path: &Path) -> anyhow::Result<Self> {
        let at = || format!("CHAT_JWT_KEYS: {}", path.display());
        let text = std::fs::read_to_string(path).with_context(at)?;
        Self::from_json(&text).with_context(at)
    }

    /// Loads the keys from the database. Creates the first one if there is none.
    pub async fn load_or_create(storage: &Storage, secrets: &SecretSealer, now: Timestamp) -> anyhow::Result<Self> {
        let mut stored = storage.signing_keys().list().await?;
        if stored.is_empty() {
            storage.signing_keys().insert(&generate_sealed(secrets, FIRST_KEY_NUMBER)?, now).await?;
            // Two nodes may start on an empty database at the same time. Both use the key that was inserted first.
            stored = storage.signing_keys().list().await?;
        }
        let mut all = Vec::with_capacity(stored.len());
        let mut limits = Vec::with_capacity(stored.len());
        let mut accepted_until = None;
        for StoredSigningKey { key, created_at } in stored {
            if accepted_until.is_some_and(|until| until <= now) {
                break;
            }
            let text = secrets
                .open(&seal_context(key.number), &key.private_key)
                .context("the keys that sign access tokens were stored under another master key")?;
            all.push(serde_json::from_slice::<Value>(&text)?);
            limits.push(accepted_until);
            // Of the next one, which this one replaced.
            accepted_until = Some(created_at.plus_seconds(RETIRED_KEY_SECONDS));
        }
        let mut keys = Self::from_json(&Value::Array(all).to_string())?;
        for (key, limit) in keys.all.iter_mut().zip(limits) {
            key.accepted_until = limit;
        }
        Ok(keys)
    }

    /// Signs a token.
    pub fn sign(&self, claims: &impl Serialize) -> Result<String, jsonwebtoken::errors::Error> {
        let key = &self.all[self.signing];
        let mut header = Header::new(key.algorithm);
        header.kid = Some(key.kid.clone());
        let private = key.private.as_ref().ok_or(jsonwebtoken::errors::ErrorKind::InvalidKeyFormat)?;
        encode(&header, claims, private)
    }

    /// Verifies the signature of a token and returns its claims. The token's `kid` selects the key, and the key
    /// determines the algorithm, which the token's header has to match: a token must not choose a weaker one (RFC 8725
    /// section 3.1). The caller checks the times, with the application's clock, which `now` is as well.
    pub fn verify<T: DeserializeOwned>(&self, token: &str, now: Timestamp) -> Result<T, InvalidSignature> {
        let header = decode_header(token).map_err(|_| InvalidSignature)?;
        let kid = header.kid.as_deref().ok_or(InvalidSignature)?;
        let key = self.all.iter().find(|key| key.kid == kid).ok_or(InvalidSignature)?;
        if key.accepted_until.is_some_and(|until| until <= now) {
            return Err(InvalidSignature);
        }
        if header.alg != key.algorithm || header.crit.is_some() {
            return Err(InvalidSignature);
        }
        let mut rules = Validation::new(key.algorithm);
        rules.required_spec_claims.clear();
        // The library would use the system time, and require `exp` and `aud`, which some tokens do not have.
        rules.validate_exp = false;
        rules.validate_aud = false;
        decode::<T>(token, &key.public, &rules).map(|token| token.claims).map_err(|_| InvalidSignature)
    }

    /// Returns the public keys as a JWK set. Symmetric keys have no public key and are left out.
    pub fn jwk_set(&self) -> &Value {
        &self.jwk_set
    }

    /// Checks that the private and public key of the signing key match, so that a mistake is reported at startup and
    /// not at the first sign-in.
    fn check_key_pair(&self) -> Result<(), KeyError> {
        let bad = || KeyError::Unusable(self.all[self.signing].kid.clone(), "its private and public half do not match");
        let token = self.sign(&json!({ "proof": true })).map_err(|_| bad())?;
        self.verify::<Value>(&token, Timestamp(0)).map(drop).map_err(|InvalidSignature| bad())
    }
}

/// Generates a signing key and encrypts it for the database, under the number `number`.
///
/// # Errors
///
/// The operating system returns no random bytes.
pub fn generate_sealed(secrets: &SecretSealer, number: i64) -> anyhow::Result<SealedKey> {
    Ok(SealedKey { number, private_key: secrets.seal(&seal_context(number), generate()?.as_bytes())? })
}

/// Returns the context in which a stored key is encrypted.
fn seal_context(number: i64) -> String {
    format!("signing_keys/private_key/{number}")
}

#[cfg(test)]
mod tests;
