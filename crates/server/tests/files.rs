//! Files that people attach, that tools give back and that models make: taken, served, sent to models, kept with their
//! chats.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod door;
mod history;
mod messages;
mod pictures;
mod results;
mod scene;
mod uploads;
