//! Repository rules that no compiler enforces. Each rule is a function of the repository's files, and each finding
//! has the reason of its rule.

mod addresses;
mod boundaries;
mod coverage;
pub mod dependencies;
mod disabled_tests;
pub mod frozen_migrations;
mod length;
mod licences;
mod links;
mod logs;
mod manifests;
mod messages;
mod migrations;
mod test_modules;

use std::fs;
use std::process::Command;

use crate::command::run_quiet;
use crate::failure::{Context, Failure, Outcome};
use crate::workspace::Workspace;

/// A text file that git tracks or would track.
struct Source {
    /// Path from the repository's root, with forward slashes.
    path: String,
    text: String,
}

/// A rule, which returns its findings.
type Rule = fn(&[Source]) -> Vec<String>;

/// Applies each [`Rule`].
///
/// # Errors
///
/// Lists all findings.
pub fn tidy(workspace: &Workspace) -> Outcome {
    let files = sources(workspace)?;
    let rules: [Rule; 11] = [
        addresses::check,
        boundaries::words,
        boundaries::crates,
        coverage::check,
        length::check,
        logs::check,
        manifests::check,
        messages::check,
        migrations::check,
        disabled_tests::check,
        test_modules::check,
    ];
    let mut findings: Vec<String> = rules.iter().flat_map(|rule| rule(&files)).collect();
    findings.extend(links::check(workspace, &files));
    findings.extend(frozen_migrations::check(workspace)?);
    // Not a rule over files: it needs what Cargo has resolved.
    findings.extend(dependencies::check(workspace)?);
    if findings.is_empty() {
        return Ok(());
    }
    let (number, list) = (findings.len(), findings.join("\n  "));
    Err(Failure::new(format!("{number} findings against the repository's rules:\n  {list}")))
}

/// Reads each text file of the repository as a [`Source`].
fn sources(workspace: &Workspace) -> Outcome<Vec<Source>> {
    let mut git = Command::new("git");
    // The repository can belong to another user than the one who runs the check.
    git.arg("-c").arg(format!("safe.directory={}", workspace.root.display())).current_dir(&workspace.root);
    let listed = run_quiet(git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"]))
        .context("the rules look at the files that git knows")?;
    let read = |path: &str| {
        // Binary files, and files that are deleted but not yet committed, have no lines to check.
        let text = fs::read_to_string(workspace.root.join(path)).ok()?;
        Some(Source { path: path.to_owned(), text })
    };
    Ok(listed.split_terminator('\0').filter_map(read).collect())
}

impl Source {
    /// Returns whether the file has one of these extensions.
    fn is(&self, extensions: &[&str]) -> bool {
        self.path.rsplit_once('.').is_some_and(|(_, extension)| extensions.contains(&extension))
    }

    /// Returns whether the file is in a folder.
    fn is_within(&self, folder: &str) -> bool {
        self.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }

    /// Returns the lines with their numbers, from 1.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

#[cfg(test)]
fn source(path: &str, text: &str) -> Source {
    Source { path: path.to_owned(), text: text.to_owned() }
}
