//! Every route of the table, as everybody and with everything that can be wrong with a request, on every database.
//!
//! A new route needs an example in `routes/examples.rs` and an operation in the description; the tests here say so.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::match_same_arms, reason = "a row a route and a row a class are read one by one")]

mod absent;
mod access;
mod bad_input;
mod caller;
mod description;
mod examples;
mod spoilt;
mod transport;
mod world;
