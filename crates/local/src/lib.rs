//! The built-in model: a small language model on this machine's processor, behind the same events as the wires.
//!
//! [`Engine`] holds one thread. A question waits its turn, is turned into a prompt, and is answered with words or with
//! one tool call that a grammar keeps well formed; a request whose last messages are results of tools is answered
//! with words, or with one more call where it needs one. How a prompt looks, when a tool is called and what is cached is nobody's business outside.

mod again;
mod apart;
mod attention;
mod cache;
mod call;
mod config;
mod crowd;
mod decide;
mod engine;
mod error;
mod facts;
mod forward;
mod grammar;
mod head;
mod json_output;
mod linear;
mod outlet;
mod pattern;
mod prompt;
mod queue;
mod rank;
mod runner;
mod schemas;
mod screen;
mod serve;
mod shed;
mod standing;
#[cfg(test)]
mod tests;
mod tokenizer;
mod tool_list;
mod turn;
mod turns;
pub mod weights;
mod wire;
mod worker;

pub use engine::{Engine, Settings, State};
pub use serve::serve;
