//! Rule: every crate inherits the workspace's settings, and versions are in the root manifest alone.

use serde::Deserialize;
use toml::{Table, Value};

use super::Source;

/// Settings that each manifest must inherit, with the reason.
const INHERITED_SETTINGS: [(&str, &str); 4] = [
    ("publish", "nothing here is for a registry"),
    ("license", "the project has one licence"),
    ("edition", "the project has one edition"),
    ("rust-version", "the project has one oldest compiler"),
];

/// The parts of a manifest that the rules read.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Manifest {
    package: Table,
    lints: Table,
    workspace: Table,
    dependencies: Table,
    dev_dependencies: Table,
    build_dependencies: Table,
    /// Dependencies for some platforms only.
    target: Table,
}

/// A dependency in a manifest.
pub struct Dependency<'a> {
    pub name: &'a str,
    pub for_tests: bool,
    from_workspace: bool,
}

impl Manifest {
    /// Parses the text of a [`Manifest`].
    pub fn read(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// Returns the name of the package; empty for the root manifest.
    pub fn package_name(&self) -> &str {
        self.package.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns each [`Dependency`], including those for some platforms only.
    pub fn dependencies(&self) -> Vec<Dependency<'_>> {
        let mut sections =
            vec![(&self.dependencies, false), (&self.dev_dependencies, true), (&self.build_dependencies, false)];
        for platform in self.target.values() {
            for (section, for_tests) in
                [("dependencies", false), ("dev-dependencies", true), ("build-dependencies", false)]
            {
                sections.extend(platform.get(section).and_then(Value::as_table).map(|table| (table, for_tests)));
            }
        }
        let all = sections.into_iter().flat_map(|(table, for_tests)| {
            table.iter().map(move |(name, value)| Dependency { name, for_tests, from_workspace: inherits(value) })
        });
        all.collect()
    }
}

pub fn check(files: &[Source]) -> Vec<String> {
    let manifests = files.iter().filter(|file| file.path == "Cargo.toml" || file.path.ends_with("/Cargo.toml"));
    manifests
        .flat_map(|file| match Manifest::read(&file.text) {
            Ok(manifest) if file.path == "Cargo.toml" => check_root(&manifest),
            Ok(manifest) => check_member(&file.path, &manifest),
            Err(error) => vec![format!("{}: {error}", file.path)],
        })
        .collect()
}

/// Checks the root manifest.
fn check_root(manifest: &Manifest) -> Vec<String> {
    let package = manifest.workspace.get("package").and_then(Value::as_table);
    let is = |key: &str, expected: Value| package.and_then(|package| package.get(key)) == Some(&expected);
    if is("publish", false.into()) && is("license", "Apache-2.0".into()) {
        return Vec::new();
    }
    vec!["Cargo.toml: [workspace.package] says `publish = false` and `license = \"Apache-2.0\"`".to_owned()]
}

/// Checks the manifest of a crate.
fn check_member(path: &str, manifest: &Manifest) -> Vec<String> {
    let mut findings = Vec::new();
    for (key, why) in INHERITED_SETTINGS {
        if !manifest.package.get(key).is_some_and(inherits) {
            findings.push(format!("{path}: `{key}.workspace = true` is missing: {why}"));
        }
    }
    if manifest.lints.get("workspace") != Some(&Value::Boolean(true)) {
        findings.push(format!("{path}: `[lints] workspace = true` is missing: one set of lints for all"));
    }
    for dependency in manifest.dependencies().iter().filter(|dependency| !dependency.from_workspace) {
        findings
            .push(format!("{path}: `{}` is not from the workspace: versions are in the root alone", dependency.name));
    }
    findings
}

/// Returns whether a setting is inherited from the workspace.
fn inherits(value: &Value) -> bool {
    value.get("workspace") == Some(&Value::Boolean(true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    const VALID_MANIFEST: &str = "[package]\nname = \"x\"\nedition.workspace = true\nrust-version.workspace = true\n\
        license.workspace = true\npublish.workspace = true\n\n[lints]\nworkspace = true\n\n[dependencies]\n\
        a.workspace = true\nb = { workspace = true, optional = true }\n";

    #[test]
    fn members_inherit_settings_and_versions() {
        let findings = |text: &str| check(&[source("crates/x/Cargo.toml", text)]).len();
        assert_eq!(findings(VALID_MANIFEST), 0);
        assert_eq!(findings(&VALID_MANIFEST.replace("publish.workspace = true\n", "")), 1);
        assert_eq!(findings(&VALID_MANIFEST.replace("[lints]\nworkspace = true\n", "")), 1);
        assert_eq!(findings(&format!("{VALID_MANIFEST}c = \"1\"\n")), 1);
        assert_eq!(
            findings(&format!("{VALID_MANIFEST}\n[target.'cfg(unix)'.dependencies]\nd = {{ version = \"1\" }}\n")),
            1
        );
        assert_eq!(findings(&format!("{VALID_MANIFEST}\n[target.'cfg(unix)'.dependencies]\nd.workspace = true\n")), 0);
        assert_eq!(findings("[package\n"), 1);
    }

    #[test]
    fn root_has_the_licence_and_is_not_published() {
        let findings = |text| check(&[source("Cargo.toml", text)]).len();
        assert_eq!(findings("[workspace.package]\nlicense = \"Apache-2.0\"\npublish = false\n"), 0);
        assert_eq!(findings("[workspace.package]\nlicense = \"Apache-2.0\"\n"), 1);
    }

    #[test]
    fn dependencies_for_tests_are_told_apart() {
        let manifest =
            Manifest::read("[dependencies]\na.workspace = true\n[dev-dependencies]\nb.workspace = true\n").unwrap();
        let kinds: Vec<_> = manifest.dependencies().iter().map(|found| (found.name, found.for_tests)).collect();
        assert_eq!(kinds, [("a", false), ("b", true)]);
    }
}
