//! Access of commands to the database, whose server may run or not.

use std::sync::Arc;

use anyhow::{Context, ensure};
use domain::{Clock, SystemClock, UserId};
use platform::AuditLog;
use platform::config::Config;
use storage::Storage;
use storage::audit_events::{AuditActor, AuditEventKind};
use storage::backup::DatabaseKind;
use storage::inspect::{DatabaseInspection, inspect};

/// Opens the database, runs `operation` on it and closes it.
///
/// # Errors
///
/// The database cannot be opened, its schema is not that of this version, or the operation fails.
pub async fn on_database<T>(
    config: &Config,
    operation: impl AsyncFnOnce(&Storage) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let inspection = inspect(&config.database_url).await?;
    let kind = DatabaseKind::of_url(&config.database_url)?;
    ensure!(
        has_present_schema(&inspection, kind),
        "the schema of the database is not that of this version; start its server first"
    );
    let result = operation(&inspection.storage).await;
    inspection.storage.close().await;
    result
}

/// Returns whether a database has everything that this version stores.
pub fn has_present_schema(inspection: &DatabaseInspection, kind: DatabaseKind) -> bool {
    let is_usable = |version| version >= kind.known_schema_version() && kind.can_use_schema(version);
    inspection.schema_version.is_some_and(is_usable)
}

/// Records in the audit log that `actor` did something to an account, or to the installation.
///
/// # Errors
///
/// The database cannot be written.
pub async fn record_operation(
    storage: &Storage,
    config: &Config,
    actor: AuditActor,
    user: Option<UserId>,
    kind: AuditEventKind,
) -> Result<(), storage::Error> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let events = AuditLog::new(config.audit_lifetime.is_some(), &clock).event(user, actor, kind);
    storage.audit_events().insert(&events).await
}

/// Returns the id of the account with an id or an email address.
///
/// # Errors
///
/// There is no account with this address.
pub async fn find_user(storage: &Storage, user: &str) -> anyhow::Result<UserId> {
    if let Ok(id) = user.parse() {
        return Ok(id);
    }
    let account = storage.users().get_by_email(&user.to_lowercase()).await?;
    Ok(account.with_context(|| format!("there is no account {user}"))?.id)
}
