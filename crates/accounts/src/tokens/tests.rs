use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use super::*;
use crate::signing_keys::generate;

const ISSUER: &str = "http://localhost:3000/auth/v1";
const NOW: Timestamp = Timestamp(1_800_000_000_000_000);

fn keys() -> SigningKeys {
    SigningKeys::from_json(&generate().unwrap()).unwrap()
}

fn issuer(is_configured: bool) -> IssuerUrl {
    IssuerUrl::new(&"http://localhost:3000".parse().unwrap(), is_configured).unwrap()
}

fn user_with_email() -> User {
    User { email: Some("a@b.c".into()), ..User::new(UserId::fresh(), NOW) }
}

fn session(user: UserId) -> AuthSession {
    AuthSession {
        id: AuthSessionId::fresh(),
        user,
        refresh_counter: 0,
        refreshed_at: NOW,
        confirmed_at: NOW,
        aal: "aal1".into(),
        amr: vec![AuthMethod { method: "password".into(), timestamp: NOW.as_seconds() }],
        user_agent: None,
        created_at: NOW,
    }
}

#[test]
fn access_token_has_gotrue_claims_and_expires_after_an_hour() {
    let (keys, user) = (keys(), user_with_email());
    let session = session(user.id);
    let token = keys.sign(&AccessTokenPayload::new(ISSUER, &user, &session, NOW)).unwrap();
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap();
    let payload: Value = serde_json::from_slice(&payload).unwrap();
    assert_eq!(
        payload,
        json!({
            "iss": "http://localhost:3000/auth/v1", "sub": user.id, "aud": "authenticated",
            "exp": 1_800_003_600, "iat": 1_800_000_000, "email": "a@b.c", "phone": "",
            "app_metadata": {}, "user_metadata": {}, "role": "authenticated", "aal": "aal1",
            "amr": [{ "method": "password", "timestamp": 1_800_000_000 }],
            "session_id": session.id, "is_anonymous": false,
        })
    );
    let claims = Claims {
        user: user.id,
        session: session.id,
        issued_at: 1_800_000_000,
        expires_at: 1_800_003_600,
        lacks_factor: true,
    };
    assert_eq!(verify_access_token(&keys, &issuer(true), &token, NOW), Ok(claims));
    assert_eq!(verify_access_token(&keys, &issuer(true), &token, NOW.plus_seconds(3599)), Ok(claims));
    assert_eq!(verify_access_token(&keys, &issuer(true), &token, NOW.plus_seconds(3600)), Err(EXPIRED_JWT));
}

#[test]
fn internal_and_access_tokens_are_not_interchangeable() {
    let (keys, user) = (keys(), user_with_email());
    let internal = sign_internal_token(&keys, user.id, Audience::Mcp, 60, NOW).unwrap();
    assert_eq!(verify_internal_token(&keys, &internal, Audience::Mcp, NOW), Ok(user.id));
    assert_eq!(verify_internal_token(&keys, &internal, Audience::Mcp, NOW.plus_seconds(60)), Err(EXPIRED_JWT));
    assert_eq!(verify_access_token(&keys, &issuer(true), &internal, NOW), Err(BAD_JWT));
    let access = keys.sign(&AccessTokenPayload::new(ISSUER, &user, &session(user.id), NOW)).unwrap();
    assert_eq!(verify_internal_token(&keys, &access, Audience::Mcp, NOW), Err(BAD_JWT));
}

#[test]
fn rejects_access_tokens_with_a_wrong_or_missing_claim() {
    let (keys, now) = (keys(), NOW.as_seconds());
    let good = json!({
        "iss": ISSUER, "sub": UserId::fresh(), "aud": "authenticated", "role": "authenticated", "iat": now,
        "exp": now + 60, "session_id": AuthSessionId::fresh(),
    });
    let read = |claims: &Value| verify_access_token(&keys, &issuer(true), &keys.sign(claims).unwrap(), NOW);
    assert!(read(&good).is_ok());
    let with = |name: &str, value: Value| {
        let mut claims = good.clone();
        claims[name] = value;
        claims
    };
    assert!(read(&with("nbf", json!(now))).is_ok());
    for (name, value) in [
        ("iss", json!("http://localhost:4000/auth/v1")),
        ("aud", json!("somebody")),
        ("role", json!("service_role")),
        ("nbf", json!(now + 1)),
        ("sub", json!("me")),
    ] {
        assert_eq!(read(&with(name, value)), Err(BAD_JWT), "{name}");
    }
    for name in ["iss", "sub", "aud", "role", "iat", "exp", "session_id"] {
        let mut claims = good.clone();
        claims.as_object_mut().unwrap().remove(name);
        assert_eq!(read(&claims), Err(BAD_JWT), "without {name}");
    }
}

#[test]
fn accepts_another_port_of_an_unconfigured_site_only() {
    for (iss, is_configured, expected) in [
        (ISSUER, true, true),
        (ISSUER, false, true),
        ("http://localhost:4000/auth/v1", true, false),
        ("http://localhost:4000/auth/v1", false, true),
        ("http://evil.example:3000/auth/v1", false, false),
        ("https://localhost:3000/auth/v1", false, false),
        ("http://localhost:3000/other", false, false),
    ] {
        assert_eq!(issuer(is_configured).matches(iss), expected, "{iss}, configured: {is_configured}");
    }
}
