//! Who the product is at an authorization server: a client that was registered by hand, one that describes itself at
//! an address, or one that registers itself.

use domain::Timestamp;
use http::header::CONTENT_TYPE;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::{Host, Url};

use super::credentials::Secret;
use super::documents::ServerMetadata;
use super::{App, Credentials, SignInError, fetch};
use crate::net::GuardedHttp;

/// Ways of proving to be the client, the best first. The form comes before the header because the revocation of the
/// official Python library takes the secret from nowhere else.
const METHODS: [&str; 3] = ["client_secret_post", "client_secret_basic", "none"];

/// A client that somebody registered at an authorization server by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisteredClient {
    /// Its id.
    pub id: String,
    /// What proves that it is it.
    pub key: ClientKey,
}

/// What proves that a client is the one it says it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientKey {
    /// Nothing: a public client.
    None,
    /// A secret that the authorization server gave.
    Secret(Secret),
    /// A private key (PKCS#8 in PEM; P-256 or RSA) whose public half the authorization server was given.
    PrivateKey(Secret),
}

/// The client at one authorization server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Client {
    pub(super) id: String,
    pub(super) proof: Proof,
    /// What the client registered itself with; `None` if it did not.
    registered: Option<Registered>,
}

/// How the client proves itself at the token endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Proof {
    None,
    Basic(Secret),
    Post(Secret),
    PrivateKeyJwt(Secret),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Registered {
    redirect_uri: Url,
    until: Option<Timestamp>,
}

impl Client {
    /// The same client, with its secret at the other place. How a client that was registered by hand has to prove
    /// itself stands at its server alone, and people are told the id and the secret only.
    pub(super) fn otherwise(&self) -> Option<Self> {
        let proof = match &self.proof {
            _ if self.registered.is_some() => return None,
            Proof::Basic(secret) => Proof::Post(secret.clone()),
            Proof::Post(secret) => Proof::Basic(secret.clone()),
            Proof::None | Proof::PrivateKeyJwt(_) => return None,
        };
        Some(Self { proof, ..self.clone() })
    }
}

/// The answer to a registration (RFC 7591).
#[derive(Deserialize)]
struct Registration {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<String>,
    #[serde(default)]
    client_secret_expires_at: i64,
}

/// The client to be at an authorization server: registered by hand, described at its address, known from before, or
/// registered now.
pub(super) async fn choose(
    guard: &GuardedHttp,
    app: &App,
    server: &ServerMetadata,
    by_hand: Option<&RegisteredClient>,
    known: Option<&Credentials>,
    now: Timestamp,
) -> Result<Client, SignInError> {
    if let Some(client) = by_hand {
        return registered_by_hand(server, client);
    }
    let address = app.metadata_url.as_ref().filter(|url| url.scheme() == "https" && url.path() != "/");
    if let (true, Some(address)) = (server.client_id_metadata_document_supported, address) {
        return Ok(Client { id: address.to_string(), proof: Proof::None, registered: None });
    }
    let is_good = |registered: &Registered| {
        registered.redirect_uri == app.redirect_uri && registered.until.is_none_or(|until| now < until)
    };
    if let Some(known) = known.filter(|known| known.client.registered.as_ref().is_some_and(is_good)) {
        return Ok(known.client.clone());
    }
    match &server.registration_endpoint {
        Some(endpoint) => register(guard, app, server, endpoint).await,
        None => Err(SignInError::NeedsClient),
    }
}

/// A client that was registered by hand, proving itself as the server takes it.
pub(super) fn registered_by_hand(server: &ServerMetadata, client: &RegisteredClient) -> Result<Client, SignInError> {
    let proof = match &client.key {
        ClientKey::None => Proof::None,
        ClientKey::PrivateKey(key) => Proof::PrivateKeyJwt(key.clone()),
        // A server that names no way that is known here may still take the one that all have to take.
        ClientKey::Secret(secret) => {
            let posts = server.takes("client_secret_post") && !server.takes("client_secret_basic");
            if posts { Proof::Post(secret.clone()) } else { Proof::Basic(secret.clone()) }
        }
    };
    if client.id.trim().is_empty() {
        Err(SignInError::NeedsClient)
    } else {
        Ok(Client { id: client.id.clone(), proof, registered: None })
    }
}

/// What the product says about itself in a registration and at its address.
pub(super) fn description(app: &App, method: &str) -> Value {
    json!({
        "client_name": app.name,
        "redirect_uris": [app.redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        "application_type": if is_on_this_machine(&app.redirect_uri) { "native" } else { "web" },
    })
}

/// OpenID Connect allows `http://localhost` to native applications only.
fn is_on_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

async fn register(
    guard: &GuardedHttp,
    app: &App,
    server: &ServerMetadata,
    endpoint: &Url,
) -> Result<Client, SignInError> {
    let asked = METHODS.into_iter().find(|method| server.takes(method)).unwrap_or("none");
    let body = description(app, asked).to_string();
    let request =
        |http: &reqwest::Client| http.post(endpoint.clone()).header(CONTENT_TYPE, "application/json").body(body);
    let answer = fetch::send(guard, endpoint, request).await?;
    if matches!(answer.status.as_u16(), 404 | 405 | 501) {
        return Err(SignInError::NotOffered);
    }
    if !answer.status.is_success() {
        return Err(super::token::refusal(&answer));
    }
    let unreadable = |_| SignInError::Document("its registration of this app cannot be read");
    let registration: Registration = serde_json::from_slice(&answer.body).map_err(unreadable)?;
    let secret = registration.client_secret.filter(|secret| !secret.is_empty()).map(Secret::new);
    let method = registration.token_endpoint_auth_method.as_deref().unwrap_or(asked);
    let proof = match (method, secret) {
        ("client_secret_basic", Some(secret)) => Proof::Basic(secret),
        ("client_secret_post", Some(secret)) => Proof::Post(secret),
        ("none", _) | (_, None) => Proof::None,
        _ => return Err(SignInError::Document("it wants this app to prove itself in an unknown way")),
    };
    let until = registration.client_secret_expires_at;
    let until = (until > 0).then(|| Timestamp::default().plus_seconds(until));
    let registered = Some(Registered { redirect_uri: app.redirect_uri.clone(), until });
    Ok(Client { id: registration.client_id, proof, registered })
}
