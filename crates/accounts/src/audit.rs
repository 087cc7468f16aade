//! Events for the audit log. They are stored in the transaction of what they report, where there is one.

use std::net::IpAddr;

use domain::UserId;
use platform::AuditLog;
use storage::audit_events::{AuditActor, AuditEventKind, NewAuditEvent};
use storage::users::{Along, User};

use super::AccountService;

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

    /// Stores events that belong to no other change.
    pub(super) async fn store_audit_events(&self, events: &[NewAuditEvent]) -> Result<(), storage::Error> {
        self.storage.audit_events().insert(events).await
    }
}
