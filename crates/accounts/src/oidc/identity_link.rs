//! Linking and unlinking of an account at the identity provider by its user, who is signed in (`linkIdentity` and
//! `unlinkIdentity` of GoTrue's clients).

use domain::{AuthSessionId, UserId};
use platform::UserEvent;
use serde::{Deserialize, Serialize};
use serde_json::json;
use storage::users::{Along, IdentityRemoval, User};
use uuid::Uuid;

use super::account;
use super::profile::ProviderProfile;
use super::sign_in::{AMR_METHOD, BegunSignIn, SignInTarget};
use crate::gotrue_error::{
    ANONYMOUS_NOT_ALLOWED, CONFLICT, EMAIL_EXISTS, EMAIL_IDENTITY_NOT_DELETABLE, IDENTITY_ALREADY_EXISTS,
    IDENTITY_ID_MALFORMED, IDENTITY_NOT_FOUND, INSUFFICIENT_AAL, PROVIDER_NOT_ENABLED, SESSION_NOT_FOUND,
    SINGLE_IDENTITY_NOT_DELETABLE, USER_BANNED, USER_NOT_FOUND,
};
use crate::mailer::SecurityNotice;
use crate::{AccountService, AuthError, Claims};

/// The user who began to link an identity, and the session in which.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct LinkOwner {
    user: UserId,
    session: AuthSessionId,
}

impl AccountService {
    /// Begins to link an account at the identity provider to that of the caller; otherwise as
    /// [`begin_provider_sign_in`](Self::begin_provider_sign_in).
    ///
    /// # Errors
    ///
    /// The session lacks a second factor or a recent proof of identity, or the account is anonymous.
    pub async fn begin_identity_link(
        &self,
        claims: Claims,
        target: SignInTarget,
        browser: Option<&str>,
    ) -> Result<BegunSignIn, AuthError> {
        let user = self.identity_owner(claims).await?;
        let owner = LinkOwner { user: user.id, session: claims.session };
        self.begin_at_provider(target, browser, Some(owner)).await
    }

    /// Unlinks an account at the identity provider from the caller's account. The other sessions that the user began at the
    /// provider end, because the holder of the unlinked account there may have begun them.
    ///
    /// # Errors
    ///
    /// [`SINGLE_IDENTITY_NOT_DELETABLE`] if the user could not sign in without it, [`IDENTITY_NOT_FOUND`] if the caller has
    /// no such identity. The session lacks a second factor or a recent proof of identity, or the account is anonymous.
    pub async fn unlink_identity(&self, claims: Claims, identity: &str) -> Result<(), AuthError> {
        let id: Uuid = identity.parse().map_err(|_| IDENTITY_ID_MALFORMED)?;
        let user = self.identity_owner(claims).await?;
        if user.identity_id == id {
            return Err(EMAIL_IDENTITY_NOT_DELETABLE.into());
        }
        if !user.identities.iter().any(|identity| identity.id == id) {
            return Err(IDENTITY_NOT_FOUND.into());
        }
        let has_passkey = self.has_passkeys() && !self.storage.passkeys().list(user.id).await?.is_empty();
        let removal = IdentityRemoval { id, method: AMR_METHOD, keep: claims.session };
        // The edit is repeated if the account was changed in the meantime: two identities that are unlinked at the same
        // time do not count for each other.
        let unlinked = self
            .update_account(user, CONFLICT, |user| {
                user.identities.retain(|identity| identity.id != id);
                if !has_passkey && !self.can_sign_in(user) {
                    return Err(SINGLE_IDENTITY_NOT_DELETABLE.into());
                }
                if user.identities.is_empty() {
                    user.app_metadata.insert("provider".to_owned(), json!("email"));
                    user.app_metadata.insert("providers".to_owned(), json!(["email"]));
                }
                Ok(Along { unlink: Some(removal), ..Along::default() })
            })
            .await?;
        self.events.publish(unlinked.id, &UserEvent::Devices);
        self.notify(&unlinked, SecurityNotice::IdentityUnlinked);
        Ok(())
    }

    /// Links the account at the provider to that of the user who began it.
    pub(super) async fn link_to_owner(&self, owner: LinkOwner, profile: &ProviderProfile) -> Result<User, AuthError> {
        // The user may have signed out on purpose since.
        self.storage.auth_sessions().get(owner.session).await?.ok_or(SESSION_NOT_FOUND)?;
        let user = self.storage.users().get(owner.user).await?.ok_or(USER_NOT_FOUND)?;
        let now = self.clock.now();
        if user.is_banned(now) {
            return Err(USER_BANNED.into());
        }
        let identities = self.storage.identities();
        if let Some(known) = identities.get(&profile.issuer, &profile.subject).await? {
            if known.user != user.id {
                return Err(IDENTITY_ALREADY_EXISTS.into());
            }
            identities.record_sign_in(user.id, known.id, &profile.stored_claims(), now).await?;
            return Ok(user);
        }
        let identity = self.new_identity(user.id, profile);
        let linked = self.update_account(user, CONFLICT, |user| {
            account::add_provider(user);
            Ok(Along { link: Some(&identity), ..Along::default() })
        });
        let mut linked = linked.await.map_err(|error| match error {
            // The address is unchanged: another account was faster.
            AuthError::GoTrue(EMAIL_EXISTS) => IDENTITY_ALREADY_EXISTS.into(),
            other => other,
        })?;
        linked.identities.push(identity);
        self.notify(&linked, SecurityNotice::IdentityLinked);
        Ok(linked)
    }

    /// Returns the caller, who may change their identities.
    async fn identity_owner(&self, claims: Claims) -> Result<User, AuthError> {
        if claims.lacks_factor {
            return Err(INSUFFICIENT_AAL.into());
        }
        let user = self.current_user(claims).await?;
        if user.is_anonymous {
            return Err(ANONYMOUS_NOT_ALLOWED.into());
        }
        if self.identity_provider.is_none() {
            return Err(PROVIDER_NOT_ENABLED.into());
        }
        self.require_recent_proof(&user, claims).await?;
        Ok(user)
    }

    /// Returns whether a user can sign in with an identity, a password or an email.
    fn can_sign_in(&self, user: &User) -> bool {
        let Some(oidc) = self.oidc() else { return true };
        let has_identity = user.identities.iter().any(|identity| identity.issuer == oidc.issuer);
        let has_password = user.password_hash.is_some() && user.email.is_some();
        let gets_emails = self.can_send_email() && user.email.is_some() && user.email_confirmed_at.is_some();
        has_identity || (!oidc.is_only && (has_password || gets_emails))
    }
}
