//! The commands for operators, as processes.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod admin;
mod backup;
mod check;
mod completions;
mod doctor;
mod files;
mod health;
mod manual;
mod reference;
mod rekey;
mod version;
