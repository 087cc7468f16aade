//! The server itself: its policy for sign-ups, its diagnostics, its mail server and its backups.

use std::fmt;

use accounts::AccountService;
use axum::Json;
use axum::extract::State;
use axum::response::NoContent;
use domain::Timestamp;
use futures_util::future::BoxFuture;
use http_server::error::ApiError;
use http_server::extract::JsonBody;
use platform::config::SignUps;
use platform::diagnostics::{Finding, Verdict};
use serde::{Deserialize, Serialize};
use storage::Storage;

use super::account_error;
use crate::admin_listener::VerifiedOperator;
use crate::state::{PublicSettings, SiteUrl};

/// Tools of the program for its operator, besides its services.
pub trait OperatorTools: fmt::Debug + Send + Sync {
    /// Returns the version of the program.
    fn version(&self) -> &'static str;

    /// Examines everything that the server depends on.
    fn examine(&self) -> BoxFuture<'_, Vec<Finding>>;

    /// Returns the backups; `None` if none are scheduled.
    fn list_backups(&self) -> BoxFuture<'_, anyhow::Result<Option<BackupStatus>>>;

    /// Makes a backup beside the scheduled ones. It is completed even if the caller does not wait for it.
    fn make_backup(&self) -> BoxFuture<'_, Result<(), BackupError>>;
}

/// Error of [`OperatorTools::make_backup`].
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// No backups are scheduled, so that there is no folder for one.
    #[error("backups are not configured; set CHAT_BACKUP_DIR")]
    NotConfigured,
    /// A backup is in progress.
    #[error("a backup is in progress; wait until it is complete")]
    InProgress,
    /// The backup failed.
    #[error("the backup failed: {0:#}")]
    Failed(anyhow::Error),
}

/// The scheduled backups.
#[derive(Debug, Serialize)]
pub struct BackupStatus {
    /// Folder on the server.
    pub folder: String,
    /// Time of day at which a backup is made, in the time zone of the server.
    pub time: String,
    /// Number of backups that are kept.
    pub keep: usize,
    /// The backups, newest first.
    pub backups: Vec<BackupEntry>,
}

/// A backup.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupEntry {
    /// Name of the file.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// Time of the backup.
    pub created_at: Timestamp,
}

/// The server and its policy for sign-ups.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerInfo {
    version: &'static str,
    /// Public address.
    site_url: String,
    /// Kind of the database.
    database: &'static str,
    sign_ups: SignUpPolicy,
}

/// Policy of the settings for creating accounts and for signing in.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SignUpPolicy {
    /// Value of `CHAT_SIGNUPS`: `open`, `invite` or `closed`.
    mode: &'static str,
    /// Domains whose addresses can sign up. Empty: all.
    domains: Vec<String>,
    /// Whether addresses need no confirmation by email.
    autoconfirm: bool,
    /// Whether users may sign in without an account.
    anonymous: bool,
    /// Whether the server can send emails.
    has_mail: bool,
    /// Whether users can sign in with passkeys.
    has_passkeys: bool,
    /// Name of the identity provider.
    provider: Option<String>,
    /// Whether the identity provider is the only way to sign in.
    provider_only: bool,
}

/// Returns facts about the server (`GET /server`).
pub async fn get_server(
    VerifiedOperator(access): VerifiedOperator,
    State(storage): State<Storage>,
    State(accounts): State<AccountService>,
    State(settings): State<PublicSettings>,
    State(SiteUrl(site_url)): State<SiteUrl>,
) -> Json<ServerInfo> {
    let domains = match accounts.sign_ups() {
        SignUps::Open(domains) => domains.iter().map(|domain| domain.as_str().to_owned()).collect(),
        SignUps::Invite | SignUps::Closed => Vec::new(),
    };
    let sign_ups = SignUpPolicy {
        mode: accounts.sign_ups().as_str(),
        domains,
        autoconfirm: settings.autoconfirm,
        anonymous: settings.anonymous_sign_in,
        has_mail: accounts.can_send_email(),
        has_passkeys: accounts.passkey_domain().is_some(),
        provider: accounts.oidc().map(|oidc| oidc.name.clone()),
        provider_only: accounts.oidc().is_some_and(|oidc| oidc.is_only),
    };
    Json(ServerInfo { version: access.tools.version(), site_url: site_url.into(), database: storage.kind(), sign_ups })
}

/// Result of the diagnostics.
#[derive(Debug, Serialize)]
pub struct Diagnostics {
    /// Whether nothing failed. There may be warnings.
    healthy: bool,
    findings: Vec<Finding>,
}

/// Examines everything that the server depends on (`GET /diagnostics`).
pub async fn get_diagnostics(VerifiedOperator(access): VerifiedOperator) -> Json<Diagnostics> {
    let findings = access.tools.examine().await;
    let healthy = findings.iter().all(|finding| finding.verdict != Verdict::Fail);
    Json(Diagnostics { healthy, findings })
}

/// The recipient of a test email.
#[derive(Debug, Deserialize)]
pub struct TestEmailBody {
    to: String,
}

/// Sends a test email, and waits until the mail server has accepted it (`POST /test-email`).
pub async fn send_test_email(
    State(accounts): State<AccountService>,
    JsonBody(TestEmailBody { to }): JsonBody<TestEmailBody>,
) -> Result<NoContent, ApiError> {
    accounts.send_test_email(&to).await.map_err(account_error)?;
    Ok(NoContent)
}

/// The backups, if any are scheduled.
#[derive(Debug, Serialize)]
pub struct BackupList {
    schedule: Option<BackupStatus>,
}

/// Lists the backups (`GET /backups`).
pub async fn list_backups(VerifiedOperator(access): VerifiedOperator) -> Result<Json<BackupList>, ApiError> {
    Ok(Json(BackupList { schedule: access.tools.list_backups().await? }))
}

/// Makes a backup, and waits until it is complete (`POST /backups`).
pub async fn make_backup(VerifiedOperator(access): VerifiedOperator) -> Result<NoContent, ApiError> {
    access.tools.make_backup().await.map_err(|error| {
        let message = error.to_string();
        match error {
            BackupError::NotConfigured => ApiError::Unprocessable { code: "no_backups", message },
            BackupError::InProgress => ApiError::Conflict { code: "backup_in_progress", message },
            BackupError::Failed(error) => ApiError::Internal(error),
        }
    })?;
    Ok(NoContent)
}
