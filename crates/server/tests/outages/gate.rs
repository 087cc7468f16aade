//! A TCP proxy to a database server that can be closed or frozen.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// State of the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Open,
    /// Connections stay open without any data, as with a paused server or a lost network.
    Frozen,
    /// Connections are closed, and no new ones are accepted.
    Shut,
    /// A new turn is committed, and the connection closed without the response.
    LosesCommit,
}

/// Statement in the transaction of a new turn.
const INSERT_TURN: &[u8] = b"INSERT INTO turns";
/// Far more than a commit takes.
const COMMIT_TIME: Duration = Duration::from_millis(500);

/// A TCP proxy on a free port.
pub struct Gate {
    address: SocketAddr,
    way: watch::Sender<Way>,
}

impl Gate {
    /// Starts a proxy to the server of a URL. Returns the proxy and the URL through it.
    pub async fn before(url: &str) -> (Self, String) {
        let target = url.split_once("://").unwrap().1.split(['/', '?']).next().unwrap();
        let target = target.rsplit('@').next().unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let way = watch::Sender::new(Way::Open);
        spawn(relay(listener, address, target.clone(), way.subscribe()));
        (Self { address, way }, url.replacen(&target, &address.to_string(), 1))
    }

    /// Sets the state.
    pub fn is(&self, way: Way) {
        self.way.send_replace(way);
    }

    /// Returns the proxy's address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

#[expect(clippy::disallowed_methods, reason = "it ends with the gate")]
fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    drop(tokio::spawn(work));
}

async fn relay(listener: TcpListener, address: SocketAddr, target: String, mut way: watch::Receiver<Way>) {
    let mut listener = Some(listener);
    loop {
        let Some(open) = &listener else {
            if way.wait_for(|way| *way != Way::Shut).await.is_err() {
                return;
            }
            listener = Some(TcpListener::bind(address).await.unwrap());
            continue;
        };
        tokio::select! {
            changed = way.changed() => match changed {
                Ok(()) if *way.borrow_and_update() == Way::Shut => listener = None,
                Ok(()) => {}
                Err(_) => return,
            },
            accepted = open.accept() => {
                let (inner, outer) = (accepted.unwrap().0, target.clone());
                let (up, down, commits) = (way.clone(), way.clone(), watch::Sender::new(false));
                let mut end = way.clone();
                spawn(async move {
                    let Ok(server) = TcpStream::connect(outer).await else { return };
                    let ((mut read, mut write), (mut from, mut to)) = (inner.into_split(), server.into_split());
                    tokio::select! {
                        () = carry_to_server(&mut read, &mut to, up, &commits) => {}
                        () = carry(&mut from, &mut write, down, commits.subscribe()) => {}
                        _ = end.wait_for(|way| *way == Way::Shut) => {}
                    }
                });
            }
        }
    }
}

/// Carries requests. Reports in `commits` that the next response is lost, and returns when the commit has taken place.
async fn carry_to_server(
    from: &mut (impl AsyncReadExt + Unpin),
    to: &mut (impl AsyncWriteExt + Unpin),
    mut way: watch::Receiver<Way>,
    commits: &watch::Sender<bool>,
) {
    let contains = |data: &[u8], text: &[u8]| data.windows(text.len()).any(|window| window == text);
    let mut buffer = vec![0; 64 * 1024];
    let mut begins_turn = false;
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let data = &buffer[..read];
        begins_turn |= contains(data, INSERT_TURN);
        let is_lost = *way.borrow() == Way::LosesCommit && begins_turn && contains(data, b"COMMIT");
        commits.send_replace(is_lost);
        if way.wait_for(|way| *way != Way::Frozen).await.is_err() || to.write_all(data).await.is_err() {
            return;
        }
        if is_lost {
            tokio::time::sleep(COMMIT_TIME).await;
            return;
        }
    }
}

/// Carries responses, except those to a lost commit.
async fn carry(
    from: &mut (impl AsyncReadExt + Unpin),
    to: &mut (impl AsyncWriteExt + Unpin),
    mut way: watch::Receiver<Way>,
    mut commits: watch::Receiver<bool>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let is_passed = commits.wait_for(|is_lost| !is_lost).await.is_ok();
        if !is_passed
            || way.wait_for(|way| *way != Way::Frozen).await.is_err()
            || to.write_all(&buffer[..read]).await.is_err()
        {
            return;
        }
    }
}
