//! The HTTP client that keeps to the policy.

use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use url::Url;

use super::policy::{Policy, Refused, place};
use super::tls;
use crate::Error;

/// Time to reach one host, name and TLS included.
const CONNECT: Duration = Duration::from_secs(10);
/// Dead peers are noticed on idle streams after a few of these.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// One for a missing slash, one for a version in the path, one to spare.
const REDIRECTS: usize = 3;

/// Makes HTTP clients that reach only what the [`Policy`] permits. Cheap to clone.
#[derive(Debug, Clone)]
pub struct GuardedHttp {
    policy: Policy,
    tls: Arc<ClientConfig>,
}

impl GuardedHttp {
    /// Reads the trusted certificate authorities; do it once.
    ///
    /// Fails only if the TLS library refuses its own defaults.
    pub fn new(policy: Policy) -> Result<Self, Error> {
        let tls = tls::client_config().map_err(|error| Error::from_tls(&error))?;
        Ok(Self { policy, tls: Arc::new(tls) })
    }

    /// The policy behind it.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// A client for the origin of `url` and for no other. It resolves the name at each new connection and goes to
    /// checked addresses only, follows redirects within the origin that keep the request's method and body, and uses
    /// no proxy, because a proxy would resolve the name itself. It sets no time limit on an answer: streams are
    /// answers too, so the caller bounds its waits and what it reads.
    pub fn client_for(&self, url: &Url) -> Result<reqwest::Client, Error> {
        self.policy.check_url(url)?;
        let (host, port) = place(url)?;
        let mut tls = ClientConfig::clone(&self.tls);
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        #[expect(clippy::disallowed_methods, reason = "this is the guarded client")]
        let builder = reqwest::Client::builder();
        builder
            .user_agent(concat!("ai-chat-mcp/", env!("CARGO_PKG_VERSION")))
            .no_proxy()
            .referer(false)
            .redirect(same_origin_redirects(self.policy.clone()))
            .dns_resolver(Arc::new(OriginResolver { policy: self.policy.clone(), host, port }))
            .tls_backend_preconfigured(tls)
            .connect_timeout(CONNECT)
            .tcp_keepalive(KEEP_ALIVE)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .http2_keep_alive_while_idle(true)
            .build()
            .map_err(|_| Error::Unreachable("the HTTP client could not be made".to_owned()))
    }

    /// A TCP connection to the host of `url`, at a checked address, for what is not HTTP.
    pub(crate) async fn tcp(&self, url: &Url) -> Result<TcpStream, Error> {
        let addresses = self.policy.resolve(url).await?;
        let mut last = Error::NameNotFound;
        for address in addresses {
            match tokio::time::timeout(CONNECT, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => {
                    // Messages are small and answered one by one; waiting to fill a packet only delays them.
                    stream.set_nodelay(true).map_err(|error| Error::from_io(&error))?;
                    return Ok(stream);
                }
                Ok(Err(error)) => last = Error::from_io(&error),
                Err(_) => last = Error::Unreachable(format!("no answer within {} s", CONNECT.as_secs())),
            }
        }
        Err(last)
    }

    pub(crate) fn tls(&self) -> Arc<ClientConfig> {
        self.tls.clone()
    }
}

fn same_origin_redirects(policy: Policy) -> redirect::Policy {
    redirect::Policy::custom(move |attempt| {
        let keeps_body = matches!(attempt.status().as_u16(), 307 | 308);
        let same_origin = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
        let permitted = policy.check_url(attempt.url()).is_ok();
        if keeps_body && same_origin && permitted && attempt.previous().len() <= REDIRECTS {
            attempt.follow()
        } else {
            // The redirect itself becomes the answer, so that the error can say where it leads.
            attempt.stop()
        }
    })
}

/// Resolves one host. The policy needs the port, which a resolver is not told, so each origin has its own.
struct OriginResolver {
    policy: Policy,
    host: String,
    port: u16,
}

impl Resolve for OriginResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (policy, host, port) = (self.policy.clone(), self.host.clone(), self.port);
        Box::pin(async move {
            if !name.as_str().trim_end_matches('.').eq_ignore_ascii_case(&host) {
                return Err(Error::from(Refused::Private).into());
            }
            let addresses = policy.lookup(&host, port).await?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}
