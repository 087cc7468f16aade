//! Report of all settings: their values, where these come from, and everything that is wrong with them.

use std::time::Duration;

use domain::model::{BYTES_PER_MEBIBYTE, QuotaKind};
use url::Url;

use super::files;
use super::limits::MEBIBYTE;
use super::source::NameKind;
use super::traces;
use super::{Config, ConfigError, SettingOrigin, Source};

/// Replacement of a password in a value that is shown.
const MASK: &str = "***";
/// Words in the names of URL parameters whose values are secret.
const SECRET_WORDS: [&str; 4] = ["password", "key", "token", "secret"];

/// The settings of a process, for the operator.
#[derive(Debug)]
pub struct SettingsReport {
    /// All known settings, in alphabetical order. Those that name the file of a secret are listed only if they are set.
    pub settings: Vec<SettingStatus>,
    /// Everything for which the settings are rejected.
    pub problems: Vec<SettingProblem>,
    /// The settings without the invalid ones.
    pub config: Option<Config>,
}

/// A setting and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingStatus {
    /// Name of the setting.
    pub name: String,
    /// Effective value, with masked passwords. `None` if the setting is secret or invalid, or has no value.
    pub value: Option<String>,
    /// Whether the value is never shown.
    pub is_secret: bool,
    /// Where the value comes from.
    pub origin: SettingOrigin,
}

/// An invalid or unknown setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingProblem {
    /// Name of the setting.
    pub name: String,
    /// Description of the problem, as the server reports it at its start.
    pub message: String,
}

impl SettingsReport {
    /// Reads the settings as a server does, but continues after an error, without the setting that caused it.
    pub fn new(mut source: Source) -> Self {
        let mut problems: Vec<(SettingProblem, SettingOrigin)> = Vec::new();
        let config = loop {
            let error = match Config::read(&mut source) {
                Ok(config) => break Some(config),
                Err(error) => error,
            };
            let name = error.name().unwrap_or_default().to_owned();
            let origin = source.origin(&name);
            let was_set = source.remove(&name);
            problems.push((SettingProblem { name, message: error.to_string() }, origin));
            // An error that remains without its setting cannot be avoided.
            if !was_set {
                break None;
            }
        };
        let defaults = config.as_ref().map(default_values).unwrap_or_default();
        let status = |(name, kind): (&str, NameKind)| {
            let removed = problems.iter().find(|(problem, _)| problem.name == name);
            let is_secret = kind == NameKind::Secret;
            let default = || defaults.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
            let value = match source.value(name) {
                _ if is_secret || removed.is_some() => None,
                Some(text) => Some(mask(text)),
                None => default(),
            };
            let origin = removed.map_or_else(|| source.origin(name), |(_, origin)| *origin);
            SettingStatus { name: name.to_owned(), value, is_secret, origin }
        };
        let is_listed = |(name, kind): &(&str, NameKind)| match kind {
            NameKind::System => false,
            NameKind::SecretFile => {
                source.value(name).is_some() || problems.iter().any(|(problem, _)| problem.name == *name)
            }
            NameKind::Plain | NameKind::Secret => true,
        };
        let settings = source.asked().filter(is_listed).map(status).collect();
        Self { settings, problems: problems.into_iter().map(|(problem, _)| problem).collect(), config }
    }

    /// Returns the report for a source that cannot be read at all.
    pub fn unreadable(error: &ConfigError) -> Self {
        let name = error.name().unwrap_or(super::SETTINGS_FILE_NAME).to_owned();
        Self { settings: Vec::new(), problems: vec![SettingProblem { name, message: error.to_string() }], config: None }
    }
}

/// Returns the values of settings that apply where none is given. The others have no value then.
fn default_values(config: &Config) -> Vec<(&'static str, String)> {
    let switch = |on: bool| if on { "on" } else { "off" }.to_owned();
    let minutes = |time: Duration| (time.as_secs() / 60).to_string();
    let mebibytes = |bytes: usize| (bytes / MEBIBYTE).to_string();
    let port = config.listen.port();
    let site_url = config.site_url.as_ref().map_or_else(|| format!("http://localhost:{port}"), Url::to_string);
    let limits = &config.limits;
    let saved_connections = config.quotas.get(QuotaKind::Connections).unwrap_or_default();
    let stored_mebibytes = config.quotas.get(QuotaKind::StoredBytes).unwrap_or_default() / BYTES_PER_MEBIBYTE;
    let backups = config.backups.iter().flat_map(|schedule| {
        [
            ("CHAT_BACKUP_AT", schedule.time.strftime("%H:%M").to_string()),
            ("CHAT_BACKUP_KEEP", schedule.keep.to_string()),
        ]
    });
    let oidc = config.oidc.iter().flat_map(|oidc| {
        [
            ("CHAT_OIDC_SCOPES", oidc.scopes.join(" ")),
            ("CHAT_OIDC_NAME", oidc.name.clone()),
            ("CHAT_OIDC_ONLY", switch(oidc.is_only)),
            ("CHAT_OIDC_LINK_BY_EMAIL", switch(oidc.links_by_email)),
            ("CHAT_OIDC_LOGOUT", switch(oidc.signs_out)),
        ]
    });
    let mut values = vec![
        ("CHAT_LISTEN", config.listen.to_string()),
        ("CHAT_SITE_URL", site_url),
        ("CHAT_DATA_DIR", config.data_dir.display().to_string()),
        ("DATABASE_URL", mask(&config.database_url)),
        ("CHAT_LOCAL_IDLE", config.local_idle.map_or_else(|| "never".to_owned(), minutes)),
        ("CHAT_FALLBACK_TOOLS", if config.fallback_tools { "google-drive" } else { "off" }.to_owned()),
        ("CHAT_MCP_REGISTRY", config.mcp_registry.as_ref().map_or_else(|| "off".to_owned(), Url::to_string)),
        ("GOOGLE_DRIVE_BASE_URL", config.google_endpoints.drive.to_string()),
        ("GOOGLE_AUTHORIZE_URL", config.google_endpoints.authorize.to_string()),
        ("GOOGLE_TOKEN_URL", config.google_endpoints.token.to_string()),
        ("GOOGLE_REVOKE_URL", config.google_endpoints.revoke.to_string()),
        ("CHAT_AUTOCONFIRM", switch(config.autoconfirm)),
        ("CHAT_SIGNUPS", config.sign_ups.as_str().to_owned()),
        ("CHAT_ANONYMOUS_SIGN_IN", switch(config.anonymous_sign_in)),
        ("CHAT_REFUSE_COMMON_PASSWORDS", switch(config.refuse_common_passwords)),
        ("CHAT_SECURITY_EMAILS", switch(config.security_emails)),
        ("CHAT_REAUTHENTICATION_MINUTES", config.reauthentication_after.map_or_else(|| "0".to_owned(), minutes)),
        ("CHAT_PASSWORD_REAUTHENTICATION", switch(config.password_reauthentication)),
        ("CHAT_AUDIT_DAYS", (config.audit_lifetime.unwrap_or_default().as_secs() / (24 * 60 * 60)).to_string()),
        ("CHAT_RATE_LIMITS", switch(config.rate_limits)),
        ("CHAT_MAX_TURNS_PER_USER", limits.turns.per_user.to_string()),
        ("CHAT_MAX_TURNS", limits.turns.total.to_string()),
        ("CHAT_MAX_STREAMS_PER_USER", limits.streams.per_user.to_string()),
        ("CHAT_MAX_STREAMS", limits.streams.total.to_string()),
        ("CHAT_MAX_CONNECTIONS_PER_USER", limits.connections.per_user.to_string()),
        ("CHAT_MAX_CONNECTIONS", limits.connections.total.to_string()),
        ("CHAT_MAX_QUEUED_PER_USER", limits.queued_per_user.to_string()),
        ("CHAT_MAX_SOCKETS_PER_ADDRESS", limits.sockets.per_user.to_string()),
        ("CHAT_MAX_SOCKETS", limits.sockets.total.to_string()),
        ("CHAT_MAX_TURN_MIB", mebibytes(limits.turn_bytes)),
        ("CHAT_MAX_TURNS_MIB", mebibytes(limits.turns_bytes)),
        ("CHAT_MAX_BODIES_MIB_PER_ADDRESS", mebibytes(limits.bodies_bytes.per_user)),
        ("CHAT_MAX_BODIES_MIB", mebibytes(limits.bodies_bytes.total)),
        ("CHAT_MAX_FILES_MIB_PER_USER", stored_mebibytes.to_string()),
        ("CHAT_MAX_SAVED_CONNECTIONS_PER_USER", saved_connections.to_string()),
    ];
    values.extend(backups.chain(oidc).chain(files::default_values(&config.files)).chain(traces::default_values()));
    values
}

/// Masks the passwords of URLs in a value, which may be a list.
fn mask(value: &str) -> String {
    value.split_inclusive([',', ' ']).map(mask_item).collect()
}

fn mask_item(item: &str) -> String {
    let Some((scheme, rest)) = item.split_once("://") else { return item.to_owned() };
    let before_query = rest.split_once('?').map_or(rest, |(before, _)| before);
    // Up to the last `@`, because a password that is not encoded may contain any character, even `?`.
    let user_end = before_query.rfind('@').or_else(|| rest.rfind('@'));
    let rest = match user_end.map(|at| rest.split_at(at)) {
        Some((user, host)) => match user.split_once(':') {
            Some((name, _)) => format!("{name}:{MASK}{host}"),
            // A name alone is a token at some HTTP services.
            None if scheme.starts_with("http") => format!("{MASK}{host}"),
            None => format!("{user}{host}"),
        },
        None => rest.to_owned(),
    };
    let Some((before, query)) = rest.split_once('?') else { return format!("{scheme}://{rest}") };
    let parameters: Vec<String> = query.split('&').map(mask_parameter).collect();
    format!("{scheme}://{before}?{}", parameters.join("&"))
}

fn mask_parameter(parameter: &str) -> String {
    match parameter.split_once('=') {
        Some((name, _)) if SECRET_WORDS.iter().any(|word| name.to_ascii_lowercase().contains(word)) => {
            format!("{name}={MASK}")
        }
        _ => parameter.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(settings: &[(&str, &str)]) -> SettingsReport {
        SettingsReport::new(settings.iter().fold(Source::default(), |source, (name, value)| source.with(name, *value)))
    }

    fn status(report: &SettingsReport, name: &str) -> SettingStatus {
        report.settings.iter().find(|setting| setting.name == name).unwrap().clone()
    }

    #[test]
    fn reports_all_problems_at_once() {
        let report = report(&[
            ("CHAT_LISTEN", "3000"),
            ("CHAT_LISTN", "127.0.0.1:80"),
            ("CHAT_RATE_LIMITS", "maybe"),
            ("GOOGLE_CLIENT_SECRET", "hidden"),
            ("CHAT_MAX_TURNS", "7"),
        ]);
        let mut names: Vec<&str> = report.problems.iter().map(|problem| problem.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["CHAT_LISTEN", "CHAT_LISTN", "CHAT_RATE_LIMITS", "GOOGLE_CLIENT_SECRET"]);
        let invalid = status(&report, "CHAT_LISTEN");
        assert_eq!((invalid.value, invalid.origin), (None, SettingOrigin::Environment));
        assert_eq!(status(&report, "CHAT_MAX_TURNS").value.as_deref(), Some("7"));
        assert!(report.settings.iter().all(|setting| setting.name != "HOME" && setting.name != "XDG_CACHE_HOME"));
    }

    #[test]
    fn shows_effective_defaults() {
        let report = report(&[
            ("CHAT_LISTEN", "0.0.0.0:8080"),
            ("SMTP_URL", "smtp://mail.example"),
            ("CHAT_BACKUP_DIR", "/backups"),
        ]);
        assert!(report.problems.is_empty() && report.config.is_some());
        let value = |name: &str| status(&report, name).value.unwrap();
        assert_eq!(value("CHAT_SITE_URL"), "http://localhost:8080");
        assert_eq!(value("CHAT_AUTOCONFIRM"), "off", "there is a mail server");
        assert_eq!(value("CHAT_REFUSE_COMMON_PASSWORDS"), "on", "other machines can reach the server");
        assert_eq!((value("CHAT_BACKUP_AT"), value("CHAT_BACKUP_KEEP")), ("02:00".to_owned(), "14".to_owned()));
        assert_eq!(status(&report, "CHAT_SITE_URL").origin, SettingOrigin::Default);
    }

    #[test]
    fn shows_which_secrets_come_from_files() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, "postgres://chat:hidden@db/chat\n").unwrap();
        let path = path.to_str().unwrap();
        let report = report(&[
            ("DATABASE_URL_FILE", path),
            ("OPENAI_API_KEY_FILE", path),
            ("CHAT_SERVICE_ROLE_KEY_FILE", path),
            ("CHAT_MASTER_KEY_FILE", "/nowhere/at/all"),
        ]);
        let database = status(&report, "DATABASE_URL");
        assert_eq!(database.value.as_deref(), Some("postgres://chat:***@db/chat"));
        assert_eq!(database.origin, SettingOrigin::SecretFile);
        let key = status(&report, "OPENAI_API_KEY");
        assert_eq!((key.value, key.is_secret, key.origin), (None, true, SettingOrigin::SecretFile));
        assert_eq!(status(&report, "OPENAI_API_KEY_FILE").value.as_deref(), Some(path));
        assert_eq!(status(&report, "CHAT_SERVICE_ROLE_KEY").origin, SettingOrigin::SecretFile, "although it is short");
        assert_eq!(status(&report, "CHAT_MASTER_KEY_FILE").origin, SettingOrigin::Environment);
        let names: Vec<&str> = report.problems.iter().map(|problem| problem.name.as_str()).collect();
        assert_eq!(names, ["CHAT_SERVICE_ROLE_KEY", "CHAT_MASTER_KEY_FILE"]);
        assert!(report.settings.iter().all(|setting| setting.name != "SMTP_URL_FILE"));
    }

    #[test]
    fn every_default_belongs_to_a_setting_and_every_setting_is_documented() {
        let report = report(&[]);
        let documented = include_str!("../../../../docs/guide/configuration.md");
        for setting in &report.settings {
            assert!(documented.contains(&format!("`{}`", setting.name)), "{} is not documented", setting.name);
        }
        let first_cells = documented.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
        for name in first_cells.flat_map(|cell| cell.split(", ")).map(|name| name.trim_matches('`')) {
            // `CHAT_MAX_…` stands for a group with a table of its own.
            let is_name = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_') && name.contains('_');
            let is_setting = report.settings.iter().any(|setting| setting.name == name);
            assert!(!is_name || is_setting, "{name} is documented, but no setting");
        }
        for (name, _) in default_values(&report.config.unwrap()) {
            assert!(report.settings.iter().any(|setting| setting.name == name), "{name} is no setting");
        }
    }

    #[test]
    fn never_shows_secrets() {
        let secret = "S3CR:ET/@x";
        let report = report(&[
            ("DATABASE_URL", "postgres://chat:S3CR:ET/@x@db.example/chat?sslmode=require&password=S3CR:ET/@x"),
            ("OPENAI_BASE_URL", "https://name:S3CR@proxy.example/v1?api_key=S3CR"),
            ("OPENAI_API_KEY", secret),
            ("CHAT_MASTER_KEY", secret),
            ("CHAT_SERVICE_ROLE_KEY", secret),
            ("SMTP_URL", "smtp://user:S3CR@mail.example"),
            ("CHAT_CORS_ORIGINS", "https://a.example https://u:S3CR@b.example"),
        ]);
        let shown = format!("{:?}{:?}", report.settings, status(&report, "DATABASE_URL"));
        assert!(!shown.contains("S3CR"), "{shown}");
        assert!(status(&report, "OPENAI_BASE_URL").value.unwrap().starts_with("https://name:***@proxy.example/v1"));
        assert!(status(&report, "OPENAI_API_KEY").is_secret);
        assert_eq!(
            status(&report, "DATABASE_URL").value.unwrap(),
            "postgres://chat:***@db.example/chat?sslmode=require&password=***"
        );
        assert_eq!(mask("https://token@host/v1"), "https://***@host/v1");
        assert_eq!(mask("postgres://chat@db/chat"), "postgres://chat@db/chat");
        assert_eq!(mask("postgres://chat:a?b@db/chat"), "postgres://chat:***@db/chat");
    }
}
