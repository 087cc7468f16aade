//! HTTP client that enforces the [`NetworkPolicy`].

use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use url::Url;

use super::policy::{NetworkPolicy, PolicyViolation, host_and_port};
use crate::Error;

/// Time limit for connecting to a host, name resolution and TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval of keep-alive probes; a dead peer is noticed after a few.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(30);
/// Maximum number of redirects: one for a missing slash, one for a version in the path, one to spare.
const MAX_REDIRECTS: usize = 3;

/// Factory of HTTP clients that reach only what the [`NetworkPolicy`] permits. Cheap to clone.
#[derive(Debug, Clone)]
pub struct GuardedHttp {
    policy: NetworkPolicy,
    tls: Arc<ClientConfig>,
}

impl GuardedHttp {
    /// Loads the trusted certificate authorities, which takes a while: do it once.
    ///
    /// # Errors
    ///
    /// [`Error::Tls`] if the TLS library rejects its own defaults.
    pub fn new(policy: NetworkPolicy) -> Result<Self, Error> {
        let tls = tls_config().map_err(|error| Error::from_tls(&error))?;
        Ok(Self { policy, tls: Arc::new(tls) })
    }

    /// Returns the policy.
    pub fn policy(&self) -> &NetworkPolicy {
        &self.policy
    }

    /// Creates a client for the origin of `url` and no other.
    ///
    /// The client resolves the name at each new connection, connects to permitted addresses only, and follows
    /// redirects within the origin that keep method and body. It uses no proxy, because that would resolve the name
    /// itself. It sets no time limit on responses, because they may be streams: the caller bounds its waits and the
    /// size.
    pub fn client_for(&self, url: &Url) -> Result<reqwest::Client, Error> {
        self.policy.check_url(url)?;
        let (host, port) = host_and_port(url)?;
        let mut tls = ClientConfig::clone(&self.tls);
        // A preconfigured TLS backend gets no ALPN protocols from the HTTP library.
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        #[expect(clippy::disallowed_methods, reason = "this is the guarded client")]
        let builder = reqwest::Client::builder();
        builder
            .user_agent(concat!("ai-chat-mcp/", env!("CARGO_PKG_VERSION")))
            .no_proxy()
            // The address of a server may hold a key, which a followed redirect must not repeat in a header.
            .referer(false)
            .redirect(same_origin_redirects(self.policy.clone()))
            .dns_resolver(Arc::new(OriginResolver { policy: self.policy.clone(), host, port }))
            .tls_backend_preconfigured(tls)
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_keepalive(KEEP_ALIVE_INTERVAL)
            .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
            .http2_keep_alive_while_idle(true)
            .build()
            .map_err(|_| Error::Unreachable("the HTTP client could not be made".to_owned()))
    }

    /// Opens a TCP connection to the host of `url` at a permitted address, for protocols other than HTTP.
    pub(crate) async fn connect_tcp(&self, url: &Url) -> Result<TcpStream, Error> {
        let addresses = self.policy.resolve(url).await?;
        let mut last = Error::NameNotFound;
        for address in addresses {
            match tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => {
                    // Messages are small and answered one by one: Nagle's algorithm would only delay them.
                    stream.set_nodelay(true).map_err(|error| Error::from_io(&error))?;
                    return Ok(stream);
                }
                Ok(Err(error)) => last = Error::from_io(&error),
                Err(_) => last = Error::Unreachable(format!("no answer within {} s", CONNECT_TIMEOUT.as_secs())),
            }
        }
        Err(last)
    }

    /// Returns the TLS configuration, for connections of [`connect_tcp`](Self::connect_tcp).
    pub(crate) fn tls_config(&self) -> Arc<ClientConfig> {
        self.tls.clone()
    }
}

/// Follows redirects that keep method, body and origin.
fn same_origin_redirects(policy: NetworkPolicy) -> redirect::Policy {
    redirect::Policy::custom(move |attempt| {
        let keeps_body = matches!(attempt.status().as_u16(), 307 | 308);
        let same_origin = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
        let permitted = policy.check_url(attempt.url()).is_ok();
        if keeps_body && same_origin && permitted && attempt.previous().len() <= MAX_REDIRECTS {
            attempt.follow()
        } else {
            // The redirect itself becomes the response, so that the error can name its destination.
            attempt.stop()
        }
    })
}

/// Resolver for one origin. The policy needs the port, which the HTTP library does not pass to resolvers.
struct OriginResolver {
    policy: NetworkPolicy,
    host: String,
    port: u16,
}

impl Resolve for OriginResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (policy, host, port) = (self.policy.clone(), self.host.clone(), self.port);
        Box::pin(async move {
            if !name.as_str().trim_end_matches('.').eq_ignore_ascii_case(&host) {
                return Err(Error::from(PolicyViolation::Private).into());
            }
            let addresses = policy.resolve_host(&host, port).await?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// Returns a configuration that trusts the built-in certificate authorities of the web, so that a bare container can
/// connect, and those of the operating system, so that an authority of the company works.
fn tls_config() -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    // Files that cannot be read or parsed are skipped: one bad certificate must not cost all connections.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}
