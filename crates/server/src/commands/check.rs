//! The command `ai-chat-mcp check`: prints the settings as a server would read them, and everything that is wrong with
//! them.

use std::io::Write;
use std::process::ExitCode;

use accounts::mailer::Mailer;
use accounts::signing_keys::SigningKeys;
use agent::models::catalogue::Catalogue;
use clap::Args;
use platform::SecretSealer;
use platform::config::{
    Config, SETTINGS_FILE_NAME, SettingOrigin, SettingProblem, SettingStatus, SettingsReport, Source,
};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use url::Url;

/// Arguments of `ai-chat-mcp check`.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 a server would accept the settings, 1 it would not, 2 wrong arguments.")]
pub struct Check {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Prints the report.
///
/// # Errors
///
/// Standard output cannot be written.
pub fn run(arguments: Check) -> anyhow::Result<ExitCode> {
    let mut report = match Source::of_process() {
        Ok(source) => SettingsReport::new(source),
        Err(error) => SettingsReport::unreadable(&error),
    };
    if let Some(config) = &report.config {
        let found = problems_at_start(config);
        report.problems.extend(found);
    }
    let mut out = std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{:#}", to_json(&report))?;
    } else {
        write_text(&mut out, &report)?;
    }
    Ok(if report.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the problems of settings that the services of a server find when they start.
fn problems_at_start(config: &Config) -> Vec<SettingProblem> {
    let database = storage::check_url(&config.database_url).map_err(anyhow::Error::from);
    let listen_url = config
        .database_listen_url
        .as_deref()
        .map_or(Ok(()), |url| storage::check_listen_url(&config.database_url, url).map_err(anyhow::Error::from));
    let master_key = config.master_key.as_ref().map_or(Ok(()), |key| {
        SecretSealer::from_base64("CHAT_MASTER_KEY", key.expose_secret()).map(drop).map_err(anyhow::Error::from)
    });
    let signing_keys = config.jwt_keys.as_ref().map_or(Ok(()), |path| SigningKeys::from_file(path).map(drop));
    let catalogue = config.model_catalogue.as_ref().map_or(Ok(()), |path| Catalogue::open(Some(path)).map(drop));
    let mail_server = config.smtp.as_ref().map_or(Ok(()), |smtp| {
        let site = config.site_url.clone().map_or_else(|| Url::parse("http://localhost"), Ok)?;
        Mailer::new(&smtp.url, smtp.from.as_ref(), &site).map(drop)
    });
    let checks = [
        ("DATABASE_URL", database),
        ("DATABASE_LISTEN_URL", listen_url),
        ("CHAT_MASTER_KEY", master_key),
        ("CHAT_JWT_KEYS", signing_keys),
        ("CHAT_MODEL_CATALOGUE", catalogue),
        ("SMTP_URL", mail_server),
    ];
    let problem = |(name, result): (&str, anyhow::Result<()>)| {
        let message = format!("{:#}", result.err()?);
        // Some messages do not name the setting.
        let message = if message.contains(name) { message } else { format!("{name} is invalid: {message}") };
        Some(SettingProblem { name: name.to_owned(), message })
    };
    checks.into_iter().filter_map(problem).collect()
}

fn write_text(out: &mut impl Write, report: &SettingsReport) -> std::io::Result<()> {
    let rows: Vec<[String; 3]> = report.settings.iter().map(|setting| row(setting, report)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (names, values) = (width(0), width(1).min(60));
    for [name, value, origin] in &rows {
        writeln!(out, "{name:names$}  {value:values$}  {origin}")?;
    }
    if report.problems.is_empty() {
        return writeln!(out, "\nThe settings are valid.");
    }
    if !rows.is_empty() {
        writeln!(out)?;
    }
    for problem in &report.problems {
        writeln!(out, "error: {}", problem.message)?;
    }
    writeln!(out, "\nA server does not start with these settings.")
}

/// Returns the name, the value and the origin of a setting.
fn row(setting: &SettingStatus, report: &SettingsReport) -> [String; 3] {
    let is_invalid = report.problems.iter().any(|problem| problem.name == setting.name);
    let value = match &setting.value {
        _ if is_invalid => "invalid",
        Some(value) => value,
        None if is_set(setting) => "set",
        None => "not set",
    };
    [setting.name.clone(), value.to_owned(), origin_label(setting)]
}

fn is_set(setting: &SettingStatus) -> bool {
    setting.origin != SettingOrigin::Default
}

fn origin_label(setting: &SettingStatus) -> String {
    match setting.origin {
        SettingOrigin::Environment => "environment".to_owned(),
        SettingOrigin::File => SETTINGS_FILE_NAME.to_owned(),
        SettingOrigin::SecretFile => format!("{}_FILE", setting.name),
        SettingOrigin::Default => "default".to_owned(),
    }
}

fn to_json(report: &SettingsReport) -> Value {
    let setting = |setting: &SettingStatus| {
        let origin = match setting.origin {
            SettingOrigin::Environment => "environment",
            SettingOrigin::File => "file",
            SettingOrigin::SecretFile => "secret_file",
            SettingOrigin::Default => "default",
        };
        json!({
            "name": setting.name,
            "value": setting.value,
            "is_secret": setting.is_secret,
            "is_set": is_set(setting),
            "origin": origin,
        })
    };
    let problem = |problem: &SettingProblem| json!({ "name": problem.name, "message": problem.message });
    json!({
        "valid": report.problems.is_empty(),
        "settings": report.settings.iter().map(setting).collect::<Vec<_>>(),
        "problems": report.problems.iter().map(problem).collect::<Vec<_>>(),
    })
}
