//! `cargo xtask notices`: writes the list of third-party components that the product contains.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use serde::Deserialize;

use crate::failure::{Context, Outcome};
use crate::tidy::dependencies::{Package, packages};
use crate::workspace::Workspace;

/// File of the notices.
pub const NOTICES_FILE: &str = "THIRD-PARTY.md";

/// Platforms whose crates are listed.
const TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

const INTRODUCTION: &str = "\
# Third-party components

AI Chat MCP is licensed under the [Apache License 2.0](LICENSE). It contains the components below under their own
licences. `cargo xtask notices` writes this file; `cargo xtask tidy` checks that it names every crate of the binary. The
text of a licence is in the package of its component.

## Fonts

| font | licence |
|---|---|
| Geist, Geist Mono | OFL-1.1 |

## Model weights

They are downloaded, not part of the binary.

| model | licence |
|---|---|
| Qwen2.5-Coder-1.5B-Instruct, the built-in model | Apache-2.0 |
| SmolLM2-135M-Instruct, for tests | Apache-2.0 |
";

/// The lock file of the web app's packages.
#[derive(Deserialize)]
struct PackageLock {
    packages: BTreeMap<String, NpmPackage>,
}

/// Entry of a package in the lock file.
#[derive(Deserialize)]
struct NpmPackage {
    #[serde(default)]
    version: String,
    #[serde(default)]
    license: String,
    #[serde(default)]
    dev: bool,
    #[serde(default)]
    optional: bool,
    #[serde(default, rename = "devOptional")]
    dev_optional: bool,
}

/// Writes the notices.
///
/// # Errors
///
/// Fails if the dependencies cannot be read or the file cannot be written.
pub fn command(workspace: &Workspace) -> Outcome {
    let crates = packages(workspace, &TARGETS)?;
    let lock = fs::read_to_string(workspace.web().join("package-lock.json")).context("package-lock.json")?;
    let lock: PackageLock = serde_json::from_str(&lock).context("package-lock.json")?;
    fs::write(workspace.root.join(NOTICES_FILE), notices(&crates, &lock)).context(NOTICES_FILE)
}

/// Returns the text of the notices.
fn notices(crates: &[Package], lock: &PackageLock) -> String {
    let mut text = INTRODUCTION.to_owned();
    text.push_str("\n## Crates\n\n| crate | version | licence |\n|---|---|---|\n");
    for Package { name, version, licence, .. } in crates.iter().filter(|package| !package.is_own) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {name} | {version} | {licence} |");
    }
    text.push_str("\n## Packages of the web app\n\n| package | version | licence |\n|---|---|---|\n");
    let shipped = |package: &NpmPackage| !package.dev && !package.optional && !package.dev_optional;
    for (path, NpmPackage { version, license, .. }) in lock.packages.iter().filter(|(_, package)| shipped(package)) {
        let Some((_, name)) = path.rsplit_once("node_modules/") else { continue };
        let _ = writeln!(text, "| {name} | {version} | {license} |");
    }
    text
}

/// Returns findings for crates that the notices do not name.
pub fn missing(notices: &str, crates: &[Package]) -> Vec<String> {
    let is_named = |package: &&Package| {
        package.is_own
            || notices.contains(&format!("\n| {} | {} | {} |\n", package.name, package.version, package.licence))
    };
    let unnamed = crates.iter().filter(|package| !is_named(package));
    unnamed
        .map(|Package { name, version, .. }| {
            format!("{NOTICES_FILE} does not name crate {name} {version}: `cargo xtask notices` writes it")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::dependencies::read;

    #[test]
    fn lists_crates_and_shipped_packages() {
        let lock = r#"{ "packages": {
            "": {},
            "node_modules/@a/b": { "version": "1.0.0", "license": "MIT" },
            "node_modules/c/node_modules/d": { "version": "2.0.0", "license": "ISC" },
            "node_modules/e": { "version": "3.0.0", "license": "MIT", "dev": true }
        } }"#;
        let crates = read("one v1.2.3|MIT\nserver v0.1.0 (/somewhere)|Apache-2.0\n");
        let text = notices(&crates, &serde_json::from_str(lock).unwrap());
        assert!(text.contains("\n| one | 1.2.3 | MIT |\n"), "{text}");
        assert!(text.ends_with("|\n| @a/b | 1.0.0 | MIT |\n| d | 2.0.0 | ISC |\n"), "{text}");
        assert!(!text.contains("server"), "{text}");
        assert_eq!(missing(&text, &crates), Vec::<String>::new());
        assert_eq!(missing(&text, &read("one v1.2.4|MIT")).len(), 1);
    }
}
