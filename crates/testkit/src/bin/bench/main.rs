//! What the program costs beside the least that would do: its answers beside a bare relay, with the same scripted model
//! (`bench streams` is only that; `open` and `resume` are its last parts alone); its calls of tools beside the bare
//! protocol library, with the same scripted server (`bench tools`); what a long history costs (`bench history`, with how
//! many chats, and a folder in which the databases are kept for the next time); what several nodes cost (`bench nodes`).
//!
//! Three processes besides this one: the model server, a relay that copies its bytes, and the program itself (the
//! binary beside this one). This process is the load, and the MCP server. Figures of one run are compared with each other and with nothing
//! else: the machine, the load and the model are the same for both.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench that cannot go on stops, and prints what it found"
)]

mod history;
mod load;
mod nodes;
mod open;
mod process;
mod resume;
mod roles;
mod streams;
mod tools;

use tokio::runtime::Builder;

/// Chats of the database with a long history.
const CHATS: usize = 100_000;

fn main() {
    let argument = |at: usize| std::env::args().nth(at);
    let what = argument(1);
    // The relay has threads as the program has, and MCP servers and their clients do not wait for each other. What only asks and
    // answers, many thousand times a second, takes less of the processors with one: they are for what is measured.
    let mut runtime = match what.as_deref() {
        Some("model" | "streams" | "open" | "resume" | "nodes") => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    runtime.enable_all().build().unwrap().block_on(measure(what.as_deref(), argument));
}

async fn measure(what: Option<&str>, argument: impl Fn(usize) -> Option<String>) {
    match what {
        Some("model") => roles::model().await,
        Some("relay") => roles::relay(argument(2).unwrap()).await,
        Some("streams") => streams().await,
        Some("open") => open::measure().await,
        Some("resume") => resume::measure().await,
        Some("tools") => tools::compare().await,
        Some("nodes") => nodes::measure().await,
        Some("history") => {
            let chats = argument(2).map_or(CHATS, |chats| chats.parse().unwrap());
            history::measure(chats, argument(3).map(Into::into)).await;
        }
        None => {
            streams().await;
            tools::compare().await;
        }
        Some(other) => {
            println!(
                "{other} is not measured; streams (with open and resume), tools, history and nodes are, and streams and \
                 tools without a word"
            );
        }
    }
}

async fn streams() {
    streams::compare().await;
    open::measure().await;
    resume::measure().await;
}
