//! Recovery codes: ten codes that replace the code of an authenticator once each, for users who have lost it.
//!
//! A code has 80 random bits. A plain hash of it is sufficient for storage, because it cannot be reversed by guessing.
//! The routes and the rules are those of GoTrue's clients (`mfa.recoveryCodes`).

use std::net::IpAddr;

use aws_lc_rs::digest::{Context, SHA256};
use domain::text::without_nul;
use domain::{FactorId, UserId};
use platform::UserEvent;
use platform::secret_sealing::random_bytes;
use storage::audit_events::{AuditActor, AuditEventKind};
use storage::recovery_codes::{NewRecoveryCodes, RecoveryCodeSet, RecoveryCodesInsertion};
use storage::users::User;

use super::audit::RequestOrigin;
use super::gotrue_error::{
    FACTOR_NOT_FOUND, GoTrueError, INSUFFICIENT_AAL, RECOVERY_CODE_INVALID, RECOVERY_CODES_EXIST,
    RECOVERY_CODES_NEED_FACTOR, USER_NOT_FOUND,
};
use super::login_throttle::CredentialKind;
use super::mailer::SecurityNotice;
use super::mfa::MAX_NAME_CHARS;
use super::sessions::UserSession;
use super::{AccountService, AuthError, Claims};

/// Number of codes in a set.
pub const RECOVERY_CODES: usize = 10;
/// Random bytes of a code; each character holds five bits.
const CODE_BYTES: usize = 10;
/// Characters of codes, those of Crockford's base32: none is mistaken for another.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Name of a set to which the client gives none, as in GoTrue.
const DEFAULT_NAME: &str = "Recovery codes";

/// New recovery codes, which no other response contains.
#[derive(Debug)]
pub struct IssuedRecoveryCodes {
    /// Id of the set.
    pub id: FactorId,
    /// Name of the set.
    pub friendly_name: String,
    /// The codes, in lower case and without separators.
    pub codes: Vec<String>,
}

impl AccountService {
    /// Returns how many recovery codes a user has.
    ///
    /// # Errors
    ///
    /// [`FACTOR_NOT_FOUND`] if the user has none.
    pub async fn recovery_code_set(&self, user: UserId) -> Result<RecoveryCodeSet, AuthError> {
        Ok(self.storage.recovery_codes().get(user).await?.ok_or(FACTOR_NOT_FOUND)?)
    }

    /// Issues the first recovery codes of the caller.
    ///
    /// # Errors
    ///
    /// [`RECOVERY_CODES_EXIST`] if the caller has codes, [`RECOVERY_CODES_NEED_FACTOR`] without a verified factor. The
    /// session lacks the second factor or a recent proof of identity.
    pub async fn generate_recovery_codes(
        &self,
        claims: Claims,
        user: &User,
        friendly_name: Option<String>,
    ) -> Result<IssuedRecoveryCodes, AuthError> {
        let name = friendly_name.filter(|name| !name.is_empty()).unwrap_or_else(|| DEFAULT_NAME.to_owned());
        if name.chars().count() > MAX_NAME_CHARS {
            return Err(GoTrueError::validation_failed("friendly_name has at most 100 characters").into());
        }
        self.check_recovery_code_management(claims, user).await?;
        let (codes, hashes) = fresh_codes(user.id)?;
        let issued = IssuedRecoveryCodes { id: FactorId::fresh(), friendly_name: without_nul(name), codes };
        let new = NewRecoveryCodes { id: issued.id, friendly_name: &issued.friendly_name, hashes: &hashes };
        let events = self.audit(user.id, AuditActor::User, AuditEventKind::RecoveryCodesCreated);
        match self.storage.recovery_codes().insert(user.id, &new, self.clock.now(), &events).await? {
            RecoveryCodesInsertion::Inserted => {}
            RecoveryCodesInsertion::AlreadyExist => return Err(RECOVERY_CODES_EXIST.into()),
            RecoveryCodesInsertion::NoFactor => return Err(RECOVERY_CODES_NEED_FACTOR.into()),
        }
        self.notify(user, SecurityNotice::RecoveryCodesCreated);
        Ok(issued)
    }

    /// Replaces the recovery codes of the caller.
    ///
    /// # Errors
    ///
    /// [`FACTOR_NOT_FOUND`] if the caller has no codes. The session lacks the second factor or a recent proof of identity.
    pub async fn renew_recovery_codes(&self, claims: Claims, user: &User) -> Result<IssuedRecoveryCodes, AuthError> {
        self.check_recovery_code_management(claims, user).await?;
        let set = self.recovery_code_set(user.id).await?;
        let (codes, hashes) = fresh_codes(user.id)?;
        let events = self.audit(user.id, AuditActor::User, AuditEventKind::RecoveryCodesCreated);
        if !self.storage.recovery_codes().replace(user.id, &hashes, self.clock.now(), &events).await? {
            return Err(FACTOR_NOT_FOUND.into());
        }
        self.notify(user, SecurityNotice::RecoveryCodesCreated);
        Ok(IssuedRecoveryCodes { id: set.id, friendly_name: set.friendly_name, codes })
    }

    /// Deletes the recovery codes of the caller, and returns the id of the set. Sessions that were raised with a code fall
    /// back to `aal1`.
    ///
    /// # Errors
    ///
    /// As for [`renew_recovery_codes`](Self::renew_recovery_codes).
    pub async fn remove_recovery_codes(&self, claims: Claims, user: &User) -> Result<FactorId, AuthError> {
        self.check_recovery_code_management(claims, user).await?;
        let events = self.audit(user.id, AuditActor::User, AuditEventKind::RecoveryCodesRemoved);
        let removed = self.storage.recovery_codes().delete(user.id, &events).await?.ok_or(FACTOR_NOT_FOUND)?;
        self.events.publish(user.id, &UserEvent::Devices);
        self.notify(user, SecurityNotice::RecoveryCodesRemoved);
        Ok(removed)
    }

    /// Uses up a recovery code of the caller and raises the session to `aal2`. The user's other sessions below `aal2`
    /// end. Attempts are throttled together with those of the authenticators' codes.
    ///
    /// # Errors
    ///
    /// [`RECOVERY_CODE_INVALID`] if the code is wrong or was used, or the attempt comes too early.
    pub async fn verify_recovery_code(
        &self,
        claims: Claims,
        user: &User,
        code: &str,
        address: IpAddr,
    ) -> Result<UserSession, AuthError> {
        let owner = claims.user;
        let now = self.clock.now();
        let (kind, origin) = (CredentialKind::SecondFactor, RequestOrigin { address: Some(address), user_agent: None });
        let attempt = self.begin_attempt(kind, &owner.to_string(), Some(owner), &origin, address).await?;
        let used = self.audit_request(Some(owner), AuditActor::User, AuditEventKind::RecoveryCodeUsed, &origin);
        let codes = self.storage.recovery_codes();
        let Some(session) = codes.verify(owner, claims.session, &hash_of(owner, &normalized(code)), now, &used).await?
        else {
            let failed = self.audit_request(Some(owner), AuditActor::User, AuditEventKind::FactorFailed, &origin);
            self.store_audit_events(&failed).await?;
            return Err(RECOVERY_CODE_INVALID.into());
        };
        attempt.succeeded().await?;
        let remaining = codes.get(owner).await?.map_or(0, |set| set.remaining);
        self.notify(user, SecurityNotice::RecoveryCodeUsed { remaining });
        self.events.publish(owner, &UserEvent::Devices);
        // Read again, because the last use of the account is part of the response.
        let user = self.storage.users().get(owner).await?.ok_or(USER_NOT_FOUND)?;
        self.issue_tokens(user, &session, now)
    }

    async fn check_recovery_code_management(&self, claims: Claims, user: &User) -> Result<(), AuthError> {
        if claims.lacks_factor {
            return Err(INSUFFICIENT_AAL.into());
        }
        self.require_recent_proof(user, claims).await
    }
}

/// Generates the codes of a set, with their hashes.
fn fresh_codes(owner: UserId) -> Result<(Vec<String>, Vec<Vec<u8>>), AuthError> {
    let mut codes = Vec::with_capacity(RECOVERY_CODES);
    for _ in 0..RECOVERY_CODES {
        codes.push(encode(random_bytes::<CODE_BYTES>().map_err(AuthError::internal)?));
    }
    let hashes = codes.iter().map(|code| hash_of(owner, code)).collect();
    Ok((codes, hashes))
}

/// Returns a code in base32.
fn encode(bytes: [u8; CODE_BYTES]) -> String {
    let mut code = String::with_capacity(CODE_BYTES * 8 / 5);
    let (mut buffer, mut bits) = (0_u16, 0_u8);
    for byte in bytes {
        buffer = (buffer << 8) | u16::from(byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            code.push(char::from(ALPHABET[usize::from((buffer >> bits) & 31)]));
        }
    }
    code
}

/// Returns a typed code in the form of [`encode`]: without separators, in lower case, and with the characters that look
/// like others replaced by those.
fn normalized(code: &str) -> String {
    let typed = code.chars().filter(|char| !char.is_whitespace() && *char != '-');
    typed
        .map(|char| match char.to_ascii_lowercase() {
            'o' => '0',
            'i' | 'l' => '1',
            other => other,
        })
        .collect()
}

/// Returns the stored hash of a code. The same code of two users has two hashes.
fn hash_of(owner: UserId, code: &str) -> Vec<u8> {
    let mut hash = Context::new(&SHA256);
    hash.update(b"recovery code");
    hash.update(owner.0.as_bytes());
    hash.update(code.as_bytes());
    hash.finish().as_ref().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_random_and_legible() {
        assert_eq!(encode([0; CODE_BYTES]), "0000000000000000");
        assert_eq!(encode([0xff; CODE_BYTES]), "zzzzzzzzzzzzzzzz");
        assert_eq!(encode([0x00, 0x44, 0x32, 0x14, 0xc7, 0x42, 0x54, 0xb6, 0x35, 0xcf]), "0123456789abcdef");
        let (codes, hashes) = fresh_codes(UserId::fresh()).unwrap();
        let distinct: std::collections::BTreeSet<&String> = codes.iter().collect();
        assert_eq!((distinct.len(), hashes.len()), (RECOVERY_CODES, RECOVERY_CODES));
    }

    #[test]
    fn a_code_may_be_typed_in_any_way() {
        for typed in ["01ab-cdef 0123-4567", " 01ABCDEF01234567\n", "oIabcdefOl234567"] {
            assert_eq!(normalized(typed), "01abcdef01234567", "{typed:?}");
        }
        let code = "01abcdef01234567";
        assert_ne!(hash_of(UserId::fresh(), code), hash_of(UserId::fresh(), code));
    }
}
