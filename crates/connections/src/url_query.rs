//! The query of the URL of a connection, which may contain a key: sealed in the database, and opened only to connect.
//! Everything else uses the masked URL of the row.

use domain::UserId;
use domain::server_url::{has_masked_values, with_query};
use platform::secret_sealing::{SealError, SecretSealer};
use storage::servers::Server;

use crate::secret_owner::SecretOwner;

/// Seals the query of a URL for its owner. It is bound to the masked form of that URL and cannot be opened with another.
pub fn seal(
    secrets: &SecretSealer,
    owner: impl Into<SecretOwner>,
    masked: &str,
    query: &str,
) -> Result<Vec<u8>, SealError> {
    secrets.seal(&seal_context(owner.into(), masked), query.as_bytes())
}

/// Returns the whole URL of a connection.
///
/// # Errors
///
/// [`SealError::Unreadable`] also if the query of a masked URL is missing.
pub fn open(secrets: &SecretSealer, user: UserId, server: &Server) -> Result<String, SealError> {
    let Some(sealed) = &server.url_query else {
        // Connecting with the asterisks would send them to the server as the key.
        return if has_masked_values(&server.url) { Err(SealError::Unreadable) } else { Ok(server.url.clone()) };
    };
    let query = secrets.open(&seal_context(SecretOwner::of(user, server), &server.url), sealed)?;
    let query = String::from_utf8(query).map_err(|_| SealError::Unreadable)?;
    Ok(with_query(&server.url, &query))
}

/// Returns the context that a sealed query is bound to.
fn seal_context(owner: SecretOwner, masked: &str) -> String {
    format!("{}/{masked}", owner.seal_context("url_query"))
}
