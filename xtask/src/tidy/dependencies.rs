//! Rule: licences, banned crates and duplicate crates of the binary. Reads what Cargo has resolved, without network
//! access.

use std::fs;

use super::licences::is_permissive;
use crate::command::run_quiet;
use crate::failure::{Context, Outcome};
use crate::notices;
use crate::npm_packages::{self, NpmPackage};
use crate::workspace::Workspace;

/// Crates that must not be used: there is one TLS library and one cryptography library, both built from source by
/// Cargo alone.
const BANNED_CRATES: [&str; 4] = ["openssl", "openssl-sys", "native-tls", "ring"];

/// Crates whose licence is accepted although it is not permissive, with the reason.
const ACCEPTED_LICENCES: [(&str, &str); 0] = [];

/// Licence of fonts, which may be shipped with a program.
const FONT_LICENCE: &str = "OFL-1.1";

/// Crates of which the binary has several versions because others depend on different ones. A new one is a reason to
/// check what added it; one that is no longer duplicated must be removed from this list.
const DUPLICATED_CRATES: [&str; 17] = [
    "base64",
    "block-buffer",
    "cpufeatures",
    "crypto-common",
    "digest",
    "getrandom",
    "hashbrown",
    "itertools",
    "nom",
    "rand",
    "rand_core",
    "sha2",
    "spin",
    "syn",
    "tower-http",
    "untrusted",
    "winnow",
];

/// A crate of the binary.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Package {
    pub name: String,
    pub version: String,
    /// SPDX expression.
    pub licence: String,
    /// True for crates of this workspace.
    pub is_own: bool,
}

pub fn check(workspace: &Workspace) -> Outcome<Vec<String>> {
    let packages = packages(workspace, &[])?;
    let notices = fs::read_to_string(workspace.root.join(notices::NOTICES_FILE)).context(notices::NOTICES_FILE)?;
    let npm_packages = npm_packages::shipped(workspace)?;
    let unnamed = notices::missing(&notices, &packages, &npm_packages);
    let licences = [licences(&packages), npm_licences(&npm_packages)].concat();
    Ok([licences, banned(&packages), several(&packages), unnamed].concat())
}

/// Returns the crates of the binary on these targets; without targets, on this machine's.
pub fn packages(workspace: &Workspace, targets: &[&str]) -> Outcome<Vec<Package>> {
    let tree = ["tree", "--offline", "--package", "ai-chat-mcp", "--edges", "normal,build", "--prefix", "none"];
    let mut tree = workspace.cargo(&tree);
    tree.args(targets.iter().flat_map(|target| ["--target", *target]));
    let output = run_quiet(tree.args(["--format", "{p}|{l}"]))
        .context("the crates have to be on this machine (`cargo fetch` brings them)")?;
    Ok(read(&output))
}

/// Parses each [`Package`] from the output of `cargo tree`.
pub fn read(tree: &str) -> Vec<Package> {
    let line = |line: &str| {
        let (package, licence) = line.split_once('|')?;
        let (name, version) = package.split_once(" v")?;
        // Cargo names the folder of a crate that comes from no registry.
        let is_own = version.contains("(/");
        let version = version.split_whitespace().next()?.to_owned();
        // Cargo marks packages that it has printed before.
        let licence = licence.trim_end_matches(" (*)").to_owned();
        Some(Package { name: name.to_owned(), version, licence, is_own })
    };
    let mut packages: Vec<Package> = tree.lines().filter_map(line).collect();
    packages.sort();
    // The tree repeats packages; equal versions are the same package.
    packages.dedup();
    packages
}

/// Returns findings for licences that are not permissive.
fn licences(packages: &[Package]) -> Vec<String> {
    let accepted = |name: &str| ACCEPTED_LICENCES.iter().any(|(accepted, _)| *accepted == name);
    let refused = packages.iter().filter(|package| !is_permissive(&package.licence) && !accepted(&package.name));
    refused
        .map(|Package { name, licence, .. }| {
            format!("crate {name} has the licence `{licence}`: the binary is made of permissively licensed crates")
        })
        .collect()
}

/// Returns findings for packages of the web app whose licences are neither permissive nor that of fonts.
fn npm_licences(packages: &[NpmPackage]) -> Vec<String> {
    let is_refused = |package: &&NpmPackage| package.licence != FONT_LICENCE && !is_permissive(&package.licence);
    let refused = packages.iter().filter(is_refused);
    refused
        .map(|NpmPackage { name, licence, .. }| {
            format!("package {name} has the licence `{licence}`: the web app is made of permissively licensed packages")
        })
        .collect()
}

/// Returns findings for banned crates.
fn banned(packages: &[Package]) -> Vec<String> {
    let found = packages.iter().filter(|package| BANNED_CRATES.contains(&package.name.as_str()));
    found
        .map(|Package { name, .. }| format!("crate {name} is in the binary: TLS is rustls over aws-lc alone"))
        .collect()
}

/// Returns findings for new duplicates, and for listed ones that are gone.
fn several(packages: &[Package]) -> Vec<String> {
    let mut twice: Vec<&str> =
        packages.windows(2).filter(|pair| pair[0].name == pair[1].name).map(|pair| pair[0].name.as_str()).collect();
    twice.dedup();
    let new = twice.iter().filter(|name| !DUPLICATED_CRATES.contains(name)).map(|name| {
        format!("crate {name} is in the binary twice: `cargo tree -d -p ai-chat-mcp` shows who brings which version")
    });
    let gone = DUPLICATED_CRATES.iter().filter(|name| !twice.contains(name));
    new.chain(gone.map(|name| format!("crate {name} is in the binary once by now: remove it from DUPLICATED_CRATES")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_read_without_repetitions() {
        let tree = "a v1.0.0|MIT\nb v2.1.0 (proc-macro)|MIT OR Apache-2.0\na v1.0.0|MIT (*)\n\nc v0.1.0 (path+file)|\n";
        let names: Vec<_> =
            read(tree).into_iter().map(|package| (package.name, package.version, package.licence)).collect();
        let expected = [("a", "1.0.0", "MIT"), ("b", "2.1.0", "MIT OR Apache-2.0"), ("c", "0.1.0", "")];
        assert_eq!(names, expected.map(|(name, version, licence)| (name.into(), version.into(), licence.into())));
    }

    #[test]
    fn foreign_licences_banned_and_repeated_crates_are_named() {
        assert_eq!(licences(&read("a v1.0.0|GPL-3.0\nb v1.0.0|MIT")).len(), 1);
        let lock = r#"{ "packages": {
            "node_modules/a": { "license": "MPL-2.0" }, "node_modules/b": { "license": "OFL-1.1" },
            "node_modules/c": { "license": "(MPL-2.0 OR Apache-2.0)" }
        } }"#;
        assert_eq!(npm_licences(&npm_packages::parse(lock).unwrap()).len(), 1);
        assert_eq!(banned(&read("ring v0.17.0|ISC\nopenssl-probe v0.2.2|MIT")).len(), 1);
        let twice = several(&read("new v1.0.0|MIT\nnew v2.0.0|MIT\nnew v3.0.0|MIT"));
        assert_eq!(twice.iter().filter(|finding| finding.contains("crate new is in the binary twice")).count(), 1);
    }
}
