//! Packages of the web app whose code, styles or fonts are in the product.

use std::collections::BTreeMap;
use std::fs;

use serde::Deserialize;

use crate::failure::{Context, Failure, Outcome};
use crate::workspace::Workspace;

const LOCK_FILE: &str = "package-lock.json";
/// Build tools that add code of their own to what they build: loaders of modules, and base styles.
const TOOLS_IN_THE_BUILD: [&str; 3] = ["rolldown", "tailwindcss", "vite"];
/// Licences of packages that name none in their `package.json`, by their licence file.
const UNNAMED_LICENCES: [(&str, &str); 1] = [("khroma", "MIT")];

/// A package whose content is shipped.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NpmPackage {
    pub name: String,
    pub version: String,
    /// SPDX expression.
    pub licence: String,
    /// Folder, from that of the web app.
    pub folder: String,
    /// Checksum of the package, as in the lock file: the algorithm and base64.
    pub integrity: String,
}

/// The lock file.
#[derive(Deserialize)]
struct PackageLock {
    packages: BTreeMap<String, LockedPackage>,
}

/// Entry of a package in the lock file.
#[derive(Deserialize)]
struct LockedPackage {
    #[serde(default)]
    version: String,
    #[serde(default)]
    license: String,
    #[serde(default)]
    integrity: String,
    #[serde(default)]
    dev: bool,
    #[serde(default)]
    optional: bool,
    #[serde(default, rename = "devOptional")]
    dev_optional: bool,
}

/// Returns the packages by name and version.
pub fn shipped(workspace: &Workspace) -> Outcome<Vec<NpmPackage>> {
    parse(&fs::read_to_string(workspace.web().join(LOCK_FILE)).context(LOCK_FILE)?)
}

/// Parses the lock file.
pub fn parse(lock: &str) -> Outcome<Vec<NpmPackage>> {
    let lock: PackageLock = serde_json::from_str(lock).context(LOCK_FILE)?;
    let mut packages = Vec::new();
    for (folder, package) in lock.packages {
        let Some((_, name)) = folder.rsplit_once("node_modules/") else { continue };
        let is_development = package.dev || package.optional || package.dev_optional;
        if is_development && !TOOLS_IN_THE_BUILD.contains(&name) {
            continue;
        }
        let unnamed = UNNAMED_LICENCES.iter().find(|(unnamed, _)| *unnamed == name).map(|(_, licence)| *licence);
        let licence = Some(package.license).filter(|licence| !licence.is_empty()).or(unnamed.map(str::to_owned));
        let licence = licence.ok_or_else(|| Failure::new(format!("package {name} of the web app names no licence")))?;
        let (name, version, integrity) = (name.to_owned(), package.version, package.integrity);
        packages.push(NpmPackage { name, version, licence, folder, integrity });
    }
    packages.sort();
    packages.dedup_by(|one, other| (&one.name, &one.version) == (&other.name, &other.version));
    Ok(packages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selects_shipped_packages_and_tools_in_the_build() {
        let lock = r#"{ "packages": {
            "": {},
            "node_modules/c/node_modules/d": { "version": "2.0.0", "license": "ISC" },
            "node_modules/@a/b": { "version": "1.0.0", "license": "MIT", "integrity": "sha512-AA==" },
            "node_modules/f/node_modules/d": { "version": "2.0.0", "license": "ISC" },
            "node_modules/khroma": { "version": "2.1.0" },
            "node_modules/vite": { "version": "8.0.0", "license": "MIT", "dev": true },
            "node_modules/e": { "version": "3.0.0", "license": "MIT", "dev": true }
        } }"#;
        let packages = parse(lock).unwrap();
        let named = packages.iter().map(|package| (package.name.as_str(), package.licence.as_str()));
        assert_eq!(named.collect::<Vec<_>>(), [("@a/b", "MIT"), ("d", "ISC"), ("khroma", "MIT"), ("vite", "MIT")]);
        assert_eq!(
            packages[0],
            NpmPackage {
                name: "@a/b".into(),
                version: "1.0.0".into(),
                licence: "MIT".into(),
                folder: "node_modules/@a/b".into(),
                integrity: "sha512-AA==".into(),
            }
        );
    }

    #[test]
    fn rejects_packages_without_licence() {
        let failure = parse(r#"{ "packages": { "node_modules/a": { "version": "1.0.0" } } }"#).unwrap_err();
        assert_eq!(failure.to_string(), "package a of the web app names no licence");
    }
}
