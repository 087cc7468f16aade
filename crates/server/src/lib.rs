//! The server: accounts, data, turns and tools behind one HTTP server.
//!
//! `http` has the route table. It calls `auth`, `runs` and the crates below, which call the store, the models and the MCP
//! client; nothing imports `http`.

pub mod app;
pub mod auth;
mod data_folder;
pub mod http;
pub mod mail;
#[cfg(feature = "local")]
pub mod model_files;
pub mod threads;
mod wiring;
