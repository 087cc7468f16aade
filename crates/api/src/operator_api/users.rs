//! `/admin/api/users`: accounts.

use std::sync::Arc;

use accounts::AccountService;
use accounts::admin::{AdminUserParams, GenerateLinkParams};
use accounts::deletion::AccountDeletionHandler;
use accounts::email_address;
use axum::Json;
use axum::extract::State;
use axum::response::NoContent;
use domain::{Clock, FactorId, PasskeyId, Timestamp, UserId};
use http_server::error::ApiError;
use http_server::extract::{JsonBody, NamedTwo, Query};
use serde::{Deserialize, Serialize};
use serde_json::Map;
use storage::Storage;
use storage::auth_sessions::Device;
use storage::factors::Factor;
use storage::passkeys::Passkey;
use storage::users::User;

use super::{NamedUser, account_error};

/// Number of accounts on a page.
const USERS_PER_PAGE: i64 = 50;
/// Duration of a lock that has no end: a hundred years.
const FOREVER: &str = "876000h";
/// Duration that ends a lock.
const UNLOCKED: &str = "none";

/// State of an account, the most important one.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
enum AccountState {
    /// Anonymized by an administrator.
    Deleted,
    Locked,
    Anonymous,
    /// Invited, and the invitation is not accepted yet.
    Invited,
    /// The email address is not confirmed yet.
    Unconfirmed,
    Active,
}

impl AccountState {
    fn of(user: &User, now: Timestamp) -> Self {
        match user {
            User { deleted_at: Some(_), .. } => Self::Deleted,
            _ if user.is_banned(now) => Self::Locked,
            User { is_anonymous: true, .. } => Self::Anonymous,
            User { email_confirmed_at: None, invited_at: Some(_), .. } => Self::Invited,
            User { email_confirmed_at: None, .. } => Self::Unconfirmed,
            _ => Self::Active,
        }
    }
}

/// An account in a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UserSummary {
    id: UserId,
    email: Option<String>,
    state: AccountState,
    created_at: Timestamp,
    last_sign_in_at: Option<Timestamp>,
    /// End of a lock.
    locked_until: Option<Timestamp>,
}

impl UserSummary {
    fn new(user: User, now: Timestamp) -> Self {
        Self {
            id: user.id,
            state: AccountState::of(&user, now),
            created_at: user.created_at,
            last_sign_in_at: user.last_sign_in_at,
            locked_until: user.banned_until.filter(|until| *until > now),
            email: user.email,
        }
    }
}

/// A second factor or a passkey.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CredentialDto<Id> {
    id: Id,
    /// `totp` for an authenticator app, `webauthn` for a security key, `passkey`.
    kind: &'static str,
    name: String,
    created_at: Timestamp,
    /// Whether it takes effect: the setup of a second factor may be incomplete.
    is_verified: bool,
}

impl From<Factor> for CredentialDto<FactorId> {
    fn from(Factor { id, kind, friendly_name: name, is_verified, created_at, .. }: Factor) -> Self {
        Self { id, kind: kind.as_str(), name, created_at, is_verified }
    }
}

impl From<Passkey> for CredentialDto<PasskeyId> {
    fn from(Passkey { id, friendly_name: name, created_at, .. }: Passkey) -> Self {
        Self { id, kind: "passkey", name, created_at, is_verified: true }
    }
}

/// A sign-in of a user.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DeviceDto {
    user_agent: Option<String>,
    used_at: Timestamp,
}

impl From<Device> for DeviceDto {
    fn from(Device { user_agent, used_at, .. }: Device) -> Self {
        Self { user_agent, used_at }
    }
}

/// An account with all that the operator manages.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UserDetails {
    #[serde(flatten)]
    summary: UserSummary,
    email_confirmed_at: Option<Timestamp>,
    invited_at: Option<Timestamp>,
    has_password: bool,
    /// Identity providers with an account of the user, by their issuer.
    providers: Vec<String>,
    factors: Vec<CredentialDto<FactorId>>,
    passkeys: Vec<CredentialDto<PasskeyId>>,
    devices: Vec<DeviceDto>,
    /// Size of the stored files, in bytes.
    stored_bytes: u64,
}

/// The part of the accounts to list.
#[derive(Debug, Deserialize)]
pub struct UserQuery {
    /// Part of an email address, or an id.
    #[serde(default)]
    search: String,
    /// Number of accounts to skip.
    #[serde(default)]
    offset: u32,
}

/// A page of accounts.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UserPage {
    users: Vec<UserSummary>,
    /// Number of all accounts that were looked for.
    total: i64,
}

/// Lists accounts, newest first (`GET /users?search=…&offset=…`).
pub async fn list_users(
    State(storage): State<Storage>,
    State(clock): State<Arc<dyn Clock>>,
    Query(UserQuery { search, offset }): Query<UserQuery>,
) -> Result<Json<UserPage>, ApiError> {
    let search = search.trim();
    if search.len() > email_address::MAX_ADDRESS_BYTES {
        return Err(ApiError::BadRequest(format!("search has at most {} bytes", email_address::MAX_ADDRESS_BYTES)));
    }
    let offset = i64::from(offset);
    let (users, total) = if search.is_empty() {
        (storage.users().list(USERS_PER_PAGE, offset).await?, storage.users().count().await?)
    } else if let Ok(id) = search.parse::<UserId>() {
        let found: Vec<User> = storage.users().get(id).await?.into_iter().collect();
        let total = i64::try_from(found.len()).unwrap_or(i64::MAX);
        (if offset == 0 { found } else { Vec::new() }, total)
    } else {
        storage.users().find(search, USERS_PER_PAGE, offset).await?
    };
    let now = clock.now();
    Ok(Json(UserPage { users: users.into_iter().map(|user| UserSummary::new(user, now)).collect(), total }))
}

/// Returns an account (`GET /users/{id}`).
pub async fn get_user(
    State(storage): State<Storage>,
    State(accounts): State<AccountService>,
    State(clock): State<Arc<dyn Clock>>,
    NamedUser(mut user): NamedUser,
) -> Result<Json<UserDetails>, ApiError> {
    let passkeys = accounts.list_passkeys(user.id).await.map_err(account_error)?;
    let devices = storage.auth_sessions().list_devices(user.id).await?;
    let stored_bytes = storage.files().count_bytes(user.id).await?;
    let factors = std::mem::take(&mut user.factors);
    let identities = std::mem::take(&mut user.identities);
    Ok(Json(UserDetails {
        email_confirmed_at: user.email_confirmed_at,
        invited_at: user.invited_at,
        has_password: user.password_hash.is_some(),
        summary: UserSummary::new(user, clock.now()),
        providers: identities.into_iter().map(|identity| identity.issuer).collect(),
        factors: factors.into_iter().map(CredentialDto::from).collect(),
        passkeys: passkeys.into_iter().map(CredentialDto::from).collect(),
        devices: devices.into_iter().map(DeviceDto::from).collect(),
        stored_bytes,
    }))
}

/// Way in which an invitation reaches its user.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum InvitationWay {
    /// The server sends an email.
    Email,
    /// The operator sends the link.
    Link,
}

/// An invitation.
#[derive(Debug, Deserialize)]
pub struct InvitationBody {
    email: String,
    way: InvitationWay,
}

/// The invitation as it was made.
#[derive(Debug, Serialize)]
pub struct Invitation {
    id: UserId,
    /// The link, if the operator sends it.
    link: Option<String>,
}

/// Creates an account and invites its user (`POST /users/invitations`).
pub async fn invite_user(
    State(accounts): State<AccountService>,
    JsonBody(InvitationBody { email, way }): JsonBody<InvitationBody>,
) -> Result<Json<Invitation>, ApiError> {
    let invitation = match way {
        InvitationWay::Email => {
            let user = accounts.invite_user(&email, Map::new(), None).await.map_err(account_error)?;
            Invitation { id: user.id, link: None }
        }
        InvitationWay::Link => {
            let params = GenerateLinkParams { purpose: "invite".to_owned(), email, ..GenerateLinkParams::default() };
            let made = accounts.generate_link(params).await.map_err(account_error)?;
            Invitation { id: made.user.id, link: Some(made.link.into()) }
        }
    };
    Ok(Json(invitation))
}

/// A lock.
#[derive(Debug, Deserialize)]
pub struct LockBody {
    /// How long, such as `24h`. Without it, until the operator unlocks the account.
    duration: Option<String>,
}

/// Locks an account: its user can neither sign in nor use a session (`POST /users/{id}/lock`).
pub async fn lock_user(
    State(accounts): State<AccountService>,
    State(clock): State<Arc<dyn Clock>>,
    NamedUser(user): NamedUser,
    JsonBody(LockBody { duration }): JsonBody<LockBody>,
) -> Result<Json<UserSummary>, ApiError> {
    let duration = duration.unwrap_or_else(|| FOREVER.to_owned());
    set_lock(&accounts, &*clock, user.id, duration).await
}

/// Unlocks an account (`POST /users/{id}/unlock`).
pub async fn unlock_user(
    State(accounts): State<AccountService>,
    State(clock): State<Arc<dyn Clock>>,
    NamedUser(user): NamedUser,
) -> Result<Json<UserSummary>, ApiError> {
    set_lock(&accounts, &*clock, user.id, UNLOCKED.to_owned()).await
}

async fn set_lock(
    accounts: &AccountService,
    clock: &dyn Clock,
    user: UserId,
    duration: String,
) -> Result<Json<UserSummary>, ApiError> {
    let params = AdminUserParams { ban_duration: Some(duration), ..AdminUserParams::default() };
    let user = accounts.update_user_as_admin(user, params).await.map_err(account_error)?;
    Ok(Json(UserSummary::new(user, clock.now())))
}

/// Ends all sessions of an account (`POST /users/{id}/sign-out`).
pub async fn sign_out_user(
    State(accounts): State<AccountService>,
    NamedUser(user): NamedUser,
) -> Result<NoContent, ApiError> {
    accounts.sign_out_as_admin(user.id).await.map_err(account_error)?;
    Ok(NoContent)
}

/// Deletes a second factor (`DELETE /users/{id}/factors/{factor}`).
pub async fn delete_factor(
    State(accounts): State<AccountService>,
    NamedUser(user): NamedUser,
    NamedTwo(_, factor): NamedTwo,
) -> Result<NoContent, ApiError> {
    let id = factor.parse::<FactorId>().ok().filter(|id| user.factors.iter().any(|factor| factor.id == *id));
    let id = id.ok_or(ApiError::NotFound("factor"))?;
    accounts.remove_factor_as_admin(&user, id).await.map_err(account_error)?;
    Ok(NoContent)
}

/// Deletes a passkey (`DELETE /users/{id}/passkeys/{passkey}`).
pub async fn delete_passkey(
    State(accounts): State<AccountService>,
    NamedUser(user): NamedUser,
    NamedTwo(_, passkey): NamedTwo,
) -> Result<NoContent, ApiError> {
    let passkeys = accounts.list_passkeys(user.id).await.map_err(account_error)?;
    let id = passkey.parse::<PasskeyId>().ok().filter(|id| passkeys.iter().any(|passkey| passkey.id == *id));
    let id = id.ok_or(ApiError::NotFound("passkey"))?;
    accounts.remove_passkey_as_admin(&user, id).await.map_err(account_error)?;
    Ok(NoContent)
}

/// The confirmation of a deletion.
#[derive(Debug, Deserialize)]
pub struct DeletionBody {
    /// The email address of the account; its id if it has no address.
    confirmation: String,
}

/// Deletes an account with all of its data (`POST /users/{id}/delete`).
pub async fn delete_user(
    State(accounts): State<AccountService>,
    State(account_deletion): State<Arc<dyn AccountDeletionHandler>>,
    NamedUser(user): NamedUser,
    JsonBody(DeletionBody { confirmation }): JsonBody<DeletionBody>,
) -> Result<NoContent, ApiError> {
    let name = user.email.unwrap_or_else(|| user.id.to_string());
    if confirmation.trim().to_lowercase() != name {
        let message = "this is not the email address of the account".to_owned();
        return Err(ApiError::Unprocessable { code: "not_confirmed", message });
    }
    accounts.remove_account(user.id, &*account_deletion).await?;
    Ok(NoContent)
}
