//! Bytes between nodes and users, and between nodes and the database.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use reqwest::Url;
use tokio::process::Command;

use crate::process::Process;

/// Time between two readings. A connection that closes loses what it carried since the last one.
const READ_INTERVAL: Duration = Duration::from_secs(1);

/// Bytes of the nodes' connections.
///
/// The kernel counts them for each TCP connection, and `ss` prints the counts. A proxy that counts would itself take
/// processor time and delay what is measured, and the counters of a network interface would include the model and the MCP
/// servers. The counts are without headers of TCP and IP, and nothing is encrypted here.
pub struct Traffic {
    /// Process ids of the nodes. `psql` has connections to the database, too.
    nodes: Vec<String>,
    /// Ends of the addresses of the nodes and of the database.
    node_ports: Vec<String>,
    database_port: String,
    /// Last counts of each connection, by its id in the kernel.
    connections: Mutex<HashMap<String, [f64; 4]>>,
}

impl Traffic {
    pub fn new(nodes: &[Process], database: &str) -> Self {
        let port = |url: &str| format!(":{}", Url::parse(url).unwrap().port().unwrap());
        Self {
            nodes: nodes.iter().map(|node| format!("pid={},", node.id())).collect(),
            node_ports: nodes.iter().map(|node| port(&node.url)).collect(),
            database_port: port(database),
            connections: Mutex::default(),
        }
    }

    /// Reads the counts again and again.
    pub async fn watch(&self) {
        loop {
            self.read().await;
            tokio::time::sleep(READ_INTERVAL).await;
        }
    }

    /// Returns the bytes so far: from users, to users, from the database, and to the database.
    pub async fn count(&self) -> [f64; 4] {
        self.read().await;
        let connections = self.connections.lock().unwrap();
        connections.values().fold([0.0; 4], |sum, counts| std::array::from_fn(|index| sum[index] + counts[index]))
    }

    async fn read(&self) {
        // A line for each TCP connection, with the process, the id and the counts.
        let output = Command::new("ss").arg("-tinpeHO").output().await.unwrap();
        assert!(
            output.status.success(),
            "`ss` of the package iproute2 failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let printed = String::from_utf8(output.stdout).unwrap();
        self.connections.lock().unwrap().extend(printed.lines().filter_map(|line| self.connection(line)));
    }

    /// Returns id and counts of a connection of a node to a user or to the database.
    fn connection(&self, line: &str) -> Option<(String, [f64; 4])> {
        if !self.nodes.iter().any(|node| line.contains(node)) {
            return None;
        }
        let fields: Vec<&str> = line.split_whitespace().collect();
        let value = |name: &str| fields.iter().find_map(|field| field.strip_prefix(name));
        // Left out while it is 0.
        let bytes = |name: &str| value(name).map_or(0.0, |bytes| bytes.parse().unwrap());
        let (received, sent) = (bytes("bytes_received:"), bytes("bytes_sent:"));
        let (own, peer) = (fields[3], fields[4]);
        let counts = if self.node_ports.iter().any(|port| own.ends_with(port)) {
            [received, sent, 0.0, 0.0]
        } else if peer.ends_with(&self.database_port) {
            [0.0, 0.0, received, sent]
        } else {
            return None;
        };
        Some((value("sk:")?.to_owned(), counts))
    }
}
