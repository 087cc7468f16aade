//! Accounts over HTTP, on every database there is.
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
