//! Settings of the place of files.

use std::time::Duration;

use storage::object_storage::{BucketLocation, FileStorageSettings, S3Access};

use super::source::{ConfigError, Source};

/// Word for the database as the place of files.
const DATABASE: &str = "database";
/// Default region, which services other than Amazon's accept.
const DEFAULT_REGION: &str = "us-east-1";
/// Default maximum time to write or read one object.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(20);

/// Reads the settings.
pub(super) fn read(source: &mut Source) -> Result<FileStorageSettings, ConfigError> {
    let location = match source.text("CHAT_FILES") {
        None => None,
        Some(word) if word == DATABASE => None,
        Some(text) => Some(text.parse::<BucketLocation>().map_err(|error| ConfigError::Bad {
            name: "CHAT_FILES".to_owned(),
            reason: format!("{error}, or {DATABASE}"),
        })?),
    };
    let seconds = source.parse::<std::num::NonZeroU16>("CHAT_FILES_TIMEOUT", "a number of seconds, at least 1")?;
    let region = source.text("AWS_REGION").unwrap_or_else(|| DEFAULT_REGION.to_owned());
    let endpoint = source.url("AWS_ENDPOINT_URL")?;
    let access_key_id = source.secret("AWS_ACCESS_KEY_ID")?;
    let secret_access_key = source.secret("AWS_SECRET_ACCESS_KEY")?;
    if location.is_some()
        && let Some((name, _)) =
            [("AWS_ACCESS_KEY_ID", access_key_id.is_some()), ("AWS_SECRET_ACCESS_KEY", secret_access_key.is_some())]
                .into_iter()
                .find(|(_, is_set)| !is_set)
    {
        let reason = format!("it needs {name} as well");
        return Err(ConfigError::Bad { name: "CHAT_FILES".to_owned(), reason });
    }
    let access = access_key_id.zip(secret_access_key).map(|(access_key_id, secret_access_key)| S3Access {
        region,
        endpoint,
        access_key_id,
        secret_access_key,
    });
    let timeout = seconds.map_or(DEFAULT_TIMEOUT, |seconds| Duration::from_secs(seconds.get().into()));
    Ok(FileStorageSettings { location, access, timeout })
}

/// Returns the values that apply where none is given.
pub(super) fn default_values(settings: &FileStorageSettings) -> [(&'static str, String); 3] {
    let place = settings.location.as_ref().map_or_else(|| DATABASE.to_owned(), ToString::to_string);
    let region = settings.access.as_ref().map_or_else(|| DEFAULT_REGION.to_owned(), |access| access.region.clone());
    [("CHAT_FILES", place), ("CHAT_FILES_TIMEOUT", settings.timeout.as_secs().to_string()), ("AWS_REGION", region)]
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret")];

    fn read_all(values: &[(&str, &str)]) -> Result<FileStorageSettings, String> {
        let mut source = values.iter().fold(Source::default(), |source, (name, value)| source.with(name, *value));
        read(&mut source).map_err(|error| error.to_string())
    }

    #[test]
    fn the_database_is_the_default() {
        for values in [&[][..], &[("CHAT_FILES", "database")], &[("AWS_ACCESS_KEY_ID", "of something else")]] {
            let settings = read_all(values).unwrap();
            assert!(settings.location.is_none() && settings.access.is_none());
        }
    }

    #[test]
    fn reads_bucket_and_access() {
        let more = [("CHAT_FILES", "s3://chat-files/a"), ("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")];
        let settings = read_all(&[&KEYS[..], &more].concat()).unwrap();
        assert_eq!(settings.location.unwrap().to_string(), "s3://chat-files/a");
        let access = settings.access.unwrap();
        assert_eq!(access.region, "us-east-1");
        assert_eq!(access.endpoint.unwrap().as_str(), "http://127.0.0.1:9000/");
        assert_eq!(settings.timeout, DEFAULT_TIMEOUT);
    }

    #[test]
    fn rejects_bad_places_and_missing_keys() {
        for place in ["s3://", "/var/files", "gs://chat-files", "s3://chat-files/../x"] {
            let error = read_all(&[&KEYS[..], &[("CHAT_FILES", place)]].concat()).unwrap_err();
            assert!(error.starts_with("CHAT_FILES is invalid: it must be s3://bucket"), "{error}");
        }
        let error = read_all(&[("CHAT_FILES", "s3://chat-files"), KEYS[0]]).unwrap_err();
        assert!(error.contains("AWS_SECRET_ACCESS_KEY"), "{error}");
        let error = read_all(&[("CHAT_FILES_TIMEOUT", "0")]).unwrap_err();
        assert!(error.starts_with("CHAT_FILES_TIMEOUT"), "{error}");
    }
}
