//! A person's devices, their whole account as a file, and the end of it, on every database there is.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "account/deletion.rs"]
mod deletion;
#[path = "account/devices.rs"]
mod devices;
#[path = "account/export.rs"]
mod export;
#[path = "account/level.rs"]
mod level;
#[path = "account/visitor.rs"]
mod visitor;
