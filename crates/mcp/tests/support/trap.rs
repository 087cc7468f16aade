//! A place on this machine where nobody may come.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::task::JoinSet;

/// Counts connections to a port on all addresses of this machine.
pub struct Trap {
    pub port: u16,
    count: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl Trap {
    pub fn new() -> Self {
        // Where there is IPv6, this takes IPv4 as well.
        let listener = TcpListener::bind("[::]:0").or_else(|_| TcpListener::bind("0.0.0.0:0")).unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let (counted, mut tasks) = (count.clone(), JoinSet::new());
        tasks.spawn(async move {
            loop {
                drop(listener.accept().await.unwrap());
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        Self { port, count, _tasks: tasks }
    }

    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}
