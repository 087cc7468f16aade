//! Logout that begins here: a user who signs out is signed out at the provider, too (OpenID Connect RP-Initiated Logout
//! 1.0).

use storage::users::User;
use url::Url;
use uuid::Uuid;

use super::IdentityProvider;
use super::sign_in::AMR_METHOD;
use crate::{AccountService, AuthError, Claims};

impl AccountService {
    /// Stores the ID token of a sign-in, encrypted. Some providers require it for a logout.
    pub(super) async fn keep_id_token(
        &self,
        user: &User,
        (issuer, subject): (&str, &str),
        id_token: &str,
    ) -> Result<(), AuthError> {
        let mut identities = user.identities.iter();
        let identity = identities.find(|identity| identity.issuer == issuer && identity.subject == subject);
        let Some(identity) = identity else { return Ok(()) };
        let sealed = self.secrets.seal(&seal_context(identity.id), id_token.as_bytes()).map_err(AuthError::internal)?;
        Ok(self.storage.identities().set_id_token(user.id, identity.id, &sealed).await?)
    }

    /// Returns the page of the provider that ends the caller's session there, and then shows the sign-in screen. `None` if
    /// the operator does not want it, the provider has no such page, or the session did not begin at the provider.
    ///
    /// # Errors
    ///
    /// The database fails.
    pub async fn provider_logout_page(&self, caller: Claims) -> Result<Option<Url>, AuthError> {
        let Some(provider) = self.identity_provider.as_ref().filter(|provider| provider.settings.signs_out) else {
            return Ok(None);
        };
        let session = self.storage.auth_sessions().get(caller.session).await?;
        let is_of_provider = session.is_some_and(|session| session.amr.iter().any(|proof| proof.method == AMR_METHOD));
        if !is_of_provider {
            return Ok(None);
        }
        let id_token = match self.storage.identities().get_id_token(caller.user, &provider.settings.issuer).await? {
            Some((identity, sealed)) => {
                let plain = self.secrets.open(&seal_context(identity), &sealed).map_err(AuthError::internal)?;
                Some(String::from_utf8(plain).map_err(AuthError::internal)?)
            }
            None => None,
        };
        Ok(provider.logout_page(id_token.as_deref()).await)
    }
}

impl IdentityProvider {
    async fn logout_page(&self, id_token: Option<&str>) -> Option<Url> {
        let metadata = self.metadata().await.inspect_err(|error| {
            tracing::warn!(%error, "a user was not signed out at the identity provider");
        });
        let mut page = metadata.ok()?.end_session_endpoint.clone()?;
        let mut query = page.query_pairs_mut();
        if let Some(id_token) = id_token {
            query.append_pair("id_token_hint", id_token);
        }
        query.append_pair("client_id", &self.settings.client_id);
        query.append_pair("post_logout_redirect_uri", self.sign_in_screen.as_str());
        drop(query);
        Some(page)
    }
}

fn seal_context(identity: Uuid) -> String {
    format!("identities/id_token/{identity}")
}
