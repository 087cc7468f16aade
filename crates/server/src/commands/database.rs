//! Access of commands to the database, whose server may run or not.

use anyhow::{Context, ensure};
use domain::UserId;
use platform::config::Config;
use storage::Storage;
use storage::backup::DatabaseKind;
use storage::inspect::inspect;

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
    let is_usable = |version| version >= kind.known_schema_version() && kind.can_use_schema(version);
    ensure!(
        inspection.schema_version.is_some_and(is_usable),
        "the schema of the database is not that of this version; start its server first"
    );
    let result = operation(&inspection.storage).await;
    inspection.storage.close().await;
    result
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
