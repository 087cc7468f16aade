//! All values that are encrypted with the master key, to check that it is the right one.

use uuid::Uuid;

use crate::db_macros::read;
use crate::{Error, SealedValueRepository};

/// An encrypted value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedValue {
    /// Table that holds it.
    pub table: &'static str,
    /// Location for which it was encrypted: `table/column/row`.
    pub location: String,
    /// The encrypted value.
    pub sealed: Vec<u8>,
}

const SIGNING_KEYS: &str = "SELECT number, private_key FROM signing_keys";
const FACTORS: &str = "SELECT id, secret FROM mfa_factors";
const HEADERS: &str = "SELECT user_id, headers FROM mcp_servers WHERE headers IS NOT NULL";
const URL_QUERIES: &str = "SELECT user_id, url, url_query FROM mcp_servers WHERE url_query IS NOT NULL";
const SERVER_CREDENTIALS: &str = "SELECT user_id, server_id, issuer, secret FROM server_credentials";
const SERVER_CLIENTS: &str = "SELECT user_id, server_id, secret FROM server_clients";
const CREDENTIALS: &str = "SELECT user_id, provider, secret FROM credentials";
const PUSH_KEYS: &str = "SELECT number, private_key FROM push_keys";
const PUSH_SUBSCRIPTIONS: &str = "SELECT user_id, id, target FROM push_subscriptions";
const MODEL_PROVIDERS: &str = "SELECT user_id, id, secret FROM model_providers WHERE secret IS NOT NULL";

/// Reads all rows of a query.
macro_rules! rows {
    ($storage:expr, $sql:expr, $row:ty) => {
        read!($storage, |c| sqlx::query_as::<_, $row>($sql).fetch_all(c).await)?
    };
}

impl SealedValueRepository<'_> {
    /// Returns all values that are kept for longer than a sign-in or an interaction takes, of all users.
    pub async fn list(self) -> Result<Vec<SealedValue>, Error> {
        let storage = self.storage;
        let mut values = Vec::new();
        let mut add = |table, location: String, sealed| values.push(SealedValue { table, location, sealed });
        for (number, sealed) in rows!(storage, SIGNING_KEYS, (i64, Vec<u8>)) {
            add("signing_keys", format!("signing_keys/private_key/{number}"), sealed);
        }
        for (id, sealed) in rows!(storage, FACTORS, (Uuid, Vec<u8>)) {
            add("mfa_factors", format!("mfa_factors/secret/{id}"), sealed);
        }
        for (user, sealed) in rows!(storage, HEADERS, (Uuid, Vec<u8>)) {
            add("mcp_servers", format!("mcp_servers/headers/{user}"), sealed);
        }
        for (user, url, sealed) in rows!(storage, URL_QUERIES, (Uuid, String, Vec<u8>)) {
            add("mcp_servers", format!("mcp_servers/url_query/{user}/{url}"), sealed);
        }
        for (user, server, issuer, sealed) in rows!(storage, SERVER_CREDENTIALS, (Uuid, Uuid, String, Vec<u8>)) {
            add("server_credentials", format!("server_credentials/secret/{user}/{server}/{issuer}"), sealed);
        }
        for (user, server, sealed) in rows!(storage, SERVER_CLIENTS, (Uuid, Uuid, Vec<u8>)) {
            add("server_clients", format!("server_clients/secret/{user}/{server}"), sealed);
        }
        for (user, provider, sealed) in rows!(storage, CREDENTIALS, (Uuid, String, Vec<u8>)) {
            add("credentials", format!("credentials/secret/{user}/{provider}"), sealed);
        }
        for (number, sealed) in rows!(storage, PUSH_KEYS, (i64, Vec<u8>)) {
            add("push_keys", format!("push_keys/private_key/{number}"), sealed);
        }
        for (user, id, sealed) in rows!(storage, PUSH_SUBSCRIPTIONS, (Uuid, Uuid, Vec<u8>)) {
            add("push_subscriptions", format!("push_subscriptions/target/{user}/{id}"), sealed);
        }
        for (user, id, sealed) in rows!(storage, MODEL_PROVIDERS, (Uuid, Uuid, Vec<u8>)) {
            add("model_providers", format!("model_providers/secret/{user}/{id}"), sealed);
        }
        Ok(values)
    }
}
