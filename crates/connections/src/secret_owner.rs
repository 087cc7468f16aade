//! The owner of the secrets of a connection, for whom they are sealed.

use domain::{SharedServerId, UserId};
use storage::servers::Server;

/// The user or operator who entered the secrets of a connection. A secret that was sealed for one owner cannot be
/// opened for another.
#[derive(Debug, Clone, Copy)]
pub enum SecretOwner {
    /// The user, for a connection of the user's own.
    User(UserId),
    /// The operator, for all connections to a shared server.
    SharedServer(SharedServerId),
}

impl From<UserId> for SecretOwner {
    fn from(user: UserId) -> Self {
        Self::User(user)
    }
}

impl SecretOwner {
    /// Returns the owner of the secrets of a user's connection.
    pub(crate) fn of(user: UserId, server: &Server) -> Self {
        server.shared.map_or(Self::User(user), |shared| Self::SharedServer(shared.id))
    }

    /// Returns the context that a secret is sealed for: the place where it is stored.
    pub(crate) fn seal_context(self, column: &str) -> String {
        match self {
            Self::User(user) => format!("mcp_servers/{column}/{user}"),
            Self::SharedServer(server) => format!("shared_servers/{column}/{server}"),
        }
    }
}
