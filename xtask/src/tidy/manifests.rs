//! Every crate says the same about itself, and no version stands twice.

use super::Source;

/// What each manifest takes from the root, and why.
const INHERITED: [(&str, &str); 4] = [
    ("publish.workspace = true", "nothing here is for a registry"),
    ("license.workspace = true", "the project has one licence"),
    ("edition.workspace = true", "the project has one edition"),
    ("rust-version.workspace = true", "the project has one oldest compiler"),
];

/// A dependency as a manifest names it.
pub struct Dependency<'a> {
    pub name: &'a str,
    pub for_tests: bool,
    from_workspace: bool,
}

pub fn check(files: &[Source]) -> Vec<String> {
    files.iter().flat_map(|file| if file.path.ends_with("/Cargo.toml") { member(file) } else { root(file) }).collect()
}

fn root(file: &Source) -> Vec<String> {
    let says = |line: &str| file.text.lines().any(|own| own == line);
    if file.path != "Cargo.toml" || (says("publish = false") && says("license = \"Apache-2.0\"")) {
        return Vec::new();
    }
    vec!["Cargo.toml: [workspace.package] says `publish = false` and `license = \"Apache-2.0\"`".to_owned()]
}

fn member(file: &Source) -> Vec<String> {
    let mut findings = Vec::new();
    for (line, why) in INHERITED {
        if !file.text.lines().any(|own| own == line) {
            findings.push(format!("{}: `{line}` is missing: {why}", file.path));
        }
    }
    if !file.text.contains("[lints]\nworkspace = true") {
        findings.push(format!("{}: `[lints] workspace = true` is missing: one set of lints for all", file.path));
    }
    for dependency in dependencies(&file.text).filter(|dependency| !dependency.from_workspace) {
        let name = dependency.name;
        findings.push(format!("{}: `{name}` is not from the workspace: versions stand in the root alone", file.path));
    }
    findings
}

/// The name of the package in a manifest.
pub fn package_name(manifest: &str) -> &str {
    let name = manifest.lines().find_map(|line| line.strip_prefix("name = "));
    name.unwrap_or_default().trim_matches('"')
}

/// All dependencies of a manifest, one a line, in all its sections.
pub fn dependencies(manifest: &str) -> impl Iterator<Item = Dependency<'_>> {
    let mut section = "";
    manifest.lines().filter_map(move |line| {
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
            return None;
        }
        let (key, value) = line.split_once('=')?;
        if !section.ends_with("dependencies") || line.starts_with('#') {
            return None;
        }
        let name = key.trim().split('.').next()?;
        let from_workspace = key.trim().ends_with(".workspace") || value.contains("workspace = true");
        Some(Dependency { name, for_tests: section.ends_with("dev-dependencies"), from_workspace })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    const GOOD: &str = "[package]\nname = \"x\"\nedition.workspace = true\nrust-version.workspace = true\n\
        license.workspace = true\npublish.workspace = true\n\n[lints]\nworkspace = true\n\n[dependencies]\n\
        a.workspace = true\nb = { workspace = true, optional = true }\n";

    #[test]
    fn members_inherit() {
        let findings = |text: &str| check(&[source("crates/x/Cargo.toml", text)]).len();
        assert_eq!(findings(GOOD), 0);
        assert_eq!(findings(&GOOD.replace("publish.workspace = true\n", "")), 1);
        assert_eq!(findings(&GOOD.replace("[lints]\nworkspace = true\n", "")), 1);
        assert_eq!(findings(&format!("{GOOD}c = \"1\"\n")), 1);
        assert_eq!(findings(&format!("{GOOD}\n[target.'cfg(unix)'.dependencies]\nd = {{ version = \"1\" }}\n")), 1);
    }

    #[test]
    fn the_root_has_the_licence_and_is_not_published() {
        let findings = |text| check(&[source("Cargo.toml", text)]).len();
        assert_eq!(findings("[workspace.package]\nlicense = \"Apache-2.0\"\npublish = false\n"), 0);
        assert_eq!(findings("[workspace.package]\nlicense = \"Apache-2.0\"\n"), 1);
    }

    #[test]
    fn the_kind_of_a_dependency_is_known() {
        let manifest = "[dependencies]\na.workspace = true\n[dev-dependencies]\nb.workspace = true\n";
        let kinds: Vec<_> = dependencies(manifest).map(|found| (found.name, found.for_tests)).collect();
        assert_eq!(kinds, [("a", false), ("b", true)]);
    }
}
