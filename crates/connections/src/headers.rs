//! The headers of a connection, such as API keys: sealed in the database, and opened only to connect.

use std::collections::BTreeMap;

use domain::UserId;
use platform::secret_sealing::{SealError, SecretSealer};
use storage::servers::Server;

use crate::secret_owner::SecretOwner;

/// Column that holds the headers.
const COLUMN: &str = "headers";

/// Seals the headers of a connection for its owner.
pub fn seal(
    secrets: &SecretSealer,
    owner: impl Into<SecretOwner>,
    headers: &BTreeMap<String, String>,
) -> Result<Vec<u8>, SealError> {
    let plain = serde_json::to_vec(headers).map_err(|_| SealError::Unreadable)?;
    secrets.seal(&owner.into().seal_context(COLUMN), &plain)
}

/// Opens the headers of a user's connection. Without sealed headers, returns none.
pub fn open(secrets: &SecretSealer, user: UserId, server: &Server) -> Result<Vec<(String, String)>, SealError> {
    let Some(sealed) = &server.headers else { return Ok(Vec::new()) };
    let plain = secrets.open(&SecretOwner::of(user, server).seal_context(COLUMN), sealed)?;
    let headers: BTreeMap<String, String> = serde_json::from_slice(&plain).map_err(|_| SealError::Unreadable)?;
    Ok(headers.into_iter().collect())
}

/// Returns whether the headers contain credentials of the owner.
pub(crate) fn has_authorization(headers: &[(String, String)]) -> bool {
    headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
}
