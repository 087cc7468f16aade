//! A person's devices, their whole account as a file, and the end of it, on every database there is.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod deletion;
mod devices;
mod export;
mod level;
mod visitor;
