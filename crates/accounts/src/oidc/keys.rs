//! Keys of the identity provider: cached, and requested again when a token names an unknown one, because providers
//! replace their keys.

use std::sync::Arc;

use domain::Timestamp;
use jsonwebtoken::jwk::{Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Mutex;
use url::Url;

use super::IdentityProvider;
use super::error::OidcError;

/// Name of the document in errors.
const DOCUMENT: &str = "key set";
/// Age from which keys are requested again, in seconds, so that a withdrawn key is not accepted for ever.
const MAX_AGE_SECONDS: i64 = 3600;
/// Minimum time between two requests, in seconds: tokens with made-up keys must not cause a flood of them.
const MIN_INTERVAL_SECONDS: i64 = 30;

#[derive(Deserialize)]
struct KeySet {
    /// Each is parsed on its own: a key of an unknown kind must not hide the others.
    keys: Vec<Value>,
}

/// The last keys and the time of their request.
#[derive(Debug, Default)]
pub struct KeyCache(Mutex<Option<(Timestamp, Arc<[Jwk]>)>>);

impl IdentityProvider {
    /// Returns the key that a token was signed with, by the header of the token.
    pub async fn find_key(
        &self,
        jwks_uri: &Url,
        kid: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<DecodingKey, OidcError> {
        let now = self.clock.now();
        let mut cached = self.keys.0.lock().await;
        if let Some((requested_at, keys)) = &*cached {
            let found = select_key(keys, kid, algorithm);
            let is_fresh = now < requested_at.plus_seconds(MAX_AGE_SECONDS);
            // The clock may have been set back; then the age says nothing.
            let may_request = now >= requested_at.plus_seconds(MIN_INTERVAL_SECONDS) || now < *requested_at;
            if (found.is_ok() && is_fresh) || !may_request {
                return found;
            }
        }
        let keys: KeySet = self.http.get_json(jwks_uri.clone(), DOCUMENT).await?;
        let keys: Arc<[Jwk]> = keys.keys.into_iter().filter_map(|key| serde_json::from_value(key).ok()).collect();
        *cached = Some((now, Arc::clone(&keys)));
        select_key(&keys, kid, algorithm)
    }
}

/// Selects the key with the id, or the only one that fits if the token names none.
fn select_key(keys: &[Jwk], kid: Option<&str>, algorithm: Algorithm) -> Result<DecodingKey, OidcError> {
    let mut fitting = keys
        .iter()
        .filter(|key| kid.is_none_or(|kid| key.common.key_id.as_deref() == Some(kid)) && fits(key, algorithm));
    match (fitting.next(), fitting.next()) {
        (Some(key), None) => DecodingKey::from_jwk(key).map_err(|_| OidcError::IdToken("its key is not usable")),
        (None, _) => Err(OidcError::IdToken("its key is unknown")),
        (Some(_), Some(_)) => Err(OidcError::IdToken("it does not say which key signed it")),
    }
}

/// Returns whether a key may have signed with an algorithm: its kind, its use and its own algorithm allow that.
fn fits(key: &Jwk, algorithm: Algorithm) -> bool {
    let is_for_signatures = key.common.public_key_use.as_ref().is_none_or(|usage| *usage == PublicKeyUse::Signature);
    let is_its_algorithm = key.common.key_algorithm.is_none_or(|of_key| of_key.to_string() == format!("{algorithm:?}"));
    // Symmetric keys are never accepted, whatever the set says.
    let is_its_kind = DecodingKey::from_jwk(key).is_ok_and(|decoding| {
        decoding.family() != AlgorithmFamily::Hmac && decoding.family().algorithms().contains(&algorithm)
    });
    is_for_signatures && is_its_algorithm && is_its_kind
}
