//! The server: accounts, data, turns and tools behind one HTTP server.
//!
//! `http` has the route table. It calls `auth`, `runs` and the crates below, which call the store, the models and the MCP
//! client; nothing imports `http`.

mod account_deletion;
pub mod app;
pub mod auth;
pub mod chats;
mod cluster_handler;
mod data_folder;
pub mod door;
pub mod files;
pub mod http;
pub mod mail;
pub mod models;
pub mod runs;
pub mod threads;
pub mod tools;
mod wiring;
