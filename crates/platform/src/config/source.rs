//! Sources of settings: the environment, then the file `ai-chat-mcp.toml`. Secret values can also be in files of their
//! own, which settings name.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::str::FromStr;

use secrecy::SecretString;
use url::Url;

/// Name of the settings file in the working folder.
pub const SETTINGS_FILE_NAME: &str = "ai-chat-mcp.toml";

/// Ending of the name of the setting that names the file with a secret: `OPENAI_API_KEY_FILE` for `OPENAI_API_KEY`.
const SECRET_FILE_SUFFIX: &str = "_FILE";
/// Maximum size of a file with a secret, in bytes. No secret is longer, but a path may lead anywhere.
const MAX_SECRET_FILE_BYTES: u64 = 64 * 1024;

/// Reason for which the settings are rejected.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A value is invalid. The value itself is not repeated, because it may be secret.
    #[error("{name} is invalid: {reason}")]
    Bad {
        /// Name of the setting.
        name: String,
        /// Description of valid values.
        reason: String,
    },
    /// The name of a setting is unknown.
    #[error("{name} is not a known setting{}", hint.as_ref().map(|hint| format!("; did you mean {hint}?")).unwrap_or_default())]
    Unknown {
        /// Unknown name.
        name: String,
        /// Most similar known name.
        hint: Option<String>,
    },
    /// The settings file exists and cannot be read.
    #[error("{SETTINGS_FILE_NAME} cannot be read: {0}")]
    File(String),
}

impl ConfigError {
    /// Returns the name of the setting, if the error is about a single one.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Bad { name, .. } | Self::Unknown { name, .. } => Some(name),
            Self::File(_) => None,
        }
    }
}

/// The place of a setting's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingOrigin {
    /// The environment of the process.
    Environment,
    /// The settings file.
    File,
    /// The file that the setting with the ending `_FILE` names.
    SecretFile,
    /// None of these: the default applies.
    Default,
}

/// Visibility of the value of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameKind {
    /// A setting.
    Plain,
    /// A setting with a secret value.
    Secret,
    /// A setting that names the file with the value of another one.
    SecretFile,
    /// A variable of the operating system, which is no setting of this program.
    System,
}

/// Names and values of settings. The names that are read are recorded, so that unknown ones can be rejected by
/// [`Config`](super::Config).
#[derive(Debug, Default)]
pub struct Source {
    environment: BTreeMap<String, String>,
    file: BTreeMap<String, String>,
    /// Values from files of their own, by the name of the setting.
    secret_files: BTreeMap<String, String>,
    asked: BTreeMap<String, NameKind>,
}

impl Source {
    /// Reads the environment of this process and the file in its working folder.
    ///
    /// # Errors
    ///
    /// [`ConfigError::File`] or [`ConfigError::Bad`] if the file is invalid.
    pub fn of_process() -> Result<Self, ConfigError> {
        let environment = std::env::vars_os()
            // Variables that are not UTF-8 cannot be settings and are ignored.
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let file = match std::fs::read_to_string(SETTINGS_FILE_NAME) {
            Ok(text) => parse_file(&text)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(ConfigError::File(error.to_string())),
        };
        Ok(Self { environment, file, ..Self::default() })
    }

    /// Sets or replaces a value.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.environment.insert(name.to_owned(), value.into());
        self
    }

    /// Returns a value. An empty one counts as not set.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        self.text_of(name, NameKind::Plain)
    }

    fn text_of(&mut self, name: &str, kind: NameKind) -> Option<String> {
        self.asked.insert(name.to_owned(), kind);
        self.value(name).map(str::to_owned)
    }

    /// Returns a value without recording its name.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.secret_files.get(name).map(String::as_str).or_else(|| self.plain_value(name))
    }

    /// Returns a value of the environment or the settings file.
    fn plain_value(&self, name: &str) -> Option<&str> {
        let value = self.environment.get(name).or_else(|| self.file.get(name))?.trim();
        (!value.is_empty()).then_some(value)
    }

    /// Returns where the value of a name comes from.
    pub(super) fn origin(&self, name: &str) -> SettingOrigin {
        match self.value(name) {
            None => SettingOrigin::Default,
            Some(_) if self.secret_files.contains_key(name) => SettingOrigin::SecretFile,
            Some(_) if self.environment.contains_key(name) => SettingOrigin::Environment,
            Some(_) => SettingOrigin::File,
        }
    }

    /// Removes a name, so that the others can be read without it. Returns whether it was there.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        if self.secret_files.remove(name).is_some() {
            return self.remove(&secret_file_setting(name));
        }
        let was_in_environment = self.environment.remove(name).is_some();
        self.file.remove(name).is_some() || was_in_environment
    }

    /// Returns the names that were read, in alphabetical order.
    pub(super) fn asked(&self) -> impl Iterator<Item = (&str, NameKind)> {
        self.asked.iter().map(|(name, kind)| (name.as_str(), *kind))
    }

    /// Returns the files with secrets that settings name, as far as they were read.
    pub(super) fn secret_file_paths(&self) -> Vec<PathBuf> {
        let names = self.secret_files.keys().map(|name| secret_file_setting(name));
        names.filter_map(|name| self.plain_value(&name).map(PathBuf::from)).collect()
    }

    /// Returns a secret value, from the setting itself or from the file that the setting with the ending `_FILE` names.
    pub(super) fn secret(&mut self, name: &str) -> Result<Option<SecretString>, ConfigError> {
        Ok(self.text_or_file(name, NameKind::Secret)?.map(SecretString::from))
    }

    /// Returns a value of which only a part is secret, such as the password of a URL; see [`secret`](Self::secret).
    pub(super) fn partly_secret(&mut self, name: &str) -> Result<Option<String>, ConfigError> {
        self.text_or_file(name, NameKind::Plain)
    }

    /// Returns a secret value of at least `shortest` characters; see [`secret`](Self::secret).
    pub(super) fn long_secret(&mut self, name: &str, shortest: usize) -> Result<Option<SecretString>, ConfigError> {
        let Some(text) = self.text_or_file(name, NameKind::Secret)? else { return Ok(None) };
        if text.chars().count() < shortest {
            let reason = format!("it must have at least {shortest} characters");
            return Err(ConfigError::Bad { name: name.to_owned(), reason });
        }
        Ok(Some(text.into()))
    }

    fn text_or_file(&mut self, name: &str, kind: NameKind) -> Result<Option<String>, ConfigError> {
        let file_setting = secret_file_setting(name);
        self.asked.insert(name.to_owned(), kind);
        let Some(path) = self.text_of(&file_setting, NameKind::SecretFile) else {
            return Ok(self.value(name).map(str::to_owned));
        };
        // Nobody could say which of the two the operator means.
        if self.plain_value(name).is_some() {
            let reason = format!("{name} is set as well; set one of them");
            return Err(ConfigError::Bad { name: file_setting, reason });
        }
        let text = read_secret_file(&path).map_err(|reason| ConfigError::Bad { name: file_setting, reason })?;
        self.secret_files.insert(name.to_owned(), text.clone());
        Ok(Some(text))
    }

    /// Parses a value. `should_be` describes valid ones in the error.
    pub(super) fn parse<T: FromStr>(&mut self, name: &str, should_be: &str) -> Result<Option<T>, ConfigError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let bad = |_| ConfigError::Bad { name: name.to_owned(), reason: format!("it must be {should_be}") };
        text.parse().map(Some).map_err(bad)
    }

    /// Parses a list of values, separated by commas or spaces.
    pub(super) fn list<T: FromStr>(&mut self, name: &str, should_be: &str) -> Result<Vec<T>, ConfigError> {
        let Some(text) = self.text(name) else { return Ok(Vec::new()) };
        text.split([',', ' '])
            .filter(|item| !item.is_empty())
            .map(|item| {
                let reason = format!("{item:?} is not one of {should_be}");
                item.parse().map_err(|_| ConfigError::Bad { name: name.to_owned(), reason })
            })
            .collect()
    }

    /// Parses an HTTP URL.
    pub(super) fn url(&mut self, name: &str) -> Result<Option<Url>, ConfigError> {
        self.text(name).map(|text| parse_url(name, &text)).transpose()
    }

    /// Parses an HTTP URL, or `default` if none is set.
    pub(super) fn url_or(&mut self, name: &str, default: &str) -> Result<Url, ConfigError> {
        let text = self.text(name);
        parse_url(name, text.as_deref().unwrap_or(default))
    }

    /// Parses a URL. Returns `None` for `off`.
    pub(super) fn url_or_off(&mut self, name: &str, default: &str) -> Result<Option<Url>, ConfigError> {
        match self.text(name).as_deref() {
            Some("off") => Ok(None),
            text => parse_url(name, text.unwrap_or(default)).map(Some),
        }
    }

    /// Returns the meaning of a value that is one of `choices`.
    pub(super) fn choice<T: Copy>(&mut self, name: &str, choices: &[(&str, T)]) -> Result<Option<T>, ConfigError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        if let Some((_, value)) = choices.iter().find(|(word, _)| *word == text) {
            return Ok(Some(*value));
        }
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        Err(ConfigError::Bad { name: name.to_owned(), reason: format!("it must be {}", words.join(" or ")) })
    }

    /// Parses `on` or `off`.
    pub(super) fn switch(&mut self, name: &str) -> Result<Option<bool>, ConfigError> {
        self.choice(name, &[("on", true), ("off", false)])
    }

    /// Returns the cache folder of the system user.
    pub(super) fn cache_folder(&mut self) -> Option<PathBuf> {
        self.text_of("XDG_CACHE_HOME", NameKind::System)
            .map(PathBuf::from)
            .or_else(|| self.text_of("HOME", NameKind::System).map(|home| PathBuf::from(home).join(".cache")))
    }

    /// Rejects all names in the file, and those in the environment that begin with `CHAT_`, that no setting has read.
    pub(super) fn refuse_unknown(&self) -> Result<(), ConfigError> {
        let ours = self.environment.keys().filter(|name| name.starts_with("CHAT_"));
        for name in ours.chain(self.file.keys()) {
            if !self.asked.contains_key(name) {
                // Only a near match is a plausible typo.
                let hint = self.asked.keys().min_by_key(|known| difference(known, name)).cloned();
                let hint = hint.filter(|known| difference(known, name) <= 4);
                return Err(ConfigError::Unknown { name: name.clone(), hint });
            }
        }
        Ok(())
    }
}

/// Returns the name of the setting that names the file with the value of `name`.
fn secret_file_setting(name: &str) -> String {
    format!("{name}{SECRET_FILE_SUFFIX}")
}

/// Returns the content of a file without the line break at its end. The error is the reason for operators.
fn read_secret_file(path: &str) -> Result<String, String> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MAX_SECRET_FILE_BYTES + 1).read_to_string(&mut text));
    read.map_err(|error| format!("{path} cannot be read: {error}"))?;
    if text.len() as u64 > MAX_SECRET_FILE_BYTES {
        return Err(format!("{path} is larger than {} KiB", MAX_SECRET_FILE_BYTES / 1024));
    }
    let text = text.trim_end_matches(['\r', '\n']);
    // A secret that was not filled in must not count as not set.
    if text.is_empty() { Err(format!("{path} is empty")) } else { Ok(text.to_owned()) }
}

/// Parses an HTTP URL.
pub(super) fn parse_url(name: &str, text: &str) -> Result<Url, ConfigError> {
    let bad = || ConfigError::Bad { name: name.to_owned(), reason: "it must be an http:// or https:// URL".into() };
    let url = Url::parse(text).map_err(|_| bad())?;
    if matches!(url.scheme(), "http" | "https") && url.has_host() { Ok(url) } else { Err(bad()) }
}

/// Parses the settings file.
fn parse_file(text: &str) -> Result<BTreeMap<String, String>, ConfigError> {
    let table: toml::Table =
        // The message alone: the full error quotes the line, which may hold a key.
        text.parse().map_err(|error: toml::de::Error| ConfigError::File(error.message().to_owned()))?;
    table
        .into_iter()
        .map(|(name, value)| match value {
            toml::Value::String(text) => Ok((name, text)),
            toml::Value::Integer(number) => Ok((name, number.to_string())),
            toml::Value::Boolean(on) => Ok((name, if on { "on" } else { "off" }.to_owned())),
            _ => Err(ConfigError::Bad { name, reason: "it must be a text, a number or true/false".into() }),
        })
        .collect()
}

/// Returns an approximate edit distance of two names, enough to suggest the name that was meant by a typo.
fn difference(a: &str, b: &str) -> usize {
    let common = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let rest = |text: &str| text.chars().skip(common).collect::<String>();
    let (a, b) = (rest(a), rest(b));
    let tail = a.chars().rev().zip(b.chars().rev()).take_while(|(a, b)| a == b).count();
    a.chars().count().max(b.chars().count()) - tail
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    fn refusal(name: &str, value: &str) -> String {
        Config::from_source(Source::default().with(name, value)).unwrap_err().to_string()
    }

    #[test]
    fn an_empty_environment_is_enough() {
        let config = Config::from_source(Source::default()).unwrap();
        assert_eq!(config.listen.to_string(), "127.0.0.1:3000");
        assert_eq!(config.database_url, "sqlite://./data/ai-chat-mcp.db");
        assert!(
            config.fallback_tools && config.mcp_registry.is_some() && config.autoconfirm && config.providers.is_empty()
        );
    }

    #[test]
    fn refusals_name_the_setting_and_what_it_should_be() {
        assert_eq!(
            refusal("CHAT_FALLBACK_TOOLS", "on"),
            "CHAT_FALLBACK_TOOLS is invalid: it must be google-drive or off"
        );
        assert_eq!(
            refusal("CHAT_LISTEN", "3000"),
            "CHAT_LISTEN is invalid: it must be an address such as 127.0.0.1:3000"
        );
        assert_eq!(refusal("CHAT_LISTN", "x"), "CHAT_LISTN is not a known setting; did you mean CHAT_LISTEN?");
        assert!(refusal("GOOGLE_CLIENT_ID", "x").contains("go together"));
        assert_eq!(
            refusal("CHAT_SERVICE_ROLE_KEY", "short"),
            "CHAT_SERVICE_ROLE_KEY is invalid: it must have at least 32 characters"
        );
        assert!(refusal("CHAT_TRUSTED_PROXIES", "10.0.0.1, proxy").contains("\"proxy\" is not one of addresses"));
    }

    fn secret_file(content: &str) -> (tempfile::TempDir, String) {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, content).unwrap();
        let path = path.to_str().unwrap().to_owned();
        (folder, path)
    }

    #[test]
    fn reads_secrets_from_files() {
        use secrecy::ExposeSecret;
        let (_folder, key) = secret_file("sk-1 \r\n");
        let (_other, database) = secret_file("sqlite:///srv/chat.db\n");
        let source = Source::default()
            .with("OPENAI_API_KEY_FILE", &*key)
            .with("GOOGLE_CLIENT_ID", "id")
            .with("GOOGLE_CLIENT_SECRET_FILE", &*key)
            .with("DATABASE_URL_FILE", &*database);
        let config = Config::from_source(source).unwrap();
        let provider = config.providers.first().unwrap().key.as_ref().unwrap();
        assert_eq!(provider.expose_secret(), "sk-1 ", "only the line break is not part of the secret");
        assert_eq!(config.google.unwrap().secret.expose_secret(), "sk-1 ");
        assert_eq!(config.database_url, "sqlite:///srv/chat.db");
    }

    #[test]
    fn rejects_files_without_a_usable_secret() {
        let (_folder, path) = secret_file("x");
        let both = Source::default().with("SMTP_URL", "smtp://host").with("SMTP_URL_FILE", &*path);
        assert_eq!(
            Config::from_source(both).unwrap_err().to_string(),
            "SMTP_URL_FILE is invalid: SMTP_URL is set as well; set one of them"
        );
        assert_eq!(
            refusal("CHAT_SERVICE_ROLE_KEY_FILE", &path),
            "CHAT_SERVICE_ROLE_KEY is invalid: it must have at least 32 characters"
        );
        let (_folder, empty) = secret_file("\n");
        assert!(refusal("CHAT_MASTER_KEY_FILE", &empty).ends_with("is empty"));
        let (_folder, long) = secret_file(&"x".repeat(70_000));
        assert!(refusal("CHAT_MASTER_KEY_FILE", &long).ends_with("is larger than 64 KiB"));
        assert!(refusal("CHAT_MASTER_KEY_FILE", "/nowhere/at/all").contains("/nowhere/at/all cannot be read"));
        assert!(refusal("CHAT_LISTEN_FILE", &path).contains("not a known setting"), "only secrets");
    }

    #[test]
    fn a_secret_is_never_repeated() {
        assert!(!refusal("OPENAI_BASE_URL", "sk-secret").contains("sk-secret"));
    }
}
