//! The command `ai-chat-mcp rekey`: replaces the master key and the key that signs access tokens.
//!
//! The new master key is in a file before the database changes, and the database changes in one transaction, so that at
//! any time one of the two keys opens everything. A command that was interrupted continues where it stopped.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use accounts::signing_keys::generate_sealed;
use anyhow::{Context, bail, ensure};
use clap::Args;
use domain::{Clock, SystemClock, Timestamp};
use platform::config::Config;
use platform::{InstanceLock, SecretSealer};
use secrecy::{ExposeSecret, SecretString};
use storage::Storage;
use storage::audit_events::{AuditActor, AuditEventKind};
use storage::backup::DatabaseKind;
use storage::inspect::open_unused;
use storage::signing_keys::SealedKey;

use super::backup::MASTER_KEY_FILE;
use super::backup_archive::{sync_folder, unique_file_name_time};
use super::database::record_operation;
use super::key_files::{install_key, present_sealer};
use super::{confirmation, sealed_secrets};

/// Name of the file in the data folder that holds the new master key until it has taken its place.
pub const NEW_MASTER_KEY_FILE: &str = "master.key.new";

/// Arguments of `ai-chat-mcp rekey`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 the keys are replaced, 1 they are not; run the command again to continue, 2 wrong arguments."
)]
pub struct Rekey {
    /// File with the new master key, 32 bytes in base64. Default: a random key.
    #[arg(long, value_name = "FILE")]
    new_key_file: Option<PathBuf>,
    /// Replace only the key that signs access tokens. Users stay signed in.
    #[arg(long, conflicts_with_all = ["new_key_file", "keep_unreadable"])]
    signing_key_only: bool,
    /// Leave secrets that the present master key does not open as they are.
    #[arg(long)]
    keep_unreadable: bool,
    /// Do not ask for confirmation.
    #[arg(long)]
    yes: bool,
}

/// Replaces the keys.
///
/// # Errors
///
/// The settings are invalid, a server is running, a secret cannot be opened, or the database or a key file cannot be
/// written.
pub fn run(arguments: Rekey) -> anyhow::Result<ExitCode> {
    let config = Config::load()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(rekey(&config, &arguments))?;
    Ok(ExitCode::SUCCESS)
}

async fn rekey(config: &Config, arguments: &Rekey) -> anyhow::Result<()> {
    ensure!(!InstanceLock::is_held(&config.data_dir), "a server is using the data folder; stop it first");
    let inspection = open_unused(&config.database_url).await?;
    let known = DatabaseKind::of_url(&config.database_url)?.known_schema_version();
    ensure!(
        inspection.schema_version == Some(known),
        "the schema of the database is not that of this version; start and stop its server first"
    );
    let present = present_sealer(config)?;
    let done = if arguments.signing_key_only {
        replace_signing_key(config, &inspection.storage, &present).await
    } else {
        replace_master_key(config, arguments, &inspection.storage, &present).await
    };
    let recorded = match done {
        Ok(()) => {
            record_operation(&inspection.storage, config, AuditActor::Admin, None, AuditEventKind::KeysReplaced).await
        }
        Err(_) => Ok(()),
    };
    inspection.storage.close().await;
    // The keys are replaced all the same.
    if let Err(error) = recorded {
        writeln!(io::stdout(), "Warning: the audit log does not contain this: {error}")?;
    }
    done
}

/// Stores a new signing key.
async fn replace_signing_key(config: &Config, storage: &Storage, present: &SecretSealer) -> anyhow::Result<()> {
    ensure!(
        config.jwt_keys.is_none(),
        "the signing keys are in the file of CHAT_JWT_KEYS: put a new private key at its beginning, and leave the others \
         there until their tokens have ended"
    );
    let report = sealed_secrets::check(storage, present).await?;
    ensure!(
        !report.unreadable.contains_key(sealed_secrets::SIGNING_KEYS_TABLE),
        "the present signing key was stored under another master key"
    );
    let key = next_signing_key(storage, present).await?;
    storage.signing_keys().insert(&key, SystemClock.now()).await?;
    writeln!(io::stdout(), "The signing key is replaced. Start the server. {OLD_SIGNING_KEY}")?;
    Ok(())
}

/// Sentence about tokens of the previous signing key.
const OLD_SIGNING_KEY: &str = "Tokens of the previous one are accepted for 24 hours.";

async fn next_signing_key(storage: &Storage, secrets: &SecretSealer) -> anyhow::Result<SealedKey> {
    let newest = storage.signing_keys().list().await?.first().map_or(0, |stored| stored.key.number);
    generate_sealed(secrets, newest + 1)
}

async fn replace_master_key(
    config: &Config,
    arguments: &Rekey,
    storage: &Storage,
    present: &SecretSealer,
) -> anyhow::Result<()> {
    let under_present = sealed_secrets::check(storage, present).await?;
    if !arguments.yes {
        let question = "All users have to sign in again, and emailed codes that are open become invalid. Type yes to \
            replace the master key:";
        ensure!(confirmation::ask(question)?, "not confirmed; nothing was changed. Without a terminal, use --yes");
    }
    let new_key = NewMasterKey::prepare(config, arguments.new_key_file.as_deref())?;
    let under_new = sealed_secrets::check(storage, &new_key.sealer).await?;
    ensure!(under_present.opened == 0 || under_new.opened == 0, "the new master key is the present one");
    let mut out = io::stdout().lock();
    if under_new.opened > 0 {
        writeln!(out, "The database is under the new master key already.")?;
    } else {
        let is_complete = under_present.unreadable.is_empty();
        ensure!(
            is_complete || arguments.keep_unreadable,
            "the present master key does not open everything: {}. With --keep-unreadable, it is left as it is",
            under_present.unreadable_list()
        );
        // The keys in a file are not under the master key.
        let signing_key = match config.jwt_keys {
            Some(_) => None,
            None => Some(next_signing_key(storage, &new_key.sealer).await?),
        };
        let sealers = (present, &new_key.sealer);
        let now = SystemClock.now();
        let count =
            sealed_secrets::replace(storage, sealers, signing_key.as_ref(), now, arguments.keep_unreadable).await?;
        writeln!(out, "Encrypted {count} secrets with the new master key.")?;
        if signing_key.is_some() {
            writeln!(out, "The signing key is replaced. {OLD_SIGNING_KEY}")?;
        }
        if !is_complete {
            writeln!(out, "Left as they are: {}.", under_present.unreadable_list())?;
        }
    }
    writeln!(out, "{}", new_key.install(SystemClock.now())?)?;
    Ok(())
}

/// The key that takes the place of the master key.
struct NewMasterKey {
    sealer: SecretSealer,
    /// File of the new key, and that of the present one, which it replaces; `None` if the operator replaces it.
    files: Option<(PathBuf, PathBuf)>,
}

impl NewMasterKey {
    /// Reads or creates the key. If it is to replace the file in the data folder, it is stored beside that file.
    fn prepare(config: &Config, given: Option<&Path>) -> anyhow::Result<Self> {
        let given = given.map(read_key).transpose()?;
        if config.master_key.is_some() {
            let Some(key) = given else {
                bail!(
                    "the master key is in CHAT_MASTER_KEY, which this command cannot change; write a new key, 32 random \
                     bytes in base64, to a file, and name it with --new-key-file"
                );
            };
            return Ok(Self { sealer: SecretSealer::from_base64("the new key", key.expose_secret())?, files: None });
        }
        let (present, pending) = (config.data_dir.join(MASTER_KEY_FILE), config.data_dir.join(NEW_MASTER_KEY_FILE));
        if let Some(key) = given {
            // The file of an interrupted command may hold the only key to the database.
            let is_other = pending.exists() && read_key(&pending)?.expose_secret() != key.expose_secret();
            ensure!(
                !is_other,
                "{} exists: an earlier command was interrupted; continue it without --new-key-file",
                pending.display()
            );
            SecretSealer::from_base64("the new key", key.expose_secret())?;
            install_key(key.expose_secret().as_bytes(), &pending, None)
                .with_context(|| format!("cannot write {}", pending.display()))?;
        }
        // Created with a random key if it is missing, and synced before anything is encrypted with it.
        let sealer = SecretSealer::from_file(&pending)?;
        sync_folder(&config.data_dir)?;
        Ok(Self { sealer, files: Some((pending, present)) })
    }

    /// Puts the key in its place, keeps the previous one, and returns what to tell the operator.
    fn install(&self, now: Timestamp) -> anyhow::Result<String> {
        let Some((pending, present)) = &self.files else {
            return Ok(
                "Set CHAT_MASTER_KEY to the new key, then start the server. Keep the previous key for the backups \
                       that were made under it."
                    .to_owned(),
            );
        };
        let previous = present.with_file_name(format!("{MASTER_KEY_FILE}.before-rekey-{}", unique_file_name_time(now)));
        let key = fs::read(pending).with_context(|| format!("cannot read {}", pending.display()))?;
        install_key(&key, present, Some(&previous)).with_context(|| format!("cannot write {}", present.display()))?;
        fs::remove_file(pending).with_context(|| format!("cannot remove {}", pending.display()))?;
        Ok(format!(
            "The new master key is in {}. Start the server. The previous one is in {}, for the backups that were made \
             under it.",
            present.display(),
            previous.display()
        ))
    }
}

fn read_key(path: &Path) -> anyhow::Result<SecretString> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(text.trim().to_owned().into())
}
