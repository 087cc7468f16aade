//! Every route of the table, with every kind of caller and every kind of invalid request, on all databases.
//!
//! A new route needs an example in `routes/examples.rs` and an operation in the OpenAPI document; the tests report
//! missing ones.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::match_same_arms, reason = "a row a route and a row a class are read one by one")]

mod access;
mod bad_input;
mod caller;
mod examples;
mod fixture;
mod malformed;
mod openapi;
mod transport;
mod unsupported;
