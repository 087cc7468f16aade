use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use super::*;
use crate::auth::keys::generate;

const NOW: Timestamp = Timestamp(1_800_000_000_000_000);

fn keys() -> Keys {
    Keys::from_json(&generate().unwrap()).unwrap()
}

fn person() -> User {
    User { email: Some("a@b.c".into()), ..User::new(UserId::fresh(), NOW) }
}

fn session(user: UserId) -> AuthSession {
    AuthSession {
        id: AuthSessionId::fresh(),
        user,
        refresh_counter: 0,
        refreshed_at: NOW,
        aal: "aal1".into(),
        amr: vec![AuthMethod { method: "password".into(), timestamp: NOW.as_seconds() }],
        user_agent: None,
        created_at: NOW,
    }
}

#[test]
fn an_access_token_says_what_the_protocol_wants_and_ends_after_an_hour() {
    let (keys, user) = (keys(), person());
    let session = session(user.id);
    let token = keys.sign(&AccessToken::new("http://localhost:3000/auth/v1", &user, &session, NOW)).unwrap();
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap();
    let said: Value = serde_json::from_slice(&payload).unwrap();
    assert_eq!(
        said,
        json!({
            "iss": "http://localhost:3000/auth/v1", "sub": user.id, "aud": "authenticated",
            "exp": 1_800_003_600, "iat": 1_800_000_000, "email": "a@b.c", "phone": "",
            "app_metadata": {}, "user_metadata": {}, "role": "authenticated", "aal": "aal1",
            "amr": [{ "method": "password", "timestamp": 1_800_000_000 }],
            "session_id": session.id, "is_anonymous": false,
        })
    );
    let claims = Claims { user: user.id, session: session.id, expires_at: 1_800_003_600, lacks_factor: true };
    assert_eq!(read_access(&keys, &token, NOW), Ok(claims));
    assert_eq!(read_access(&keys, &token, NOW.plus_seconds(3599)), Ok(claims));
    assert_eq!(read_access(&keys, &token, NOW.plus_seconds(3600)), Err(EXPIRED_JWT));
}

#[test]
fn internal_tokens_and_access_tokens_open_different_doors() {
    let (keys, user) = (keys(), person());
    let internal = write_internal(&keys, user.id, Audience::Mcp, 60, NOW).unwrap();
    assert_eq!(read_internal(&keys, &internal, Audience::Mcp, NOW), Ok(user.id));
    assert_eq!(read_internal(&keys, &internal, Audience::Mcp, NOW.plus_seconds(60)), Err(EXPIRED_JWT));
    assert_eq!(read_access(&keys, &internal, NOW), Err(BAD_JWT));
    let access = keys.sign(&AccessToken::new("x", &user, &session(user.id), NOW)).unwrap();
    assert_eq!(read_internal(&keys, &access, Audience::Mcp, NOW), Err(BAD_JWT));
}

#[test]
fn an_access_token_needs_an_audience_and_a_sign_in() {
    let (keys, user) = (keys(), UserId::fresh());
    let exp = NOW.as_seconds() + 60;
    for claims in [
        json!({ "sub": user, "aud": "authenticated", "exp": exp }),
        json!({ "sub": user, "aud": "somebody", "exp": exp, "session_id": AuthSessionId::fresh() }),
        json!({ "sub": user, "exp": exp, "session_id": AuthSessionId::fresh() }),
        json!({ "sub": user, "aud": "authenticated", "session_id": AuthSessionId::fresh() }),
        json!({ "sub": "me", "aud": "authenticated", "exp": exp, "session_id": AuthSessionId::fresh() }),
    ] {
        assert_eq!(read_access(&keys, &keys.sign(&claims).unwrap(), NOW), Err(BAD_JWT), "{claims}");
    }
}
