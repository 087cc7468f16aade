//! The built-in model: a small language model on this machine's CPU, behind the same events as the model providers.
//!
//! [`Engine`] runs one worker thread. A request waits in a fair queue, is turned into a prompt, and is answered with
//! text or with one tool call that a grammar keeps well formed. A request that ends with tool results is answered
//! from them, or with one more call. Prompts, the decision for a tool and all caches are private to this crate.

mod argument_grounding;
mod argument_question;
mod assistant_prompt;
mod attention;
mod calculation;
mod candidate_scoring;
mod chatml;
mod choice_question;
mod contention;
mod engine;
mod error;
mod few_shot;
mod generation;
mod grammar;
mod help_request;
mod injection_filter;
mod ipc;
mod json_output;
mod known_urls;
mod kv_cache;
mod language;
mod linear;
mod missing_tools;
mod model_config;
mod next_step;
mod no_suitable_tool;
mod output_sink;
mod overview_question;
mod pipeline;
mod prefix_files;
mod prompt;
mod prompt_prefix;
mod question_reply;
mod queue;
mod refusal;
mod repetition;
mod requested_arguments;
mod sampling;
mod schema_cache;
mod story_question;
mod subprocess;
mod subprocess_main;
#[cfg(test)]
mod tests;
mod time_guard;
mod tokenizer;
mod tool_call;
mod tool_decision;
mod tool_list;
mod tool_overview;
mod transformer;
mod weight_release;
pub mod weights;
mod worker;

pub use engine::{Engine, EngineSettings, EngineState};
pub use error::LoadError;
pub use subprocess_main::run_subprocess;
