//! Kinds of callers and their tokens.

use std::time::Duration;

use accounts::Audience;
use accounts::signing_keys::{SigningKeys, generate};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};

use super::fixture::{Fixture, People, SERVICE_ROLE_KEY};

/// A caller, valid or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    Anonymous,
    /// The publishable key, which the web app may send in place of a token. It belongs to no user.
    PublishableKey,
    /// Not a token at all.
    Malformed,
    /// Three parts like a token, with invalid content.
    Nonsense,
    Expired,
    /// Without a signature (`alg: none`).
    Unsigned,
    /// Signed with the public key as a shared secret.
    SharedSecret,
    /// Signed with another key of the same id.
    ForeignKey,
    /// Of a session that has ended.
    Ended,
    /// An internal token of this server on behalf of the owner.
    Internal,
    /// A user whose second factor is not verified yet.
    HalfSignedIn,
    Admin,
    Stranger,
    Owner,
}

impl Caller {
    pub const BAD: [Self; 8] = [
        Self::Nonsense,
        Self::Expired,
        Self::Unsigned,
        Self::SharedSecret,
        Self::ForeignKey,
        Self::Ended,
        Self::Internal,
        Self::HalfSignedIn,
    ];
    pub const ANONYMOUS: [Self; 2] = [Self::Anonymous, Self::PublishableKey];
}

/// The tokens of all callers.
pub struct Tokens(Vec<(Caller, Option<String>)>);

impl Tokens {
    pub async fn of(fixture: &Fixture, people: &People) -> Self {
        let claims: Value = part(&people.owner.token, 1);
        let header: Value = part(&people.owner.token, 0);
        let kid = header["kid"].as_str().unwrap();
        let mut expired = claims.clone();
        expired["exp"] = json!(claims["iat"].as_i64().unwrap() - 1);

        let unsigned = json!({ "alg": "none", "typ": "JWT", "kid": kid });
        let unsigned = format!("{}.{}.", encoded(&unsigned), encoded(&claims));

        let point = |name: &str| URL_SAFE_NO_PAD.decode(fixture.jwk[name].as_str().unwrap()).unwrap();
        let public = [vec![4], point("x"), point("y")].concat();
        let mut shared = Header::new(Algorithm::HS256);
        shared.kid = Some(kid.to_owned());
        let shared = encode(&shared, &claims, &EncodingKey::from_secret(&public)).unwrap();

        let mut foreign: Value = serde_json::from_str(&generate().unwrap()).unwrap();
        foreign["kid"] = json!(kid);
        let foreign = SigningKeys::from_json(&foreign.to_string()).unwrap().sign(&claims).unwrap();

        let app = &fixture.app.state;
        let internal =
            app.accounts.issue_internal(people.owner.id.parse().unwrap(), Audience::Mcp, Duration::from_mins(10));
        let key = |text: &str| Some(text.to_owned());
        Self(vec![
            (Caller::Anonymous, None),
            (Caller::PublishableKey, key("sb_publishable_0123456789abcdef")),
            (Caller::Malformed, key("garbage")),
            (Caller::Nonsense, key("a.b.c")),
            (Caller::Expired, Some(fixture.keys.sign(&expired).unwrap())),
            (Caller::Unsigned, Some(unsigned)),
            (Caller::SharedSecret, Some(shared)),
            (Caller::ForeignKey, Some(foreign)),
            (Caller::Ended, Some(people.ended(fixture).await)),
            (Caller::Internal, Some(internal.unwrap())),
            (Caller::HalfSignedIn, Some(fixture.half_signed_in().await)),
            (Caller::Admin, key(SERVICE_ROLE_KEY)),
            (Caller::Stranger, Some(people.stranger.token.clone())),
            (Caller::Owner, Some(people.owner.token.clone())),
        ])
    }

    /// Returns all callers. The owner is last, because the owner's requests can delete what the others need.
    pub fn all(&self) -> impl Iterator<Item = (Caller, Option<&str>)> {
        self.0.iter().map(|(caller, token)| (*caller, token.as_deref()))
    }
}

fn part(token: &str, index: usize) -> Value {
    let part = URL_SAFE_NO_PAD.decode(token.split('.').nth(index).unwrap()).unwrap();
    serde_json::from_slice(&part).unwrap()
}

fn encoded(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}
