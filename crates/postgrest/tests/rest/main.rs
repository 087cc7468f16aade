//! Tests of the data API on SQLite, and on PostgreSQL if `TEST_POSTGRES_URL` names a server on which databases may be
//! created.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, its helpers too")]

mod deleted_chats;
mod files;
mod fixture;
mod literals;
mod questions;
mod strangers;
mod trespass;
mod writes;
