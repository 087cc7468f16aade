//! The command `ai-chat-mcp backup`: writes the database with all files, and the keys on request, to one archive.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use clap::Args;
use domain::{Clock, SystemClock, Timestamp};
use platform::config::Config;
use platform::logging;
use secrecy::ExposeSecret;
use storage::audit_events::{AuditActor, AuditEventKind};
use storage::backup::{DatabaseCopy, DatabaseKind, copy_database};
use storage::inspect::inspect;
use tempfile::TempDir;

use super::backup_archive::{
    self, BackupFile, BackupManifest, FORMAT_VERSION, FORMAT_VERSION_WITHOUT_OBJECTS, ManifestFile, file_name_time,
    parent_of,
};
use super::backup_objects::{self, ObjectCopy, copy_objects};
use super::database::{has_present_schema, record_operation};

/// Name of the file of the master key in the data folder.
pub const MASTER_KEY_FILE: &str = "master.key";

const FILE_NAME_START: &str = "ai-chat-mcp-";
const FILE_NAME_END: &str = ".tar.zst";

/// Advice for a backup without keys.
const WITHOUT_KEYS: &str = "The backup does not contain the keys. Store the master key separately: without it, a server \
    does not start on the restored data, and nothing that is encrypted with it can be opened: the keys that sign access \
    tokens, second factors, headers and sign-ins of MCP servers, linked Google Drives, and keys of users' model providers.";
/// Advice for a backup with keys.
const WITH_KEYS: &str =
    "The backup contains the keys: whoever can read it can read every stored secret. Store it as safely as the keys.";

/// Arguments of `ai-chat-mcp backup`.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 the backup is complete, 1 there is no backup, 2 wrong arguments.")]
pub struct Backup {
    /// New file, such as chat.tar.zst, or a folder for a file that is named by the time.
    path: PathBuf,
    /// Include the master key and the file of CHAT_JWT_KEYS.
    #[arg(long)]
    with_keys: bool,
}

/// Makes a backup and describes it.
///
/// # Errors
///
/// The settings are invalid, the database or the files cannot be copied, or the archive cannot be written.
pub fn run(arguments: Backup) -> anyhow::Result<ExitCode> {
    let config = Config::load()?;
    let target = target_path(arguments.path);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let manifest = runtime.block_on(async {
        tokio::select! {
            made = create(&config, &target, arguments.with_keys) => made,
            // Everything unfinished is removed when the other future is dropped.
            () = logging::shutdown_signal() => bail!("interrupted; there is no backup"),
        }
    })?;
    let mut out = std::io::stdout().lock();
    let megabytes = target.metadata()?.len() as f64 / 1e6;
    writeln!(out, "{} ({megabytes:.1} MB): {}", target.display(), describe(&manifest))?;
    if manifest.missing_files > 0 {
        writeln!(out, "Warning: the content of {} files is missing in object storage.", manifest.missing_files)?;
    }
    if let Err(error) = runtime.block_on(record(&config, AuditActor::Admin)) {
        writeln!(out, "Warning: the audit log does not contain this backup: {error:#}")?;
    }
    writeln!(out, "{}", if manifest.has_keys { WITH_KEYS } else { WITHOUT_KEYS })?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the path of the archive: in a folder, it is named by the time.
fn target_path(path: PathBuf) -> PathBuf {
    if path.is_dir() { path.join(file_name(SystemClock.now())) } else { path }
}

/// Returns the name of a backup that is made at `time`.
pub fn file_name(time: Timestamp) -> String {
    format!("{FILE_NAME_START}{}{FILE_NAME_END}", file_name_time(time))
}

/// Returns the time in a name by [`file_name`]; `None` for other names.
pub fn backup_time(name: &str) -> Option<Timestamp> {
    let time: jiff::Timestamp = name.strip_prefix(FILE_NAME_START)?.strip_suffix(FILE_NAME_END)?.parse().ok()?;
    Some(Timestamp(time.as_microsecond()))
}

/// Returns a line about a backup.
pub fn describe(manifest: &BackupManifest) -> String {
    let BackupManifest { database, schema_version, program_version, created_at, has_keys, .. } = manifest;
    let keys = if *has_keys { "with" } else { "without" };
    let objects = if manifest.contains(BackupFile::Objects) { "with files from object storage, " } else { "" };
    format!(
        "{database} database at schema {schema_version}, {objects}{keys} keys, by version {program_version}, {created_at}"
    )
}

/// Writes an archive to the new file `target` while a server may run.
///
/// # Errors
///
/// As [`run`]. There is no file then.
pub async fn create(config: &Config, target: &Path, with_keys: bool) -> anyhow::Result<BackupManifest> {
    ensure!(!target.exists(), "{} exists already; name another file", target.display());
    let folder = parent_of(target);
    let staging = staging_folder(folder)?;
    // Before the copy, so that it names a time whose messages the backup has.
    let created_at = SystemClock.now().to_rfc3339();
    let kind = DatabaseKind::of_url(&config.database_url)?;
    let database = BackupFile::of_database(kind);
    let (copy, objects) = copy_data(config, database, staging.path()).await?;
    let has_objects = objects.is_some_and(|objects| objects.count > 0);
    let mut files = vec![database];
    files.extend(has_objects.then_some(BackupFile::Objects));
    if with_keys {
        files.extend(stage_keys(config, staging.path())?);
    }
    let files: Vec<(BackupFile, PathBuf)> =
        files.into_iter().map(|file| (file, file.path_in(staging.path()))).collect();
    let entries: Result<Vec<ManifestFile>, _> =
        files.iter().map(|(file, path)| ManifestFile::new(*file, path)).collect();
    let manifest = BackupManifest {
        format_version: if has_objects { FORMAT_VERSION } else { FORMAT_VERSION_WITHOUT_OBJECTS },
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        schema_version: copy.schema_version,
        schema_name: copy.schema_name,
        database: kind.as_str().to_owned(),
        created_at,
        has_keys: with_keys,
        missing_files: objects.map_or(0, |objects| objects.missing),
        files: entries.context("cannot read the copy of the database")?,
    };
    backup_archive::write(target, &manifest, &files)?;
    Ok(manifest)
}

/// Records a backup in the audit log, once it is made. A database with the schema of an older version has no place for
/// that, and can be backed up all the same.
///
/// # Errors
///
/// The database cannot be opened or written.
pub async fn record(config: &Config, actor: AuditActor) -> anyhow::Result<()> {
    let inspection = inspect(&config.database_url).await?;
    let mut recorded = Ok(());
    if has_present_schema(&inspection, DatabaseKind::of_url(&config.database_url)?) {
        recorded = record_operation(&inspection.storage, config, actor, None, AuditEventKind::BackupCreated).await;
    }
    inspection.storage.close().await;
    Ok(recorded?)
}

/// Copies the database, and the objects of its files if there are any.
async fn copy_data(
    config: &Config,
    database: BackupFile,
    folder: &Path,
) -> anyhow::Result<(DatabaseCopy, Option<ObjectCopy>)> {
    let copy_database = async || copy_database(&config.database_url, &database.path_in(folder)).await;
    let Some(storage) = backup_objects::open(config).await? else { return Ok((copy_database().await?, None)) };
    // The copy of the database comes first: every object that it refers to is kept by the hold.
    let copied = backup_objects::with_hold(&storage, async {
        let copy = copy_database().await?;
        let objects = copy_objects(&storage, &BackupFile::Objects.path_in(folder)).await?;
        Ok((copy, Some(objects)))
    });
    let copied = copied.await;
    storage.close().await;
    copied
}

/// Creates a folder for unfinished files that only its owner can read. It is removed when the value is dropped.
pub fn staging_folder(folder: &Path) -> anyhow::Result<TempDir> {
    tempfile::Builder::new()
        .prefix(".ai-chat-mcp-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(folder)
        .with_context(|| format!("cannot write to {}", folder.display()))
}

/// Copies the keys into a folder.
fn stage_keys(config: &Config, folder: &Path) -> anyhow::Result<Vec<BackupFile>> {
    let mut files = vec![BackupFile::MasterKey];
    let target = BackupFile::MasterKey.path_in(folder);
    if let Some(key) = &config.master_key {
        fs::write(&target, key.expose_secret()).context("cannot write the master key")?;
    } else {
        let path = config.data_dir.join(MASTER_KEY_FILE);
        fs::copy(&path, &target).with_context(|| format!("cannot read {}", path.display()))?;
    }
    if let Some(path) = &config.jwt_keys {
        fs::copy(path, BackupFile::JwtKeys.path_in(folder))
            .with_context(|| format!("cannot read CHAT_JWT_KEYS: {}", path.display()))?;
        files.push(BackupFile::JwtKeys);
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_time_in_file_name() {
        let time: Timestamp = "2026-11-21T10:00:07Z".parse().unwrap();
        assert_eq!(file_name(time), "ai-chat-mcp-20261121T100007Z.tar.zst");
        assert_eq!(backup_time(&file_name(time)), Some(time));
        for other in ["ai-chat-mcp-before-upgrade.tar.zst", "ai-chat-mcp-20261121T100007Z.tar", "notes.txt"] {
            assert_eq!(backup_time(other), None);
        }
    }
}
