//! Every route of the table, as everybody and with everything that can be wrong with a request, on every database.
//!
//! A new route needs an example in `routes/examples.rs` and an operation in the description; the tests here say so.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::match_same_arms, reason = "a row a route and a row a class are read one by one")]

#[path = "routes/absent.rs"]
mod absent;
#[path = "routes/access.rs"]
mod access;
#[path = "routes/bad_input.rs"]
mod bad_input;
#[path = "routes/caller.rs"]
mod caller;
#[path = "routes/description.rs"]
mod description;
#[path = "routes/examples.rs"]
mod examples;
#[path = "routes/spoilt.rs"]
mod spoilt;
#[path = "routes/transport.rs"]
mod transport;
#[path = "routes/world.rs"]
mod world;
