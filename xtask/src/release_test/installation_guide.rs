//! The commands of the guide to installation, which the tests run as they are printed.

use std::fs;

use crate::failure::{Context, Failure, Outcome};
use crate::workspace::Workspace;

/// The guide, from the root of the repository and of a tarball.
pub const GUIDE_FILE: &str = "docs/guide/install.md";

/// Returns the commands below the first line of the guide that contains a text.
pub fn commands_after(workspace: &Workspace, text: &str) -> Outcome<String> {
    let guide = fs::read_to_string(workspace.root.join(GUIDE_FILE)).context(GUIDE_FILE)?;
    commands(&guide, text).ok_or_else(|| Failure::new(format!("{GUIDE_FILE} has no commands after \"{text}\"")))
}

/// Returns the first indented block after the line with a text.
fn commands(guide: &str, text: &str) -> Option<String> {
    let mut lines = guide.lines().skip_while(|line| !line.contains(text)).skip(1);
    let first = lines.find(|line| line.starts_with("    "))?;
    let block = std::iter::once(first).chain(lines.take_while(|line| line.starts_with("    ")));
    Some(block.map(str::trim).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_block_after_a_line() {
        let guide = "    zero\n\nInstall it:\n\n    one\n    two\n\n    three\n- **Remove** it:\n\n      four\n";
        assert_eq!(commands(guide, "Install").unwrap(), "one\ntwo");
        assert_eq!(commands(guide, "**Remove**").unwrap(), "four");
        assert_eq!(commands(guide, "Upgrade"), None);
    }
}
