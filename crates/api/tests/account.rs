//! Devices, export and deletion of an account, on all databases.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod deletion;
mod devices;
mod export;
mod level;
mod visitor;
