//! Making an account, signing in to it, changing it.

use std::net::IpAddr;

use domain::{AuthSessionId, Timestamp, UserId};
use serde_json::{Map, Value, json};
use storage::one_time_tokens::OneTimeToken;
use storage::users::{Along, User};
use url::Url;
use uuid::Uuid;

use super::account_updates::{self, confirm, taken};
use super::email_change::{self, Way};
use super::emails::Landing;
use super::gotrue_error::{
    BANNED_LOGIN, EMAIL_NOT_CONFIRMED, INVALID_CREDENTIALS, NOT_ADMIN, PASSWORD_NEEDS_ADDRESS, PHONE_CHANGE_DISABLED,
    REAUTHENTICATION_NOT_VALID, Refusal, SAME_PASSWORD, UPDATE_NEEDS_AAL2, USER_ALREADY_EXISTS,
};
use super::login_throttle::Proof;
use super::reauthentication::Given;
use super::sessions::SignIn;
use super::{AccountService, AuthError, Claims, email_address, phone, pkce};
use platform::UserEvent;

/// The most of `user_metadata`, as JSON text in bytes. It travels in every access token, and a token too large for a
/// header would lock its person out.
const METADATA_LIMIT: usize = 8 * 1024;

/// What makes an account.
#[derive(Debug)]
pub struct NewAccount {
    /// The address.
    pub email: String,
    /// The password.
    pub password: String,
    /// What the person's program wants to keep here.
    pub data: Map<String, Value>,
    /// Where a mailed link leads.
    pub landing: Landing,
}

/// What became of a sign-up.
#[derive(Debug)]
pub enum SignedUp {
    /// The person is signed in.
    In(SignIn),
    /// The account waits for its address to be confirmed. It may describe no account: see [`AccountService::sign_up`].
    Waiting(User),
}

/// What is to be changed; what is `None` stays.
#[derive(Debug)]
pub struct Change {
    /// The new address.
    pub email: Option<String>,
    /// A phone number, which this server does not support.
    pub phone: Option<String>,
    /// How the number is to be reached.
    pub channel: String,
    /// The new password.
    pub password: Option<String>,
    /// The present password: need not be sent, but must be right when it is.
    pub current_password: Option<String>,
    /// The mailed code that shows that the person is still who they were.
    pub nonce: Option<String>,
    /// Fields of `user_metadata` to set, or to remove where they are null.
    pub data: Option<Map<String, Value>>,
    /// It also says what `app_metadata` is to be, which is not the person's to say.
    pub sets_app_metadata: bool,
    /// Where a mailed link leads.
    pub redirect: Url,
    /// What the request says of PKCE, and the method.
    pub challenge: (Option<String>, Option<String>),
    /// Network address of the request.
    pub from: IpAddr,
}

impl AccountService {
    /// Makes an account, and signs in to it where addresses need no confirmation. Everywhere else it takes as long whether
    /// or not the address has an account.
    pub async fn sign_up(&self, account: NewAccount, user_agent: Option<String>) -> Result<SignedUp, AuthError> {
        let email = email_address::normalize(&account.email)?;
        let autoconfirm = self.settings.autoconfirm;
        // The early check saves a hash and gives the right error first. The unique index still decides at the
        // insertion.
        if autoconfirm && self.storage.users().get_by_email(&email).await?.is_some() {
            return Err(USER_ALREADY_EXISTS.into());
        }
        let password_hash = self.passwords.hash(account.password).await?;
        let mut user = self.new_user(email.clone(), Some(password_hash), account.data)?;
        if !autoconfirm {
            return Ok(SignedUp::Waiting(self.sign_up_by_mail(user, &email, account.landing).await?));
        }
        confirm(&mut user, self.clock.now());
        self.storage.users().insert(&user).await.map_err(|error| taken(error, USER_ALREADY_EXISTS))?;
        Ok(SignedUp::In(self.open(user, "password", user_agent).await?))
    }

    /// Creates an anonymous account and signs in to it.
    pub async fn sign_in_anonymously(
        &self,

        data: Map<String, Value>,
        user_agent: Option<String>,
    ) -> Result<SignIn, AuthError> {
        let mut user = User { is_anonymous: true, ..User::new(UserId::fresh(), self.clock.now()) };
        user.user_metadata = data;
        user.user_metadata.retain(|_, value| !value.is_null());
        check_size(&user.user_metadata)?;
        self.storage.users().insert(&user).await?;
        self.open(user, "anonymous", user_agent).await
    }

    /// Signs in with an e-mail address and a password, from a network address. An e-mail address without an account takes
    /// as long as a wrong password, and has to wait as often.
    pub async fn sign_in(
        &self,

        email: &str,
        password: String,
        from: IpAddr,
        user_agent: Option<String>,
    ) -> Result<SignIn, AuthError> {
        // Counted for the text as typed, even if it is no address: the response time must not tell the two apart.
        let attempt = self.limits.attempt(Proof::Password, &email.to_ascii_lowercase(), from)?;
        let user = match email_address::normalize(email) {
            Ok(email) => self.storage.users().get_by_email(&email).await?,
            Err(_) => None,
        };
        let hash = user.as_ref().and_then(|user| user.password_hash.clone());
        let matches = self.passwords.matches(password, hash).await?;
        let user = user.filter(|_| matches).ok_or(INVALID_CREDENTIALS)?;
        attempt.succeeded();
        // Only after the password was right: a ban or an unconfirmed address is not for strangers to learn.
        if user.is_banned(self.clock.now()) {
            return Err(BANNED_LOGIN.into());
        }
        if user.email_confirmed_at.is_none() {
            return Err(EMAIL_NOT_CONFIRMED.into());
        }
        self.open(user, "password", user_agent).await
    }

    /// Changes the account of the person who asks. A new password ends all their other sign-ins. What is wrong is said in
    /// the protocol's order.
    pub async fn update_user(&self, claims: Claims, change: Change) -> Result<User, AuthError> {
        let email = change.email.as_deref().map(email_address::normalize).transpose()?;
        change.check_form()?;
        let user = self.user(claims).await?;
        if let Some(password) = &change.password {
            let emails: Vec<&str> = user.email.as_deref().into_iter().chain(email.as_deref()).collect();
            self.password_rules().check_new(password, &emails)?;
        }
        // Clients send the whole form back. The present address is no change, and needs no proof.
        let email = email.filter(|email| user.email.as_ref() != Some(email));
        change.check_right(&user, claims, email.is_some())?;
        let way = match &email {
            Some(email) => Some(self.email_change_way(&user, email).await?),
            None => None,
        };
        if change.phone.is_some() {
            return Err(PHONE_CHANGE_DISABLED.into());
        }
        let spend = if change.password.is_some() || email.is_some() {
            // The current password proves only a change of the password, as in GoTrue.
            let current = change.current_password.as_deref().filter(|_| change.password.is_some());
            let proof = Given { nonce: change.nonce.as_deref(), password: current };
            self.check_reauthentication(&user, claims, change.password.is_some(), proof, change.from).await?
        } else {
            None
        };
        // Outside of `update_account`, which may apply the change several times: a hash takes tens of milliseconds.
        let password_hash = self.hash_of_new(&user, change.password).await?;
        let keep = password_hash.is_some().then_some(claims.session);
        let mut checked = Checked { email, way, password_hash, data: change.data, keep, spend, issue: Vec::new() };
        // What cannot be written is refused before anything is mailed.
        checked.apply(&mut user.clone(), self.clock.now())?;
        if let (Some(email), Some(Way::ByMail)) = (&checked.email, way) {
            let (challenge, method) = change.challenge;
            let landing = Landing { redirect: change.redirect, challenge: pkce::challenge(challenge, method)? };
            checked.issue = self.mail_email_change(&user, email, &landing).await?;
        }
        let edit = |user: &mut User| checked.apply(user, self.clock.now());
        let user = self.update_account(user, REAUTHENTICATION_NOT_VALID, edit).await?;
        if checked.keep.is_some() {
            self.events.publish(user.id, &UserEvent::Devices);
        }
        Ok(user)
    }

    /// The hash of the new password, if it is new.
    async fn hash_of_new(&self, user: &User, new: Option<String>) -> Result<Option<String>, AuthError> {
        let Some(new) = new else { return Ok(None) };
        if let Some(hash) = user.password_hash.clone()
            && self.passwords.matches(new.clone(), Some(hash)).await?
        {
            return Err(SAME_PASSWORD.into());
        }
        self.passwords.hash(new).await.map(Some)
    }
}

impl Change {
    /// Checks what does not depend on the user who asks.
    fn check_form(&self) -> Result<(), AuthError> {
        if let Some(number) = &self.phone {
            phone::check(number)?;
            phone::check_channel(&self.channel)?;
        }
        Ok(())
    }

    /// Whether it is this person's to make, in this sign-in.
    fn check_right(&self, user: &User, claims: Claims, new_email: bool) -> Result<(), AuthError> {
        if self.sets_app_metadata {
            return Err(NOT_ADMIN.into());
        }
        if claims.lacks_factor && (new_email || self.phone.is_some() || self.password.is_some()) {
            return Err(UPDATE_NEEDS_AAL2.into());
        }
        if user.is_anonymous && !new_email && self.phone.is_none() && self.password.is_some() {
            return Err(PASSWORD_NEEDS_ADDRESS.into());
        }
        Ok(())
    }
}

/// A change that may be made.
struct Checked {
    email: Option<String>,
    way: Option<Way>,
    password_hash: Option<String>,
    data: Option<Map<String, Value>>,
    /// The one sign-in that a new password leaves.
    keep: Option<AuthSessionId>,
    /// The mailed code that allows the new password.
    spend: Option<Uuid>,
    /// What was mailed about the new address.
    issue: Vec<OneTimeToken>,
}

impl Checked {
    fn apply(&self, user: &mut User, now: Timestamp) -> Result<Along<'_>, AuthError> {
        if let Some(hash) = &self.password_hash {
            user.password_hash = Some(hash.clone());
            // Whoever began it knew the old password; its links are void from now on.
            account_updates::forget_email_change(user);
        }
        match (&self.email, self.way) {
            (Some(email), Some(Way::AtOnce)) => account_updates::set_email(user, email.clone(), now),
            (Some(email), Some(Way::ByMail)) => email_change::wait_for(user, email, now),
            _ => {}
        }
        for (name, value) in self.data.iter().flatten() {
            if value.is_null() {
                user.user_metadata.remove(name);
            } else {
                user.user_metadata.insert(name.clone(), value.clone());
            }
        }
        check_size(&user.user_metadata)?;
        let (keep, void) = (self.keep, self.keep.is_some());
        Ok(Along { keep, spend: self.spend, void, issue: &self.issue, ..Along::default() })
    }
}

impl AccountService {
    /// An account whose address is not confirmed yet.
    pub(super) fn new_user(
        &self,
        email: String,
        password_hash: Option<String>,
        data: Map<String, Value>,
    ) -> Result<User, AuthError> {
        let id = UserId::fresh();
        let now = self.clock.now();
        let mut user_metadata = data;
        // A null in an update removes a field, so a new account must not contain one.
        user_metadata.retain(|_, value| !value.is_null());
        user_metadata.insert("sub".to_owned(), json!(id));
        user_metadata.insert("email".to_owned(), json!(email));
        user_metadata.insert("email_verified".to_owned(), json!(false));
        user_metadata.insert("phone_verified".to_owned(), json!(false));
        check_size(&user_metadata)?;
        Ok(User {
            email: Some(email),
            password_hash,
            user_metadata,
            app_metadata: e_mail_provider(),
            ..User::new(id, now)
        })
    }

    /// A new account of which only the address is known.
    pub(super) fn blank_user(&self, email: String) -> User {
        User { email: Some(email), app_metadata: e_mail_provider(), ..User::new(UserId::fresh(), self.clock.now()) }
    }
}

/// What the server keeps of a person who signs in with an address.
pub(super) fn e_mail_provider() -> Map<String, Value> {
    [("provider".to_owned(), json!("email")), ("providers".to_owned(), json!(["email"]))].into_iter().collect()
}

pub(super) fn check_size(metadata: &Map<String, Value>) -> Result<(), AuthError> {
    let size = serde_json::to_string(metadata).map_err(AuthError::internal)?.len();
    if size > METADATA_LIMIT {
        return Err(Refusal::invalid("User metadata cannot be larger than 8 KiB").into());
    }
    Ok(())
}
