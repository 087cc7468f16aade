//! Accounts with an identity at a provider, their sign-ins, the audit log and registration tokens.

use domain::{AuthSessionId, PushSubscriptionId, RegistrationTokenId};
use serde_json::json;
use storage::Storage;
use storage::audit_events::AuditEvent;
use storage::auth_sessions::ProviderSession;
use storage::identities::Identity;
use storage::push::PushDevice;
use storage::registration_tokens::RegistrationToken;
use storage::signing_keys::SealedKey;
use storage::users::User;
use uuid::Uuid;

use crate::migrations::{GRACE, assert_sealed, at};

/// Issuer of the user's identity.
const ISSUER: &str = "https://login.example";
/// Session of the user.
const SESSION: AuthSessionId = AuthSessionId(Uuid::from_u128(0x104));
/// Token with which the user signed up.
const REGISTRATION_TOKEN: RegistrationTokenId = RegistrationTokenId(Uuid::from_u128(0x10b));

/// Sealed values as they are stored: table, location, bytes.
const SEALED_VALUES: [(&str, &str, [u8; 2]); 4] = [
    ("identities", "identities/id_token/00000000-0000-0000-0000-000000000103", [0xb1, 0xff]),
    ("provider_sign_ins", "provider_sign_ins/details/sv8", [0xb3, 0xff]),
    ("push_keys", "push_keys/private_key/1", [0xb5, 0xff]),
    (
        "push_subscriptions",
        "push_subscriptions/target/00000000-0000-0000-0000-000000000101/00000000-0000-0000-0000-000000000105",
        [0xb7, 0xff],
    ),
];

pub async fn check(storage: &Storage) {
    check_user(storage).await;
    check_sign_ins(storage).await;
    check_push_subscription(storage).await;
    check_audit_events(storage).await;
    check_registration_token(storage).await;
    assert_sealed(storage, &SEALED_VALUES).await;
}

fn identity() -> Identity {
    Identity {
        id: Uuid::from_u128(0x103),
        user: GRACE,
        issuer: ISSUER.to_owned(),
        subject: "grace".to_owned(),
        data: json!({ "email": "grace@example.com", "groups": ["staff"] }).as_object().unwrap().clone(),
        last_sign_in_at: at(104),
        created_at: at(105),
        updated_at: at(106),
    }
}

async fn check_user(storage: &Storage) {
    let user = storage.users().get(GRACE).await.unwrap().unwrap();
    let email = Some("grace@example.com".to_owned());
    let expected = User {
        email: email.clone(),
        proven_email: email,
        email_confirmed_at: Some(at(101)),
        identity_id: Uuid::from_u128(0x102),
        updated_at: at(103),
        factors: storage.factors().list(GRACE).await.unwrap(),
        identities: vec![identity()],
        ..User::new(GRACE, at(102))
    };
    assert_eq!(user, expected);
    assert_eq!(storage.identities().get(ISSUER, "grace").await.unwrap(), Some(identity()));
    let id_token = storage.identities().get_id_token(GRACE, ISSUER).await.unwrap();
    assert_eq!(id_token, Some((Uuid::from_u128(0x103), vec![0xb1, 0xff])));
}

async fn check_sign_ins(storage: &Storage) {
    let session = storage.auth_sessions().get(SESSION).await.unwrap().unwrap();
    assert_eq!((session.user, session.refreshed_at, session.created_at), (GRACE, at(108), at(109)));
    let provider_session = ProviderSession { issuer: ISSUER.to_owned(), id: "session".to_owned() };
    let owners = storage.auth_sessions().list_provider_session_owners(&provider_session).await.unwrap();
    assert_eq!(owners, [GRACE]);
    let code = storage.auth_codes().get(&[0xb4, 0xff]).await.unwrap().unwrap();
    assert_eq!((code.user, code.expires_at, code.provider_session), (GRACE, at(110), Some(provider_session)));
}

async fn check_push_subscription(storage: &Storage) {
    let key = SealedKey { number: 1, private_key: vec![0xb5, 0xff] };
    assert_eq!(storage.push().list_keys().await.unwrap(), [key]);
    let id = PushSubscriptionId(Uuid::from_u128(0x105));
    let user_agent = Some("Chromium".to_owned());
    let device = PushDevice { id, session: SESSION, user_agent, created_at: at(112) };
    assert_eq!(storage.push().list_devices(GRACE).await.unwrap(), [device]);
    assert_eq!(storage.push().list_targets(GRACE, at(0)).await.unwrap(), [(id, vec![0xb7, 0xff])]);
}

async fn check_audit_events(storage: &Storage) {
    let event = AuditEvent {
        id: Uuid::from_u128(0x106),
        user: Some(GRACE),
        actor: "user".to_owned(),
        kind: "sign_in".to_owned(),
        client_address: Some("127.0.0.1".to_owned()),
        user_agent: Some("Chromium".to_owned()),
        registration_token: Some(REGISTRATION_TOKEN),
        created_at: at(113),
    };
    assert_eq!(storage.audit_events().list_of_user(GRACE, None, 10).await.unwrap(), [event]);
}

async fn check_registration_token(storage: &Storage) {
    let token = RegistrationToken {
        id: REGISTRATION_TOKEN,
        note: "For the team".to_owned(),
        domain: Some("example.com".to_owned()),
        max_uses: 5,
        uses: 1,
        created_at: at(123),
        expires_at: at(124),
        revoked_at: Some(at(125)),
    };
    assert_eq!(storage.registration_tokens().find(&[0xc0, 0xff]).await.unwrap(), Some(token));
}
