//! The account of a user who comes from the identity provider.
//!
//! Issuer and subject identify the user. An email address does not: providers let users change it, or give it to
//! somebody else. It leads to an existing account only if the provider has verified it, and the operator allows that or
//! the address of the account is unproven.

use std::net::IpAddr;

use domain::UserId;
use serde_json::{Value, json};
use storage::audit_events::{AuditActor, AuditEventKind};
use storage::identities::Identity;
use storage::registration_tokens::RegistrationToken;
use storage::users::{Along, User};

use super::PROVIDER;
use super::profile::ProviderProfile;
use crate::account_updates::{AddressProof, MAX_UPDATE_ATTEMPTS, confirm_email};
use crate::gotrue_error::{
    ACCOUNT_EXISTS, ADDRESS_NOT_AUTHORIZED, CONFLICT, PROVIDER_EMAIL_MISSING, PROVIDER_EMAIL_UNVERIFIED, USER_BANNED,
    USER_NOT_FOUND,
};
use crate::mailer::SecurityNotice;
use crate::registration_tokens::{map_insert_error, with_token};
use crate::verification::discard_unproven_sign_up;
use crate::{AccountService, AuthError, sign_up};
use platform::UserEvent;

impl AccountService {
    /// Returns the account of a user of the provider; links or creates it at the first sign-in, with the registration token
    /// where sign-up is by invitation. `from` is the network address of the client.
    pub(super) async fn account_of_profile(
        &self,
        profile: ProviderProfile,
        token: Option<&str>,
        from: Option<IpAddr>,
    ) -> Result<User, AuthError> {
        for _ in 0..MAX_UPDATE_ATTEMPTS {
            match self.find_or_create_account(&profile, token, from).await {
                // A parallel sign-in of the same user was faster. The next iteration finds its account.
                Err(AuthError::GoTrue(CONFLICT)) => {}
                outcome => return outcome,
            }
        }
        Err(CONFLICT.into())
    }

    async fn find_or_create_account(
        &self,
        profile: &ProviderProfile,
        token: Option<&str>,
        from: Option<IpAddr>,
    ) -> Result<User, AuthError> {
        let identities = self.storage.identities();
        if let Some(identity) = identities.get(&profile.issuer, &profile.subject).await? {
            let (now, data) = (self.clock.now(), profile.stored_claims());
            identities.record_sign_in(identity.user, identity.id, &data, now).await?;
            let user = self.storage.users().get(identity.user).await?.ok_or(USER_NOT_FOUND)?;
            return self.record_address_proof(user, profile).await;
        }
        let email = profile.email.as_deref().ok_or(PROVIDER_EMAIL_MISSING)?;
        if let Some(user) = self.storage.users().get_by_email(email).await? {
            return self.link_account(user, profile).await;
        }
        let token = self.admit_sign_up(email, token, from).await?;
        self.create_account(email.to_owned(), profile, token.as_ref()).await
    }

    /// Records that the provider has verified the address of an account that it did not verify at first.
    ///
    /// Only of accounts that were created at the provider: another account may belong to a user who signed up with the
    /// address of the provider's user.
    async fn record_address_proof(&self, user: User, profile: &ProviderProfile) -> Result<User, AuthError> {
        let is_proof =
            |user: &User| profile.is_email_verified && profile.email == user.email && is_created_at_provider(user);
        if user.has_proven_email() || !is_proof(&user) {
            return Ok(user);
        }
        self.update_account(user, CONFLICT, |user| {
            if is_proof(user) {
                confirm_email(user, AddressProof::Proven, self.clock.now());
            }
            Ok(Along::default())
        })
        .await
    }

    async fn create_account(
        &self,
        email: String,
        profile: &ProviderProfile,
        token: Option<&RegistrationToken>,
    ) -> Result<User, AuthError> {
        if !profile.is_email_verified {
            // Without autoconfirm, every other user has to prove the address, too.
            if !self.settings.autoconfirm {
                return Err(PROVIDER_EMAIL_UNVERIFIED.into());
            }
            // An address that was not verified may not open a domain that the operator has restricted.
            if self.settings.sign_ups.restricts_domains() || token.is_some_and(|token| token.domain.is_some()) {
                return Err(ADDRESS_NOT_AUTHORIZED.into());
            }
        }
        let now = self.clock.now();
        let mut user = User { email: Some(email), ..User::new(UserId::fresh(), now) };
        user.user_metadata = profile.identity_data();
        user.app_metadata = [("provider".to_owned(), json!(PROVIDER)), ("providers".to_owned(), json!([PROVIDER]))]
            .into_iter()
            .collect();
        let proof = if profile.is_email_verified { AddressProof::Proven } else { AddressProof::Assumed };
        confirm_email(&mut user, proof, now);
        user.user_metadata.insert("email_verified".to_owned(), json!(profile.is_email_verified));
        sign_up::check_metadata_size(&user.user_metadata)?;
        user.identities = vec![self.new_identity(user.id, profile)];
        let events = self.audit(user.id, AuditActor::User, AuditEventKind::AccountCreated);
        let registration = self.use_of(token);
        let events = with_token(events, registration);
        let stored = self.storage.users().insert_with(&user, &[], registration, &events).await;
        stored.map_err(|error| map_insert_error(error, CONFLICT))?;
        Ok(user)
    }

    /// Adds the identity to the account with the same address, if that is allowed.
    async fn link_account(&self, user: User, profile: &ProviderProfile) -> Result<User, AuthError> {
        let now = self.clock.now();
        if user.is_banned(now) {
            return Err(USER_BANNED.into());
        }
        let is_allowed = self.links_by_email() || self.is_unproven_account(&user);
        // Another subject with the address of a linked account: the provider has given the address to somebody else.
        let is_of_other_subject = user.identities.iter().any(|identity| identity.issuer == profile.issuer);
        if !profile.is_email_verified || !is_allowed || is_of_other_subject {
            return Err(ACCOUNT_EXISTS.into());
        }
        let identity = self.new_identity(user.id, profile);
        let was_confirmed = user.email_confirmed_at.is_some();
        let mut linked = self
            .update_account(user, CONFLICT, |user| {
                // Somebody else may have signed up with the address, whose owner proves it only now.
                let is_first_proof = user.email_confirmed_at.is_none();
                if is_first_proof {
                    discard_unproven_sign_up(user);
                    confirm_email(user, AddressProof::Proven, now);
                }
                add_provider(user);
                Ok(Along { link: Some(&identity), sign_out: is_first_proof, void: is_first_proof, ..Along::default() })
            })
            .await?;
        if was_confirmed {
            self.notify(&linked, SecurityNotice::IdentityLinked);
        } else {
            self.events.publish(linked.id, &UserEvent::Devices);
        }
        linked.identities.push(identity);
        Ok(linked)
    }

    fn links_by_email(&self) -> bool {
        self.settings.oidc.as_ref().is_some_and(|oidc| oidc.links_by_email)
    }

    /// Returns whether the address of the account is unproven, and its owner may have an account: they are
    /// invited, or could sign up if the account did not exist.
    fn is_unproven_account(&self, user: &User) -> bool {
        let is_unproven = user.email_confirmed_at.is_none() && user.identities.is_empty();
        let may_sign_up = || user.email.as_deref().is_some_and(|email| self.check_sign_up(email).is_ok());
        is_unproven && (user.invited_at.is_some() || may_sign_up())
    }

    pub(super) fn new_identity(&self, user: UserId, profile: &ProviderProfile) -> Identity {
        let now = self.clock.now();
        Identity {
            id: domain::ids::fresh(),
            user,
            issuer: profile.issuer.clone(),
            subject: profile.subject.clone(),
            data: profile.stored_claims(),
            last_sign_in_at: now,
            created_at: now,
            updated_at: now,
        }
    }
}

/// Returns whether an account was created by a sign-in at the provider.
fn is_created_at_provider(user: &User) -> bool {
    user.app_metadata.get("provider").is_some_and(|provider| provider == PROVIDER)
}

/// Adds the provider to those in a user's metadata.
pub(super) fn add_provider(user: &mut User) {
    let providers = user.app_metadata.entry("providers").or_insert_with(|| json!([]));
    if let Value::Array(providers) = providers
        && !providers.contains(&json!(PROVIDER))
    {
        providers.push(json!(PROVIDER));
    }
}
