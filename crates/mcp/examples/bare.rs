//! The protocol library alone, to compare figures with: `bare <url> <tool> <calls> <connections>`. It lists the tools,
//! calls one so often, one call after the other, holds so many connections, and prints what that cost as JSON.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "it only measures, and prints what it found")]

use std::time::Instant;

use rmcp::model::CallToolRequestParams;
use rmcp::serve_client;
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransport;
use serde_json::json;

async fn connect(url: &str) -> RunningService<RoleClient, ()> {
    let wire = StreamableHttpClientTransport::from_uri(url);
    serve_client((), wire).await.unwrap()
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, url, tool, calls, connections] = arguments.as_slice() else { return };
    let (calls, connections): (usize, usize) = (calls.parse().unwrap(), connections.parse().unwrap());
    let began = Instant::now();
    let one = connect(url).await;
    let connected = began.elapsed();
    let began = Instant::now();
    let tools = one.list_all_tools().await.unwrap().len();
    let listed = began.elapsed();
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let began = Instant::now();
        one.call_tool(CallToolRequestParams::new(tool.clone())).await.unwrap();
        times.push(began.elapsed().as_secs_f64() * 1000.0);
    }
    let before = memory();
    let mut held = Vec::with_capacity(connections);
    for _ in 0..connections {
        let connection = connect(url).await;
        connection.list_all_tools().await.unwrap();
        held.push(connection);
    }
    let memory = memory() - before;
    let said = json!({
        "connectMs": connected.as_secs_f64() * 1000.0, "listMs": listed.as_secs_f64() * 1000.0, "tools": tools,
        "callsMs": times, "heldKb": memory,
    });
    println!("{said}");
}

/// Kilobytes in memory.
fn memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
