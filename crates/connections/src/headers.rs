//! The headers of a connection, such as API keys: sealed in the database, and opened only to connect.

use std::collections::BTreeMap;

use domain::UserId;
use platform::secret_sealing::{SealError, SecretSealer};

/// Seals the headers of a connection for its owner.
pub fn seal(secrets: &SecretSealer, owner: UserId, headers: &BTreeMap<String, String>) -> Result<Vec<u8>, SealError> {
    let plain = serde_json::to_vec(headers).map_err(|_| SealError::Unreadable)?;
    secrets.seal(&seal_context(owner), &plain)
}

/// Opens what [`seal`] sealed. Without sealed headers, returns none.
pub fn open(secrets: &SecretSealer, owner: UserId, sealed: Option<&[u8]>) -> Result<Vec<(String, String)>, SealError> {
    let Some(sealed) = sealed else { return Ok(Vec::new()) };
    let plain = secrets.open(&seal_context(owner), sealed)?;
    let headers: BTreeMap<String, String> = serde_json::from_slice(&plain).map_err(|_| SealError::Unreadable)?;
    Ok(headers.into_iter().collect())
}

/// Returns whether the headers contain credentials of the owner.
pub(crate) fn has_authorization(headers: &[(String, String)]) -> bool {
    headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
}

/// Returns the context that sealed headers are bound to.
fn seal_context(owner: UserId) -> String {
    format!("mcp_servers/headers/{owner}")
}
