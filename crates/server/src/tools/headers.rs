//! The headers of a connection, such as a key: written by their owner, sealed in the database, read by nobody else.

use std::collections::BTreeMap;

use domain::UserId;

use platform::secret_sealing::{SealError, SecretSealer};

/// Seals a connection's headers for their owner.
pub fn seal(secrets: &SecretSealer, owner: UserId, headers: &BTreeMap<String, String>) -> Result<Vec<u8>, SealError> {
    let plain = serde_json::to_vec(headers).map_err(|_| SealError::Unreadable)?;
    secrets.seal(&place(owner), &plain)
}

/// Opens what [`seal`] sealed; nothing where there is nothing.
pub fn open(secrets: &SecretSealer, owner: UserId, sealed: Option<&[u8]>) -> Result<Vec<(String, String)>, SealError> {
    let Some(sealed) = sealed else { return Ok(Vec::new()) };
    let plain = secrets.open(&place(owner), sealed)?;
    let headers: BTreeMap<String, String> = serde_json::from_slice(&plain).map_err(|_| SealError::Unreadable)?;
    Ok(headers.into_iter().collect())
}

fn place(owner: UserId) -> String {
    format!("mcp_servers/headers/{owner}")
}
