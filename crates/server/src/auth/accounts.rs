//! Making an account, signing in to it, changing it.

use std::net::IpAddr;

use domain::{AuthSessionId, UserId};
use serde_json::{Map, Value, json};
use store::users::User;

use super::limits::Proof;
use super::refusal::{
    CONFLICT, CURRENT_PASSWORD_INVALID, EMAIL_CHANGE_DISABLED, EMAIL_EXISTS, EMAIL_NOT_CONFIRMED, INVALID_CREDENTIALS,
    PASSWORD_NEEDS_ADDRESS, Refusal, SAME_PASSWORD, SIGNUP_DISABLED, UPDATE_NEEDS_AAL2, USER_ALREADY_EXISTS,
};
use super::sessions::SignIn;
use super::{Auth, AuthError, Claims, email, password};
use crate::app::App;
use crate::events::Event;

/// The most of `user_metadata`, as JSON text in bytes. It travels in every access token, and a token too large for a
/// header would lock its person out.
const METADATA_LIMIT: usize = 8 * 1024;
/// How often a change is tried anew when somebody else changed the account meanwhile.
const ATTEMPTS: usize = 5;

/// What makes an account.
#[derive(Debug, Default)]
pub struct NewAccount {
    /// The address.
    pub email: String,
    /// The password.
    pub password: String,
    /// What the person's program wants to keep here.
    pub data: Map<String, Value>,
}

/// What is to be changed; what is `None` stays.
#[derive(Debug, Default)]
pub struct Change {
    /// The new address.
    pub email: Option<String>,
    /// The new password.
    pub password: Option<String>,
    /// The present password: need not be sent, but must be right when it is.
    pub current_password: Option<String>,
    /// Fields of `user_metadata` to set, or to remove where they are null.
    pub data: Option<Map<String, Value>>,
}

impl Auth {
    /// Makes an account and signs in to it.
    pub async fn sign_up(
        &self,
        app: &App,
        account: NewAccount,
        user_agent: Option<String>,
    ) -> Result<SignIn, AuthError> {
        if !app.config.autoconfirm {
            return Err(SIGNUP_DISABLED.into());
        }
        if account.password.is_empty() {
            return Err(Refusal::invalid("Signup requires a valid password").into());
        }
        password::check_new(&account.password)?;
        let email = email::normalize(&account.email)?;
        if app.store.get_user_by_email(&email).await?.is_some() {
            return Err(USER_ALREADY_EXISTS.into());
        }
        let password_hash = self.passwords.hash(account.password).await?;
        let user = new_user(app, email, password_hash, account.data)?;
        app.store.insert_user(&user).await.map_err(|error| taken(error, USER_ALREADY_EXISTS))?;
        self.open(app, user, "password", user_agent).await
    }

    /// Makes an account of somebody who does not say who they are, and signs in to it.
    pub async fn sign_in_anonymously(
        &self,
        app: &App,
        data: Map<String, Value>,
        user_agent: Option<String>,
    ) -> Result<SignIn, AuthError> {
        let mut user = User { is_anonymous: true, ..User::new(UserId::fresh(), app.clock.now()) };
        user.user_metadata = data;
        user.user_metadata.retain(|_, value| !value.is_null());
        check_size(&user.user_metadata)?;
        app.store.insert_user(&user).await?;
        self.open(app, user, "anonymous", user_agent).await
    }

    /// Signs in with an e-mail address and a password, from a network address. An e-mail address without an account takes
    /// as long as a wrong password, and has to wait as often.
    pub async fn sign_in(
        &self,
        app: &App,
        email: &str,
        password: String,
        from: IpAddr,
        user_agent: Option<String>,
    ) -> Result<SignIn, AuthError> {
        let attempt = self.limits.attempt(Proof::Password, &email.to_ascii_lowercase(), from)?;
        let user = match email::normalize(email) {
            Ok(email) => app.store.get_user_by_email(&email).await?,
            Err(_) => None,
        };
        let hash = user.as_ref().and_then(|user| user.password_hash.clone());
        let matches = self.passwords.matches(password, hash).await?;
        let user = user.filter(|_| matches).ok_or(INVALID_CREDENTIALS)?;
        attempt.succeeded();
        if user.email_confirmed_at.is_none() {
            return Err(EMAIL_NOT_CONFIRMED.into());
        }
        self.open(app, user, "password", user_agent).await
    }

    /// Changes the account of the person who asks. A new password ends all their other sign-ins.
    pub async fn update_user(&self, app: &App, claims: Claims, change: Change) -> Result<User, AuthError> {
        let email = change.email.filter(|email| !email.is_empty()).map(|email| email::normalize(&email)).transpose()?;
        if let Some(password) = &change.password {
            password::check_new(password)?;
        }
        let user = self.user(app, claims).await?;
        let email = email.filter(|email| user.email.as_ref() != Some(email));
        if claims.lacks_factor && (email.is_some() || change.password.is_some()) {
            return Err(UPDATE_NEEDS_AAL2.into());
        }
        if user.is_anonymous && email.is_none() && change.password.is_some() {
            return Err(PASSWORD_NEEDS_ADDRESS.into());
        }
        if let Some(email) = &email {
            check_email_change(app, email).await?;
        }
        let password_hash = self.hash_of_new(&user, change.password, change.current_password).await?;
        let keep = password_hash.is_some().then_some(claims.session);
        let change = Checked { email, password_hash, data: change.data, keep };
        self.write(app, user, &change).await
    }

    /// The hash of the new password, if it is new.
    async fn hash_of_new(
        &self,
        user: &User,
        new: Option<String>,
        current: Option<String>,
    ) -> Result<Option<String>, AuthError> {
        let Some(new) = new else { return Ok(None) };
        if let (Some(current), Some(hash)) = (current, user.password_hash.clone())
            && !self.passwords.matches(current, Some(hash)).await?
        {
            return Err(CURRENT_PASSWORD_INVALID.into());
        }
        if let Some(hash) = user.password_hash.clone()
            && self.passwords.matches(new.clone(), Some(hash)).await?
        {
            return Err(SAME_PASSWORD.into());
        }
        self.passwords.hash(new).await.map(Some)
    }

    /// Writes the change, over what others may have changed meanwhile.
    async fn write(&self, app: &App, mut user: User, change: &Checked) -> Result<User, AuthError> {
        for _ in 0..ATTEMPTS {
            let seen = user.updated_at;
            change.apply(&mut user, app)?;
            let written = app.store.update_user(&user, seen, change.keep).await;
            if written.map_err(|error| taken(error, EMAIL_EXISTS))? {
                if change.keep.is_some() {
                    app.events.publish(user.id, &Event::Devices);
                }
                return Ok(user);
            }
            user = app.store.get_user(user.id).await?.ok_or(CONFLICT)?;
        }
        Err(CONFLICT.into())
    }
}

/// A change that may be made.
struct Checked {
    email: Option<String>,
    password_hash: Option<String>,
    data: Option<Map<String, Value>>,
    /// The one sign-in that a new password leaves.
    keep: Option<AuthSessionId>,
}

impl Checked {
    fn apply(&self, user: &mut User, app: &App) -> Result<(), AuthError> {
        let now = app.clock.now();
        if let Some(email) = &self.email {
            user.email = Some(email.clone());
            user.email_confirmed_at = Some(now);
            user.user_metadata.insert("email".to_owned(), json!(email));
            if user.is_anonymous {
                user.is_anonymous = false;
                user.app_metadata.extend(e_mail_provider());
            }
        }
        if let Some(hash) = &self.password_hash {
            user.password_hash = Some(hash.clone());
        }
        for (name, value) in self.data.iter().flatten() {
            if value.is_null() {
                user.user_metadata.remove(name);
            } else {
                user.user_metadata.insert(name.clone(), value.clone());
            }
        }
        check_size(&user.user_metadata)?;
        // Later than what was read even when the clock stands: the store tells changes apart by it.
        user.updated_at = now.max(domain::Timestamp(user.updated_at.0 + 1));
        Ok(())
    }
}

async fn check_email_change(app: &App, email: &str) -> Result<(), AuthError> {
    if !app.config.autoconfirm {
        return Err(EMAIL_CHANGE_DISABLED.into());
    }
    match app.store.get_user_by_email(email).await? {
        Some(_) => Err(EMAIL_EXISTS.into()),
        None => Ok(()),
    }
}

fn new_user(app: &App, email: String, password_hash: String, data: Map<String, Value>) -> Result<User, AuthError> {
    let id = UserId::fresh();
    let now = app.clock.now();
    let mut user_metadata = data;
    user_metadata.retain(|_, value| !value.is_null());
    user_metadata.insert("sub".to_owned(), json!(id));
    user_metadata.insert("email".to_owned(), json!(email));
    user_metadata.insert("email_verified".to_owned(), json!(true));
    user_metadata.insert("phone_verified".to_owned(), json!(false));
    check_size(&user_metadata)?;
    Ok(User {
        email: Some(email),
        password_hash: Some(password_hash),
        email_confirmed_at: Some(now),
        user_metadata,
        app_metadata: e_mail_provider(),
        ..User::new(id, now)
    })
}

/// What the server keeps of a person who signs in with an address.
fn e_mail_provider() -> Map<String, Value> {
    [("provider".to_owned(), json!("email")), ("providers".to_owned(), json!(["email"]))].into_iter().collect()
}

fn check_size(metadata: &Map<String, Value>) -> Result<(), AuthError> {
    let size = serde_json::to_string(metadata).map_err(AuthError::internal)?.len();
    if size > METADATA_LIMIT {
        return Err(Refusal::invalid("User metadata cannot be larger than 8 KiB").into());
    }
    Ok(())
}

/// Somebody else took the address between the look and the write.
fn taken(error: store::Error, refusal: Refusal) -> AuthError {
    match error {
        store::Error::Conflict(_) => refusal.into(),
        other => other.into(),
    }
}
