//! Files that users attach, tools return and models generate: stored, served, sent to models, and kept with their
//! chats.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod chats;
mod fixture;
mod generated_images;
mod messages;
mod object_storage;
mod openai_api;
mod results;
mod uploads;
