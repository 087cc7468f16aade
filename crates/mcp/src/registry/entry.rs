//! Entries of the registry as they are sent, and their conversion into those that can be used.

use std::collections::BTreeMap;
use std::str::FromStr;

use domain::text::cut_to;
use http::{HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::{
    Publisher, RegistryHeader, RegistryInput, RegistryPage, RegistryRemote, RegistryServer, RemoteTransport,
    Verification,
};

/// Key of the registry's own data about an entry.
const REGISTRY_DATA: &str = "io.modelcontextprotocol.registry/official";
/// Namespace of publishers who signed in at GitHub.
const GITHUB_NAMESPACE: &str = "io.github.";
/// Maximum length of a name in bytes; that of `server.json`.
const MAX_NAME_BYTES: usize = 200;
/// Maximum length of a description or another text, in bytes.
const MAX_TEXT_BYTES: usize = 1_000;
/// Maximum length of a URL or a header value in bytes.
const MAX_URL_BYTES: usize = 2_048;
/// Maximum number of addresses, headers, variables or choices.
const MAX_ITEMS: usize = 32;
/// Maximum length of a cursor in bytes.
const MAX_CURSOR_BYTES: usize = 1_024;

/// A page as the registry sends it.
#[derive(Debug, Deserialize)]
pub(super) struct Page {
    // Read one by one: an entry of another shape costs only itself.
    servers: Vec<Value>,
    #[serde(default)]
    metadata: Option<Metadata>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    next_cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    server: Server,
    #[serde(default, rename = "_meta")]
    meta: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Server {
    name: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    website_url: Option<String>,
    #[serde(default)]
    repository: Option<Repository>,
    #[serde(default)]
    remotes: Vec<Value>,
}

#[derive(Debug, Deserialize)]
struct Repository {
    #[serde(default)]
    url: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RegistryData {
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    updated_at: Option<String>,
    #[serde(default)]
    is_latest: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct Remote {
    #[serde(rename = "type")]
    transport: String,
    url: String,
    #[serde(default)]
    headers: Vec<Header>,
    #[serde(default)]
    variables: BTreeMap<String, Input>,
}

#[derive(Debug, Deserialize)]
struct Header {
    name: String,
    #[serde(flatten)]
    input: Input,
    #[serde(default)]
    variables: BTreeMap<String, Input>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    is_required: bool,
    #[serde(default)]
    is_secret: bool,
    /// Value that the user cannot change.
    #[serde(default)]
    value: Option<String>,
    #[serde(default)]
    default: Option<String>,
    #[serde(default)]
    placeholder: Option<String>,
    #[serde(default)]
    choices: Option<Vec<String>>,
}

impl Page {
    /// Returns the page with the servers that can be used.
    pub(super) fn into_page(self) -> RegistryPage {
        let cursor = self.metadata.and_then(|metadata| metadata.next_cursor);
        RegistryPage {
            servers: self.servers.into_iter().filter_map(into_server).collect(),
            next_cursor: cursor.filter(|cursor| !cursor.is_empty() && cursor.len() <= MAX_CURSOR_BYTES),
        }
    }
}

/// Returns the server of an entry. Returns `None` if it is malformed, deleted, superseded, or cannot be reached over
/// HTTP.
fn into_server(entry: Value) -> Option<RegistryServer> {
    let Entry { server, mut meta } = serde_json::from_value(entry).ok()?;
    let namespace = namespace_of(&server.name)?;
    let data = meta.remove(REGISTRY_DATA);
    let is_verified = data.is_some();
    let data: RegistryData = data.and_then(|data| serde_json::from_value(data).ok()).unwrap_or_default();
    if data.status.as_deref() == Some("deleted") || data.is_latest == Some(false) {
        return None;
    }
    let publisher = publisher_of(namespace).filter(|_| is_verified);
    let remotes: Vec<RegistryRemote> = server
        .remotes
        .into_iter()
        .take(MAX_ITEMS)
        .filter_map(|remote| serde_json::from_value::<Remote>(remote).ok()?.into_remote(publisher.as_ref()))
        .collect();
    (!remotes.is_empty()).then(|| RegistryServer {
        title: server.title.filter(|title| !title.trim().is_empty()).map(|title| cut(&title)),
        description: cut(&server.description),
        version: cut(&server.version),
        publisher,
        is_deprecated: data.status.as_deref() == Some("deprecated"),
        updated_at: data.updated_at.filter(|time| time.len() <= 40),
        website_url: server.website_url.as_deref().and_then(web_url),
        repository_url: server.repository.and_then(|repository| web_url(&repository.url)),
        remotes,
        name: server.name,
    })
}

/// Returns the namespace of a server's name. Returns `None` if the name breaks the rules of `server.json`.
fn namespace_of(name: &str) -> Option<&str> {
    let (namespace, local) = name.split_once('/')?;
    let is_plain = |text: &str, more: &str| {
        !text.is_empty() && text.chars().all(|char| char.is_ascii_alphanumeric() || more.contains(char))
    };
    (name.len() <= MAX_NAME_BYTES && is_plain(namespace, ".-") && is_plain(local, "._-")).then_some(namespace)
}

/// Returns the publisher that owns a namespace: an account at GitHub, or the domain in reverse order.
fn publisher_of(namespace: &str) -> Option<Publisher> {
    if let Some(account) = namespace.strip_prefix(GITHUB_NAMESPACE) {
        return Some(Publisher { name: account.to_owned(), verified_by: Verification::Github });
    }
    let labels: Vec<&str> = namespace.split('.').rev().collect();
    let is_domain = labels.len() > 1 && labels.iter().all(|label| !label.is_empty());
    is_domain.then(|| Publisher { name: labels.join(".").to_ascii_lowercase(), verified_by: Verification::Domain })
}

impl Remote {
    /// Returns the address. Returns `None` if it cannot be used.
    fn into_remote(self, publisher: Option<&Publisher>) -> Option<RegistryRemote> {
        let transport = match self.transport.as_str() {
            "streamable-http" => RemoteTransport::StreamableHttp,
            "sse" => RemoteTransport::Sse,
            _ => return None,
        };
        let (url, variables) = resolve_fixed(self.url, self.variables)?;
        let host = host_of(&url, &variables)?;
        if self.headers.len() > MAX_ITEMS {
            return None;
        }
        let is_publisher_domain = publisher
            .filter(|publisher| publisher.verified_by == Verification::Domain)
            .map(|publisher| host == publisher.name || host.ends_with(&format!(".{}", publisher.name)));
        let headers = self.headers.into_iter().map(Header::into_header).collect::<Option<_>>()?;
        Some(RegistryRemote { transport, url, is_publisher_domain, variables, headers })
    }
}

impl Header {
    fn into_header(mut self) -> Option<RegistryHeader> {
        HeaderName::from_str(&self.name).ok()?;
        let (value, variables) = match self.input.value.take() {
            Some(value) => {
                let (value, variables) = resolve_fixed(value, self.variables)?;
                HeaderValue::from_str(&value).ok()?;
                (Some(value), variables)
            }
            None => (None, Vec::new()),
        };
        Some(RegistryHeader { input: self.input.into_input(self.name), value, variables })
    }
}

impl Input {
    fn into_input(self, name: String) -> RegistryInput {
        let bounded = |text: Option<String>| text.filter(|text| !text.is_empty() && text.len() <= MAX_URL_BYTES);
        let mut choices = self.choices.unwrap_or_default();
        choices.retain(|choice| choice.len() <= MAX_NAME_BYTES);
        choices.truncate(MAX_ITEMS);
        RegistryInput {
            name,
            description: self.description.filter(|text| !text.is_empty()).map(|text| cut(&text)),
            is_required: self.is_required,
            is_secret: self.is_secret,
            default: bounded(self.default),
            placeholder: bounded(self.placeholder),
            choices,
        }
    }
}

/// Replaces the variables of a template that have a fixed value, and returns the others that occur in it. Returns
/// `None` if there are too many, or if the template is too long.
fn resolve_fixed(mut template: String, variables: BTreeMap<String, Input>) -> Option<(String, Vec<RegistryInput>)> {
    if variables.len() > MAX_ITEMS || template.len() > MAX_URL_BYTES {
        return None;
    }
    let mut open = Vec::new();
    for (name, mut input) in variables {
        let placeholder = format!("{{{name}}}");
        if name.is_empty() || name.len() > MAX_NAME_BYTES || !template.contains(&placeholder) {
            continue;
        }
        match input.value.take() {
            Some(value) => template = template.replace(&placeholder, &value),
            None => open.push(input.into_input(name)),
        }
    }
    (template.len() <= MAX_URL_BYTES).then_some((template, open))
}

/// Returns the host of a URL template, in lower case and with `x` in place of variables. Returns `None` if it is not
/// the template of a usable URL.
fn host_of(template: &str, variables: &[RegistryInput]) -> Option<String> {
    let mut example = template.to_owned();
    for RegistryInput { name, .. } in variables {
        let placeholder = format!("{{{name}}}");
        // A template may begin with a variable that holds the scheme and the host.
        if example.starts_with(&placeholder) {
            example.replace_range(..placeholder.len(), "https://x");
        }
        example = example.replace(&placeholder, "x");
    }
    let url = Url::parse(&example).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let has_credentials = !url.username().is_empty() || url.password().is_some();
    let host = url.host_str().filter(|host| !has_credentials && !host.contains(['{', '%']))?;
    Some(host.to_ascii_lowercase())
}

/// Returns the address that a link may lead to. Returns `None` for other schemes, which could run a script.
fn web_url(text: &str) -> Option<String> {
    let url = Url::parse(text).ok().filter(|_| text.len() <= MAX_URL_BYTES)?;
    let is_plain = matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none();
    is_plain.then(|| url.into())
}

/// Returns the beginning of a text.
fn cut(text: &str) -> String {
    cut_to(text.trim(), MAX_TEXT_BYTES).to_owned()
}
