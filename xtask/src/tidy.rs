//! The rules of the house that no compiler holds. Each rule is a function over the files of the clone, and
//! each finding says why the rule stands.

mod addresses;
mod boundaries;
mod coverage;
mod dependencies;
mod length;
mod licences;
mod manifests;
mod messages;
mod migrations;
mod switched_off;
mod test_modules;

use std::fs;
use std::process::Command;

use crate::command::run_quiet;
use crate::failure::{Context, Failure, Outcome};
use crate::workspace::Workspace;

/// A text file that git tracks or would track.
struct Source {
    /// From the root of the clone, with forward slashes.
    path: String,
    text: String,
}

/// Looks at the files and says what is against it.
type Rule = fn(&[Source]) -> Vec<String>;

/// Applies every rule; the failure lists every finding.
pub fn tidy(workspace: &Workspace) -> Outcome {
    let files = sources(workspace)?;
    let rules: [Rule; 10] = [
        addresses::check,
        boundaries::words,
        boundaries::crates,
        coverage::check,
        length::check,
        manifests::check,
        messages::check,
        migrations::check,
        switched_off::check,
        test_modules::check,
    ];
    let mut findings: Vec<String> = rules.iter().flat_map(|rule| rule(&files)).collect();
    findings.extend(dependencies::check(workspace)?);
    if findings.is_empty() {
        return Ok(());
    }
    let (number, list) = (findings.len(), findings.join("\n  "));
    Err(Failure::new(format!("{number} findings against the rules of the house, mend them:\n  {list}")))
}

fn sources(workspace: &Workspace) -> Outcome<Vec<Source>> {
    let mut git = Command::new("git");
    // The clone may belong to another user than the one who checks it.
    git.arg("-c").arg(format!("safe.directory={}", workspace.root.display())).current_dir(&workspace.root);
    let listed = run_quiet(git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"]))
        .context("the rules look at the files that git knows")?;
    let read = |path: &str| {
        // What is no text (pictures, fonts), and what is deleted and not yet committed, has no lines to look at.
        let text = fs::read_to_string(workspace.root.join(path)).ok()?;
        Some(Source { path: path.to_owned(), text })
    };
    Ok(listed.split_terminator('\0').filter_map(read).collect())
}

impl Source {
    fn is(&self, extensions: &[&str]) -> bool {
        self.path.rsplit_once('.').is_some_and(|(_, extension)| extensions.contains(&extension))
    }

    fn is_within(&self, folder: &str) -> bool {
        self.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }

    /// Numbered lines, from 1.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

#[cfg(test)]
fn source(path: &str, text: &str) -> Source {
    Source { path: path.to_owned(), text: text.to_owned() }
}
