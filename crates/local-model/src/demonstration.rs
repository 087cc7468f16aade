//! Tools for tests and demonstrations, such as those of a reference server: they are not for requests of everyday life.

use domain::model::ToolSpec;

use crate::language::words;

/// Words with which such a tool describes itself.
const SELF_DESCRIPTIONS: [&str; 12] = [
    "demonstrates",
    "demonstrate",
    "demonstration",
    "demonstrating",
    "demo",
    "simulates",
    "simulated",
    "simulate",
    "dummy",
    "mock",
    "placeholder",
    "testing",
];

/// Words of names that say nothing about what a tool is for.
const GENERAL_NAME_WORDS: [&str; 16] = [
    "get",
    "set",
    "run",
    "start",
    "trigger",
    "toggle",
    "simulate",
    "simulated",
    "demo",
    "test",
    "tests",
    "example",
    "sample",
    "mock",
    "do",
    "tool",
];

/// Returns whether a tool describes itself as a test or a demonstration.
fn is_demonstration(tool: &ToolSpec) -> bool {
    words(&tool.description).iter().any(|word| SELF_DESCRIPTIONS.contains(&word.as_str()))
}

/// Returns whether a tool can be meant by a message that does not name it: if it is a demonstration, only when the
/// message has at least half of the words of its name.
pub(crate) fn may_be_meant(tool: &ToolSpec, message: &str) -> bool {
    if !is_demonstration(tool) {
        return true;
    }
    let name = words(&tool.name.replace('_', " "));
    let name: Vec<&String> = name.iter().filter(|word| !GENERAL_NAME_WORDS.contains(&word.as_str())).collect();
    let message = words(message);
    let found = name.iter().filter(|word| message.contains(**word)).count();
    found > 0 && found * 2 >= name.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, description: &str) -> ToolSpec {
        ToolSpec { name: name.to_owned(), description: description.to_owned(), input_schema: json!({}) }
    }

    #[test]
    fn demonstrations_must_be_meant() {
        let long =
            tool("trigger-long-running-operation", "Demonstrates a long running operation with progress updates.");
        assert!(!may_be_meant(&long, "Can you help me plan a birthday party?"));
        assert!(!may_be_meant(&long, "How long is the Nile?"));
        assert!(may_be_meant(&long, "Start a long running operation"));
        let research = tool("simulate-research-query", "Simulates a deep research operation.");
        assert!(may_be_meant(&research, "Do some research on solar sails"));
        assert!(!may_be_meant(&research, "Tell me about solar sails"));
    }

    #[test]
    fn other_tools_can_always_be_meant() {
        assert!(may_be_meant(&tool("send_mail", "Sends an email."), "Tell Anna that I am late"));
        assert!(may_be_meant(&tool("run_tests", "Runs the tests of a project."), "Is the build green?"));
    }
}
