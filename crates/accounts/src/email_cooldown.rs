//! Minimum time between two emails of the same kind to the same address. It protects mailboxes from being flooded. It
//! applies whether or not the address has an account, so that it does not disclose which accounts exist. All nodes count
//! together, in the database.

use std::sync::Arc;

use domain::Clock;
use storage::Storage;
use storage::rate_limits::RateQuota;

use super::error::AuthError;
use super::login_throttle::counter_key;

/// Minimum time between two emails to an address, in seconds. The value is GoTrue's default.
const COOLDOWN_SECONDS: i64 = 60;

/// Kind of an email. Each kind has its own cooldown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmailPurpose {
    /// Confirmation of a sign-up.
    Confirmation,
    /// Password recovery and sign-in by email.
    Recovery,
    /// Change of the email address.
    EmailChange,
    /// Code for reauthentication.
    Reauthentication,
}

impl EmailPurpose {
    /// Returns the name in keys of the database, which nodes of other versions share.
    fn key(self) -> &'static str {
        match self {
            Self::Confirmation => "confirmation",
            Self::Recovery => "recovery",
            Self::EmailChange => "email change",
            Self::Reauthentication => "reauthentication",
        }
    }
}

/// The cooldowns of emails.
#[derive(Debug)]
pub struct EmailCooldown {
    is_enabled: bool,
    storage: Storage,
    clock: Arc<dyn Clock>,
}

impl EmailCooldown {
    /// Creates the cooldowns of an installation. If they are not enabled, no email has to wait.
    pub fn new(is_enabled: bool, storage: &Storage, clock: &Arc<dyn Clock>) -> Self {
        Self { is_enabled, storage: storage.clone(), clock: Arc::clone(clock) }
    }

    /// Starts the cooldown for an email that is about to be sent, or rejects the email while a cooldown is running. It is
    /// counted before the email is sent, so that concurrent requests cannot all pass. If sending fails,
    /// [`cancel`](Self::cancel) takes it back.
    ///
    /// # Errors
    ///
    /// [`AuthError::EmailRateLimited`] if the email is rejected. If it cannot be counted, it is not sent.
    pub async fn start(&self, purpose: EmailPurpose, address: &str) -> Result<(), AuthError> {
        if !self.is_enabled {
            return Ok(());
        }
        let (quota, now) = (RateQuota { interval_seconds: COOLDOWN_SECONDS, burst: 1 }, self.clock.now());
        match self.storage.rate_limits().count(&key(purpose, address), quota, now).await? {
            None => Ok(()),
            Some(at) => Err(AuthError::EmailRateLimited { retry_after: at.millis_since(now).div_ceil(1000).max(1) }),
        }
    }

    /// Cancels the cooldown of an email that could not be sent. If that fails, the next email has to wait.
    pub async fn cancel(&self, purpose: EmailPurpose, address: &str) {
        if !self.is_enabled {
            return;
        }
        if let Err(error) = self.storage.rate_limits().cancel(&key(purpose, address)).await {
            tracing::warn!(%error, "the cooldown of an email that was not sent could not be cancelled");
        }
    }
}

fn key(purpose: EmailPurpose, address: &str) -> Vec<u8> {
    counter_key(&[b"email", purpose.key().as_bytes(), address.as_bytes()])
}

#[cfg(test)]
mod tests {
    use domain::{ChatId, UserId};

    use super::*;
    use crate::test_clock::ManualClock;

    async fn wait(email_cooldown: &EmailCooldown, purpose: EmailPurpose, address: &str) -> u64 {
        match email_cooldown.start(purpose, address).await {
            Ok(()) => 0,
            Err(error) => error.retry_after().unwrap(),
        }
    }

    #[tokio::test]
    async fn limits_emails_of_one_kind_to_one_a_minute() {
        let clock = ManualClock::new();
        let shared: Arc<dyn Clock> = clock.clone();
        let storage = Storage::in_memory(UserId::fresh(), ChatId::fresh(), clock.now()).await.unwrap();
        let email_cooldown = EmailCooldown::new(true, &storage, &shared);
        let other_node = EmailCooldown::new(true, &storage, &shared);
        assert_eq!(wait(&email_cooldown, EmailPurpose::Recovery, "a@b.c").await, 0);
        assert_eq!(wait(&other_node, EmailPurpose::Recovery, "a@b.c").await, 60);
        assert_eq!(wait(&email_cooldown, EmailPurpose::Confirmation, "a@b.c").await, 0, "another kind");
        assert_eq!(wait(&email_cooldown, EmailPurpose::Recovery, "b@b.c").await, 0, "another address");
        clock.advance_seconds(59);
        assert_eq!(wait(&email_cooldown, EmailPurpose::Recovery, "a@b.c").await, 1);
        clock.advance_seconds(1);
        assert_eq!(wait(&email_cooldown, EmailPurpose::Recovery, "a@b.c").await, 0);
        email_cooldown.cancel(EmailPurpose::Recovery, "a@b.c").await;
        assert_eq!(wait(&other_node, EmailPurpose::Recovery, "a@b.c").await, 0, "it was not sent");
        let off = EmailCooldown::new(false, &storage, &shared);
        assert_eq!(wait(&off, EmailPurpose::Recovery, "a@b.c").await, 0, "switched off");
    }
}
