//! The command `ai-chat-mcp doctor`: examines everything that a server depends on, from where the server would.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use accounts::mailer::Mailer;
use accounts::signing_keys::SigningKeys;
use agent::models::user_providers::ProviderKind;
use agent::turns::is_readable_entry;
use clap::Args;
use domain::{Clock, SystemClock, Timestamp};
use platform::config::{BackupSchedule, Config, SETTINGS_FILE_NAME, SettingsReport, Source};
use platform::diagnostics::{Finding, Verdict};
use platform::{InstanceLock, SecretSealer};
use secrecy::ExposeSecret;
use serde_json::json;
use storage::backup::{CopyError, DatabaseKind, database_file, database_folder};
use storage::inspect::{check_structure, inspect};
use storage::object_storage::{BucketLocation, FileStorageSettings};
use storage::unreadable::{TextFormats, UnreadableRows};
use storage::{OpenError, Storage};
use url::Url;

use super::backup::MASTER_KEY_FILE;
use super::http::{cause, operator_client};
use super::rekey::NEW_MASTER_KEY_FILE;
use super::sealed_secrets;
use crate::{data_folder, scheduled_backups};

/// Maximum time for a model provider to answer.
const PROVIDER_TIMEOUT: Duration = Duration::from_secs(5);
/// Free disk space below which a server may soon fail, in bytes.
const SCARCE_SPACE: u64 = 1_000_000_000;
/// Free disk space below which a server does fail, in bytes.
const NO_SPACE: u64 = 50_000_000;
/// Difference of the clocks of this machine and of PostgreSQL that is reported, in milliseconds.
const CLOCK_TOLERANCE_MILLIS: u64 = 5_000;
/// Age of the newest scheduled backup that is reported: one was missed.
const MAX_BACKUP_AGE_SECONDS: i64 = 2 * 24 * 60 * 60;
/// The beginning of 2026: a clock before it is not set.
const EARLIEST_TIME: Timestamp = Timestamp(1_767_225_600_000_000);

/// Arguments of `ai-chat-mcp doctor`.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 nothing failed (there may be warnings), 1 something failed, 2 wrong arguments.")]
pub struct Doctor {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Examines everything and prints a line for each finding.
///
/// # Errors
///
/// Standard output cannot be written.
pub fn run(arguments: Doctor) -> anyhow::Result<ExitCode> {
    let report = match Source::of_process() {
        Ok(source) => SettingsReport::new(source),
        Err(error) => SettingsReport::unreadable(&error),
    };
    let mut findings: Vec<Finding> = report
        .problems
        .iter()
        .map(|problem| Finding::fail("settings", problem.message.clone(), "See `ai-chat-mcp check`."))
        .collect();
    if findings.is_empty() {
        findings.push(Finding::pass("settings", "valid"));
    }
    if let Some(config) = &report.config {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(examine(config, &mut findings));
    }
    let has_failed = findings.iter().any(|finding| finding.verdict == Verdict::Fail);
    let mut out = std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{:#}", json!({ "healthy": !has_failed, "findings": findings }))?;
    } else {
        for finding in &findings {
            write_line(&mut out, finding)?;
        }
    }
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn write_line(out: &mut impl Write, finding: &Finding) -> std::io::Result<()> {
    let verdict = match finding.verdict {
        Verdict::Pass => "pass",
        Verdict::Warn => "WARN",
        Verdict::Fail => "FAIL",
    };
    let advice = finding.advice.as_ref().map(|advice| format!(" -> {advice}")).unwrap_or_default();
    writeln!(out, "{verdict}  {}: {}{advice}", finding.name, finding.message)
}

/// Examines everything that a server with these settings depends on. It reads files, and so blocks the thread.
pub async fn examine(config: &Config, findings: &mut Vec<Finding>) {
    findings.push(examine_data_folder(config));
    findings.extend(examine_space(config));
    let (secrets, finding) = examine_master_key(config);
    findings.push(finding);
    findings.extend(config.jwt_keys.as_deref().map(examine_jwt_keys));
    findings.push(examine_private_files(config));
    examine_database(config, secrets.as_ref(), findings).await;
    if let Some(location) = &config.files.location {
        findings.push(examine_file_storage(&config.files, location).await);
    }
    findings.extend(config.backups.as_ref().map(examine_backups));
    findings.extend(examine_mail_server(config).await);
    for provider in &config.providers {
        findings.push(examine_provider(&provider.name, &provider.base_url).await);
    }
    #[cfg(feature = "local")]
    findings.push(examine_model_files(config));
}

fn examine_data_folder(config: &Config) -> Finding {
    let (name, folder) = ("data folder", config.data_dir.as_path());
    if !folder.is_dir() {
        return Finding::warn(
            name,
            format!("{} does not exist", folder.display()),
            "A server creates it at its start.",
        );
    }
    let shared = data_folder::find_shared(folder);
    if let Some((path, mode)) = shared.first() {
        let message =
            format!("others can access {} files, such as {} ({:o})", shared.len(), path.display(), mode & 0o777);
        return Finding::warn(name, message, "A server restricts them to its user at its start.");
    }
    let use_of_it = if InstanceLock::is_held(folder) { "in use by a server" } else { "not in use" };
    Finding::pass(name, format!("{}, {use_of_it}", folder.display()))
}

#[cfg(target_os = "linux")]
fn examine_space(config: &Config) -> Vec<Finding> {
    let mut folders = vec![config.data_dir.clone()];
    folders.extend(database_folder(&config.database_url).ok().flatten());
    folders.extend(config.backups.as_ref().map(|schedule| schedule.folder.clone()));
    folders.sort();
    folders.dedup();
    let space = |folder: std::path::PathBuf| {
        let status = nix::sys::statvfs::statvfs(&folder).ok()?;
        let free = status.blocks_available().saturating_mul(status.fragment_size());
        let message = format!("{:.1} GB free in {}", free as f64 / 1e9, folder.display());
        let advice = "Free or add space: without it, nothing can be stored.";
        Some(match free {
            _ if free < NO_SPACE => Finding::fail("disk space", message, advice),
            _ if free < SCARCE_SPACE => Finding::warn("disk space", message, advice),
            _ => Finding::pass("disk space", message),
        })
    };
    folders.into_iter().filter_map(space).collect()
}

#[cfg(not(target_os = "linux"))]
fn examine_space(_config: &Config) -> Vec<Finding> {
    Vec::new()
}

/// Reads the master key without creating it.
fn examine_master_key(config: &Config) -> (Option<SecretSealer>, Finding) {
    let name = "master key";
    let path = config.data_dir.join(MASTER_KEY_FILE);
    let (read, place) = match &config.master_key {
        Some(key) => (SecretSealer::from_base64("CHAT_MASTER_KEY", key.expose_secret()), "CHAT_MASTER_KEY".to_owned()),
        None if !path.exists() => {
            let advice = "A server creates it at its first start. If there is data already, put its key there first.";
            return (None, Finding::warn(name, format!("{} does not exist", path.display()), advice));
        }
        None => (SecretSealer::from_file(&path), path.display().to_string()),
    };
    match read {
        Ok(secrets) => (Some(secrets), Finding::pass(name, format!("in {place}"))),
        Err(error) => (None, Finding::fail(name, error.to_string(), "Put the key back from where you stored it.")),
    }
}

fn examine_jwt_keys(path: &Path) -> Finding {
    match SigningKeys::from_file(path) {
        // Secrets of containers are readable for their group.
        Ok(_) if data_folder::is_readable_by_all(path) => Finding::warn(
            "signing keys",
            format!("all users of this machine can read {}", path.display()),
            "Anyone who reads it can sign in as any user: restrict it to the server's user.",
        ),
        Ok(_) => Finding::pass("signing keys", format!("in {}", path.display())),
        Err(error) => Finding::fail("signing keys", format!("{error:#}"), "See CHAT_JWT_KEYS in the settings."),
    }
}

/// Examines the permissions of files outside of the data folder.
fn examine_private_files(config: &Config) -> Finding {
    let name = "private files";
    let data_folder = config.data_dir.canonicalize().ok();
    // What is in the data folder is examined with it. A link in it may lead elsewhere.
    let is_outside = |path: &PathBuf| match (path.canonicalize(), &data_folder) {
        (Ok(path), Some(folder)) => !path.starts_with(folder),
        (Ok(_), None) => true,
        (Err(_), _) => false,
    };
    let files = private_files(config).into_iter().filter(is_outside);
    let readable: Vec<String> =
        files.filter(|path| data_folder::is_readable_by_all(path)).map(|path| path.display().to_string()).collect();
    if readable.is_empty() {
        return Finding::pass(name, "all users of this machine can read none of them");
    }
    let message = format!("all users of this machine can read {}", readable.join(", "));
    Finding::warn(name, message, "They may contain secrets and data of users: restrict them to the server's user.")
}

/// Returns the files that may contain secrets or data of users; some may not exist.
fn private_files(config: &Config) -> Vec<PathBuf> {
    let mut files = vec![PathBuf::from(SETTINGS_FILE_NAME), config.data_dir.join(MASTER_KEY_FILE)];
    files.extend(config.secret_files.iter().cloned());
    if let Ok(Some(database)) = database_file(&config.database_url) {
        // SQLite has a log and its index beside the file.
        files.extend(["", "-wal", "-shm"].map(|ending| {
            let mut path = database.clone().into_os_string();
            path.push(ending);
            PathBuf::from(path)
        }));
    }
    let backups = config.backups.as_ref().and_then(|schedule| scheduled_backups::list(&schedule.folder).ok());
    files.extend(backups.into_iter().flatten().map(|(_, path)| path));
    files
}

async fn examine_database(config: &Config, secrets: Option<&SecretSealer>, findings: &mut Vec<Finding>) {
    let inspection = match inspect(&config.database_url).await {
        Ok(inspection) => inspection,
        Err(error @ CopyError::Missing(_)) => {
            findings.push(Finding::warn("database", error.to_string(), "Start the server."));
            return;
        }
        Err(error) => {
            findings.push(Finding::fail("database", error.to_string(), "See DATABASE_URL in the settings."));
            return;
        }
    };
    let kind = inspection.storage.kind();
    findings.push(match check_structure(&config.database_url).await {
        Ok(()) => Finding::pass("database", format!("{kind}, reachable")),
        Err(error) => Finding::fail("database", error.to_string(), "Restore a backup, and look at the disk."),
    });
    let storage = inspection.storage.clone().with_listener(config.database_listen_url.as_deref());
    findings.extend(examine_notifications(storage).await);
    findings.push(examine_clock(inspection.server_time));
    let database = DatabaseKind::of_url(&config.database_url).ok();
    let known = database.map_or(0, DatabaseKind::known_schema_version);
    let is_usable = |found: i64| database.is_some_and(|kind| kind.can_use_schema(found));
    match inspection.schema_version {
        None => {
            findings.push(Finding::warn("schema", "the database is empty", "A server creates it at its start."));
        }
        Some(found) if !is_usable(found) => {
            let message = format!("at {found}, this program knows {known}");
            findings.push(Finding::fail("schema", message, "Run the version that wrote it, or a newer one."));
        }
        Some(found) if found < known => {
            let message = format!("at {found}, this program knows {known}");
            findings.push(Finding::warn("schema", message, "A server migrates it at its start. Make a backup first."));
        }
        Some(found) => {
            let age = if found == known { "current" } else { "newer, but of the same minor version" };
            findings.push(Finding::pass("schema", format!("at {found}, {age}")));
            if let Some(secrets) = secrets {
                findings.push(examine_secrets(config, &inspection.storage, secrets).await);
            }
            findings.push(examine_rows(&inspection.storage).await);
        }
    }
    // A bucket that the settings do not name, but where files are.
    if inspection.can_have_objects()
        && config.files.location.is_none()
        && let Ok(Some(location)) = inspection.storage.file_location(&config.files).await
    {
        findings.push(examine_file_storage(&config.files, &location).await);
    }
    inspection.storage.close().await;
}

/// Writes, reads and deletes an object.
async fn examine_file_storage(settings: &FileStorageSettings, location: &BucketLocation) -> Finding {
    let name = "file storage";
    let checked = match settings.open(location) {
        Ok(bucket) => bucket.check().await.map_err(anyhow::Error::from),
        Err(error) => Err(error.into()),
    };
    match checked {
        Ok(()) => Finding::pass(name, format!("{location} can be written, read and deleted")),
        Err(error) => Finding::fail(name, format!("{location}: {error:#}"), "See CHAT_FILES in the settings."),
    }
}

/// Sends a message as to another node, and waits for it where a server listens.
async fn examine_notifications(storage: Result<Storage, OpenError>) -> Option<Finding> {
    let name = "notifications";
    let arrived = match storage {
        Ok(storage) => storage.nodes().check_notifications().await.map_err(anyhow::Error::from),
        Err(error) => Err(error.into()),
    };
    match arrived {
        Ok(None) => None,
        Ok(Some(true)) => Some(Finding::pass(name, "they arrive")),
        Ok(Some(false)) => {
            let message = "they do not arrive: other nodes learn of events up to a second late";
            let advice =
                "Let the pooler keep a connection for each client (pool_mode = session), or set DATABASE_LISTEN_URL.";
            Some(Finding::warn(name, message, advice))
        }
        Err(error) => Some(Finding::fail(name, format!("{error:#}"), "See DATABASE_LISTEN_URL in the settings.")),
    }
}

fn examine_clock(server_time: Option<Timestamp>) -> Finding {
    let now = SystemClock.now();
    let advice = "Synchronise the clock: tokens, codes of authenticators and certificates depend on it.";
    if now < EARLIEST_TIME {
        return Finding::fail("clock", format!("it is {now}"), advice);
    }
    let difference = server_time.map_or(0, |time| now.millis_since(time).max(time.millis_since(now)));
    if difference > CLOCK_TOLERANCE_MILLIS {
        let seconds = difference / 1_000;
        return Finding::warn("clock", format!("it differs from that of the database server by {seconds} s"), advice);
    }
    Finding::pass("clock", format!("it is {now}"))
}

async fn examine_secrets(config: &Config, storage: &Storage, secrets: &SecretSealer) -> Finding {
    let name = "stored secrets";
    let report = match sealed_secrets::check(storage, secrets).await {
        Ok(report) => report,
        Err(error) => return Finding::fail(name, error.to_string(), "Look at the database."),
    };
    if report.unreadable.is_empty() {
        return Finding::pass(name, format!("{} of {} can be opened", report.opened, report.opened));
    }
    let advice = if config.data_dir.join(NEW_MASTER_KEY_FILE).exists() {
        "A replacement of the master key was interrupted; run `ai-chat-mcp rekey` again to continue it."
    } else {
        "They were stored under another master key; use that one."
    };
    Finding::fail(name, format!("some cannot be opened: {}", report.unreadable_list()), advice)
}

/// Reads every row that holds JSON or names of kinds.
async fn examine_rows(storage: &Storage) -> Finding {
    let name = "stored rows";
    let formats = TextFormats {
        is_journal_entry: is_readable_entry,
        is_provider_kind: |word| ProviderKind::from_word(word).is_some(),
    };
    let list = match storage.list_unreadable_rows(formats).await {
        Ok(list) => list,
        Err(error) => return Finding::fail(name, error.to_string(), "Look at the database."),
    };
    if list.is_empty() {
        return Finding::pass(name, "all can be read");
    }
    let describe = |rows: &UnreadableRows| {
        let first = rows.first.map(|id| format!(" (first: {} {id})", rows.key)).unwrap_or_default();
        format!("{} in {}{first}", rows.count, rows.table)
    };
    let tables: Vec<String> = list.iter().map(describe).collect();
    let message = format!("some cannot be read: {}", tables.join(", "));
    let advice = "Run the newest version that has used this database. If they were damaged, restore a backup.";
    Finding::fail(name, message, advice)
}

async fn examine_mail_server(config: &Config) -> Option<Finding> {
    let smtp = config.smtp.as_ref()?;
    let site = config.site_url.clone().or_else(|| Url::parse("http://localhost").ok())?;
    let connected = match Mailer::new(&smtp.url, smtp.from.as_ref(), &site) {
        Ok(mailer) => mailer.check_connection().await.map_err(anyhow::Error::from),
        Err(error) => Err(error),
    };
    Some(match connected {
        Ok(()) => Finding::pass("mail server", "accepts connections"),
        Err(error) => Finding::fail("mail server", format!("{error:#}"), "See SMTP_URL in the settings."),
    })
}

/// Examines whether the newest scheduled backup is from the last two days.
fn examine_backups(schedule: &BackupSchedule) -> Finding {
    let (name, folder) = ("scheduled backups", schedule.folder.display());
    match scheduled_backups::newest(&schedule.folder) {
        Err(error) => Finding::fail(name, format!("{folder}: {error}"), "See CHAT_BACKUP_DIR in the settings."),
        Ok(None) => Finding::warn(name, format!("{folder} has none"), "A server makes the first one at its start."),
        Ok(Some(time)) if time.plus_seconds(MAX_BACKUP_AGE_SECONDS) < SystemClock.now() => {
            let advice = "Look for failed backups in the log of the server.";
            Finding::warn(name, format!("the newest in {folder} is from {time}"), advice)
        }
        Ok(Some(time)) => Finding::pass(name, format!("the newest in {folder} is from {time}")),
    }
}

/// Requests a provider's base URL. Any answer shows that it can be reached.
async fn examine_provider(provider: &str, base_url: &Url) -> Finding {
    let name = format!("model provider {provider}");
    // Without the user name and password that it may contain.
    let host = base_url.host_str().unwrap_or_default();
    let request = match operator_client(PROVIDER_TIMEOUT, true) {
        Ok(client) => client.get(base_url.clone()).send().await,
        Err(error) => Err(error),
    };
    match request {
        Ok(_) => Finding::pass(&name, format!("{host} answers")),
        Err(error) if error.is_timeout() => {
            let message = format!("{host} did not answer within {} seconds", PROVIDER_TIMEOUT.as_secs());
            Finding::fail(&name, message, "Look at the network and the proxy.")
        }
        Err(error) => {
            let message = format!("{host} cannot be reached: {}", cause(&error));
            Finding::fail(&name, message, "Look at the provider's base URL, the network and the proxy.")
        }
    }
}

#[cfg(feature = "local")]
fn examine_model_files(config: &Config) -> Finding {
    use agent::models::built_in::{path_of, verify_length};
    use local_model::weights::{DEFAULT_WEIGHTS, inspect_weights};

    let name = "built-in model";
    let Some(path) = path_of(config) else { return Finding::pass(name, "switched off") };
    let place = path.display().to_string();
    if !path.is_file() {
        let advice = "Fetch it with `ai-chat-mcp model fetch`, or set CHAT_LOCAL_MODEL=off.";
        return Finding::warn(name, format!("{place} does not exist"), advice);
    }
    let is_default = path.file_name().is_some_and(|file| file == DEFAULT_WEIGHTS.file_name);
    let length =
        if is_default { verify_length(&DEFAULT_WEIGHTS, &path).map_err(|error| error.to_string()) } else { Ok(()) };
    match length.and_then(|()| inspect_weights(&path).map(drop).map_err(|error| error.to_string())) {
        Ok(()) => Finding::pass(name, place),
        Err(reason) => {
            Finding::fail(name, reason, "Delete the file and fetch it again with `ai-chat-mcp model fetch`.")
        }
    }
}
