//! Files that users attach, tools return and models generate: stored, served, sent to models, and kept with their
//! chats.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod door;
mod history;
mod messages;
mod pictures;
mod results;
mod scene;
mod uploads;
