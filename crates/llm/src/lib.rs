//! Speaks to models over HTTP.
//!
//! A [`Client`] asks a [`Provider`] and hands on what the model says as [`domain::model::ModelEvent`]s. Every wire is
//! a pure encoder and a pure decoder behind [`Wire`]; bytes become events in [`sse`] and [`wire`] without any I/O,
//! and `client` is the only part that touches the network. Errors and logs never hold a key or a conversation.

mod client;
mod discretion;
mod fault;
mod provider;
pub mod sse;
pub mod wire;

pub use client::{Client, Settings};
pub use provider::Provider;
pub use wire::Wire;
