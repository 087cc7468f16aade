//! Objects of files in backups: copied while a hold keeps them, and restored as those of a new installation.

use std::fs::File;
use std::future::Future;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use domain::{Clock, SystemClock};
use futures_util::{StreamExt, stream};
use platform::config::Config;
use storage::Storage;
use storage::file_sweep::ObjectHold;
use storage::inspect::inspect;

use super::backup_archive::append;

/// Time in seconds for which a hold lasts without renewal.
const HOLD_SECONDS: i64 = 15 * 60;
/// Interval of renewals.
const HOLD_RENEWAL: Duration = Duration::from_mins(5);
/// Number of objects that are listed at once.
const OBJECTS_PER_PAGE: i64 = 500;
/// Number of objects that are read at the same time. Each is in memory as a whole.
const CONCURRENT_READS: usize = 8;

/// The objects in a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectCopy {
    /// Number of objects.
    pub count: u64,
    /// Number of files whose content the object storage has lost.
    pub missing: u64,
}

/// Opens the database of the settings with its object storage, if files may be there.
///
/// # Errors
///
/// The database cannot be opened, or there is no access to the object storage.
pub async fn open(config: &Config) -> anyhow::Result<Option<Storage>> {
    let inspection = inspect(&config.database_url).await?;
    let database = inspection.storage.clone();
    if inspection.can_have_objects() {
        match inspection.storage.with_file_storage(&config.files).await {
            Ok(storage) if storage.has_object_storage() => return Ok(Some(storage)),
            Ok(_) => {}
            Err(error) => {
                database.close().await;
                return Err(error.into());
            }
        }
    }
    database.close().await;
    Ok(None)
}

/// Runs `work` while no object is deleted.
///
/// # Errors
///
/// The hold cannot be set, or `work` fails.
pub async fn with_hold<T>(storage: &Storage, work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let hold = ObjectHold::fresh();
    let renew = || storage.files().set_hold(hold, SystemClock.now().plus_seconds(HOLD_SECONDS));
    renew().await?;
    let renewals = async {
        loop {
            tokio::time::sleep(HOLD_RENEWAL).await;
            if let Err(error) = renew().await {
                break error;
            }
        }
    };
    let result = tokio::select! {
        result = work => result,
        error = renewals => Err(error.into()),
    };
    // A hold that remains ends by itself.
    let _is_ended = storage.files().delete_hold(hold).await.is_ok();
    result
}

/// Copies all objects into a new tar file, each under its key.
///
/// # Errors
///
/// The object storage fails, or the file cannot be written.
pub async fn copy_objects(storage: &Storage, target: &Path) -> anyhow::Result<ObjectCopy> {
    let mut copy = ObjectCopy { count: 0, missing: 0 };
    let cannot_write = || format!("cannot write {}", target.display());
    let mut archive = tar::Builder::new(BufWriter::new(File::create_new(target).with_context(cannot_write)?));
    let mut last = String::new();
    loop {
        let entries = storage.files().list_objects(&last, OBJECTS_PER_PAGE).await?;
        let Some(end) = entries.last() else { break };
        last.clone_from(&end.key);
        let read = |entry| async move {
            let content = storage.files().read_entry(&entry).await;
            (entry, content)
        };
        let mut contents = stream::iter(entries).map(read).buffered(CONCURRENT_READS);
        while let Some((entry, content)) = contents.next().await {
            match content.context("files in object storage cannot be read")? {
                Some(bytes) => {
                    append(&mut archive, &entry.key, bytes.len() as u64, bytes.as_slice())
                        .with_context(cannot_write)?;
                    copy.count += 1;
                }
                None if entry.is_needed() => copy.missing += 1,
                None => {}
            }
        }
    }
    archive.into_inner().and_then(|mut file| file.flush()).with_context(cannot_write)?;
    Ok(copy)
}

/// The objects of a restored database.
#[derive(Debug)]
pub struct RestoredObjects {
    storage: Storage,
    /// Where the objects of the backed-up server are, if it had any.
    pub former: Option<String>,
    /// Number of files whose content the backup lacks.
    pub missing: u64,
}

impl RestoredObjects {
    /// Stores the objects of the file `archive` where the settings say, and makes the database one of a new
    /// installation, so that it never deletes objects that what it replaces needs.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or the object storage or the database fails. No object remains then.
    pub async fn restore(storage: &Storage, config: &Config, archive: Option<&Path>) -> anyhow::Result<Self> {
        let former = storage.files().forget_installation().await?;
        let storage = storage.clone().with_file_storage(&config.files).await?;
        let mut restored = Self { storage, former, missing: 0 };
        let stored = match archive {
            Some(archive) => restored.store_all(archive).await,
            None => Ok(()),
        };
        match stored {
            Ok(()) => {
                restored.missing = restored.storage.files().clear_unrestored().await?;
                Ok(restored)
            }
            Err(error) => {
                restored.discard().await;
                Err(error)
            }
        }
    }

    async fn store_all(&self, archive: &Path) -> anyhow::Result<()> {
        let mut archive = tar::Archive::new(BufReader::new(File::open(archive)?));
        for entry in archive.entries()? {
            let mut entry = entry?;
            // Only compared with the keys in the database.
            let key = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            self.storage.files().restore_object(&key, &bytes).await.context("a file cannot be restored")?;
        }
        Ok(())
    }

    /// Deletes the objects after a failure, as far as possible.
    pub async fn discard(&self) {
        let _is_deleted = self.storage.files().delete_all_objects().await.is_ok();
    }
}
