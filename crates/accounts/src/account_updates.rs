//! Changing an account over what others may be changing.

use serde_json::json;
use storage::users::{Along, User, Written};

use super::AccountService;
use super::error::AuthError;
use super::gotrue_error::{CONFLICT, EMAIL_EXISTS, Refusal};
use super::sign_up::e_mail_provider;

/// Maximum number of attempts to store an edit while others change the account.
pub const MAX_UPDATE_ATTEMPTS: usize = 5;

impl AccountService {
    /// Stores what `edit` makes of the account, together with the tokens and sign-outs that it returns. Repeats the edit
    /// if the account was changed meanwhile.
    ///
    /// # Errors
    ///
    /// `spent` if the one-time token that allows the change is gone.
    pub(super) async fn update_account<'a>(
        &self,
        mut user: User,
        spent: Refusal,
        edit: impl Fn(&mut User) -> Result<Along<'a>, AuthError>,
    ) -> Result<User, AuthError> {
        for _ in 0..MAX_UPDATE_ATTEMPTS {
            let seen = user.updated_at;
            let along = edit(&mut user)?;
            // Later than what was read even if the clock stands still: the store compares versions by it.
            user.updated_at = self.clock.now().max(domain::Timestamp(seen.0 + 1));
            let written = self.storage.users().update_with(&user, seen, &along).await;
            match written.map_err(|error| taken(error, EMAIL_EXISTS))? {
                Written::Done => return Ok(user),
                Written::Spent => return Err(spent.into()),
                // Reading the account again is not enough: the edit must see the other change, or it would write the
                // old value over it.
                Written::Changed => user = self.storage.users().get(user.id).await?.ok_or(CONFLICT)?,
            }
        }
        Err(CONFLICT.into())
    }
}

/// The person has shown that the address is theirs.
pub fn confirm(user: &mut User, now: domain::Timestamp) {
    user.email_confirmed_at = Some(now);
    user.user_metadata.insert("email_verified".to_owned(), json!(true));
}

/// The account gets another address, which is known to be the person's. What waited for another one waits no more.
pub fn set_email(user: &mut User, email: String, now: domain::Timestamp) {
    user.user_metadata.insert("email".to_owned(), json!(email));
    user.email = Some(email);
    // An anonymous account has no provider. With an address it becomes a permanent one, which clients tell by
    // `provider`.
    if user.is_anonymous {
        user.is_anonymous = false;
        user.app_metadata.extend(e_mail_provider());
    }
    forget_email_change(user);
    confirm(user, now);
}

/// No new address waits for its confirmation any more.
pub fn forget_email_change(user: &mut User) {
    user.new_email = None;
    user.email_change_sent_at = None;
    user.email_change_confirmed = None;
}

/// Maps a conflict, which means that another user took the address meanwhile, to `refusal`.
pub fn taken(error: storage::Error, refusal: Refusal) -> AuthError {
    match error {
        storage::Error::Conflict(_) => refusal.into(),
        other => other.into(),
    }
}
