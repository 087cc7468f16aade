//! Updates of accounts with optimistic locking, since several requests may change an account at the same time.

use serde_json::json;
use storage::audit_events::AuditActor;
use storage::users::{Along, User, Written};

use super::AccountService;
use super::error::AuthError;
use super::gotrue_error::{CONFLICT, EMAIL_EXISTS, GoTrueError};
use super::sign_up::email_provider_metadata;

/// Maximum number of attempts to store an edit while others change the account.
pub const MAX_UPDATE_ATTEMPTS: usize = 5;

impl AccountService {
    /// Applies `edit` to the account and stores the result, together with the changes of tokens and sessions that it
    /// returns. Repeats the edit if the account was changed in the meantime.
    ///
    /// # Errors
    ///
    /// `spent_error` if the one-time token that authorizes the change no longer exists; [`CONFLICT`] after
    /// [`MAX_UPDATE_ATTEMPTS`].
    pub(super) async fn update_account<'a>(
        &self,
        user: User,
        spent_error: GoTrueError,
        edit: impl Fn(&mut User) -> Result<Along<'a>, AuthError>,
    ) -> Result<User, AuthError> {
        self.update_account_as(AuditActor::User, user, spent_error, edit).await
    }

    /// Updates an account as [`update_account`](Self::update_account) does, on behalf of `actor`.
    pub(super) async fn update_account_as<'a>(
        &self,
        actor: AuditActor,
        mut user: User,
        spent_error: GoTrueError,
        edit: impl Fn(&mut User) -> Result<Along<'a>, AuthError>,
    ) -> Result<User, AuthError> {
        for _ in 0..MAX_UPDATE_ATTEMPTS {
            let seen = user.updated_at;
            let before = user.clone();
            let along = edit(&mut user)?;
            let mut events = self.audit_update(actor, &before, &user, &along);
            events.extend_from_slice(along.events);
            let along = Along { events: &events, ..along };
            // Always later than the version that was read, even if the clock has not advanced: the storage uses it as
            // the version for optimistic locking.
            user.updated_at = self.clock.now().max(domain::Timestamp(seen.0 + 1));
            let written = self.storage.users().update_with(&user, seen, &along).await;
            match written.map_err(|error| map_email_conflict(error, EMAIL_EXISTS))? {
                Written::Done => {
                    self.notify_of_update(&before, &user);
                    return Ok(user);
                }
                Written::Spent => return Err(spent_error.into()),
                // The loop repeats the edit on the new version; storing the old result would undo the other change.
                Written::Changed => user = self.storage.users().get(user.id).await?.ok_or(CONFLICT)?,
            }
        }
        Err(CONFLICT.into())
    }
}

/// Evidence that an email address is the user's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressProof {
    /// The user has opened an emailed link, or the identity provider or the operator vouches for the address.
    Proven,
    /// None: the operator asks for no proof.
    Assumed,
}

/// Marks the email address as confirmed. Its domain gives access to something only if the address is proven.
pub fn confirm_email(user: &mut User, proof: AddressProof, now: domain::Timestamp) {
    user.email_confirmed_at = Some(now);
    user.proven_email = user.email.clone().filter(|_| proof == AddressProof::Proven);
    user.user_metadata.insert("email_verified".to_owned(), json!(true));
}

/// Sets a new, confirmed email address, and cancels a pending change of address.
pub fn set_email(user: &mut User, email: String, proof: AddressProof, now: domain::Timestamp) {
    user.user_metadata.insert("email".to_owned(), json!(email));
    user.email = Some(email);
    // An anonymous account has no provider. With an address it becomes a permanent one, which clients recognize by
    // `provider`.
    if user.is_anonymous {
        user.is_anonymous = false;
        user.app_metadata.extend(email_provider_metadata());
    }
    clear_email_change(user);
    confirm_email(user, proof, now);
}

/// Cancels a pending change of address.
pub fn clear_email_change(user: &mut User) {
    user.new_email = None;
    user.email_change_sent_at = None;
    user.email_change_confirmed = None;
}

/// Maps a conflict, which means that another user has taken the address in the meantime, to `conflict`.
pub fn map_email_conflict(error: storage::Error, conflict: GoTrueError) -> AuthError {
    match error {
        storage::Error::Conflict(_) => conflict.into(),
        other => other.into(),
    }
}
