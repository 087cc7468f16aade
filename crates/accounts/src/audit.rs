//! Events for the audit log. They are stored in the transaction of what they report, where there is one.

use std::net::IpAddr;

use domain::UserId;
use platform::AuditLog;
use platform::client_address::subscriber_network;
use storage::audit_events::{AuditActor, AuditEventKind, NewAuditEvent};
use storage::rate_limits::RateQuota;
use storage::users::{Along, User};

use super::error::AuthError;
use super::login_throttle::{CredentialKind, LoginAttempt, counter_key};
use super::{AccountService, email_address};

/// How often the audit log lists rejected requests of the same kind from one network: once an hour, so that a flood of
/// requests does not fill the log.
const REJECTION_QUOTA: RateQuota = RateQuota { interval_seconds: 3600, burst: 1 };

/// Origin of a request, as far as it is known.
#[derive(Debug, Clone, Default)]
pub struct RequestOrigin {
    /// Network address of the client.
    pub address: Option<IpAddr>,
    /// User agent of the client.
    pub user_agent: Option<String>,
}

impl AccountService {
    /// Returns an event to store; none if the audit log is switched off.
    pub(super) fn audit(&self, user: UserId, actor: AuditActor, kind: AuditEventKind) -> Vec<NewAuditEvent> {
        self.audit_request(Some(user), actor, kind, &RequestOrigin::default())
    }

    /// Returns an event with the origin of the request, as [`audit`](Self::audit) does.
    pub(super) fn audit_request(
        &self,
        user: Option<UserId>,
        actor: AuditActor,
        kind: AuditEventKind,
        origin: &RequestOrigin,
    ) -> Vec<NewAuditEvent> {
        let log = AuditLog::new(self.settings.audit_lifetime.is_some(), &self.clock);
        let event = log.event(user, actor, kind).into_iter().map(|event| NewAuditEvent {
            client_address: origin.address.map(|address| address.to_canonical().to_string()),
            user_agent: origin.user_agent.clone(),
            ..event
        });
        event.collect()
    }

    /// Returns the events of an account update.
    pub(super) fn audit_update(
        &self,
        actor: AuditActor,
        before: &User,
        after: &User,
        along: &Along<'_>,
    ) -> Vec<NewAuditEvent> {
        let now = self.clock.now();
        let was_locked = before.is_banned(now);
        let kinds = [
            // The first password of an account and its removal are changes, too.
            (before.password_hash != after.password_hash, AuditEventKind::PasswordChanged),
            (before.email != after.email, AuditEventKind::EmailChanged),
            (along.link.is_some(), AuditEventKind::IdentityLinked),
            (along.unlink.is_some(), AuditEventKind::IdentityUnlinked),
            (!was_locked && after.is_banned(now), AuditEventKind::AccountLocked),
            (was_locked && !after.is_banned(now), AuditEventKind::AccountUnlocked),
        ];
        let kinds = kinds.into_iter().filter_map(|(happened, kind)| happened.then_some(kind));
        kinds.flat_map(|kind| self.audit(after.id, actor, kind)).collect()
    }

    /// Records a failed sign-in; `user` is the account, where it is known.
    pub(super) async fn audit_failed_sign_in(
        &self,
        user: Option<UserId>,
        origin: &RequestOrigin,
    ) -> Result<(), storage::Error> {
        let events = self.audit_request(user, AuditActor::User, AuditEventKind::SignInFailed, origin);
        self.store_audit_events(&events).await
    }

    /// Begins an attempt to prove the ownership of `account`, an email address or the id of the user `owner`. Records that
    /// attempts are throttled.
    pub(super) async fn begin_attempt(
        &self,
        proof: CredentialKind,
        account: &str,
        owner: Option<UserId>,
        origin: &RequestOrigin,
        from: IpAddr,
    ) -> Result<LoginAttempt<'_>, AuthError> {
        let begun = self.rate_limits.begin_attempt(proof, account, from).await;
        if matches!(begun, Err(AuthError::RateLimited { .. }))
            && self.is_rejection_due(&["throttled", proof.key(), account], from).await?
        {
            let user = match (owner, email_address::normalize(account)) {
                (Some(owner), _) => Some(owner),
                (None, Ok(email)) => self.storage.users().get_by_email(&email).await?.map(|user| user.id),
                (None, Err(_)) => None,
            };
            let events = self.audit_request(user, AuditActor::User, AuditEventKind::SignInThrottled, origin);
            self.store_audit_events(&events).await?;
        }
        begun
    }

    /// Records that a request to the operator's listener had a wrong token.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn audit_wrong_operator_token(&self, origin: &RequestOrigin, from: IpAddr) -> Result<(), storage::Error> {
        if self.is_rejection_due(&["operator token"], from).await? {
            let events = self.audit_request(None, AuditActor::User, AuditEventKind::OperatorRejected, origin);
            self.store_audit_events(&events).await?;
        }
        Ok(())
    }

    /// Returns whether the audit log should list a rejected request of this `kind` from `from`; see [`REJECTION_QUOTA`].
    async fn is_rejection_due(&self, kind: &[&str], from: IpAddr) -> Result<bool, storage::Error> {
        let network = subscriber_network(from).to_string();
        let parts: Vec<&[u8]> = kind.iter().copied().chain([network.as_str()]).map(str::as_bytes).collect();
        let wait = self.storage.rate_limits().count(&counter_key(&parts), REJECTION_QUOTA, self.clock.now()).await?;
        Ok(wait.is_none())
    }

    /// Stores events that belong to no other change.
    pub(super) async fn store_audit_events(&self, events: &[NewAuditEvent]) -> Result<(), storage::Error> {
        self.storage.audit_events().insert(events).await
    }
}
