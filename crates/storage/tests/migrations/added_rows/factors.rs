//! Passkeys, security keys and recovery codes.

use domain::{ChallengeId, FactorId, PasskeyId};
use storage::Storage;
use storage::factors::{Challenge, Factor, FactorKind};
use storage::passkeys::Passkey;
use storage::recovery_codes::RecoveryCodeSet;
use storage::security_keys::KeyCredential;
use uuid::Uuid;

use crate::migrations::{GRACE, at};

/// Security key of the user.
const SECURITY_KEY: FactorId = FactorId(Uuid::from_u128(0x109));

pub async fn check(storage: &Storage) {
    check_passkey(storage).await;
    check_security_key(storage).await;
    let codes = RecoveryCodeSet {
        id: FactorId(Uuid::from_u128(0x10d)),
        friendly_name: "Recovery codes".to_owned(),
        total: 2,
        remaining: 1,
    };
    assert_eq!(storage.recovery_codes().get(GRACE).await.unwrap(), Some(codes));
}

async fn check_passkey(storage: &Storage) {
    let passkey = Passkey {
        id: PasskeyId(Uuid::from_u128(0x107)),
        user: GRACE,
        credential_id: vec![0xb8, 0xff],
        public_key: vec![0xb9, 0xff],
        sign_count: 4,
        is_backup_eligible: true,
        friendly_name: "Laptop".to_owned(),
        created_at: at(114),
        last_used_at: Some(at(115)),
    };
    assert_eq!(storage.passkeys().get_by_credential(&[0xb8, 0xff]).await.unwrap(), Some(passkey));
}

async fn check_security_key(storage: &Storage) {
    let factor = Factor {
        id: SECURITY_KEY,
        friendly_name: "Key".to_owned(),
        kind: FactorKind::WebAuthn,
        is_verified: true,
        last_challenged_at: None,
        created_at: at(117),
        updated_at: at(118),
    };
    assert_eq!(storage.factors().list(GRACE).await.unwrap(), [factor]);
    let credential = KeyCredential {
        factor: SECURITY_KEY,
        credential_id: vec![0xbc, 0xff],
        public_key: vec![0xbd, 0xff],
        sign_count: 5,
        is_backup_eligible: false,
    };
    assert_eq!(storage.factors().list_key_credentials(GRACE).await.unwrap(), [credential]);
    let id = ChallengeId(Uuid::from_u128(0x10c));
    let challenge = Challenge {
        address: "127.0.0.1".to_owned(),
        bytes: Some(vec![0xbb, 0xff]),
        is_answered: false,
        created_at: at(119),
    };
    assert_eq!(storage.factors().get_challenge(GRACE, SECURITY_KEY, id).await.unwrap(), Some(challenge));
}
