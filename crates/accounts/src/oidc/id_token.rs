//! Verification of ID tokens (OpenID Connect Core 1.0, section 3.1.3.7).

use aws_lc_rs::digest::{Algorithm as Digest, SHA256, SHA384, SHA512, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::Timestamp;
use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::{Map, Number, Value};

use super::IdentityProvider;
use super::discovery::IssuerMetadata;
use super::error::OidcError;

/// Difference between the provider's clock and this one that is tolerated, in seconds.
pub(super) const CLOCK_LEEWAY_SECONDS: i64 = 60;
/// Algorithms that are accepted, if the provider announces them. A symmetric one would let a holder of the client
/// secret sign, and `none` any sender.
const ACCEPTED_ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// A text or a list of texts.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Audiences {
    One(String),
    Many(Vec<String>),
}

impl Audiences {
    pub(super) fn as_slice(&self) -> &[String] {
        match self {
            Self::One(audience) => std::slice::from_ref(audience),
            Self::Many(audiences) => audiences,
        }
    }
}

/// Claims that are checked.
#[derive(Deserialize)]
struct CheckedClaims {
    iss: String,
    aud: Audiences,
    azp: Option<String>,
    exp: Seconds,
    iat: Seconds,
    nbf: Option<Seconds>,
    nonce: Option<String>,
    at_hash: Option<String>,
}

/// A time in seconds since 1970, without the fraction that some providers write.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "Number")]
pub(super) struct Seconds(pub(super) i64);

impl TryFrom<Number> for Seconds {
    type Error = &'static str;

    fn try_from(number: Number) -> Result<Self, &'static str> {
        let whole = || number.to_string().split('.').next()?.parse().ok();
        number.as_i64().or_else(whole).map(Self).ok_or("not a time")
    }
}

/// Values that a token has to match.
pub struct ExpectedToken<'a> {
    /// Nonce of the authorization request.
    pub nonce: &'a str,
    /// Access token that came with it.
    pub access_token: Option<&'a str>,
}

impl IdentityProvider {
    /// Verifies an ID token and returns its claims.
    pub async fn verify_id_token(
        &self,
        metadata: &IssuerMetadata,
        token: &str,
        expected: &ExpectedToken<'_>,
    ) -> Result<Map<String, Value>, OidcError> {
        let (claims, algorithm) = self.verify_signature(metadata, token).await?;
        let checked = serde_json::from_value(Value::Object(claims.clone()))
            .map_err(|_| OidcError::IdToken("a required claim is missing"))?;
        check_claims(&checked, &self.settings.issuer, &self.settings.client_id, expected.nonce, self.clock.now())?;
        if let (Some(hash), Some(access_token)) = (&checked.at_hash, expected.access_token)
            && *hash != half_hash(algorithm, access_token)
        {
            return Err(OidcError::IdToken("it belongs to another access token"));
        }
        Ok(claims)
    }

    /// Verifies the signature of a token, and returns its claims, which are not checked, and its algorithm.
    pub(super) async fn verify_signature(
        &self,
        metadata: &IssuerMetadata,
        token: &str,
    ) -> Result<(Map<String, Value>, Algorithm), OidcError> {
        // The library knows no algorithm `none`, so that such a header is not readable.
        let header = decode_header(token).map_err(|_| OidcError::IdToken("its header is not readable"))?;
        let announced = &metadata.id_token_signing_alg_values_supported;
        let is_announced = announced.iter().any(|name| *name == format!("{:?}", header.alg));
        if !ACCEPTED_ALGORITHMS.contains(&header.alg) || !is_announced {
            return Err(OidcError::IdToken("its algorithm is not accepted"));
        }
        if header.crit.is_some() {
            return Err(OidcError::IdToken("it has critical extensions"));
        }
        let key = self.find_key(&metadata.jwks_uri, header.kid.as_deref(), header.alg).await?;
        let mut rules = Validation::new(header.alg);
        // Checked by the caller: the library would use the system time, and accept any one of several audiences.
        rules.required_spec_claims.clear();
        rules.validate_exp = false;
        rules.validate_aud = false;
        let claims = decode::<Map<String, Value>>(token, &key, &rules)
            .map_err(|_| OidcError::IdToken("its signature is wrong"))?
            .claims;
        Ok((claims, header.alg))
    }
}

fn check_claims(
    claims: &CheckedClaims,
    issuer: &str,
    client_id: &str,
    nonce: &str,
    now: Timestamp,
) -> Result<(), OidcError> {
    let audiences = claims.aud.as_slice();
    let now = now.as_seconds();
    let latest = now.saturating_add(CLOCK_LEEWAY_SECONDS);
    let is_other = |party: &Option<String>| party.as_deref().is_some_and(|party| party != client_id);
    let checks = [
        (claims.iss == issuer, "it is of another issuer"),
        (audiences.iter().any(|audience| audience == client_id), "it is for another audience"),
        (!is_other(&claims.azp), "it was issued to another client"),
        (audiences.len() < 2 || claims.azp.is_some(), "it has several audiences and names no client"),
        (claims.exp.0.saturating_add(CLOCK_LEEWAY_SECONDS) > now, "it has expired"),
        (claims.iat.0 <= latest, "it was issued in the future"),
        (claims.nbf.is_none_or(|not_before| not_before.0 <= latest), "it is not valid yet"),
        (claims.nonce.as_deref() == Some(nonce), "it belongs to another sign-in"),
    ];
    match checks.iter().find(|(is_met, _)| !is_met) {
        Some(&(_, reason)) => Err(OidcError::IdToken(reason)),
        None => Ok(()),
    }
}

/// Returns the value of `at_hash` for an access token: the left half of its hash (section 3.1.3.6).
fn half_hash(algorithm: Algorithm, access_token: &str) -> String {
    let digest_of: &Digest = match algorithm {
        Algorithm::RS384 | Algorithm::PS384 | Algorithm::ES384 => &SHA384,
        // For EdDSA the specification names no hash; providers use that of Ed25519.
        Algorithm::RS512 | Algorithm::PS512 | Algorithm::EdDSA => &SHA512,
        _ => &SHA256,
    };
    let hash = digest(digest_of, access_token.as_bytes());
    let half = hash.as_ref().len() / 2;
    URL_SAFE_NO_PAD.encode(&hash.as_ref()[..half])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Timestamp = Timestamp(1_700_000_000_000_000);

    fn check(changes: Value) -> Result<(), String> {
        let mut claims = json!({
            "iss": "https://id.example", "aud": "chat", "exp": 1_700_000_300, "iat": 1_700_000_000, "nonce": "n",
        });
        claims.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let claims = serde_json::from_value(claims).unwrap();
        check_claims(&claims, "https://id.example", "chat", "n", NOW).map_err(|error| error.to_string())
    }

    #[test]
    fn checks_every_claim() {
        for accepted in [
            json!({}),
            json!({ "aud": ["chat"] }),
            json!({ "aud": ["chat", "other"], "azp": "chat" }),
            json!({ "exp": 1_699_999_950 }),
            json!({ "iat": 1_700_000_059.5 }),
        ] {
            assert_eq!(check(accepted.clone()), Ok(()), "{accepted}");
        }
        for (rejected, reason) in [
            (json!({ "iss": "https://id.example/" }), "another issuer"),
            (json!({ "aud": "other" }), "another audience"),
            (json!({ "aud": [] }), "another audience"),
            (json!({ "aud": ["chat", "other"] }), "names no client"),
            (json!({ "azp": "other" }), "another client"),
            (json!({ "exp": 1_699_999_940 }), "expired"),
            (json!({ "iat": 1_700_000_061 }), "in the future"),
            (json!({ "nbf": 1_700_000_061 }), "not valid yet"),
            (json!({ "nonce": "m" }), "another sign-in"),
            (json!({ "nonce": null }), "another sign-in"),
        ] {
            assert!(check(rejected.clone()).is_err_and(|error| error.contains(reason)), "{rejected}");
        }
    }

    #[test]
    fn hashes_access_token_as_in_the_specification() {
        // OpenID Connect Core 1.0, appendix A.3: the ID token has the `at_hash` of this access token.
        assert_eq!(
            half_hash(Algorithm::RS256, "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"),
            "77QmUPtjPfzWtF2AnpK9RQ"
        );
    }
}
