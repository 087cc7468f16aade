//! The auth API over HTTP, on all databases.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod absent;
mod account;
mod admin;
mod admin_links;
mod anonymous;
mod caller;
mod factors;
mod keys;
mod letters;
mod limits;
mod mailed;
mod protocol;
mod refresh;
mod sign_in;
mod sign_up;
mod step_up;
