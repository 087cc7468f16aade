//! Check that the master key opens what is stored under it.

use std::collections::BTreeMap;

use platform::SecretSealer;
use storage::Storage;

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
