//! Settings of the scheduled backups.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use jiff::civil::Time;

use super::source::{ConfigError, Source};

/// Default time of day: few people chat then.
const DEFAULT_TIME: Time = Time::constant(2, 0, 0, 0);
/// Default number of backups to keep: two weeks.
const DEFAULT_KEEP: NonZeroUsize = NonZeroUsize::new(14).unwrap();

/// When a running server backs up its database, and where to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupSchedule {
    /// `CHAT_BACKUP_DIR`: the folder of the backups. It is created when it is missing.
    pub folder: PathBuf,
    /// `CHAT_BACKUP_AT`: the time of day, in the time zone of the system. Default: 02:00.
    pub time: Time,
    /// `CHAT_BACKUP_KEEP`: the number of backups that are kept; older ones are deleted. Default: 14.
    pub keep: NonZeroUsize,
}

impl BackupSchedule {
    /// Reads the settings. Returns `None` if there is no folder.
    pub(super) fn read(source: &mut Source) -> Result<Option<Self>, ConfigError> {
        let folder = source.text("CHAT_BACKUP_DIR").map(PathBuf::from);
        let time = source.parse("CHAT_BACKUP_AT", "a time of day such as 02:00")?;
        let keep = source.parse("CHAT_BACKUP_KEEP", "a number of backups, at least 1")?;
        if folder.is_none()
            && let Some(name) = [("CHAT_BACKUP_AT", time.is_some()), ("CHAT_BACKUP_KEEP", keep.is_some())]
                .into_iter()
                .find(|(_, set)| *set)
        {
            // Rejected, because an operator who sets it expects backups.
            let reason = "it has no effect without CHAT_BACKUP_DIR".to_owned();
            return Err(ConfigError::Bad { name: name.0.to_owned(), reason });
        }
        Ok(folder.map(|folder| Self { folder, time: time.unwrap_or(DEFAULT_TIME), keep: keep.unwrap_or(DEFAULT_KEEP) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[(&str, &str)]) -> Result<Option<BackupSchedule>, String> {
        let mut source = values.iter().fold(Source::default(), |source, (name, value)| source.with(name, *value));
        BackupSchedule::read(&mut source).map_err(|error| error.to_string())
    }

    #[test]
    fn reads_schedule_with_defaults() {
        assert_eq!(read(&[]), Ok(None));
        let schedule = read(&[("CHAT_BACKUP_DIR", "/backups")]).unwrap().unwrap();
        assert_eq!((schedule.time, schedule.keep.get()), (Time::constant(2, 0, 0, 0), 14));
        let own = [("CHAT_BACKUP_DIR", "/backups"), ("CHAT_BACKUP_AT", "23:45"), ("CHAT_BACKUP_KEEP", "3")];
        let schedule = read(&own).unwrap().unwrap();
        assert_eq!((schedule.time, schedule.keep.get()), (Time::constant(23, 45, 0, 0), 3));
    }

    #[test]
    fn rejects_bad_times_and_numbers_and_a_schedule_without_a_folder() {
        for (name, value) in [("CHAT_BACKUP_AT", "25:00"), ("CHAT_BACKUP_AT", "at night"), ("CHAT_BACKUP_KEEP", "0")] {
            let error = read(&[("CHAT_BACKUP_DIR", "/backups"), (name, value)]).unwrap_err();
            assert!(error.starts_with(name), "{error}");
        }
        for (name, value) in [("CHAT_BACKUP_AT", "03:00"), ("CHAT_BACKUP_KEEP", "3")] {
            let error = read(&[(name, value)]).unwrap_err();
            assert!(error.starts_with(name) && error.contains("CHAT_BACKUP_DIR"), "{error}");
        }
    }
}
