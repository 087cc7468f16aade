//! Users' sign-ins to the MCP servers of their connections: tokens from authorization servers (`server_credentials`),
//! manually entered OAuth clients (`server_clients`), and locks on them (`server_locks`). Secrets are encrypted before
//! they get here.

use domain::{ServerId, Timestamp, UserId};
use uuid::Uuid;

use crate::audit_events::{NewAuditEvent, insert_events};
use crate::credentials::{Authorization, TakenRow};
use crate::db_macros::{read, transaction, write};
use crate::named_values::query_named;
use crate::{Error, ServerSignInRepository};

const LIST: &str = "SELECT server_id, issuer, secret FROM server_credentials
    WHERE user_id = $1 AND server_id = $2 ORDER BY seq DESC";

// `seq` orders the credentials of a connection by the time of storage, independently of clocks.
const SET: &str = "INSERT INTO server_credentials (user_id, server_id, issuer, secret, seq) VALUES ($1, $2, $3, $4,
        (SELECT COALESCE(MAX(seq), 0) + 1 FROM server_credentials WHERE user_id = $1 AND server_id = $2))
    ON CONFLICT (user_id, server_id, issuer) DO UPDATE SET secret = excluded.secret, seq = excluded.seq";

const DELETE: &str = "DELETE FROM server_credentials WHERE user_id = $1 AND server_id = $2";

const TAKE_ALL: &str = "DELETE FROM server_credentials WHERE user_id = $1 RETURNING server_id, issuer, secret";

// Credentials have no foreign key to their connection, because they must be revoked when it is deleted.
const TAKE_ORPHANS: &str = "DELETE FROM server_credentials WHERE user_id = $1
    AND NOT EXISTS (SELECT 1 FROM mcp_servers WHERE id = server_credentials.server_id AND user_id = $1)
    RETURNING server_id, issuer, secret";

const DELETE_ORPHAN_CLIENTS: &str = "DELETE FROM server_clients WHERE user_id = $1
    AND NOT EXISTS (SELECT 1 FROM mcp_servers WHERE id = server_clients.server_id AND user_id = $1)";

const GET_CLIENT: &str = "SELECT secret FROM server_clients WHERE user_id = $1 AND server_id = $2";

const SET_CLIENT: &str = "INSERT INTO server_clients (user_id, server_id, secret) VALUES ($1, $2, $3)
    ON CONFLICT (user_id, server_id) DO UPDATE SET secret = excluded.secret";

const DELETE_CLIENT: &str = "DELETE FROM server_clients WHERE user_id = $1 AND server_id = $2";

/// Takes the lock, also from a holder whose lease has expired.
const LOCK: &str = "INSERT INTO server_locks (user_id, server_id, owner, expires_at)
    VALUES (:owner, :server, :holder, :until)
    ON CONFLICT (user_id, server_id) DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at
    WHERE server_locks.expires_at <= :now";

const UNLOCK: &str = "DELETE FROM server_locks WHERE user_id = $1 AND server_id = $2 AND owner = $3";

// Sign-ins to MCP servers share the table with other authorizations, see `provider`.
const TAKE_SIGN_IN: &str = "DELETE FROM authorizations WHERE state = $1 AND provider LIKE 'mcp/%'
    RETURNING user_id, secret, expires_at";

/// The tokens that an authorization server issued for a connection.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct ServerCredential {
    server_id: Uuid,
    /// Issuer URL of the authorization server.
    pub issuer: String,
    /// Tokens, encrypted.
    pub secret: Vec<u8>,
}

impl ServerCredential {
    /// Returns the id of the connection.
    pub fn server(&self) -> ServerId {
        ServerId(self.server_id)
    }
}

/// A time-limited lock on the credentials of a connection. It expires, so that a crashed node does not block others.
#[derive(Debug, Clone, Copy)]
pub struct Lease {
    /// Holder of the lock.
    pub holder: Uuid,
    /// Start of the lease.
    pub now: Timestamp,
    /// End of the lease.
    pub until: Timestamp,
}

/// Returns the provider name under which a sign-in to a connection's MCP server is stored in `authorizations`.
pub fn provider(server: ServerId) -> String {
    format!("mcp/{}", server.0)
}

impl ServerSignInRepository<'_> {
    /// Returns the credentials of a connection, most recently stored first.
    pub async fn list_credentials(self, owner: UserId, server: ServerId) -> Result<Vec<ServerCredential>, Error> {
        Ok(read!(self.storage, |c| sqlx::query_as::<_, ServerCredential>(LIST)
            .bind(owner.0)
            .bind(server.0)
            .fetch_all(c)
            .await)?)
    }

    /// Stores the credentials that an authorization server issued, in place of the previous ones from it.
    pub async fn set_credential(
        self,
        owner: UserId,
        server: ServerId,
        issuer: &str,
        secret: &[u8],
    ) -> Result<(), Error> {
        write!(self.storage, |c| sqlx::query(SET)
            .bind(owner.0)
            .bind(server.0)
            .bind(issuer)
            .bind(secret)
            .execute(c)
            .await
            .map(|_| ()))?;
        Ok(())
    }

    /// Deletes the credentials of a connection.
    pub async fn delete_credentials(self, owner: UserId, server: ServerId) -> Result<(), Error> {
        write!(self.storage, |c| sqlx::query(DELETE).bind(owner.0).bind(server.0).execute(c).await.map(|_| ()))?;
        Ok(())
    }

    /// Deletes all server credentials of a user and returns them, so that they can be revoked.
    pub async fn take_credentials(self, owner: UserId) -> Result<Vec<ServerCredential>, Error> {
        Ok(write!(self.storage, |c| sqlx::query_as::<_, ServerCredential>(TAKE_ALL).bind(owner.0).fetch_all(c).await)?)
    }

    /// Deletes the credentials and OAuth clients of connections that no longer exist. Returns the credentials, so that
    /// they can be revoked.
    pub async fn take_orphaned_credentials(self, owner: UserId) -> Result<Vec<ServerCredential>, Error> {
        transaction!(self.storage, |tx| {
            sqlx::query(DELETE_ORPHAN_CLIENTS).bind(owner.0).execute(&mut *tx).await?;
            Ok(sqlx::query_as::<_, ServerCredential>(TAKE_ORPHANS).bind(owner.0).fetch_all(&mut *tx).await?)
        })
    }

    /// Returns the OAuth client that a user entered for a connection, encrypted.
    pub async fn get_client(self, owner: UserId, server: ServerId) -> Result<Option<Vec<u8>>, Error> {
        let row = read!(self.storage, |c| sqlx::query_as::<_, (Vec<u8>,)>(GET_CLIENT)
            .bind(owner.0)
            .bind(server.0)
            .fetch_optional(c)
            .await)?;
        Ok(row.map(|(secret,)| secret))
    }

    /// Stores the OAuth client that a user entered for a connection, and audit events with it.
    pub async fn set_client(
        self,
        owner: UserId,
        server: ServerId,
        secret: &[u8],
        events: &[NewAuditEvent],
    ) -> Result<(), Error> {
        transaction!(self.storage, |tx| {
            sqlx::query(SET_CLIENT).bind(owner.0).bind(server.0).bind(secret).execute(&mut *tx).await?;
            insert_events!(tx, events);
            Ok(())
        })
    }

    /// Deletes the OAuth client that a user entered for a connection, and stores audit events of the end of the sign-in.
    pub async fn delete_client(self, owner: UserId, server: ServerId, events: &[NewAuditEvent]) -> Result<(), Error> {
        transaction!(self.storage, |tx| {
            sqlx::query(DELETE_CLIENT).bind(owner.0).bind(server.0).execute(&mut *tx).await?;
            insert_events!(tx, events);
            Ok(())
        })
    }

    /// Takes the lock on a connection's credentials. Returns `false` if someone else holds it.
    pub async fn lock(self, owner: UserId, server: ServerId, lease: Lease) -> Result<bool, Error> {
        let taken = write!(self.storage, |c| query_named!(
            LOCK,
            owner = owner.0,
            server = server.0,
            holder = lease.holder,
            until = lease.until.0,
            now = lease.now.0
        )
        .execute(c)
        .await
        .map(|done| done.rows_affected()))?;
        Ok(taken == 1)
    }

    /// Releases the lock if `holder` still holds it.
    pub async fn unlock(self, owner: UserId, server: ServerId, holder: Uuid) -> Result<(), Error> {
        write!(self.storage, |c| sqlx::query(UNLOCK)
            .bind(owner.0)
            .bind(server.0)
            .bind(holder)
            .execute(c)
            .await
            .map(|_| ()))?;
        Ok(())
    }

    /// Removes and returns the pending sign-in with this `state`, once and only before it expires.
    ///
    /// The request that completes a sign-in carries no session. The unguessable `state` identifies the user, who is the
    /// owner in the result.
    pub async fn take(self, state: &str, now: Timestamp) -> Result<Option<Authorization>, Error> {
        let row =
            write!(self.storage, |c| sqlx::query_as::<_, TakenRow>(TAKE_SIGN_IN).bind(state).fetch_optional(c).await)?;
        Ok(row.and_then(|row| row.valid_at(now)))
    }
}
