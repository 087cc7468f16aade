//! What is stored under the master key: the check that it opens everything, and its replacement.

use std::collections::BTreeMap;

use domain::Timestamp;
use platform::SecretSealer;
use storage::Storage;
use storage::sealed_values::{ReplaceError, SealedValue};
use storage::signing_keys::SealedKey;

/// Table of the keys that sign access tokens. A server does not start if it cannot open one of them.
pub const SIGNING_KEYS_TABLE: &str = "signing_keys";

/// Result of opening all sealed values.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SealedSecretsReport {
    /// Number of values that were opened.
    pub opened: usize,
    /// Numbers of values that cannot be opened, by their table.
    pub unreadable: BTreeMap<&'static str, usize>,
}

impl SealedSecretsReport {
    /// Returns a list such as `3 in mfa_factors, 1 in credentials`.
    pub fn unreadable_list(&self) -> String {
        let items: Vec<String> = self.unreadable.iter().map(|(table, count)| format!("{count} in {table}")).collect();
        items.join(", ")
    }
}

/// Opens all sealed values with the master key.
///
/// # Errors
///
/// The database cannot be read.
pub async fn check(storage: &Storage, secrets: &SecretSealer) -> Result<SealedSecretsReport, storage::Error> {
    let mut report = SealedSecretsReport::default();
    for value in storage.sealed_values().list().await? {
        match secrets.open(&value.location, &value.sealed) {
            Ok(_) => report.opened += 1,
            Err(_) => *report.unreadable.entry(value.table).or_default() += 1,
        }
    }
    Ok(report)
}

/// Replaces the master key in the database: encrypts everything that `present` opens with `new` instead, stores the
/// signing key, which is under the new one already, and ends all sessions. Returns the number of secrets. It is all done
/// or nothing is. If `keeps_unreadable`, secrets that `present` does not open are left as they are.
///
/// # Errors
///
/// A secret cannot be opened, a server uses the database, or the database fails.
pub async fn replace(
    storage: &Storage,
    (present, new): (&SecretSealer, &SecretSealer),
    signing_key: Option<&SealedKey>,
    now: Timestamp,
    keeps_unreadable: bool,
) -> Result<u64, ReplaceError> {
    let reseal = |value: &SealedValue| match present.open(&value.location, &value.sealed) {
        Ok(plain) => new.seal(&value.location, &plain).map(Some).map_err(|error| error.to_string()),
        Err(_) if keeps_unreadable => Ok(None),
        Err(error) => Err(error.to_string()),
    };
    storage.sealed_values().replace(signing_key, now, reseal).await
}
