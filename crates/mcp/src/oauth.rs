//! OAuth sign-in to MCP servers (2025-11-25 and later, "Authorization").
//!
//! [`OAuthClient`] discovers the authorization server of an MCP server, signs a user in, stores the credentials and
//! renews them. A sign-in has two halves with a browser between them: [`OAuthClient::start_sign_in`] returns the
//! address to open and a [`PendingSignIn`] to store (sealed, for this user, until the callback);
//! [`OAuthClient::complete_sign_in`] takes the callback. After that the [`TokenSource`] of the connection, given to a
//! [`ConnectionTarget`](crate::ConnectionTarget), adds the access token to every request.
//!
//! If a sign-in is needed, or more scopes, connections and calls fail with an error that has an [`AuthChallenge`]
//! ([`Error::challenge`](crate::Error::challenge)), which belongs into the next sign-in.
//!
//! The protocol library's own client is not used: it stores no client secrets, continues without PKCE, has no step-up
//! authorization, and does not apply the network policy to the servers that it discovers.

mod challenge;
mod client;
mod client_registration;
mod credentials;
mod discovery;
mod error;
mod http;
mod metadata;
mod private_key_jwt;
mod sign_in;
mod token_endpoint;
mod token_source;

pub use challenge::AuthChallenge;
pub use client::OAuthClient;
pub use credentials::{ClientKey, CredentialOwner, CredentialStore, Credentials, RegisteredClient, SecretString};
pub use error::{CredentialStoreError, SignInError};
pub use metadata::ClientMetadata;
pub use sign_in::{AwaitedSignIn, PendingSignIn, SignInCallback, SignInRequest};
pub use token_source::TokenSource;
pub(crate) use token_source::bearer_header;
