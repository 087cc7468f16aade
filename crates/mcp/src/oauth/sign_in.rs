//! Bringing a person to the authorization server and back.

use std::fmt;
use std::time::Duration;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::Timestamp;
use serde::{Deserialize, Serialize};
use url::Url;

use super::client::{self, Client};
use super::credentials::Grant;
use super::discovery::{Discovered, discover};
use super::documents::ServerMetadata;
use super::session::as_http;
use super::token::{self, Ask};
use super::{Challenge, Credentials, OAuth, Owner, RegisteredClient, Secret, SignInError};
use crate::Error;
use crate::error::quote;

/// For all documents together.
const DISCOVERY: Duration = Duration::from_secs(20);
/// A person has so long, in milliseconds.
const PATIENCE: u64 = 10 * 60 * 1000;
/// The same rights are asked for again this often, within [`PATIENCE`]: somebody may have taken a tick away on the
/// consent page.
const REPEATS: u8 = 1;
/// Asked for beside the rest where it is known: it brings a refresh token.
const OFFLINE: &str = "offline_access";

/// A wish to be signed in.
#[derive(Debug, Clone)]
pub struct SignIn {
    /// Whose connection it is.
    pub owner: Owner,
    /// The address of the MCP server.
    pub url: Url,
    /// What the server said when it turned a request away; `None` when the person begins by themselves.
    pub challenge: Option<Challenge>,
    /// The client that the person entered, if the authorization server has to be told by hand.
    pub client: Option<RegisteredClient>,
}

/// A sign-in that waits for the person.
#[derive(Clone)]
pub struct Started {
    /// What the person's browser opens.
    pub url: Url,
    /// Comes back with the answer, and finds the `pending`.
    pub state: String,
    /// For [`OAuth::complete`]. Keep it sealed, use it once, and only for this person.
    pub pending: Pending,
}

/// What the second half of a sign-in needs to know.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pending {
    owner: Owner,
    state: Secret,
    verifier: Secret,
    redirect_uri: Url,
    names_itself: bool,
    /// The credentials to be, without tokens.
    credentials: Credentials,
}

/// What comes back with the person, in the query of the address.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct Callback {
    /// Names the sign-in.
    pub state: String,
    /// To be exchanged for tokens.
    pub code: Option<String>,
    /// Who answers (RFC 9207).
    pub iss: Option<String>,
    /// Why there is no code.
    pub error: Option<String>,
    /// The same in words.
    pub error_description: Option<String>,
}

impl fmt::Debug for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Started").field("pending", &self.pending).finish_non_exhaustive()
    }
}

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callback")
    }
}

impl Pending {
    /// Whose sign-in it is.
    pub fn owner(&self) -> Owner {
        self.owner
    }

    /// Who signs the person in.
    pub fn issuer(&self) -> &str {
        &self.credentials.issuer
    }
}

impl OAuth {
    /// Finds out where to sign in, and as what client. Asks several servers, and takes up to half a minute if they are
    /// slow.
    pub async fn start(&self, wish: SignIn) -> Result<Started, SignInError> {
        let (found, known) = self.find(&wish).await?;
        let endpoint = found.server.authorization_endpoint.clone();
        let endpoint = endpoint.ok_or(SignInError::Document("it has no page to sign in at"))?;
        self.0.guard.policy().check_visit(&endpoint).await?;
        found.server.check_pkce()?;
        let known = known.iter().find(|known| known.issuer == found.server.issuer);
        let now = self.0.clock.now();
        let (requested, repeats) = scopes(&found, wish.challenge.as_ref(), known, now)?;
        let (guard, app) = (&self.0.guard, &self.0.app);
        let client = client::choose(guard, app, &found.server, wish.client.as_ref(), known, now).await?;

        let (state, verifier) = (random()?, random()?);
        let names_itself = found.server.authorization_response_iss_parameter_supported;
        let credentials = credentials(found, client, Grant::AuthorizationCode, requested, repeats, now);
        let redirect_uri = app.redirect_uri.clone();
        let url = authorization_url(endpoint, &credentials, &redirect_uri, &state, &verifier);
        let (owner, secret) = (wish.owner, Secret::new(state.clone()));
        let verifier = Secret::new(verifier);
        let pending = Pending { owner, state: secret, verifier, redirect_uri, names_itself, credentials };
        Ok(Started { url, state, pending })
    }

    /// Takes the answer, for the person who brought it. When this is done, the owner's [sessions](OAuth::session)
    /// have a token.
    pub async fn complete(&self, owner: Owner, pending: Pending, answer: Callback) -> Result<(), SignInError> {
        let now = self.0.clock.now();
        let same = verify_slices_are_equal(answer.state.as_bytes(), pending.state.expose().as_bytes());
        if same.is_err() || pending.owner != owner {
            return Err(SignInError::State);
        }
        if now.millis_since(pending.credentials.signed_in_at) > PATIENCE {
            return Err(SignInError::Expired);
        }
        // Before anything else of the answer is used: it may be another server's.
        match &answer.iss {
            Some(iss) if *iss != pending.credentials.issuer => return Err(SignInError::Issuer),
            None if pending.names_itself => return Err(SignInError::Issuer),
            _ => {}
        }
        if let Some(error) = answer.error {
            let words = answer.error_description.filter(|words| !words.trim().is_empty());
            return Err(SignInError::Denied(quote(&words.unwrap_or(error))));
        }
        let code = answer.code.filter(|code| !code.is_empty()).ok_or(SignInError::State)?;
        let ask = Ask::Code { code: &code, verifier: &pending.verifier, redirect_uri: &pending.redirect_uri };
        self.obtain(owner, pending.credentials, ask, now).await
    }

    /// Signs in without a person, as a client that stands for itself. Its tokens are renewed the same way.
    pub async fn sign_in_as_client(&self, wish: SignIn) -> Result<(), SignInError> {
        let (found, _) = self.find(&wish).await?;
        let by_hand = wish.client.as_ref().ok_or(SignInError::NeedsClient)?;
        let client = client::registered_by_hand(&found.server, by_hand)?;
        let now = self.0.clock.now();
        let (requested, _) = scopes(&found, wish.challenge.as_ref(), None, now)?;
        let credentials = credentials(found, client, Grant::ClientCredentials, requested, 0, now);
        self.obtain(wish.owner, credentials, Ask::ClientCredentials, now).await
    }

    async fn find(&self, wish: &SignIn) -> Result<(Discovered, Vec<Credentials>), SignInError> {
        let known = self.0.store.load(wish.owner).await?;
        let url = as_http(wish.url.clone());
        let discovery = discover(&self.0.guard, &url, wish.challenge.as_ref(), &known);
        let found =
            tokio::time::timeout(DISCOVERY, discovery).await.unwrap_or(Err(Error::Timeout(DISCOVERY).into()))?;
        Ok((found, known))
    }

    async fn obtain(
        &self,
        owner: Owner,
        mut credentials: Credentials,
        ask: Ask<'_>,
        now: Timestamp,
    ) -> Result<(), SignInError> {
        let mut obtained = token::tokens(&self.0.guard, &credentials, ask, now).await;
        if let Err(error) = &obtained
            && error.is_invalid_client()
            && let Some(otherwise) = credentials.client.otherwise()
        {
            credentials.client = otherwise;
            obtained = token::tokens(&self.0.guard, &credentials, ask, now).await;
        }
        match obtained {
            Ok(tokens) => {
                let _change = self.change(owner).await?;
                let credentials = Credentials { tokens: Some(tokens), signed_in_at: now, ..credentials };
                Ok(self.0.store.save(owner, credentials).await?)
            }
            Err(error) => {
                if error.is_invalid_client() {
                    // It will not be known the next time either; the next sign-in registers anew.
                    let _change = self.change(owner).await?;
                    self.0.store.delete(owner).await?;
                }
                Err(error)
            }
        }
    }
}

fn credentials(
    found: Discovered,
    client: Client,
    grant: Grant,
    requested: Vec<String>,
    repeats: u8,
    now: Timestamp,
) -> Credentials {
    let ServerMetadata { issuer, token_endpoint, revocation_endpoint, .. } = found.server;
    Credentials {
        issuer,
        resource: found.resource,
        client,
        token_endpoint,
        revocation_endpoint,
        grant,
        requested,
        repeats,
        signed_in_at: now,
        tokens: None,
    }
}

/// The scopes to ask for: those of the challenge, else all that the server has; with what was asked for before, so
/// that nothing is lost; and how often in a row they were the same.
fn scopes(
    found: &Discovered,
    challenge: Option<&Challenge>,
    known: Option<&Credentials>,
    now: Timestamp,
) -> Result<(Vec<String>, u8), SignInError> {
    let mut wanted = challenge.map(Challenge::scopes).unwrap_or_default();
    if wanted.is_empty() {
        wanted.clone_from(&found.scopes);
    }
    let before = known.map(|known| known.requested.as_slice()).unwrap_or_default();
    let is_new = wanted.iter().any(|scope| !before.contains(scope));
    let repeats = match (challenge, known) {
        (Some(_), Some(known)) if !is_new && was_just_given(known, now) => known.repeats + 1,
        _ => 0,
    };
    if repeats > REPEATS {
        return Err(SignInError::Repeated);
    }
    let offline = found.server.scopes_supported.iter().any(|scope| scope == OFFLINE);
    let mut scopes = before.to_vec();
    scopes.extend(wanted.into_iter().filter(|scope| !before.contains(scope)));
    // Alone it would take the place of what a server gives when it is asked for nothing.
    if offline && !scopes.is_empty() && !scopes.iter().any(|scope| scope == OFFLINE) {
        scopes.push(OFFLINE.to_owned());
    }
    Ok((scopes, repeats))
}

fn was_just_given(known: &Credentials, now: Timestamp) -> bool {
    let valid = known.tokens.as_ref().is_some_and(|tokens| tokens.is_valid(now));
    valid && now.millis_since(known.signed_in_at) <= PATIENCE
}

fn authorization_url(mut url: Url, credentials: &Credentials, redirect_uri: &Url, state: &str, verifier: &str) -> Url {
    let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
    let mut query = url.query_pairs_mut();
    query
        .append_pair("response_type", "code")
        .append_pair("client_id", &credentials.client.id)
        .append_pair("redirect_uri", redirect_uri.as_str())
        .append_pair("state", state)
        .append_pair("code_challenge", &challenge)
        .append_pair("code_challenge_method", "S256")
        .append_pair("resource", &credentials.resource);
    if !credentials.requested.is_empty() {
        query.append_pair("scope", &credentials.requested.join(" "));
    }
    // OpenID Connect gives no offline access without asking the person.
    if credentials.requested.iter().any(|scope| scope == OFFLINE) {
        query.append_pair("prompt", "consent");
    }
    drop(query);
    url
}

/// 256 bits that nobody can guess.
pub(super) fn random() -> Result<String, SignInError> {
    let mut bytes = [0; 32];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| SignInError::Random)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
