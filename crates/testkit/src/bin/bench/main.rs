//! Benchmarks of the server against the least that could do the same:
//!
//! - `bench streams` compares its streams with those of a bare relay, with the same scripted model. `bench open` and
//!   `bench resume` run the last parts of it alone.
//! - `bench tools` compares its tool calls with those of the bare protocol library, with the same scripted MCP
//!   server.
//! - `bench history [CHATS [FOLDER]]` measures a long history. The databases are left in the folder for the next run.
//! - `bench nodes` measures two nodes on one database, and `bench cluster` what each thing that users do costs four.
//!
//! Four processes run: the model server, a relay that copies its bytes, the server (the binary next to this one), and
//! this process, which generates the load and is the MCP server. Figures can be compared within a run only, where
//! machine, load and model are the same.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench that cannot go on stops, and prints what it found"
)]

mod cluster;
mod history;
mod load;
mod nodes;
mod open;
mod process;
mod resume;
mod roles;
mod streams;
mod texts;
mod tools;

use tokio::runtime::Builder;

/// Default number of chats for `bench history`.
const DEFAULT_CHATS: usize = 100_000;

fn main() {
    let argument = |at: usize| std::env::args().nth(at);
    let what = argument(1);
    // The relay has threads like the server, and MCP servers and clients must not wait for each other. Processes that
    // only generate load use one thread, which leaves the processors to what is measured.
    let mut runtime = match what.as_deref() {
        Some("model" | "streams" | "open" | "resume" | "nodes") => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    runtime.enable_all().build().unwrap().block_on(measure(what.as_deref(), argument));
}

/// Runs the benchmark of a name, or streams and tools without one.
async fn measure(what: Option<&str>, argument: impl Fn(usize) -> Option<String>) {
    match what {
        Some("model") => roles::model().await,
        Some("relay") => roles::relay(argument(2).unwrap()).await,
        Some("streams") => streams().await,
        Some("open") => open::measure().await,
        Some("resume") => resume::measure().await,
        Some("tools") => tools::compare().await,
        Some("nodes") => nodes::measure().await,
        Some("cluster") => cluster::measure().await,
        Some("history") => {
            let chats = argument(2).map_or(DEFAULT_CHATS, |chats| chats.parse().unwrap());
            history::measure(chats, argument(3).map(Into::into)).await;
        }
        None => {
            streams().await;
            tools::compare().await;
        }
        Some(other) => {
            println!(
                "{other} is not measured; streams (with open and resume), tools, history, nodes and cluster are, and streams \
                 and tools without a word"
            );
        }
    }
}

/// Runs all benchmarks of streams.
async fn streams() {
    streams::compare().await;
    open::measure().await;
    resume::measure().await;
}
