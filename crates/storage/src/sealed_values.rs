//! All values that are encrypted with the master key: to check that it is the right one, and to replace it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::Timestamp;
use uuid::Uuid;

use crate::db_macros::{read, transaction};
use crate::restore::COUNT_SERVERS;
use crate::signing_keys::{self, SealedKey};
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
    /// Statement that replaces it: the new value is `$1`, the key of the row follows.
    update: &'static str,
    /// Primary key of its row.
    key: Vec<KeyPart>,
}

/// A column of a primary key.
#[derive(Debug, Clone, PartialEq, Eq)]
enum KeyPart {
    Number(i64),
    Id(Uuid),
    Hash(Vec<u8>),
    Text(String),
}

/// Failure of [`SealedValueRepository::replace`]. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    /// A server uses the database.
    #[error("a server is using the database; stop it first")]
    InUse,
    /// The database failed.
    #[error(transparent)]
    Storage(#[from] Error),
}

const SIGNING_KEYS: &str = "SELECT number, private_key FROM signing_keys";
const SET_SIGNING_KEY: &str = "UPDATE signing_keys SET private_key = $1 WHERE number = $2";
const FACTORS: &str = "SELECT id, secret FROM mfa_factors WHERE factor_type = 'totp'";
const SET_FACTOR: &str = "UPDATE mfa_factors SET secret = $1 WHERE id = $2";
const HEADERS: &str = "SELECT id, user_id, headers FROM mcp_servers WHERE headers IS NOT NULL";
const SET_HEADERS: &str = "UPDATE mcp_servers SET headers = $1 WHERE id = $2";
const URL_QUERIES: &str = "SELECT id, user_id, url, url_query FROM mcp_servers WHERE url_query IS NOT NULL";
const SET_URL_QUERY: &str = "UPDATE mcp_servers SET url_query = $1 WHERE id = $2";
const SHARED_HEADERS: &str = "SELECT id, headers FROM shared_servers WHERE headers IS NOT NULL";
const SET_SHARED_HEADERS: &str = "UPDATE shared_servers SET headers = $1 WHERE id = $2";
const SHARED_URL_QUERIES: &str = "SELECT id, url, url_query FROM shared_servers WHERE url_query IS NOT NULL";
const SET_SHARED_URL_QUERY: &str = "UPDATE shared_servers SET url_query = $1 WHERE id = $2";
const SERVER_CREDENTIALS: &str = "SELECT user_id, server_id, issuer, secret FROM server_credentials";
const SET_SERVER_CREDENTIAL: &str =
    "UPDATE server_credentials SET secret = $1 WHERE user_id = $2 AND server_id = $3 AND issuer = $4";
const SERVER_CLIENTS: &str = "SELECT user_id, server_id, secret FROM server_clients";
const SET_SERVER_CLIENT: &str = "UPDATE server_clients SET secret = $1 WHERE user_id = $2 AND server_id = $3";
const CREDENTIALS: &str = "SELECT user_id, provider, secret FROM credentials";
const SET_CREDENTIAL: &str = "UPDATE credentials SET secret = $1 WHERE user_id = $2 AND provider = $3";
const AUTHORIZATIONS: &str = "SELECT state, secret FROM authorizations";
const SET_AUTHORIZATION: &str = "UPDATE authorizations SET secret = $1 WHERE state = $2";
const PROVIDER_SIGN_INS: &str = "SELECT state_hash, details FROM provider_sign_ins";
const SET_PROVIDER_SIGN_IN: &str = "UPDATE provider_sign_ins SET details = $1 WHERE state_hash = $2";
const ID_TOKENS: &str = "SELECT id, id_token FROM identities WHERE id_token IS NOT NULL";
const SET_ID_TOKEN: &str = "UPDATE identities SET id_token = $1 WHERE id = $2";
const PUSH_KEYS: &str = "SELECT number, private_key FROM push_keys";
const SET_PUSH_KEY: &str = "UPDATE push_keys SET private_key = $1 WHERE number = $2";
const PUSH_SUBSCRIPTIONS: &str = "SELECT user_id, id, target FROM push_subscriptions";
const SET_PUSH_SUBSCRIPTION: &str = "UPDATE push_subscriptions SET target = $1 WHERE id = $2";
const MODEL_PROVIDERS: &str = "SELECT user_id, id, secret FROM model_providers WHERE secret IS NOT NULL";
const SET_MODEL_PROVIDER: &str = "UPDATE model_providers SET secret = $1 WHERE id = $2";
const RESUME_STATES: &str = "SELECT id, resume_state FROM interactions WHERE resume_state IS NOT NULL";
const SET_RESUME_STATE: &str = "UPDATE interactions SET resume_state = $1 WHERE id = $2";
const CONTENTS: &str = "SELECT id, content FROM interactions WHERE content IS NOT NULL";
const SET_CONTENT: &str = "UPDATE interactions SET content = $1 WHERE id = $2";

/// Keeps a server that starts now from reading a signing key before the transaction ends.
const LOCK: &str = "LOCK TABLE signing_keys IN ACCESS EXCLUSIVE MODE";

// Refresh tokens are signed with a key that is derived from the master key.
const END_SESSIONS: &str = "DELETE FROM auth_sessions";

/// Reads all rows of a query.
macro_rules! rows {
    ($connection:expr, $sql:expr, $row:ty) => {
        sqlx::query_as::<_, $row>($sql).fetch_all(&mut *$connection).await?
    };
}

/// Reads all encrypted values on a connection.
macro_rules! read_values {
    ($connection:expr) => {{
        let c = $connection;
        let mut values = Vec::new();
        let mut add = |table, location: String, sealed, update, key| {
            values.push(SealedValue { table, location, sealed, update, key });
        };
        for (number, sealed) in rows!(c, SIGNING_KEYS, (i64, Vec<u8>)) {
            let location = format!("signing_keys/private_key/{number}");
            add("signing_keys", location, sealed, SET_SIGNING_KEY, vec![KeyPart::Number(number)]);
        }
        for (id, sealed) in rows!(c, FACTORS, (Uuid, Vec<u8>)) {
            add("mfa_factors", format!("mfa_factors/secret/{id}"), sealed, SET_FACTOR, vec![KeyPart::Id(id)]);
        }
        for (id, user, sealed) in rows!(c, HEADERS, (Uuid, Uuid, Vec<u8>)) {
            add("mcp_servers", format!("mcp_servers/headers/{user}"), sealed, SET_HEADERS, vec![KeyPart::Id(id)]);
        }
        for (id, user, url, sealed) in rows!(c, URL_QUERIES, (Uuid, Uuid, String, Vec<u8>)) {
            let location = format!("mcp_servers/url_query/{user}/{url}");
            add("mcp_servers", location, sealed, SET_URL_QUERY, vec![KeyPart::Id(id)]);
        }
        for (id, sealed) in rows!(c, SHARED_HEADERS, (Uuid, Vec<u8>)) {
            let location = format!("shared_servers/headers/{id}");
            add("shared_servers", location, sealed, SET_SHARED_HEADERS, vec![KeyPart::Id(id)]);
        }
        for (id, url, sealed) in rows!(c, SHARED_URL_QUERIES, (Uuid, String, Vec<u8>)) {
            let location = format!("shared_servers/url_query/{id}/{url}");
            add("shared_servers", location, sealed, SET_SHARED_URL_QUERY, vec![KeyPart::Id(id)]);
        }
        for (user, server, issuer, sealed) in rows!(c, SERVER_CREDENTIALS, (Uuid, Uuid, String, Vec<u8>)) {
            let location = format!("server_credentials/secret/{user}/{server}/{issuer}");
            let key = vec![KeyPart::Id(user), KeyPart::Id(server), KeyPart::Text(issuer)];
            add("server_credentials", location, sealed, SET_SERVER_CREDENTIAL, key);
        }
        for (user, server, sealed) in rows!(c, SERVER_CLIENTS, (Uuid, Uuid, Vec<u8>)) {
            let location = format!("server_clients/secret/{user}/{server}");
            let key = vec![KeyPart::Id(user), KeyPart::Id(server)];
            add("server_clients", location, sealed, SET_SERVER_CLIENT, key);
        }
        for (user, provider, sealed) in rows!(c, CREDENTIALS, (Uuid, String, Vec<u8>)) {
            let location = format!("credentials/secret/{user}/{provider}");
            let key = vec![KeyPart::Id(user), KeyPart::Text(provider)];
            add("credentials", location, sealed, SET_CREDENTIAL, key);
        }
        for (state, sealed) in rows!(c, AUTHORIZATIONS, (String, Vec<u8>)) {
            let location = format!("authorizations/secret/{state}");
            add("authorizations", location, sealed, SET_AUTHORIZATION, vec![KeyPart::Text(state)]);
        }
        for (hash, sealed) in rows!(c, PROVIDER_SIGN_INS, (Vec<u8>, Vec<u8>)) {
            let location = format!("provider_sign_ins/details/{}", URL_SAFE_NO_PAD.encode(&hash));
            add("provider_sign_ins", location, sealed, SET_PROVIDER_SIGN_IN, vec![KeyPart::Hash(hash)]);
        }
        for (id, sealed) in rows!(c, ID_TOKENS, (Uuid, Vec<u8>)) {
            add("identities", format!("identities/id_token/{id}"), sealed, SET_ID_TOKEN, vec![KeyPart::Id(id)]);
        }
        for (number, sealed) in rows!(c, PUSH_KEYS, (i64, Vec<u8>)) {
            let location = format!("push_keys/private_key/{number}");
            add("push_keys", location, sealed, SET_PUSH_KEY, vec![KeyPart::Number(number)]);
        }
        for (user, id, sealed) in rows!(c, PUSH_SUBSCRIPTIONS, (Uuid, Uuid, Vec<u8>)) {
            let location = format!("push_subscriptions/target/{user}/{id}");
            add("push_subscriptions", location, sealed, SET_PUSH_SUBSCRIPTION, vec![KeyPart::Id(id)]);
        }
        for (user, id, sealed) in rows!(c, MODEL_PROVIDERS, (Uuid, Uuid, Vec<u8>)) {
            let location = format!("model_providers/secret/{user}/{id}");
            add("model_providers", location, sealed, SET_MODEL_PROVIDER, vec![KeyPart::Id(id)]);
        }
        for (id, sealed) in rows!(c, RESUME_STATES, (Uuid, Vec<u8>)) {
            // Not the column's name, which is newer than the values.
            let location = format!("interactions/about/{id}");
            add("interactions", location, sealed, SET_RESUME_STATE, vec![KeyPart::Id(id)]);
        }
        for (id, sealed) in rows!(c, CONTENTS, (Uuid, Vec<u8>)) {
            add("interactions", format!("interactions/content/{id}"), sealed, SET_CONTENT, vec![KeyPart::Id(id)]);
        }
        Ok::<_, sqlx::Error>(values)
    }};
}

impl SealedValueRepository<'_> {
    /// Returns all values, of all users.
    ///
    /// # Errors
    ///
    /// [`Error::Database`] if they cannot be read.
    pub async fn list(self) -> Result<Vec<SealedValue>, Error> {
        Ok(read!(self.storage, |c| async { read_values!(c) }.await)?)
    }

    /// Replaces every value by what `reseal` returns for it, stores a new signing key, and ends all sessions. `None`
    /// leaves a value as it is. Returns the number of replaced values. It is one transaction, and a server that starts
    /// meanwhile on PostgreSQL waits for its end.
    ///
    /// # Errors
    ///
    /// [`ReplaceError`], also for a reason that `reseal` returns. Nothing was changed then.
    pub async fn replace(
        self,
        signing_key: Option<&SealedKey>,
        now: Timestamp,
        mut reseal: impl FnMut(&SealedValue) -> Result<Option<Vec<u8>>, String>,
    ) -> Result<u64, ReplaceError> {
        let is_shared = self.storage.is_shared();
        let replaced: Option<u64> = transaction!(self.storage, |tx| {
            if is_shared {
                sqlx::query(LOCK).execute(&mut *tx).await?;
                let servers: i64 =
                    sqlx::query_scalar(COUNT_SERVERS).bind(crate::open::APPLICATION_NAME).fetch_one(&mut *tx).await?;
                if servers > 0 {
                    return Ok(None);
                }
            }
            let values = async { read_values!(&mut *tx) }.await?;
            let mut count = 0;
            for value in &values {
                let Some(sealed) = reseal(value).map_err(Error::Corrupt)? else { continue };
                let mut update = sqlx::query(value.update).bind(sealed);
                for part in &value.key {
                    update = match part {
                        KeyPart::Number(number) => update.bind(*number),
                        KeyPart::Id(id) => update.bind(*id),
                        KeyPart::Hash(hash) => update.bind(hash.as_slice()),
                        KeyPart::Text(text) => update.bind(text.as_str()),
                    };
                }
                count += update.execute(&mut *tx).await?.rows_affected();
            }
            if let Some(key) = signing_key {
                sqlx::query(signing_keys::INSERT)
                    .bind(key.number)
                    .bind(key.private_key.as_slice())
                    .bind(now.0)
                    .execute(&mut *tx)
                    .await?;
            }
            sqlx::query(END_SESSIONS).execute(&mut *tx).await?;
            Ok(Some(count))
        })?;
        replaced.ok_or(ReplaceError::InUse)
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::Storage;

    const UPDATES: [&str; 17] = [
        SET_SIGNING_KEY,
        SET_FACTOR,
        SET_HEADERS,
        SET_URL_QUERY,
        SET_SHARED_HEADERS,
        SET_SHARED_URL_QUERY,
        SET_SERVER_CREDENTIAL,
        SET_SERVER_CLIENT,
        SET_CREDENTIAL,
        SET_AUTHORIZATION,
        SET_PROVIDER_SIGN_IN,
        SET_PUSH_KEY,
        SET_ID_TOKEN,
        SET_PUSH_SUBSCRIPTION,
        SET_MODEL_PROVIDER,
        SET_RESUME_STATE,
        SET_CONTENT,
    ];

    const BINARY_COLUMNS: &str = "SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c
        WHERE t.type = 'table' AND c.type = 'BLOB' AND t.name NOT LIKE 'search_%' AND t.name NOT LIKE '_sqlx%'";

    /// Ids, hashes, public keys, challenges and contents of files, which are not encrypted.
    fn is_plain(table: &str, column: &str) -> bool {
        column == "id"
            || column == "hash"
            || column.ends_with("_id")
            || column.ends_with("_hash")
            || [
                ("factor_credentials", "public_key"),
                ("file_bytes", "bytes"),
                ("login_attempts", "key"),
                ("mfa_challenges", "challenge"),
                ("passkey_challenges", "challenge"),
                ("passkeys", "public_key"),
                ("rate_limits", "key"),
                ("server_locks", "owner"),
            ]
            .contains(&(table, column))
    }

    #[tokio::test]
    async fn knows_every_encrypted_column() {
        let folder = TempDir::new().unwrap();
        let storage = Storage::open(&format!("sqlite://{}", folder.path().join("chat.db").display())).await.unwrap();
        let read = async |storage: &Storage| -> Result<Vec<(String, String)>, Error> {
            Ok(read!(storage, |c| sqlx::query_as::<_, (String, String)>(BINARY_COLUMNS).fetch_all(c).await)?)
        };
        let columns = read(&storage).await.unwrap();
        let sealed: Vec<_> = columns.iter().filter(|(table, column)| !is_plain(table, column)).collect();
        for (table, column) in &sealed {
            let update = format!("UPDATE {table} SET {column} = $1 WHERE ");
            assert!(UPDATES.iter().any(|known| known.starts_with(&update)), "{table}.{column} is not replaced");
        }
        assert_eq!(sealed.len(), UPDATES.len());
    }
}
