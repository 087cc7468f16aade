//! `cargo xtask notices`: writes the list of third-party components that the product contains.

use std::fmt::Write as _;
use std::fs;

use crate::failure::{Context, Outcome};
use crate::npm_packages::{self, NpmPackage};
use crate::tidy::dependencies::{Package, packages};
use crate::workspace::Workspace;

/// File of the notices.
pub const NOTICES_FILE: &str = "THIRD-PARTY.md";

/// Platforms whose crates are listed.
pub const TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

const INTRODUCTION: &str = "\
# Third-party components

AI Chat MCP is licensed under the [Apache License 2.0](LICENSE). It contains the components below under their own
licences. `cargo xtask notices` writes this file; `cargo xtask tidy` checks that it is complete. The texts of
the licences are in `THIRD-PARTY-LICENSES.txt` of each release.

## Fonts

| font | licence |
|---|---|
| Geist, Geist Mono | OFL-1.1 |

## Data

| data | licence |
|---|---|
| the list of common passwords, from Django | BSD-3-Clause |

## Rust

The binary contains the standard library of Rust: MIT OR Apache-2.0.

## Model weights

They are downloaded, not part of the binary.

| model | licence |
|---|---|
| Qwen2.5-Coder-1.5B-Instruct, the built-in model | Apache-2.0 |
| SmolLM2-135M-Instruct, for tests | Apache-2.0 |
";

/// Writes the notices.
///
/// # Errors
///
/// Fails if the dependencies cannot be read or the file cannot be written.
pub fn command(workspace: &Workspace) -> Outcome {
    let crates = packages(workspace, &TARGETS)?;
    let npm_packages = npm_packages::shipped(workspace)?;
    fs::write(workspace.root.join(NOTICES_FILE), notices(&crates, &npm_packages)).context(NOTICES_FILE)
}

/// Returns the text of the notices.
fn notices(crates: &[Package], npm_packages: &[NpmPackage]) -> String {
    let mut text = INTRODUCTION.to_owned();
    text.push_str("\n## Crates\n\n| crate | version | licence |\n|---|---|---|\n");
    for Package { name, version, licence, .. } in crates.iter().filter(|package| !package.is_own) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {name} | {version} | {licence} |");
    }
    text.push_str("\n## Packages of the web app\n\n| package | version | licence |\n|---|---|---|\n");
    for NpmPackage { name, version, licence, .. } in npm_packages {
        let _ = writeln!(text, "| {name} | {version} | {licence} |");
    }
    text
}

/// Returns findings for crates and packages that the notices do not name.
pub fn missing(notices: &str, crates: &[Package], npm_packages: &[NpmPackage]) -> Vec<String> {
    let crates = crates.iter().filter(|package| !package.is_own);
    let crates = crates.map(|package| (&package.name, &package.version, &package.licence));
    let npm_packages = npm_packages.iter().map(|package| (&package.name, &package.version, &package.licence));
    let unnamed = crates
        .chain(npm_packages)
        .filter(|(name, version, licence)| !notices.contains(&format!("\n| {name} | {version} | {licence} |\n")));
    unnamed
        .map(|(name, version, _)| {
            format!("{NOTICES_FILE} does not name {name} {version}: `cargo xtask notices` writes it")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::dependencies::read;

    #[test]
    fn lists_crates_and_shipped_packages() {
        let lock = r#"{ "packages": { "node_modules/@a/b": { "version": "1.0.0", "license": "MIT" } } }"#;
        let crates = read("one v1.2.3|MIT\nserver v0.1.0 (/somewhere)|Apache-2.0\n");
        let npm_packages = npm_packages::parse(lock).unwrap();
        let text = notices(&crates, &npm_packages);
        assert!(text.contains("\n| one | 1.2.3 | MIT |\n"), "{text}");
        assert!(text.ends_with("|\n| @a/b | 1.0.0 | MIT |\n"), "{text}");
        assert!(!text.contains("server"), "{text}");
        assert_eq!(missing(&text, &crates, &npm_packages), Vec::<String>::new());
        assert_eq!(missing(&text, &read("one v1.2.4|MIT"), &[]).len(), 1);
        let newer = npm_packages::parse(&lock.replace("1.0.0", "1.0.1")).unwrap();
        assert_eq!(missing(&text, &crates, &newer).len(), 1);
    }
}
