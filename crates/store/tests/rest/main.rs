//! The data API on SQLite, and on PostgreSQL where `TEST_POSTGRES_URL` names a server that may make databases.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, its helpers too")]

mod files;
mod fixture;
mod literals;
mod questions;
mod strangers;
mod trespass;
mod writes;
