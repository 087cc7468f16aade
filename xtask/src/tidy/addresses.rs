//! Rule: no path of a developer's machine, and no host of a package registry, in any file.

use super::Source;

/// Folders that exist on one machine only, and hosts that a package manager's settings select. Each is split in two,
/// so that this file does not match itself.
const FOREIGN_ADDRESSES: [(&str, &str, &str); 12] = [
    ("/home", "/", MACHINE_PATH_MESSAGE),
    ("/Us", "ers/", MACHINE_PATH_MESSAGE),
    ("/ro", "ot/", MACHINE_PATH_MESSAGE),
    ("/wo", "rk/", MACHINE_PATH_MESSAGE),
    ("C:\\U", "sers", MACHINE_PATH_MESSAGE),
    ("registry", ".npmjs.org", REGISTRY_HOST_MESSAGE),
    ("registry", ".yarnpkg.com", REGISTRY_HOST_MESSAGE),
    ("pypi", ".org/", REGISTRY_HOST_MESSAGE),
    ("files.python", "hosted.org", REGISTRY_HOST_MESSAGE),
    ("static.", "crates.io", REGISTRY_HOST_MESSAGE),
    ("index.", "crates.io", REGISTRY_HOST_MESSAGE),
    ("deb.", "debian.org", REGISTRY_HOST_MESSAGE),
];

const MACHINE_PATH_MESSAGE: &str =
    "a path of one machine works on no other: write it relative to the clone, or from HOME";
const REGISTRY_HOST_MESSAGE: &str = "which registry serves a package is the user's setting, not the project's";

pub fn check(files: &[Source]) -> Vec<String> {
    // Cargo writes the registry's URL into its lock file whatever registry is used.
    files.iter().filter(|file| file.path != "Cargo.lock").flat_map(check_file).collect()
}

/// Returns the findings in a file.
fn check_file(file: &Source) -> Vec<String> {
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        for (start, end, why) in FOREIGN_ADDRESSES {
            let found = line.match_indices(start).any(|(at, _)| line[at + start.len()..].starts_with(end));
            // Within a longer path or URL, the same letters have another meaning.
            let alone = !why.starts_with("a path") || starts_a_path(line, &format!("{start}{end}"));
            if found && alone {
                findings.push(format!("{}:{number} says `{start}{end}`: {why}", file.path));
            }
        }
    }
    findings
}

/// Returns whether a path starts at one of its occurrences in a line.
fn starts_a_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|before| !(before.is_alphanumeric() || "._-/}~*".contains(before)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    #[test]
    fn finds_machine_paths_and_registry_hosts() {
        let home = format!("open {}/me/x", "/home");
        let host = format!("\"resolved\": \"https://{}/a.tgz\"", ["registry", "npmjs.org"].join("."));
        assert_eq!(check(&[source("a.md", &home)]).len(), 1);
        assert_eq!(check(&[source("package-lock.json", &host)]).len(), 1);
        assert_eq!(check(&[source("Cargo.lock", &host)]).len(), 0);
    }

    #[test]
    fn leaves_paths_inside_others_alone() {
        let (home, work) = ("home", "work");
        for text in [
            format!("src/{home}/page.tsx"),
            format!("~/{work}/notes"),
            format!("https://example.com/{work}/1"),
            format!("the /{home} page"),
        ] {
            assert!(check(&[source("a.ts", &text)]).is_empty(), "{text}");
        }
    }
}
