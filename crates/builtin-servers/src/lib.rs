//! The built-in MCP servers: the toolbox, and Google Drive with the calling user's own authorisation.
//!
//! This crate has their tools. The protocol over HTTP is in the server's `http::mcp_servers`.

pub mod google_drive;
pub mod toolbox;

mod server;

pub use google_drive::GoogleDrive;
pub use server::{BuiltinServer, BuiltinServers};
