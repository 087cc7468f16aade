//! The command `ai-chat-mcp restore`: replaces the database with all files, and the keys if the archive has them, by
//! those of a backup.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use clap::Args;
use domain::{Clock, SystemClock};
use platform::config::Config;
use platform::{InstanceLock, SecretSealer};
use secrecy::ExposeSecret;
use storage::Storage;
use storage::audit_events::{AuditActor, AuditEventKind};
use storage::backup::{DatabaseKind, database_folder};
use storage::restore::{DatabaseReplacement, check_unused, database_exists};
use tokio::signal::unix::{SignalKind, signal};

use super::backup::{self, MASTER_KEY_FILE, describe, staging_folder};
use super::backup_archive::{BackupFile, BackupManifest, unique_file_name_time, unpack};
use super::backup_objects::RestoredObjects;
use super::confirmation;
use super::database::record_operation;
use super::key_files::install_key;
use super::sealed_secrets::{self, SIGNING_KEYS_TABLE};
use crate::data_folder;

/// Advice if the restored data needs another master key.
const OTHER_MASTER_KEY: &str = "the backup was made under another master key than the one here, so a server could not \
    start on it. Put the key of that time into CHAT_MASTER_KEY or into master.key in the data folder, or restore a backup \
    that was made with --with-keys";

/// Arguments of `ai-chat-mcp restore`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 the backup is restored, 1 it is not and everything is as before, 2 wrong arguments."
)]
pub struct Restore {
    /// Archive that `backup` wrote.
    path: PathBuf,
    /// Do not ask for confirmation.
    #[arg(long)]
    yes: bool,
}

/// Restores a backup.
///
/// # Errors
///
/// The settings or the archive are invalid, a server is running, or the restored data cannot be used. What was there is
/// as before then.
pub fn run(arguments: Restore) -> anyhow::Result<ExitCode> {
    let config = Config::load()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(restore(&config, &arguments))?;
    Ok(ExitCode::SUCCESS)
}

async fn restore(config: &Config, arguments: &Restore) -> anyhow::Result<()> {
    let url = &config.database_url;
    let kind = DatabaseKind::of_url(url)?;
    data_folder::prepare(&config.data_dir)
        .with_context(|| format!("cannot make the data folder {}", config.data_dir.display()))?;
    ensure!(!InstanceLock::is_held(&config.data_dir), "a server is using the data folder; stop it first");
    check_unused(url).await?;
    // On the file system of the database, so that a rename puts the file in its place.
    let staging = staging_folder(&database_folder(url)?.unwrap_or_else(|| config.data_dir.clone()))?;
    let manifest = unpack(&arguments.path, staging.path())?;
    check_manifest(&manifest, kind)?;
    let is_replacing = database_exists(url).await?;
    confirm(&manifest, is_replacing, arguments.yes)?;

    // From here on, Ctrl-C ends the programs of PostgreSQL, which counts as a failure, but not this one.
    let _signals = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    // Another restore can have ended in the same second.
    let suffix = format!(".before-restore-{}", unique_file_name_time(SystemClock.now()));
    let keys = RestoredKeys::new(config, &manifest, staging.path(), &suffix);
    let secrets = keys.sealer(config)?;
    let restore_point = RestorePoint::create(config, kind, is_replacing, &suffix).await?;
    let copy = BackupFile::of_database(kind).path_in(staging.path());
    let objects = BackupFile::Objects;
    let objects = manifest.contains(objects).then(|| objects.path_in(staging.path()));
    let copies = Copies { database: &copy, objects: objects.as_deref() };
    let (replaced, objects) = match replace(config, &manifest, &copies, &secrets, &keys, &suffix).await {
        Ok(replaced) => replaced,
        Err(error) => {
            restore_point.remove();
            return Err(error.context("nothing was changed"));
        }
    };
    data_folder::restrict(&config.data_dir);
    report(config, &manifest, &keys, replaced.or(restore_point.archive), &objects)?;
    Ok(())
}

/// Checks that this program and its settings can use a backup.
fn check_manifest(manifest: &BackupManifest, kind: DatabaseKind) -> anyhow::Result<()> {
    ensure!(
        manifest.database == kind.as_str(),
        "the backup is of a {} database, but DATABASE_URL names {kind}; a backup can be restored to the same kind only",
        manifest.database
    );
    let known = kind.known_schema_version();
    ensure!(
        kind.can_use_schema(manifest.schema_version),
        "the backup was made by a newer version of this program ({}; its schema is at {}, this one knows {known}); \
         restore it with that version",
        manifest.program_version,
        manifest.schema_version
    );
    ensure!(manifest.contains(BackupFile::of_database(kind)), "the backup contains no database");
    Ok(())
}

/// Describes the backup and asks whether to go on.
fn confirm(manifest: &BackupManifest, is_replacing: bool, yes: bool) -> anyhow::Result<()> {
    writeln!(io::stdout(), "Backup: {}", describe(manifest))?;
    let consequence = if is_replacing { "This replaces the present data. " } else { "" };
    let is_confirmed = yes || confirmation::ask(&format!("{consequence}Type yes to restore:"))?;
    ensure!(is_confirmed, "not confirmed; nothing was changed. Without a terminal, use --yes");
    Ok(())
}

/// The unpacked copies of a backup.
struct Copies<'a> {
    database: &'a Path,
    /// The objects of files, if there are any.
    objects: Option<&'a Path>,
}

/// Puts the database, the files and the keys in their places, or leaves what was there.
async fn replace(
    config: &Config,
    manifest: &BackupManifest,
    copies: &Copies<'_>,
    secrets: &SecretSealer,
    keys: &RestoredKeys,
    suffix: &str,
) -> anyhow::Result<(Option<PathBuf>, RestoredObjects)> {
    let url = &config.database_url;
    let replacement = DatabaseReplacement::begin(url, copies.database, manifest.schema_name.as_deref()).await?;
    let accepted = match replacement.open(url).await {
        Ok(storage) => {
            let accepted = accept_data(&storage, secrets, config, copies.objects).await;
            storage.close().await;
            accepted
        }
        Err(error) => Err(anyhow::Error::from(error).context("the restored database cannot be opened")),
    };
    let installed = match accepted {
        Ok(objects) => match keys.install() {
            Ok(()) => Ok(objects),
            Err(error) => {
                objects.discard().await;
                Err(error)
            }
        },
        Err(error) => Err(error),
    };
    let objects = match installed {
        Ok(objects) => objects,
        Err(error) => {
            replacement.roll_back().await.context("the previous data could not be put back")?;
            return Err(error);
        }
    };
    match replacement.commit(suffix).await {
        Ok(replaced) => Ok((replaced, objects)),
        Err(error) => {
            objects.discard().await;
            keys.uninstall().context("the previous keys could not be put back")?;
            Err(error.into())
        }
    }
}

/// Checks the restored data, records the restore in its audit log, and stores the content of its files.
async fn accept_data(
    storage: &Storage,
    secrets: &SecretSealer,
    config: &Config,
    objects: Option<&Path>,
) -> anyhow::Result<RestoredObjects> {
    check_data(storage, secrets).await?;
    let recorded = record_operation(storage, config, AuditActor::Admin, None, AuditEventKind::BackupRestored).await;
    recorded.context("the restored database cannot be written")?;
    RestoredObjects::restore(storage, config, objects).await
}

/// Checks that a server can start on the restored data.
async fn check_data(storage: &Storage, secrets: &SecretSealer) -> anyhow::Result<()> {
    let report = sealed_secrets::check(storage, secrets).await.context("the restored database cannot be read")?;
    if report.unreadable.contains_key(SIGNING_KEYS_TABLE) {
        bail!(OTHER_MASTER_KEY);
    }
    if !report.unreadable.is_empty() {
        let list = report.unreadable_list();
        writeln!(io::stdout(), "Warning: some secrets in the backup cannot be opened with the master key: {list}.")?;
    }
    Ok(())
}

/// An archive of what is replaced, for PostgreSQL. A SQLite file is kept as it is.
struct RestorePoint {
    archive: Option<PathBuf>,
}

impl RestorePoint {
    async fn create(config: &Config, kind: DatabaseKind, is_replacing: bool, suffix: &str) -> anyhow::Result<Self> {
        if kind == DatabaseKind::Sqlite || !is_replacing {
            return Ok(Self { archive: None });
        }
        let path = config.data_dir.join(format!("ai-chat-mcp{suffix}.tar.zst"));
        // Keys that are replaced are kept as files.
        backup::create(config, &path, false).await.context("no restore point could be made of the present data")?;
        Ok(Self { archive: Some(path) })
    }

    /// Removes the archive after a failure that changed nothing.
    fn remove(self) {
        if let Some(path) = self.archive {
            drop(fs::remove_file(path));
        }
    }
}

/// The keys of a backup and the files in which they belong.
struct RestoredKeys {
    moves: Vec<KeyMove>,
}

/// A key file that takes its place.
struct KeyMove {
    file: BackupFile,
    source: PathBuf,
    target: PathBuf,
    /// Name of the file that was there before.
    previous: PathBuf,
}

impl KeyMove {
    fn install(&self) -> io::Result<()> {
        install_key(&fs::read(&self.source)?, &self.target, Some(&self.previous))
    }
}

impl RestoredKeys {
    /// Selects the keys of the backup that differ from those that are there.
    fn new(config: &Config, manifest: &BackupManifest, staging: &Path, suffix: &str) -> Self {
        let jwt_keys = config.jwt_keys.clone().unwrap_or_else(|| config.data_dir.join("jwt-keys.json"));
        let targets = [
            // A key in the environment stays in force.
            (BackupFile::MasterKey, config.data_dir.join(MASTER_KEY_FILE), config.master_key.is_none()),
            (BackupFile::JwtKeys, jwt_keys, true),
        ];
        let mut moves = Vec::new();
        for (file, target, is_wanted) in targets {
            let source = file.path_in(staging);
            if !is_wanted || !manifest.contains(file) || is_same(&source, &target) {
                continue;
            }
            let mut previous = target.clone().into_os_string();
            previous.push(suffix);
            moves.push(KeyMove { file, source, target, previous: previous.into() });
        }
        Self { moves }
    }

    /// Returns the sealer that a server would use after the restore.
    fn sealer(&self, config: &Config) -> anyhow::Result<SecretSealer> {
        if let Some(key) = &config.master_key {
            return Ok(SecretSealer::from_base64("CHAT_MASTER_KEY", key.expose_secret())?);
        }
        let restored = self.moves.iter().find(|key| key.file == BackupFile::MasterKey).map(|key| key.source.clone());
        let path = restored.unwrap_or_else(|| config.data_dir.join(MASTER_KEY_FILE));
        // A new key would be created otherwise, under which nothing was stored.
        ensure!(path.exists(), "there is no master key here and none in the backup; {OTHER_MASTER_KEY}");
        Ok(SecretSealer::from_file(&path)?)
    }

    /// Puts the keys in their places and keeps the previous ones beside them.
    fn install(&self) -> anyhow::Result<()> {
        let installed = self
            .moves
            .iter()
            .try_for_each(|key| key.install().with_context(|| format!("cannot write {}", key.target.display())));
        if let Err(error) = installed {
            self.uninstall().context("the previous keys could not be put back")?;
            return Err(error);
        }
        Ok(())
    }

    /// Puts the previous keys back.
    fn uninstall(&self) -> io::Result<()> {
        for key in &self.moves {
            if key.previous.exists() {
                fs::rename(&key.previous, &key.target)?;
            } else if is_same(&key.source, &key.target) {
                fs::remove_file(&key.target)?;
            }
        }
        Ok(())
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    matches!((fs::read(one), fs::read(other)), (Ok(one), Ok(other)) if one == other)
}

/// Tells where everything is.
fn report(
    config: &Config,
    manifest: &BackupManifest,
    keys: &RestoredKeys,
    kept: Option<PathBuf>,
    objects: &RestoredObjects,
) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "The backup is restored. Start the server.")?;
    if let Some(path) = kept {
        writeln!(out, "The previous database is in {}.", path.display())?;
    }
    if let Some(former) = &objects.former {
        writeln!(
            out,
            "Objects from before are still in {former}. Delete them when no server and no database needs them."
        )?;
    }
    if objects.missing > 0 {
        writeln!(out, "Warning: the backup lacks the content of {} files.", objects.missing)?;
    }
    for key in &keys.moves {
        writeln!(out, "The backup's key is in {}.", key.target.display())?;
        if key.previous.exists() {
            writeln!(out, "The previous key is in {}.", key.previous.display())?;
        }
    }
    if manifest.contains(BackupFile::JwtKeys) && config.jwt_keys.is_none() {
        writeln!(
            out,
            "The backup was made with CHAT_JWT_KEYS. Set it to the file above, or all users have to sign in again."
        )?;
    }
    Ok(())
}
