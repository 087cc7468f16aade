//! The query of the URL of a connection, which may contain a key: sealed in the database, and opened only to connect.
//! Everything else uses the masked URL of the row.

use domain::UserId;
use domain::server_url::{has_masked_values, split_query, with_query};
use platform::secret_sealing::{SealError, SecretSealer};
use storage::Storage;
use storage::servers::Server;

/// Seals the query of a URL for its owner. It is bound to the masked form of that URL and cannot be opened with another.
pub fn seal(secrets: &SecretSealer, owner: UserId, masked: &str, query: &str) -> Result<Vec<u8>, SealError> {
    secrets.seal(&seal_context(owner, masked), query.as_bytes())
}

/// Returns the whole URL of a connection.
///
/// # Errors
///
/// [`SealError::Unreadable`] also if the query of a masked URL is missing.
pub fn open(secrets: &SecretSealer, owner: UserId, server: &Server) -> Result<String, SealError> {
    let Some(sealed) = &server.url_query else {
        // Connecting with the asterisks would send them to the server as the key.
        return if has_masked_values(&server.url) { Err(SealError::Unreadable) } else { Ok(server.url.clone()) };
    };
    let query = secrets.open(&seal_context(owner, &server.url), sealed)?;
    let query = String::from_utf8(query).map_err(|_| SealError::Unreadable)?;
    Ok(with_query(&server.url, &query))
}

/// Seals the queries that earlier versions stored in plain text.
pub async fn seal_stored(storage: &Storage, secrets: &SecretSealer) -> anyhow::Result<()> {
    for unsealed in storage.connections().list_unsealed_urls().await? {
        if let Some((masked, query)) = split_query(&unsealed.url) {
            let sealed = seal(secrets, unsealed.owner, &masked, &query)?;
            storage.connections().seal_url(&unsealed, &masked, &sealed).await?;
        }
    }
    Ok(())
}

/// Returns the context that a sealed query is bound to.
fn seal_context(owner: UserId, masked: &str) -> String {
    format!("mcp_servers/url_query/{owner}/{masked}")
}
