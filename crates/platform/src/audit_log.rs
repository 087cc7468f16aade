//! Events for the audit log. Services store them in the transaction of what they report, where there is one.

use std::sync::Arc;

use domain::{Clock, UserId};
use storage::audit_events::{AuditActor, AuditEventKind, NewAuditEvent};

/// Source of events for the audit log, which may be switched off. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AuditLog(Option<Arc<dyn Clock>>);

impl AuditLog {
    /// Creates the source.
    pub fn new(is_enabled: bool, clock: &Arc<dyn Clock>) -> Self {
        Self(is_enabled.then(|| Arc::clone(clock)))
    }

    /// Returns an event to store, about a user or about the installation; none if the audit log is switched off.
    pub fn event(&self, user: Option<UserId>, actor: AuditActor, kind: AuditEventKind) -> Vec<NewAuditEvent> {
        let event = self.0.iter().map(|clock| NewAuditEvent {
            user,
            actor,
            kind,
            client_address: None,
            user_agent: None,
            registration_token: None,
            created_at: clock.now(),
        });
        event.collect()
    }

    /// Returns an event that a user caused, as [`event`](Self::event) does.
    pub fn by_user(&self, user: UserId, kind: AuditEventKind) -> Vec<NewAuditEvent> {
        self.event(Some(user), AuditActor::User, kind)
    }
}
