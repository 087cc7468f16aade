//! Finding out who signs people in to a server.

use url::Url;

use super::credentials::covers;
use super::documents::{ResourceMetadata, ServerMetadata};
use super::{Challenge, Credentials, SignInError, fetch};
use crate::net::GuardedHttp;

/// Where to sign in, and to what.
#[derive(Debug)]
pub(super) struct Discovered {
    /// What the tokens will be for (RFC 8707), as the server writes it.
    pub(super) resource: String,
    /// Who gives them.
    pub(super) server: ServerMetadata,
    /// The scopes that the MCP server says it has.
    pub(super) scopes: Vec<String>,
}

/// Finds the authorization server of the MCP server at `url`. Of several, one that the owner has credentials of is
/// taken, else the first.
pub(super) async fn discover(
    guard: &GuardedHttp,
    url: &Url,
    challenge: Option<&Challenge>,
    known: &[Credentials],
) -> Result<Discovered, SignInError> {
    let Some(metadata) = resource_metadata(guard, url, challenge).await? else {
        return without_metadata(guard, url).await;
    };
    if !covers(&metadata.resource, url) {
        return Err(SignInError::Resource);
    }
    let servers = &metadata.authorization_servers;
    let issuer = known.iter().find_map(|known| servers.iter().find(|server| **server == known.issuer));
    let issuer = issuer.or(servers.first()).ok_or(SignInError::NotOffered)?;
    let address = Url::parse(issuer).map_err(|_| SignInError::Document("its sign-in server has no address"))?;
    let server = server_metadata(guard, &address, |named| named == issuer).await?;
    let server = server.ok_or(SignInError::NotOffered)?;
    Ok(Discovered { resource: metadata.resource, server, scopes: metadata.scopes_supported })
}

/// The document that the challenge names, else the one for the path, else the one for the whole host.
async fn resource_metadata(
    guard: &GuardedHttp,
    url: &Url,
    challenge: Option<&Challenge>,
) -> Result<Option<ResourceMetadata>, SignInError> {
    let named = challenge.and_then(|challenge| challenge.resource_metadata.as_deref());
    let named = named.map(|named| url.join(named).map_err(|_| SignInError::Document("its address is none")));
    let mut places = Vec::from_iter(named.transpose()?);
    places.extend(well_known(url, "oauth-protected-resource"));
    for place in places {
        if let Some(document) = fetch::document(guard, &place).await? {
            return ResourceMetadata::read(document).map(Some);
        }
    }
    Ok(None)
}

/// Servers of 2025-03-26 are their own authorization servers.
async fn without_metadata(guard: &GuardedHttp, url: &Url) -> Result<Discovered, SignInError> {
    let origin = url.join("/").map_err(|_| SignInError::NotOffered)?;
    let name = origin.origin().ascii_serialization();
    let server = server_metadata(guard, &origin, |named| named.strip_suffix('/').unwrap_or(named) == name).await?;
    let server = match server {
        Some(server) => server,
        None => ServerMetadata::conventional(&origin)?,
    };
    server.check_endpoints(guard.policy())?;
    Ok(Discovered { resource: canonical(url), server, scopes: vec![] })
}

/// The document of the authorization server at `address`, whose name has to be the expected one to the letter.
async fn server_metadata(
    guard: &GuardedHttp,
    address: &Url,
    is_expected: impl Fn(&str) -> bool,
) -> Result<Option<ServerMetadata>, SignInError> {
    if address.query().is_some() || address.fragment().is_some() {
        return Err(SignInError::Document("its sign-in server has an address with a query"));
    }
    let mut places =
        ["oauth-authorization-server", "openid-configuration"].map(|name| with_path(address, name)).to_vec();
    let path = address.path().trim_end_matches('/');
    if !path.is_empty() {
        let mut appended = address.clone();
        appended.set_path(&format!("{path}/.well-known/openid-configuration"));
        places.push(appended);
    }
    for place in places {
        let Some(document) = fetch::document(guard, &place).await? else { continue };
        let metadata = ServerMetadata::read(document)?;
        if !is_expected(&metadata.issuer) {
            return Err(SignInError::Issuer);
        }
        metadata.check_endpoints(guard.policy())?;
        return Ok(Some(metadata));
    }
    Ok(None)
}

/// The place for the path, and the one for the whole host.
fn well_known(url: &Url, name: &str) -> Vec<Url> {
    let (here, mut root) = (with_path(url, name), url.clone());
    root.set_path("");
    let root = with_path(&root, name);
    if here == root { vec![here] } else { vec![here, root] }
}

/// The well-known place of a document, with the path of `url` behind it.
fn with_path(url: &Url, name: &str) -> Url {
    let mut place = url.clone();
    place.set_query(None);
    place.set_fragment(None);
    place.set_path(&format!("/.well-known/{name}{}", url.path().trim_end_matches('/')));
    place
}

/// A server's address as the name of a resource: without query, and without a lone slash.
fn canonical(url: &Url) -> String {
    let path = if url.path() == "/" { "" } else { url.path() };
    format!("{}{path}", url.origin().ascii_serialization())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(places: Vec<Url>) -> Vec<String> {
        places.into_iter().map(|url| url[url::Position::BeforePath..].to_owned()).collect()
    }

    #[test]
    fn documents_are_looked_for_where_they_have_to_be() {
        let at = |url: &str| places(well_known(&url.parse().unwrap(), "x"));
        assert_eq!(at("https://a.example/v1/mcp?key=1"), ["/.well-known/x/v1/mcp", "/.well-known/x"]);
        assert_eq!(at("https://a.example/mcp/"), ["/.well-known/x/mcp", "/.well-known/x"]);
        assert_eq!(at("https://a.example"), ["/.well-known/x"]);
        assert_eq!(canonical(&"https://a.example/?x".parse().unwrap()), "https://a.example");
        assert_eq!(canonical(&"https://A.example:443/mcp#x".parse().unwrap()), "https://a.example/mcp");
    }
}
