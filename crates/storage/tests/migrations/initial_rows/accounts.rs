//! Accounts and sign-ins of the fixture 0100.

use domain::api_key::Scope;
use domain::{ApiKeyId, AuthSessionId, ChallengeId, FactorId, UserId};
use serde_json::{Map, Value, json};
use storage::Storage;
use storage::api_keys::ApiKey;
use storage::auth_codes::{AuthCode, Challenge, ChallengeMethod};
use storage::auth_sessions::{AuthMethod, AuthSession, Device, Standing};
use storage::factors::{self, Factor, FactorKind};
use storage::one_time_tokens::{OneTimeToken, TokenKind};
use storage::quotas::QuotaExceptions;
use storage::users::{EmailHalf, User};
use uuid::Uuid;

use crate::migrations::{ADA, at};

/// Session of the user.
const SESSION: AuthSessionId = AuthSessionId(Uuid::from_u128(0x3));
/// Authenticator app of the user.
const FACTOR: FactorId = FactorId(Uuid::from_u128(0x5));

pub async fn check(storage: &Storage) {
    check_users(storage).await;
    check_sessions(storage).await;
    check_tokens(storage).await;
    check_factors(storage).await;
    check_keys(storage).await;
    check_additions_are_empty(storage).await;
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn authenticator() -> Factor {
    Factor {
        id: FACTOR,
        friendly_name: "Phone".to_owned(),
        kind: FactorKind::Totp,
        is_verified: true,
        last_challenged_at: Some(at(21)),
        created_at: at(22),
        updated_at: at(23),
    }
}

async fn check_users(storage: &Storage) {
    let ada = User {
        id: ADA,
        email: Some("ada@example.com".to_owned()),
        password_hash: Some("$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaA".to_owned()),
        email_confirmed_at: Some(at(1)),
        // An address that was confirmed before 0134 counts as not proven.
        proven_email: None,
        confirmation_sent_at: Some(at(2)),
        recovery_sent_at: Some(at(3)),
        new_email: Some("ada@example.org".to_owned()),
        email_change_sent_at: Some(at(4)),
        email_change_confirmed: Some(EmailHalf::Current),
        reauthentication_sent_at: Some(at(5)),
        invited_at: Some(at(6)),
        banned_until: None,
        last_sign_in_at: Some(at(7)),
        is_anonymous: false,
        user_metadata: object(&json!({ "name": "Ada" })),
        app_metadata: object(&json!({ "role": "tester" })),
        identity_id: Uuid::from_u128(0x2),
        deleted_at: None,
        created_at: at(8),
        updated_at: at(9),
        factors: vec![authenticator()],
        identities: Vec::new(),
    };
    assert_eq!(storage.users().get_by_email("ada@example.com").await.unwrap(), Some(ada));
    let id = UserId(Uuid::from_u128(0x1b));
    let deleted = User {
        banned_until: Some(at(10)),
        is_anonymous: true,
        identity_id: Uuid::from_u128(0x1c),
        deleted_at: Some(at(13)),
        updated_at: at(12),
        ..User::new(id, at(11))
    };
    assert_eq!(storage.users().get(id).await.unwrap(), Some(deleted));
}

async fn check_sessions(storage: &Storage) {
    let session = AuthSession {
        id: SESSION,
        user: ADA,
        refresh_counter: 2,
        refreshed_at: at(14),
        confirmed_at: at(15),
        aal: "aal2".to_owned(),
        amr: vec![AuthMethod { method: "totp".to_owned(), timestamp: 1_795_255_200 }],
        user_agent: Some("Firefox".to_owned()),
        created_at: at(17),
    };
    assert_eq!(storage.auth_sessions().get(SESSION).await.unwrap(), Some(session));
    let device = Device {
        id: SESSION,
        user_agent: Some("Firefox".to_owned()),
        aal: "aal2".to_owned(),
        created_at: at(17),
        used_at: at(17),
    };
    assert_eq!(storage.auth_sessions().list_devices(ADA).await.unwrap(), [device]);
    let standing = Standing {
        lacks_factor: false,
        banned_until: None,
        created_at: at(17),
        used_at: at(17),
        refreshed_at: at(14),
        is_confirmed: true,
    };
    assert_eq!(storage.auth_sessions().get_standing(ADA, SESSION).await.unwrap(), Some(standing));
}

async fn check_tokens(storage: &Storage) {
    let token = OneTimeToken {
        id: Uuid::from_u128(0x4),
        user: ADA,
        kind: TokenKind::Recovery,
        email: "ada@example.com".to_owned(),
        link_hash: Some(vec![0x13, 0xff]),
        code_hash: vec![0x14, 0xff],
        challenge: Some(Challenge { text: "challenge".to_owned(), method: ChallengeMethod::Plain }),
        expires_at: at(19),
        from_sign_up: true,
    };
    assert_eq!(storage.one_time_tokens().get(&[0x13, 0xff]).await.unwrap(), Some(token));
    let code = AuthCode {
        code_hash: vec![0x18, 0xff],
        user: ADA,
        method: "otp".to_owned(),
        // Codes from before 0133 name no session of an identity provider.
        provider_session: None,
        challenge: Challenge { text: "challenge".to_owned(), method: ChallengeMethod::S256 },
        expires_at: at(20),
    };
    assert_eq!(storage.auth_codes().get(&[0x18, 0xff]).await.unwrap(), Some(code));
}

async fn check_factors(storage: &Storage) {
    assert_eq!(storage.factors().list(ADA).await.unwrap(), [authenticator()]);
    assert_eq!(storage.factors().get_secret(ADA, FACTOR).await.unwrap(), Some(vec![0x1b, 0xff]));
    let challenge =
        factors::Challenge { address: "127.0.0.1".to_owned(), bytes: None, is_answered: true, created_at: at(25) };
    let id = ChallengeId(Uuid::from_u128(0x6));
    assert_eq!(storage.factors().get_challenge(ADA, FACTOR, id).await.unwrap(), Some(challenge));
}

async fn check_keys(storage: &Storage) {
    let key = ApiKey {
        id: ApiKeyId(Uuid::from_u128(0x7)),
        name: "Script".to_owned(),
        hint: "abcd".to_owned(),
        scopes: vec![Scope::Chat, Scope::Tools],
        created_at: at(26),
        expires_at: Some(at(28)),
        last_used_at: Some(at(27)),
    };
    assert_eq!(storage.api_keys().list(ADA).await.unwrap(), std::slice::from_ref(&key));
    let bearer = storage.api_keys().find(&[0x23, 0xff], at(0)).await.unwrap().unwrap();
    assert_eq!((bearer.user, bearer.key), (ADA, key));
    let keys = storage.signing_keys().list().await.unwrap();
    let keys: Vec<_> = keys.into_iter().map(|key| (key.key.number, key.key.private_key, key.created_at)).collect();
    assert_eq!(keys, [(1, vec![0x10, 0xff], at(18))]);
}

/// Checks that a user of 0100 has nothing in the tables that later migrations added.
async fn check_additions_are_empty(storage: &Storage) {
    assert_eq!(storage.passkeys().list(ADA).await.unwrap(), []);
    assert_eq!(storage.factors().list_key_credentials(ADA).await.unwrap(), []);
    assert_eq!(storage.recovery_codes().get(ADA).await.unwrap(), None);
    assert_eq!(storage.push().list_devices(ADA).await.unwrap(), []);
    assert_eq!(storage.audit_events().list_of_user(ADA, None, 10).await.unwrap(), []);
    assert_eq!(storage.quotas().get_exceptions(ADA).await.unwrap(), QuotaExceptions::default());
    assert_eq!(storage.shared_servers().list_offered(ADA).await.unwrap(), []);
}
