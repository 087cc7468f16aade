//! The server: the services of the other crates behind one HTTP server.
//!
//! `http` has the route table and calls the services, which `app` builds; nothing imports `http`.

pub mod app;
mod data_folder;
pub mod http;
#[cfg(feature = "local")]
pub mod model_files;
pub mod threads;
mod wiring;
