//! The operator's tools of a running server: diagnostics and backups.

use std::fs;
use std::sync::Arc;

use anyhow::Context;
use api::operator_api::system::{BackupEntry, BackupError, BackupStatus, OperatorTools};
use domain::Clock;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use platform::config::{BackupSchedule, Config};
use platform::diagnostics::Finding;
use storage::audit_events::AuditActor;
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

use crate::commands::backup::file_name;
use crate::commands::doctor;
use crate::scheduled_backups;
use crate::version::version;

/// The tools of a server with these settings.
#[derive(Debug)]
pub struct ServerTools {
    config: Arc<Config>,
    clock: Arc<dyn Clock>,
    /// Held while a backup is made.
    backup_lock: Arc<Mutex<()>>,
}

impl ServerTools {
    /// Creates the tools.
    pub fn new(config: &Arc<Config>, clock: &Arc<dyn Clock>) -> Self {
        Self { config: Arc::clone(config), clock: Arc::clone(clock), backup_lock: Arc::default() }
    }

    async fn try_make_backup(&self) -> Result<(), BackupError> {
        let schedule = self.config.backups.clone().ok_or(BackupError::NotConfigured)?;
        let lock = Arc::clone(&self.backup_lock).try_lock_owned().map_err(|_| BackupError::InProgress)?;
        let target = schedule.folder.join(file_name(self.clock.now()));
        fs::create_dir_all(&schedule.folder).context("the folder cannot be created").map_err(BackupError::Failed)?;
        let made = scheduled_backups::make(&self.config, &target, AuditActor::Admin, lock).await;
        made.map_err(BackupError::Failed)?;
        tracing::info!(path = %target.display(), "made a backup that the operator requested");
        Ok(())
    }
}

impl OperatorTools for ServerTools {
    fn version(&self) -> &'static str {
        version()
    }

    fn examine(&self) -> BoxFuture<'_, Vec<Finding>> {
        let config = Arc::clone(&self.config);
        let runtime = Handle::current();
        let examine = spawn_blocking(move || {
            let mut findings = Vec::new();
            runtime.block_on(doctor::examine(&config, &mut findings));
            findings
        });
        let failed = |error| vec![Finding::fail("diagnostics", format!("{error}"), "Look at the log of the server.")];
        async move { examine.await.unwrap_or_else(failed) }.boxed()
    }

    fn list_backups(&self) -> BoxFuture<'_, anyhow::Result<Option<BackupStatus>>> {
        let schedule = self.config.backups.clone();
        async move {
            let Some(schedule) = schedule else { return Ok(None) };
            Ok(Some(spawn_blocking(move || read_backups(&schedule)).await??))
        }
        .boxed()
    }

    fn make_backup(&self) -> BoxFuture<'_, Result<(), BackupError>> {
        self.try_make_backup().boxed()
    }
}

/// Reads which backups there are.
fn read_backups(schedule: &BackupSchedule) -> anyhow::Result<BackupStatus> {
    let mut backups = Vec::new();
    // The first backup creates the folder.
    if schedule.folder.is_dir() {
        for (created_at, path) in scheduled_backups::list(&schedule.folder).context("the folder cannot be read")? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // A backup may be deleted at this moment.
            let Ok(metadata) = path.metadata() else { continue };
            backups.push(BackupEntry { name, bytes: metadata.len(), created_at });
        }
    }
    backups.sort_by_key(|backup| std::cmp::Reverse(backup.created_at));
    Ok(BackupStatus {
        folder: schedule.folder.display().to_string(),
        time: schedule.time.strftime("%H:%M").to_string(),
        keep: schedule.keep.get(),
        backups,
    })
}
