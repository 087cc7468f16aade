//! Backups that a running server makes every day.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use domain::{Clock, Timestamp};
use jiff::civil::Time;
use jiff::tz::TimeZone;
use platform::BackgroundTasks;
use platform::config::{BackupSchedule, Config};
use storage::audit_events::AuditActor;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use crate::commands::backup::{self, backup_time, file_name};

/// Interval at which the time is compared with the schedule. A timer for the whole day would not notice a changed clock
/// or a suspended machine.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);
/// Pause after a failure.
const RETRY_INTERVAL: Duration = Duration::from_hours(1);

/// Makes a backup whenever one is due, until shutdown.
///
/// The first one is due at once, so that operators see whether it works; so is one whose time passed while no server
/// ran.
pub async fn run(config: Arc<Config>, schedule: BackupSchedule, clock: Arc<dyn Clock>, tasks: BackgroundTasks) {
    loop {
        let made = make_if_due(&config, &schedule, clock.now()).await;
        if let Err(error) = &made {
            tracing::error!(error = format!("{error:#}"), folder = %schedule.folder.display(), "a scheduled backup failed; it is tried again");
        }
        let pause = if made.is_ok() { CHECK_INTERVAL } else { RETRY_INTERVAL };
        tokio::select! {
            () = tasks.shutdown_token().cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

async fn make_if_due(config: &Arc<Config>, schedule: &BackupSchedule, now: Timestamp) -> anyhow::Result<()> {
    let folder = &schedule.folder;
    fs::create_dir_all(folder).context("the folder cannot be created")?;
    let newest = newest(folder).context("the folder cannot be read")?;
    if !is_due(newest, now, schedule.time, &TimeZone::system()) {
        return Ok(());
    }
    let target = folder.join(file_name(now));
    make(config, &target, AuditActor::System, ()).await?;
    tracing::info!(path = %target.display(), bytes = target.metadata()?.len(), "made a scheduled backup");
    delete_old(schedule)
}

/// Makes a backup without keys in the new file `target`, and records it on behalf of `actor`. It is completed although its
/// caller no longer waits; `guard` is dropped then.
///
/// # Errors
///
/// The database cannot be copied, or the file cannot be written.
pub async fn make(
    config: &Arc<Config>,
    target: &Path,
    actor: AuditActor,
    guard: impl Send + 'static,
) -> anyhow::Result<()> {
    let (config, target) = (Arc::clone(config), target.to_owned());
    // Copying and compressing block the thread.
    let runtime = Handle::current();
    let copy = move || {
        let _guard = guard;
        runtime.block_on(async {
            backup::create(&config, &target, false).await?;
            if let Err(error) = backup::record(&config, actor).await {
                tracing::error!(error = format!("{error:#}"), "could not record a backup in the audit log");
            }
            Ok(())
        })
    };
    spawn_blocking(copy).await?
}

/// Returns whether a backup is missing: there is none, or the newest is older than the last scheduled time.
fn is_due(newest: Option<Timestamp>, now: Timestamp, time: Time, zone: &TimeZone) -> bool {
    newest.is_none_or(|newest| last_scheduled(now, time, zone).is_some_and(|scheduled| newest < scheduled))
}

/// Returns the last time until `now` at which a clock in this time zone showed `time`. Where daylight saving time skips
/// `time`, an hour later counts.
fn last_scheduled(now: Timestamp, time: Time, zone: &TimeZone) -> Option<Timestamp> {
    let today = jiff::Timestamp::from_microsecond(now.0).ok()?.to_zoned(zone.clone()).date();
    [Some(today), today.yesterday().ok()].into_iter().flatten().find_map(|date| {
        let scheduled = date.to_datetime(time).to_zoned(zone.clone()).ok()?;
        let scheduled = Timestamp(scheduled.timestamp().as_microsecond());
        (scheduled <= now).then_some(scheduled)
    })
}

/// Returns the time of the newest backup in a folder, if there is one.
///
/// # Errors
///
/// The folder cannot be read.
pub fn newest(folder: &Path) -> io::Result<Option<Timestamp>> {
    Ok(list(folder)?.into_iter().map(|(time, _)| time).max())
}

/// Returns the times and paths of the backups in a folder, by their names.
///
/// # Errors
///
/// The folder cannot be read.
pub fn list(folder: &Path) -> io::Result<Vec<(Timestamp, PathBuf)>> {
    let mut backups = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if let Some(time) = entry.file_name().to_str().and_then(backup_time) {
            backups.push((time, entry.path()));
        }
    }
    Ok(backups)
}

/// Deletes all but the newest backups.
fn delete_old(schedule: &BackupSchedule) -> anyhow::Result<()> {
    let mut backups = list(&schedule.folder).context("the folder cannot be read")?;
    backups.sort_by(|(one, _), (other, _)| other.cmp(one));
    for (_, path) in backups.into_iter().skip(schedule.keep.get()) {
        fs::remove_file(&path).with_context(|| format!("{} cannot be deleted", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backup_is_due_once_after_its_time() {
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let is_due =
            |newest: Option<&str>, now: &str| is_due(newest.map(at), at(now), Time::constant(2, 0, 0, 0), &zone);
        assert!(is_due(None, "2026-11-21T10:00:00Z"), "the first one");
        // 02:00 there is 01:00 in UTC.
        assert!(!is_due(Some("2026-11-20T01:00:03Z"), "2026-11-21T00:59:59Z"));
        assert!(is_due(Some("2026-11-20T01:00:03Z"), "2026-11-21T01:00:00Z"));
        assert!(!is_due(Some("2026-11-21T01:00:00Z"), "2026-11-21T01:00:00Z"));
        assert!(is_due(Some("2026-11-10T01:00:03Z"), "2026-11-21T00:10:00Z"), "no server ran at the time");
        assert!(!is_due(Some("2026-11-22T01:00:03Z"), "2026-11-21T01:00:00Z"), "the clock was set back");
    }

    #[test]
    fn a_time_that_is_skipped_counts_an_hour_later() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let last = |now: &str| last_scheduled(now.parse().unwrap(), Time::constant(2, 30, 0, 0), &zone).unwrap();
        assert_eq!(last("2026-03-29T01:29:00Z"), "2026-03-28T01:30:00Z".parse().unwrap());
        assert_eq!(last("2026-03-29T01:30:00Z"), "2026-03-29T01:30:00Z".parse().unwrap());
    }
}
