//! Commands for operators, apart from serving.

pub mod check;
pub mod health;
mod http;
