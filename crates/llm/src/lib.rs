//! Client for model providers over HTTP.
//!
//! A [`Client`] sends a [`domain::model::Request`] to a [`Provider`] and streams the response as
//! [`domain::model::ModelEvent`]s. Each [`ProviderApi`] has a pure encoder and a pure decoder: [`sse`] and
//! [`providers`] turn bytes into events without any I/O, and `client` is the only module that uses the network.
//! Errors and logs never contain an API key or text of a conversation.

mod client;
mod error_mapping;
pub mod providers;
mod redaction;
pub mod sse;
pub mod transcription;

pub use client::{Client, ClientSettings};
pub use providers::{Provider, ProviderApi};
