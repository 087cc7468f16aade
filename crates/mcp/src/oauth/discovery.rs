//! Discovery of the authorization server of an MCP server (2025-11-25, "Authorization Server Discovery").

use url::Url;

use super::challenge::AuthChallenge;
use super::credentials::{Credentials, resource_covers};
use super::error::SignInError;
use super::http::fetch_document;
use super::metadata::{ResourceMetadata, ServerMetadata};
use crate::net::GuardedHttp;

/// Result of the discovery.
#[derive(Debug)]
pub(super) struct DiscoveredServer {
    /// Resource identifier for the tokens (RFC 8707), as the MCP server writes it.
    pub(super) resource: String,
    /// Authorization server.
    pub(super) server: ServerMetadata,
    /// Scopes that the MCP server declares.
    pub(super) scopes: Vec<String>,
}

/// Finds the authorization server of the MCP server at `url`. Of several, prefers one that the owner has credentials
/// of.
///
/// # Errors
///
/// [`SignInError::Resource`] or [`SignInError::Issuer`] if a document is that of another server.
pub(super) async fn discover(
    guard: &GuardedHttp,
    url: &Url,
    challenge: Option<&AuthChallenge>,
    known: &[Credentials],
) -> Result<DiscoveredServer, SignInError> {
    let Some(metadata) = fetch_resource_metadata(guard, url, challenge).await? else {
        return discover_without_metadata(guard, url).await;
    };
    // Otherwise a malicious server could have tokens issued for another server (RFC 9728, 3.3).
    if !resource_covers(&metadata.resource, url) {
        return Err(SignInError::Resource);
    }
    let servers = &metadata.authorization_servers;
    // With a known server the user need not consent, and the product need not register, once more.
    let issuer = known.iter().find_map(|known| servers.iter().find(|server| **server == known.issuer));
    let issuer = issuer.or(servers.first()).ok_or(SignInError::NotOffered)?;
    let address = Url::parse(issuer).map_err(|_| SignInError::Document("its sign-in server has no address"))?;
    let server = fetch_server_metadata(guard, &address, |named| named == issuer).await?;
    let server = server.ok_or(SignInError::NotOffered)?;
    Ok(DiscoveredServer { resource: metadata.resource, server, scopes: metadata.scopes_supported })
}

/// Fetches the document that the challenge names, else the one for the path, else the one for the host.
async fn fetch_resource_metadata(
    guard: &GuardedHttp,
    url: &Url,
    challenge: Option<&AuthChallenge>,
) -> Result<Option<ResourceMetadata>, SignInError> {
    let named = challenge.and_then(|challenge| challenge.resource_metadata.as_deref());
    let named = named.map(|named| url.join(named).map_err(|_| SignInError::Document("its address is none")));
    // OAuth first, then OpenID Connect, whose documents have the same fields.
    let mut urls = Vec::from_iter(named.transpose()?);
    urls.extend(well_known_urls(url, "oauth-protected-resource"));
    for document_url in urls {
        if let Some(document) = fetch_document(guard, &document_url).await? {
            return ResourceMetadata::parse(document).map(Some);
        }
    }
    Ok(None)
}

/// Treats the MCP server as its own authorization server, as in 2025-03-26.
async fn discover_without_metadata(guard: &GuardedHttp, url: &Url) -> Result<DiscoveredServer, SignInError> {
    let origin = url.join("/").map_err(|_| SignInError::NotOffered)?;
    let name = origin.origin().ascii_serialization();
    let server =
        fetch_server_metadata(guard, &origin, |named| named.strip_suffix('/').unwrap_or(named) == name).await?;
    let server = match server {
        Some(server) => server,
        None => ServerMetadata::with_default_endpoints(&origin)?,
    };
    server.check_endpoints(guard.policy())?;
    Ok(DiscoveredServer { resource: canonical_resource(url), server, scopes: vec![] })
}

/// Fetches the document of the authorization server at `address`. Its issuer has to be the expected one to the letter,
/// which keeps one server from passing for another (RFC 8414, 3.3).
async fn fetch_server_metadata(
    guard: &GuardedHttp,
    address: &Url,
    is_expected: impl Fn(&str) -> bool,
) -> Result<Option<ServerMetadata>, SignInError> {
    if address.query().is_some() || address.fragment().is_some() {
        return Err(SignInError::Document("its sign-in server has an address with a query"));
    }
    let mut urls =
        ["oauth-authorization-server", "openid-configuration"].map(|name| well_known_url(address, name)).to_vec();
    let path = address.path().trim_end_matches('/');
    if !path.is_empty() {
        let mut appended = address.clone();
        appended.set_path(&format!("{path}/.well-known/openid-configuration"));
        urls.push(appended);
    }
    for document_url in urls {
        let Some(document) = fetch_document(guard, &document_url).await? else { continue };
        let metadata = ServerMetadata::parse(document)?;
        if !is_expected(&metadata.issuer) {
            return Err(SignInError::Issuer);
        }
        metadata.check_endpoints(guard.policy())?;
        return Ok(Some(metadata));
    }
    Ok(None)
}

/// Returns the well-known address for the path, and the one for the host.
fn well_known_urls(url: &Url, name: &str) -> Vec<Url> {
    let (here, mut root) = (well_known_url(url, name), url.clone());
    root.set_path("");
    let root = well_known_url(&root, name);
    if here == root { vec![here] } else { vec![here, root] }
}

/// Returns the well-known address of a document, with the path of `url` appended (RFC 8414, 3.1).
fn well_known_url(url: &Url, name: &str) -> Url {
    let mut place = url.clone();
    // The query of a connection's address may hold a key, which is not for other documents of the host.
    place.set_query(None);
    place.set_fragment(None);
    place.set_path(&format!("/.well-known/{name}{}", url.path().trim_end_matches('/')));
    place
}

/// Returns the resource identifier of a server without metadata: its address without query and without a lone slash.
fn canonical_resource(url: &Url) -> String {
    // The protocol recommends the form without the slash ("Canonical Server URI").
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
    fn builds_well_known_addresses() {
        let at = |url: &str| places(well_known_urls(&url.parse().unwrap(), "x"));
        assert_eq!(at("https://a.example/v1/mcp?key=1"), ["/.well-known/x/v1/mcp", "/.well-known/x"]);
        assert_eq!(at("https://a.example/mcp/"), ["/.well-known/x/mcp", "/.well-known/x"]);
        assert_eq!(at("https://a.example"), ["/.well-known/x"]);
        assert_eq!(canonical_resource(&"https://a.example/?x".parse().unwrap()), "https://a.example");
        assert_eq!(canonical_resource(&"https://A.example:443/mcp#x".parse().unwrap()), "https://a.example/mcp");
    }
}
