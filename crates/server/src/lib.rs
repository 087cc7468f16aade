//! The server: builds the services of the other crates and serves them through the [`api`].

pub mod app;
pub mod commands;
mod data_folder;
mod digest;
#[cfg(feature = "local")]
pub mod model_files;
mod operator_tools;
mod scheduled_backups;
pub mod service_manager;
pub mod threads;
pub mod version;
mod wiring;
