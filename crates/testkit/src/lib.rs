//! Support for tests and benchmarks: the application on a free port with its own database ([`TestApp`]), users who
//! call it ([`Person`]), and scripted model and MCP servers ([`ScriptedModel`], [`ScriptedMcp`], [`StatefulMcp`]).
//!
//! SQLite is always available, PostgreSQL if `TEST_POSTGRES_URL` names a server on which databases can be created.
//! [`TestApp::start`] uses the kind that the variable `TEST_DB` names (`sqlite` or `postgres`), or SQLite.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test kit fails by panicking")]

mod app;
mod background;
mod database;
mod mcp_server;
mod model;
mod otlp_collector;
mod page_events;
mod person;
mod pooler;
mod requests;
mod s3_server;
mod sse;
mod stateful_mcp_server;

pub use app::{Builder, MockClock, TestApp, client_without_pool, http_client};
pub use background::Background;
pub use database::{Database, databases, run_sql};
pub use mcp_server::{CallAnswer, ScriptedMcp};
pub use model::{ScriptedModel, Step};
pub use otlp_collector::{OtlpCollector, ReceivedSpan};
pub use page_events::PageEvents;
pub use person::Person;
pub use pooler::Pooler;
pub use requests::{new_turn, send_message, temporary_error};
pub use s3_server::{S3Failure, S3Server};
pub use sse::{StreamEvent, events_of};
pub use stateful_mcp_server::{SimulatedFailure, StatefulMcp};
