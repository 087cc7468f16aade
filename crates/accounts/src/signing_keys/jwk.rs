//! Parsing and generation of JSON Web Keys (RFC 7517, RFC 7518 section 6).

use std::fmt;

use aws_lc_rs::encoding::AsBigEndian;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::Timestamp;
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, ThumbprintHash};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey};
use serde::Deserialize;
use serde_json::{Value, json};

use super::der;

/// Minimum length of a symmetric key, in bytes: that of the hash (RFC 7518 section 3.2).
const MIN_SECRET_BYTES: usize = 32;
/// Prefixes of symmetric keys from documentation and examples, which are publicly known.
const EXAMPLE_SECRETS: [&[u8]; 2] = [b"super-secret-jwt-token", b"your-super-secret-jwt-token"];

/// Error of a key file. It never contains key material.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The text is not JSON, or not a JWK, a JWK set or an array of JWKs.
    #[error("it must contain a JWK, a JWK set or an array of JWKs: {0}")]
    Malformed(String),
    /// A key cannot be used.
    #[error("the key {0:?} cannot be used: {1}")]
    Unusable(String, &'static str),
    /// Two keys have the same id.
    #[error("two keys have the id {0:?}")]
    DuplicateId(String),
    /// None of the keys can sign.
    #[error("none of the keys is a private signing key")]
    NoSigningKey,
    /// The generation of a key failed.
    #[error("cannot generate a key")]
    GenerationFailed,
}

/// A key that verifies tokens, and signs them if it has a private key.
pub struct SigningKey {
    /// Key id: the configured one, or the thumbprint (RFC 7638).
    pub kid: String,
    /// The only algorithm that the key is used with.
    pub algorithm: Algorithm,
    /// Key that verifies.
    pub public: DecodingKey,
    /// Key that signs.
    pub private: Option<EncodingKey>,
    /// Public key as a JWK; `None` for a symmetric key.
    pub published: Option<Value>,
    /// Time from which the key verifies nothing; `None` for no limit.
    pub accepted_until: Option<Timestamp>,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({:?}, {})", self.algorithm, self.kid)
    }
}

impl SigningKey {
    /// Returns whether the key has a private key.
    pub fn can_sign(&self) -> bool {
        self.private.is_some()
    }
}

#[derive(Deserialize)]
struct Fields {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
    d: Option<String>,
    n: Option<String>,
    e: Option<String>,
    p: Option<String>,
    q: Option<String>,
    dp: Option<String>,
    dq: Option<String>,
    qi: Option<String>,
    k: Option<String>,
}

/// Parses a JWK, a JWK set or an array of JWKs.
pub fn parse_keys(text: &str) -> Result<Vec<SigningKey>, KeyError> {
    let not_keys = |error: serde_json::Error| {
        // Only the position: serde's message may contain a part of the key.
        KeyError::Malformed(format!("line {} column {} is not understood", error.line(), error.column()))
    };
    let list = match serde_json::from_str(text).map_err(not_keys)? {
        Value::Array(keys) => keys,
        Value::Object(mut set) if set.contains_key("keys") => match set.remove("keys") {
            Some(Value::Array(keys)) => keys,
            _ => return Err(KeyError::Malformed("\"keys\" is not an array".to_owned())),
        },
        key => vec![key],
    };
    list.into_iter()
        .enumerate()
        .map(|(index, key)| {
            let name = key.get("kid").and_then(Value::as_str).map_or_else(|| format!("#{}", index + 1), str::to_owned);
            let fields: Fields = serde_json::from_value(key)
                .map_err(|_| KeyError::Unusable(name.clone(), "it needs \"kty\", and every field is a text"))?;
            parse_key(&fields).map_err(|reason| KeyError::Unusable(name, reason))
        })
        .collect()
}

/// Generates an ES256 key. Returns it as a private JWK.
pub fn generate() -> Result<String, KeyError> {
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).map_err(|_| KeyError::GenerationFailed)?;
    let d = pair.private_key().as_be_bytes().map_err(|_| KeyError::GenerationFailed)?;
    let (_, point) = pair.public_key().as_ref().split_first().ok_or(KeyError::GenerationFailed)?;
    let (x, y) = point.split_at(point.len() / 2);
    let [x, y, d] = [x, y, d.as_ref()].map(|bytes| URL_SAFE_NO_PAD.encode(bytes));
    Ok(json!({ "kty": "EC", "crv": "P-256", "alg": "ES256", "x": x, "y": y, "d": d }).to_string())
}

fn parse_key(fields: &Fields) -> Result<SigningKey, &'static str> {
    let (algorithm, name) = match (fields.kty.as_str(), fields.crv.as_deref()) {
        ("EC", Some("P-256")) => (Algorithm::ES256, "ES256"),
        ("RSA", _) => (Algorithm::RS256, "RS256"),
        ("oct", _) => (Algorithm::HS256, "HS256"),
        _ => return Err("it must be an EC key on P-256, an RSA key or an oct key"),
    };
    if fields.alg.as_deref().is_some_and(|alg| alg != name) {
        return Err("its \"alg\" must be ES256 for an EC key, RS256 for an RSA key, HS256 for an oct key");
    }
    let mut public = match algorithm {
        Algorithm::ES256 => json!({ "kty": "EC", "crv": "P-256", "x": fields.x, "y": fields.y }),
        Algorithm::RS256 => json!({ "kty": "RSA", "n": fields.n, "e": fields.e }),
        _ => json!({ "kty": "oct", "k": fields.k }),
    };
    let missing = "a public field is missing";
    let jwk: Jwk = serde_json::from_value(public.clone()).map_err(|_| missing)?;
    // Instead of failing, the library parses an incomplete key as one of an unknown type.
    if matches!(jwk.algorithm, AlgorithmParameters::Other(_)) {
        return Err(missing);
    }
    let kid = match &fields.kid {
        Some(kid) if !kid.is_empty() => kid.clone(),
        _ => jwk.thumbprint(ThumbprintHash::SHA256).map_err(|_| "it has no thumbprint")?,
    };
    let public_key = DecodingKey::from_jwk(&jwk).map_err(|_| "a public field is not base64url")?;
    let may_sign = fields.key_ops.as_ref().is_none_or(|operations| operations.iter().any(|word| word == "sign"));
    let private = match algorithm {
        Algorithm::ES256 => ec_private(fields)?,
        Algorithm::RS256 => rsa_private(fields)?,
        _ => Some(symmetric_key(fields)?),
    };
    public["kid"] = json!(kid);
    public["alg"] = json!(name);
    public["use"] = json!("sig");
    public["key_ops"] = json!(["verify"]);
    Ok(SigningKey {
        kid,
        algorithm,
        public: public_key,
        private: private.filter(|_| may_sign),
        published: (algorithm != Algorithm::HS256).then_some(public),
        accepted_until: None,
    })
}

fn ec_private(fields: &Fields) -> Result<Option<EncodingKey>, &'static str> {
    if fields.d.is_none() {
        return Ok(None);
    }
    // The tag of an uncompressed point (SEC 1 section 2.3.3).
    let mut point = vec![0x04];
    point.extend(decode_field(fields.x.as_ref())?);
    point.extend(decode_field(fields.y.as_ref())?);
    let d = decode_field(fields.d.as_ref())?;
    let document = EcdsaKeyPair::from_private_key_and_public_key(&ECDSA_P256_SHA256_FIXED_SIGNING, &d, &point)
        .ok()
        .and_then(|pair| pair.to_pkcs8v1().ok())
        .ok_or("its numbers are not a P-256 key")?;
    Ok(Some(EncodingKey::from_ec_der(document.as_ref())))
}

fn rsa_private(fields: &Fields) -> Result<Option<EncodingKey>, &'static str> {
    if fields.d.is_none() {
        return Ok(None);
    }
    let numbers = [
        decode_field(fields.n.as_ref())?,
        decode_field(fields.e.as_ref())?,
        decode_field(fields.d.as_ref())?,
        decode_field(fields.p.as_ref())?,
        decode_field(fields.q.as_ref())?,
        decode_field(fields.dp.as_ref())?,
        decode_field(fields.dq.as_ref())?,
        decode_field(fields.qi.as_ref())?,
    ];
    Ok(Some(EncodingKey::from_rsa_der(&der::rsa_private_key(&numbers))))
}

fn symmetric_key(fields: &Fields) -> Result<EncodingKey, &'static str> {
    let secret = decode_field(fields.k.as_ref())?;
    if secret.len() < MIN_SECRET_BYTES {
        return Err("a symmetric key needs at least 32 bytes");
    }
    if EXAMPLE_SECRETS.iter().any(|example| secret.starts_with(example)) {
        return Err("this symmetric key is a publicly known example");
    }
    Ok(EncodingKey::from_secret(&secret))
}

fn decode_field(field: Option<&String>) -> Result<Vec<u8>, &'static str> {
    let text = field.ok_or("a private field is missing (an RSA key needs n, e, d, p, q, dp, dq and qi)")?;
    // RFC 7515 forbids padding in base64url, but some tools that export keys write it.
    URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).map_err(|_| "a private field is not base64url")
}
