//! At every entrance, an address of a place that is not public leads nowhere.

mod credentials;
mod offers;
mod resolving;
#[path = "../support/spellings.rs"]
mod spellings;
#[path = "../support/trap.rs"]
mod trap;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use domain::{ServerId, UserId};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use mcp::net::{DnsResolver, GuardedHttp, NetworkPolicy};
use mcp::oauth::{AuthChallenge, ClientMetadata, CredentialOwner, OAuthClient, SignInCallback, SignInRequest};
use mcp::{Client, ConnectionLimits, ConnectionTarget, Error};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::http::{Reply, Seen, Server};
use crate::oauth::{AUTHORITY, Hands, Memory, RESOURCE, good, metadata};
use crate::{PATIENCE, legacy, modern};
use spellings::spellings;
use trap::Trap;

/// Every name is this machine.
#[derive(Debug)]
struct Here;

impl DnsResolver for Here {
    fn resolve<'a>(&'a self, _: &'a str, port: u16) -> BoxFuture<'a, std::io::Result<Vec<SocketAddr>>> {
        std::future::ready(Ok(vec![SocketAddr::from((Ipv4Addr::LOCALHOST, port))])).boxed()
    }
}

/// Reaches public places and `home`, which the administrator allowed.
fn guard(home: Option<&Server>) -> GuardedHttp {
    let home: Vec<_> = home.iter().map(|home| format!("127.0.0.1:{}", home.port).parse().unwrap()).collect();
    GuardedHttp::new(NetworkPolicy::new(&home, false, vec![]).with_resolver(Arc::new(Here))).unwrap()
}

async fn connect(guard: &GuardedHttp, url: Url) -> Result<(), Error> {
    let limits = ConnectionLimits { connect_timeout: PATIENCE, ..ConnectionLimits::default() };
    let client = Client::new(guard.clone()).with_limits(limits);
    client.connect(ConnectionTarget::new(url), &CancellationToken::new()).await.map(drop)
}

/// Puts every spelling through an entrance, some at a time: all are refused there, and nothing comes to this machine.
async fn nothing_enters<F>(scheme: &str, enter: impl Fn(String) -> F)
where
    F: Future<Output = Result<(), String>>,
{
    let trap = Trap::new();
    let tries = spellings(scheme, trap.port).into_iter().map(|url| {
        let entered = enter(url.clone());
        async move { (url, entered.await) }
    });
    let ends: Vec<_> = stream::iter(tries).buffer_unordered(16).collect().await;
    for (url, end) in ends {
        assert!(end.is_err(), "{url:?} was let in");
    }
    assert_eq!(trap.count(), 0, "somebody came");
}

#[tokio::test]
async fn the_trap_counts_whoever_comes() {
    let trap = Trap::new();
    let open = GuardedHttp::new(NetworkPolicy::new(&[], true, vec![]).with_resolver(Arc::new(Here))).unwrap();
    let mut came = 0;
    for (scheme, path) in [("http", "/mcp"), ("ws", "/mcp")] {
        for host in ["127.0.0.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "localhost", "router"] {
            let url = format!("{scheme}://{host}:{}{path}", trap.port).parse().unwrap();
            connect(&open, url).await.unwrap_err();
            assert!(trap.count() > came, "{scheme}://{host}");
            came = trap.count();
        }
    }
}

#[tokio::test]
async fn the_address_of_a_server() {
    for scheme in ["http", "https", "ws", "wss"] {
        let strict = guard(None);
        nothing_enters(scheme, |url| {
            let strict = strict.clone();
            async move {
                let url = Url::parse(&url).map_err(|error| error.to_string())?;
                match connect(&strict, url).await {
                    Err(Error::Blocked(why)) => Err(why.to_string()),
                    other => panic!("it was not refused for what it is: {other:?}"),
                }
            }
        })
        .await;
    }
}

/// Servers at home that send whoever comes to the address in the last part of the path, which is a number in `places`.
fn place(seen: &Seen, places: &[String]) -> String {
    places[seen.path.rsplit('/').next().unwrap().parse::<usize>().unwrap()].clone()
}

/// Puts every spelling through a server at home which names it; `script` says how.
async fn nothing_enters_by(
    scheme: &'static str,
    script: impl Fn(&Seen, String) -> Reply + Send + Sync + 'static,
    path: &str,
) {
    let trap = Trap::new();
    let places = Arc::new(spellings(scheme, trap.port));
    let named = places.clone();
    let server = Server::start(move |seen| script(seen, place(seen, &named))).await;
    let home = guard(Some(&server));
    let tries = (0..places.len()).map(|number| connect(&home, server.url(&format!("{path}/{number}"))));
    let ends: Vec<_> = stream::iter(tries).buffer_unordered(16).collect().await;
    assert!(ends.iter().all(Result::is_err));
    assert!(server.seen().len() >= places.len(), "home was asked each time");
    assert_eq!(trap.count(), 0);
}

#[tokio::test]
async fn a_redirect() {
    for status in [301, 302, 303, 307, 308] {
        // A header cannot hold line breaks; everything else goes out as it is.
        let redirect = move |_: &Seen, to: String| Reply::status(status).with("location", to.replace(['\r', '\n'], ""));
        nothing_enters_by("http", redirect, "/mcp").await;
    }
}

#[tokio::test]
async fn a_redirect_of_an_event_stream() {
    let script = |seen: &Seen, to: String| match seen.method.as_str() {
        "GET" => Reply::status(307).with("location", to.replace(['\r', '\n'], "")),
        _ => Reply::status(405),
    };
    nothing_enters_by("http", script, "/sse").await;
}

#[tokio::test]
async fn the_endpoint_that_an_event_stream_names() {
    let script = |seen: &Seen, to: String| match seen.method.as_str() {
        "GET" => Reply::new(200, "text/event-stream", format!("event: endpoint\ndata: {}\n\n", to.replace('\n', ""))),
        _ => Reply::status(405),
    };
    nothing_enters_by("http", script, "/sse").await;
}

#[tokio::test]
async fn a_redirect_after_the_handshake() {
    for is_modern in [true, false] {
        let script = move |seen: &Seen, to: String| {
            let shaken = if is_modern { modern(seen, &json!({})) } else { legacy(seen) };
            shaken.unwrap_or_else(|| Reply::status(308).with("location", to.replace(['\r', '\n'], "")))
        };
        let trap = Trap::new();
        let places = Arc::new(spellings("http", trap.port));
        let named = places.clone();
        let server = Server::start(move |seen| script(seen, place(seen, &named))).await;
        let client = Client::new(guard(Some(&server)));
        let tries = (0..places.len()).map(|number| {
            let target = ConnectionTarget::new(server.url(&format!("/mcp/{number}")));
            let client = &client;
            async move {
                let connection = client.connect(target, &CancellationToken::new()).await.unwrap();
                connection.list_tools().await
            }
        });
        let ends: Vec<_> = stream::iter(tries).buffer_unordered(16).collect().await;
        assert!(ends.iter().all(Result::is_err));
        assert_eq!(trap.count(), 0);
    }
}

/// Somebody who signs in at a server at home, as far as they get.
async fn sign_in(
    home: &GuardedHttp,
    server: &Server,
    path: &str,
    challenge: Option<AuthChallenge>,
) -> Result<(), String> {
    let app = ClientMetadata {
        name: "Chat".to_owned(),
        redirect_uri: "https://chat.example/callback".parse().unwrap(),
        metadata_url: None,
    };
    let oauth = OAuthClient::new(home.clone(), app, Arc::new(Memory::default()), Arc::new(Hands::default()));
    let owner = CredentialOwner { user: UserId::fresh(), server: ServerId::fresh() };
    let wish = SignInRequest { owner, url: server.url(path), challenge, client: None };
    let words = |error: mcp::oauth::SignInError| error.to_string();
    let started = oauth.start_sign_in(wish).await.map_err(words)?;
    let answer =
        SignInCallback { state: started.state.clone(), code: Some("code".to_owned()), ..SignInCallback::default() };
    oauth.complete_sign_in(owner, started.pending, answer).await.map_err(words)?;
    if oauth.sign_out(owner).await.map_err(words)? { Ok(()) } else { Err("it was not revoked".to_owned()) }
}

#[tokio::test]
async fn the_sign_in_leads_somewhere_where_nothing_is_wrong() {
    let server = Server::start(good).await;
    assert_eq!(sign_in(&guard(Some(&server)), &server, "/mcp", None).await, Ok(()));
}

#[tokio::test]
async fn the_document_that_a_challenge_names() {
    let server = Arc::new(Server::start(|_| Reply::status(404)).await);
    let home = guard(Some(&server));
    nothing_enters("http", |url| {
        let (server, home) = (server.clone(), home.clone());
        let challenge = AuthChallenge { resource_metadata: Some(url), ..AuthChallenge::default() };
        async move { sign_in(&home, &server, "/mcp", Some(challenge)).await }
    })
    .await;
}

/// Puts every spelling into the documents of a server at home: `name` writes it there.
async fn nothing_enters_by_document(document: &'static str, name: impl Fn(&mut Value, String) + Send + Sync + 'static) {
    let trap = Trap::new();
    let places = Arc::new(spellings("http", trap.port));
    let named = places.clone();
    // Every number has its own server at home: the path of the resource is in the path of its documents.
    let server = Server::start(move |seen| {
        let number = seen.path.rsplit('/').next().unwrap().parse::<usize>();
        let base = seen.base();
        match number {
            Ok(number) if seen.path.starts_with(RESOURCE) => {
                let resource = format!("{base}/mcp/{number}");
                let mut said = json!({ "resource": resource, "authorization_servers": [format!("{base}/{number}")] });
                if document == RESOURCE {
                    name(&mut said, named[number].clone());
                }
                Reply::json(200, said)
            }
            Ok(number) if seen.path.starts_with(AUTHORITY) => {
                let mut said = metadata(seen);
                said["issuer"] = format!("{base}/{number}").into();
                if document == AUTHORITY {
                    name(&mut said, named[number].clone());
                }
                Reply::json(200, said)
            }
            _ => good(seen),
        }
    })
    .await;
    let home = guard(Some(&server));
    let tries = (0..places.len()).map(|number| {
        let (server, home) = (&server, &home);
        async move { sign_in(home, server, &format!("/mcp/{number}"), None).await }
    });
    let ends: Vec<_> = stream::iter(tries).buffered(16).collect().await;
    for (end, place) in ends.into_iter().zip(places.iter()) {
        assert!(end.is_err(), "{place:?} was let in");
    }
    assert_eq!(trap.count(), 0, "somebody came");
}

#[tokio::test]
async fn the_sign_in_server_that_a_document_names() {
    nothing_enters_by_document(RESOURCE, |said, url| said["authorization_servers"] = json!([url])).await;
}

#[tokio::test]
async fn the_page_to_sign_in_at() {
    nothing_enters_by_document(AUTHORITY, |said, url| said["authorization_endpoint"] = url.into()).await;
}

#[tokio::test]
async fn the_token_endpoint() {
    nothing_enters_by_document(AUTHORITY, |said, url| said["token_endpoint"] = url.into()).await;
}

#[tokio::test]
async fn the_registration_endpoint() {
    nothing_enters_by_document(AUTHORITY, |said, url| said["registration_endpoint"] = url.into()).await;
}

#[tokio::test]
async fn the_revocation_endpoint() {
    nothing_enters_by_document(AUTHORITY, |said, url| said["revocation_endpoint"] = url.into()).await;
}

#[tokio::test]
async fn a_redirect_of_a_sign_in_server() {
    let trap = Trap::new();
    let places = Arc::new(spellings("http", trap.port));
    for path in [RESOURCE, AUTHORITY, "/register", "/token", "/revoke"] {
        let (next, named) = (std::sync::atomic::AtomicUsize::new(0), places.clone());
        let server = Server::start(move |seen| {
            if seen.path == path {
                let number = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let status = [307, 308][number % 2];
                return Reply::status(status).with("location", named[number % named.len()].replace(['\r', '\n'], ""));
            }
            good(seen)
        })
        .await;
        let home = guard(Some(&server));
        let tries = places.iter().map(|_| sign_in(&home, &server, "/mcp", None));
        let ends: Vec<_> = stream::iter(tries).buffer_unordered(16).collect().await;
        // Without a document the server is one of 2025-03-26, whose sign-in is where it always was.
        assert!([RESOURCE, AUTHORITY].contains(&path) || ends.iter().all(Result::is_err), "{path}");
    }
    assert_eq!(trap.count(), 0);
}
