//! Accounts over HTTP, on every database there is.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "auth/absent.rs"]
mod absent;
#[path = "auth/account.rs"]
mod account;
#[path = "auth/admin.rs"]
mod admin;
#[path = "auth/admin_links.rs"]
mod admin_links;
#[path = "auth/anonymous.rs"]
mod anonymous;
#[path = "auth/caller.rs"]
mod caller;
#[path = "auth/factors.rs"]
mod factors;
#[path = "auth/keys.rs"]
mod keys;
#[path = "auth/limits.rs"]
mod limits;
#[path = "auth/mailed.rs"]
mod mailed;
#[path = "auth/protocol.rs"]
mod protocol;
#[path = "auth/refresh.rs"]
mod refresh;
#[path = "auth/sign_in.rs"]
mod sign_in;
#[path = "auth/sign_up.rs"]
mod sign_up;
