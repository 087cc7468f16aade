//! Resolvers that stand for several addresses, or for one now and another later.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp::net::{DnsResolver, GuardedHttp, NetworkPolicy};
use mcp::{CallOptions, Client, ConnectionTarget, Error};
use serde_json::{Map, json};
use tokio_util::sync::CancellationToken;

use super::trap::Trap;
use crate::http::Server;
use crate::{modern, tool};

/// Another address of this machine than the usual one, for a server that may be reached.
const ALLOWED: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// What a name stands for, the first time it is asked for, the second, and so on; the last for good.
#[derive(Debug)]
struct Answers {
    asked: AtomicUsize,
    answers: Vec<Vec<Ipv4Addr>>,
}

impl Answers {
    fn new(answers: impl IntoIterator<Item = Vec<Ipv4Addr>>) -> Arc<Self> {
        Arc::new(Self { asked: AtomicUsize::new(0), answers: answers.into_iter().collect() })
    }
}

impl DnsResolver for Answers {
    fn resolve<'a>(&'a self, _: &'a str, port: u16) -> BoxFuture<'a, std::io::Result<Vec<SocketAddr>>> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        let answer = self.answers.get(asked).or(self.answers.last()).unwrap();
        std::future::ready(Ok(answer.iter().map(|ip| SocketAddr::from((*ip, port))).collect())).boxed()
    }
}

fn client(names: Arc<Answers>) -> Client {
    let allowed = [format!("{ALLOWED}").parse().unwrap()];
    Client::new(GuardedHttp::new(NetworkPolicy::new(&allowed, false, vec![]).with_resolver(names)).unwrap())
}

fn url(scheme: &str, port: u16) -> url::Url {
    format!("{scheme}://rebind.example:{port}/mcp").parse().unwrap()
}

#[tokio::test]
async fn of_several_addresses_only_those_that_may_be_reached_are_tried() {
    for scheme in ["http", "ws"] {
        let trap = Trap::new();
        for addresses in [vec![Ipv4Addr::LOCALHOST, Ipv4Addr::UNSPECIFIED], vec![Ipv4Addr::new(127, 0, 0, 3)]] {
            let client = client(Answers::new([addresses]));
            let end = client.connect(ConnectionTarget::new(url(scheme, trap.port)), &CancellationToken::new()).await;
            assert!(matches!(end, Err(Error::Blocked(_))), "{end:?}");
        }
        assert_eq!(trap.count(), 0);
        // One of them may be reached and does not answer as a server: the others are still not tried.
        let closed = free_port();
        let names = Answers::new([vec![ALLOWED, Ipv4Addr::LOCALHOST]]);
        let end = client(names).connect(ConnectionTarget::new(url(scheme, closed)), &CancellationToken::new()).await;
        assert!(matches!(end, Err(Error::ConnectionRefused)), "{end:?}");
    }
}

#[tokio::test]
async fn a_name_that_becomes_another_place_leads_nowhere() {
    let server = Server::start_at(ALLOWED, 0, |seen| {
        modern(seen, &json!({})).unwrap_or_else(|| match seen.rpc() {
            "tools/list" => seen.result(json!({ "resultType": "complete", "tools": [tool("work")] })),
            _ => seen.result(json!({ "resultType": "complete", "content": [] })),
        })
    })
    .await;
    // The same port on the other address is where nobody may come.
    let inside = Server::start_at(Ipv4Addr::LOCALHOST, server.port, |_| crate::http::Reply::status(200)).await;
    // Checked as one place and then another: each new connection is made to what was checked for it.
    let names = Answers::new([vec![ALLOWED], vec![ALLOWED], vec![Ipv4Addr::LOCALHOST]]);
    let connection = client(names)
        .connect(ConnectionTarget::new(url("http", server.port)), &CancellationToken::new())
        .await
        .unwrap();
    connection.list_tools().await.unwrap();
    let lost = connection.call_tool("work", Map::new(), CallOptions::default()).await.unwrap_err();
    assert!(lost.to_string().starts_with("is a private address"), "{lost}");
    assert!(inside.seen().is_empty());
}

#[tokio::test]
async fn a_name_of_the_inside_is_no_public_place_whatever_it_stands_for() {
    for host in ["localhost", "a.localhost", "printer.local", "metadata.google.internal", "nas.home.arpa"] {
        let client = client(Answers::new([vec![Ipv4Addr::new(8, 8, 8, 8)]]));
        for scheme in ["https", "wss"] {
            let url = format!("{scheme}://{host}/mcp").parse().unwrap();
            let end = client.connect(ConnectionTarget::new(url), &CancellationToken::new()).await;
            assert!(matches!(end, Err(Error::Blocked(_))), "{host}: {end:?}");
        }
    }
}

#[tokio::test]
async fn what_the_administrator_names_may_be_reached() {
    let server = Server::start(|seen| crate::legacy(seen).unwrap_or_else(|| crate::http::Reply::status(202))).await;
    for entry in ["printer.local".to_owned(), format!("printer.local:{}", server.port), "127.0.0.0/8".to_owned()] {
        let names = Answers::new([vec![Ipv4Addr::LOCALHOST]]);
        let policy = NetworkPolicy::new(&[entry.parse().unwrap()], false, vec![]).with_resolver(names);
        let url = format!("http://printer.local:{}/mcp", server.port).parse().unwrap();
        let client = Client::new(GuardedHttp::new(policy).unwrap());
        client.connect(ConnectionTarget::new(url), &CancellationToken::new()).await.unwrap();
    }
}

fn free_port() -> u16 {
    std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}
