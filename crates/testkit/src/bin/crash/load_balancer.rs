//! A load balancer that forwards each connection to the next reachable node.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The load balancer. It stops when it is dropped.
pub struct LoadBalancer {
    port: u16,
    task: JoinHandle<()>,
}

impl LoadBalancer {
    /// Starts in front of these ports of the loopback interface.
    pub async fn start(ports: Vec<u16>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (ports, next) = (Arc::new(ports), Arc::new(AtomicUsize::new(0)));
        #[expect(clippy::disallowed_methods, reason = "it is aborted when the load balancer is dropped")]
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (ports, next) = (Arc::clone(&ports), Arc::clone(&next));
                #[expect(clippy::disallowed_methods, reason = "it ends when either side closes the connection")]
                drop(tokio::spawn(forward(client, ports, next)));
            }
        });
        Self { port, task }
    }

    /// Returns the origin that clients call.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for LoadBalancer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Forwards a connection to the first node that accepts it.
async fn forward(mut client: TcpStream, ports: Arc<Vec<u16>>, next: Arc<AtomicUsize>) {
    for _ in 0..ports.len() {
        let port = ports[next.fetch_add(1, Ordering::Relaxed) % ports.len()];
        if let Ok(mut node) = TcpStream::connect(("127.0.0.1", port)).await {
            // Either side can be killed.
            drop(copy_bidirectional(&mut client, &mut node).await);
            return;
        }
    }
}
