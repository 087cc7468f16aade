//! All tests of the server in one program: linking it once takes a fraction of the time of linking one for each file.

mod admin_listener;
mod client_limits;
mod commands;
mod nodes;
mod outages;
mod program;
mod service_manager;
mod traces;
