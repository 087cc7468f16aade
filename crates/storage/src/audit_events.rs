//! The audit log (`audit_events`): what happened to accounts, by whom, and from where. It has no secrets and no text of
//! users, and outlives the accounts.

use domain::{RegistrationTokenId, Timestamp, UserId};
use uuid::Uuid;

use crate::db_macros::{read, write};
use crate::{AuditEventRepository, Error};

/// Maximum length of a stored user agent, in characters.
const MAX_USER_AGENT_CHARS: usize = 200;

/// Cause of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditActor {
    /// The user of the account, or a client that tried to sign in as this user.
    User,
    /// An administrator.
    Admin,
    /// The server.
    System,
}

impl AuditActor {
    /// Returns the name in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Admin => "admin",
            Self::System => "system",
        }
    }
}

/// Kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditEventKind {
    /// An account was created.
    AccountCreated,
    /// An account was deleted.
    AccountDeleted,
    /// An account was locked.
    AccountLocked,
    /// The lock of an account was removed.
    AccountUnlocked,
    /// An API key was created.
    ApiKeyCreated,
    /// An API key was deleted, or all of them.
    ApiKeyDeleted,
    /// A backup was made.
    BackupCreated,
    /// The database was restored from a backup.
    BackupRestored,
    /// Name, URL, headers or OAuth client of a connection to an MCP server were changed.
    ConnectionChanged,
    /// A connection to an MCP server was created.
    ConnectionCreated,
    /// A connection to an MCP server was deleted.
    ConnectionDeleted,
    /// The email address was changed.
    EmailChanged,
    /// A second factor was verified for the first time.
    FactorAdded,
    /// A code of a second factor was wrong.
    FactorFailed,
    /// A second factor was removed.
    FactorRemoved,
    /// A Google Drive was linked.
    GoogleDriveLinked,
    /// The link of a Google Drive ended.
    GoogleDriveUnlinked,
    /// An account at the identity provider was linked.
    IdentityLinked,
    /// An account at the identity provider was unlinked.
    IdentityUnlinked,
    /// The master key or the key that signs access tokens was replaced.
    KeysReplaced,
    /// A model provider of the user was added.
    ModelProviderAdded,
    /// A model provider of the user was changed.
    ModelProviderChanged,
    /// A model provider of the user was removed.
    ModelProviderRemoved,
    /// A request to the operator's listener had a wrong token.
    OperatorRejected,
    /// A passkey was registered.
    PasskeyAdded,
    /// A passkey was removed.
    PasskeyRemoved,
    /// The password was changed.
    PasswordChanged,
    /// The quotas of the account were changed.
    QuotaChanged,
    /// A recovery code was used.
    RecoveryCodeUsed,
    /// Recovery codes were created or renewed.
    RecoveryCodesCreated,
    /// Recovery codes were deleted.
    RecoveryCodesRemoved,
    /// A registration token was created.
    RegistrationTokenCreated,
    /// A registration token was revoked.
    RegistrationTokenRevoked,
    /// A user signed in to the MCP server of a connection.
    ServerSignedIn,
    /// A user signed out of the MCP server of a connection.
    ServerSignedOut,
    /// A used refresh token was presented again, and its session ended.
    SessionRevoked,
    /// A chat was shared by a link.
    ShareCreated,
    /// A shared chat was revoked, or all of them.
    ShareDeleted,
    /// An MCP server was offered to users.
    SharedServerOffered,
    /// An MCP server is no longer offered to users.
    SharedServerWithdrawn,
    /// A user signed in.
    SignIn,
    /// A sign-in failed: a password, passkey or emailed code was wrong, the account was locked or its address not
    /// confirmed, or a sign-in at the identity provider was declined or rejected.
    SignInFailed,
    /// An administrator made a link with which the user of an existing account can sign in.
    SignInLinkCreated,
    /// Attempts to prove the ownership of an account were rejected because there were too many.
    SignInThrottled,
    /// A user ended sessions.
    SignOut,
    /// Tools were always allowed.
    ToolAllowed,
    /// Tools were denied.
    ToolDenied,
    /// Tools ask for approval again.
    ToolPermissionReset,
}

impl AuditEventKind {
    /// Returns the name in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AccountCreated => "account_created",
            Self::AccountDeleted => "account_deleted",
            Self::AccountLocked => "account_locked",
            Self::AccountUnlocked => "account_unlocked",
            Self::ApiKeyCreated => "api_key_created",
            Self::ApiKeyDeleted => "api_key_deleted",
            Self::BackupCreated => "backup_created",
            Self::BackupRestored => "backup_restored",
            Self::ConnectionChanged => "connection_changed",
            Self::ConnectionCreated => "connection_created",
            Self::ConnectionDeleted => "connection_deleted",
            Self::EmailChanged => "email_changed",
            Self::FactorAdded => "factor_added",
            Self::FactorFailed => "factor_failed",
            Self::FactorRemoved => "factor_removed",
            Self::GoogleDriveLinked => "google_drive_linked",
            Self::GoogleDriveUnlinked => "google_drive_unlinked",
            Self::IdentityLinked => "identity_linked",
            Self::IdentityUnlinked => "identity_unlinked",
            Self::KeysReplaced => "keys_replaced",
            Self::ModelProviderAdded => "model_provider_added",
            Self::ModelProviderChanged => "model_provider_changed",
            Self::ModelProviderRemoved => "model_provider_removed",
            Self::OperatorRejected => "operator_rejected",
            Self::PasskeyAdded => "passkey_added",
            Self::PasskeyRemoved => "passkey_removed",
            Self::PasswordChanged => "password_changed",
            Self::QuotaChanged => "quota_changed",
            Self::RecoveryCodeUsed => "recovery_code_used",
            Self::RecoveryCodesCreated => "recovery_codes_created",
            Self::RecoveryCodesRemoved => "recovery_codes_removed",
            Self::RegistrationTokenCreated => "registration_token_created",
            Self::RegistrationTokenRevoked => "registration_token_revoked",
            Self::ServerSignedIn => "server_signed_in",
            Self::ServerSignedOut => "server_signed_out",
            Self::SessionRevoked => "session_revoked",
            Self::ShareCreated => "share_created",
            Self::ShareDeleted => "share_deleted",
            Self::SharedServerOffered => "shared_server_offered",
            Self::SharedServerWithdrawn => "shared_server_withdrawn",
            Self::SignIn => "sign_in",
            Self::SignInFailed => "sign_in_failed",
            Self::SignInLinkCreated => "sign_in_link_created",
            Self::SignInThrottled => "sign_in_throttled",
            Self::SignOut => "sign_out",
            Self::ToolAllowed => "tool_allowed",
            Self::ToolDenied => "tool_denied",
            Self::ToolPermissionReset => "tool_permission_reset",
        }
    }
}

/// An event to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAuditEvent {
    /// Account to which it happened; `None` if there is no such account, or it happened to the installation.
    pub user: Option<UserId>,
    /// Who caused it.
    pub actor: AuditActor,
    /// What happened.
    pub kind: AuditEventKind,
    /// Network address of the client, where it is known.
    pub client_address: Option<String>,
    /// User agent of the client, where it is known. It is stored shortened.
    pub user_agent: Option<String>,
    /// Registration token that it is about, or with which the account was created.
    pub registration_token: Option<RegistrationTokenId>,
    /// Time of the event.
    pub created_at: Timestamp,
}

impl NewAuditEvent {
    /// Returns the user agent as it is stored.
    pub(crate) fn short_user_agent(&self) -> Option<String> {
        let printable = |text: &String| text.chars().filter(|c| !c.is_control()).take(MAX_USER_AGENT_CHARS).collect();
        self.user_agent.as_ref().map(printable)
    }
}

/// A stored event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEvent {
    /// Its id. Ids sort by time.
    pub id: Uuid,
    /// Account to which it happened.
    pub user: Option<UserId>,
    /// Name of the [`AuditActor`].
    pub actor: String,
    /// Name of the [`AuditEventKind`].
    pub kind: String,
    /// Network address of the client. Removed with the account.
    pub client_address: Option<String>,
    /// User agent of the client. Removed with the account.
    pub user_agent: Option<String>,
    /// Registration token that it is about, or with which the account was created.
    pub registration_token: Option<RegistrationTokenId>,
    /// Time of the event.
    pub created_at: Timestamp,
}

#[derive(sqlx::FromRow)]
struct EventRow {
    id: Uuid,
    user_id: Option<Uuid>,
    actor: String,
    kind: String,
    client_address: Option<String>,
    user_agent: Option<String>,
    registration_token_id: Option<Uuid>,
    created_at: i64,
}

impl From<EventRow> for AuditEvent {
    fn from(row: EventRow) -> Self {
        Self {
            id: row.id,
            user: row.user_id.map(UserId),
            actor: row.actor,
            kind: row.kind,
            client_address: row.client_address,
            user_agent: row.user_agent,
            registration_token: row.registration_token_id.map(RegistrationTokenId),
            created_at: Timestamp(row.created_at),
        }
    }
}

/// The events that an administrator looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AuditEventFilter<'a> {
    /// Only events of this account.
    pub user: Option<UserId>,
    /// Only events with this name of an [`AuditEventKind`].
    pub kind: Option<&'a str>,
    /// Only events before the one with this id.
    pub before: Option<Uuid>,
}

/// An event with the present email address of its account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressedAuditEvent {
    /// The event.
    pub event: AuditEvent,
    /// Email address of the account, if it exists and has one.
    pub email: Option<String>,
}

#[derive(sqlx::FromRow)]
struct AddressedRow {
    #[sqlx(flatten)]
    event: EventRow,
    email: Option<String>,
}

pub(crate) const INSERT: &str =
    "INSERT INTO audit_events (id, user_id, actor, kind, client_address, user_agent, registration_token_id, created_at)
    VALUES (:id, :user, :actor, :kind, :client_address, :user_agent, :registration_token, :created_at)";

/// Stores events in a transaction.
macro_rules! insert_events {
    ($tx:ident, $events:expr) => {
        for event in $events {
            let user_agent = event.short_user_agent();
            $crate::named_values::query_named!(
                $crate::audit_events::INSERT,
                id = domain::ids::fresh(),
                user = event.user.map(|user| user.0),
                actor = event.actor.as_str(),
                kind = event.kind.as_str(),
                client_address = event.client_address.as_deref(),
                user_agent = user_agent.as_deref(),
                registration_token = event.registration_token.map(|token| token.0),
                created_at = event.created_at.0
            )
            .execute(&mut *$tx)
            .await?;
        }
    };
}
pub(crate) use insert_events;

/// Removes what identifies the user of a deleted account.
pub(crate) const ANONYMIZE: &str =
    "UPDATE audit_events SET client_address = NULL, user_agent = NULL WHERE user_id = $1";

const LIST_OF_USER: &str =
    "SELECT id, user_id, actor, kind, client_address, user_agent, registration_token_id, created_at
    FROM audit_events
    WHERE user_id = $1 AND ($2 IS NULL OR id < $2) ORDER BY id DESC LIMIT $3";

const LIST: &str = "SELECT id, user_id, actor, kind, client_address, user_agent, registration_token_id, created_at
    FROM audit_events
    WHERE created_at >= $1 AND id > $2 AND ($3 IS NULL OR user_id = $3) ORDER BY id LIMIT $4";

const LIST_NEWEST: &str =
    "SELECT e.id, e.user_id, e.actor, e.kind, e.client_address, e.user_agent, e.registration_token_id, e.created_at,
      u.email
    FROM audit_events e LEFT JOIN users u ON u.id = e.user_id
    WHERE ($1 IS NULL OR e.user_id = $1) AND ($2 IS NULL OR e.kind = $2) AND ($3 IS NULL OR e.id < $3)
    ORDER BY e.id DESC LIMIT $4";

const DELETE_OLD: &str = "DELETE FROM audit_events WHERE created_at <= $1";

impl AuditEventRepository<'_> {
    /// Stores events that belong to no other change.
    ///
    /// # Errors
    ///
    /// [`Error::Database`].
    pub async fn insert(self, events: &[NewAuditEvent]) -> Result<(), Error> {
        if events.is_empty() {
            return Ok(());
        }
        crate::db_macros::transaction!(self.storage, |tx| {
            insert_events!(tx, events);
            Ok(())
        })
    }

    /// Returns at most `limit` events of a user, newest first, from before the event `before` on.
    ///
    /// # Errors
    ///
    /// [`Error::Database`].
    pub async fn list_of_user(self, owner: UserId, before: Option<Uuid>, limit: i64) -> Result<Vec<AuditEvent>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, EventRow>(LIST_OF_USER)
            .bind(owner.0)
            .bind(before)
            .bind(limit)
            .fetch_all(c)
            .await)?;
        Ok(rows.into_iter().map(AuditEvent::from).collect())
    }

    /// Returns at most `limit` events of one user or of all, oldest first, that happened at `since` or later and follow the
    /// event `after`.
    ///
    /// # Errors
    ///
    /// [`Error::Database`].
    pub async fn list(
        self,
        user: Option<UserId>,
        since: Timestamp,
        after: Option<Uuid>,
        limit: i64,
    ) -> Result<Vec<AuditEvent>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, EventRow>(LIST)
            .bind(since.0)
            .bind(after.unwrap_or_default())
            .bind(user.map(|user| user.0))
            .bind(limit)
            .fetch_all(c)
            .await)?;
        Ok(rows.into_iter().map(AuditEvent::from).collect())
    }

    /// Returns at most `limit` events that pass a filter, newest first. Not limited to one owner; for administrators only.
    ///
    /// # Errors
    ///
    /// [`Error::Database`].
    pub async fn list_newest(
        self,
        filter: AuditEventFilter<'_>,
        limit: i64,
    ) -> Result<Vec<AddressedAuditEvent>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, AddressedRow>(LIST_NEWEST)
            .bind(filter.user.map(|user| user.0))
            .bind(filter.kind)
            .bind(filter.before)
            .bind(limit)
            .fetch_all(c)
            .await)?;
        Ok(rows.into_iter().map(|row| AddressedAuditEvent { event: row.event.into(), email: row.email }).collect())
    }

    /// Deletes the events of all users that happened at `time` or earlier. Returns their number.
    ///
    /// # Errors
    ///
    /// [`Error::Database`].
    pub async fn delete_old(self, time: Timestamp) -> Result<u64, Error> {
        let deleted = write!(self.storage, |c| sqlx::query(DELETE_OLD)
            .bind(time.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(deleted)
    }
}
