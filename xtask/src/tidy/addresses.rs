//! Rule: no path of a developer's machine, and no host of a package registry, in any file.

use super::Source;

/// Folders that exist on one machine only, and hosts that a package manager's settings select. Each is split in two,
/// so that this file does not match itself.
const FOREIGN: [(&str, &str, &str); 12] = [
    ("/home", "/", MACHINE),
    ("/Us", "ers/", MACHINE),
    ("/ro", "ot/", MACHINE),
    ("/wo", "rk/", MACHINE),
    ("C:\\U", "sers", MACHINE),
    ("registry", ".npmjs.org", HOST),
    ("registry", ".yarnpkg.com", HOST),
    ("pypi", ".org/", HOST),
    ("files.python", "hosted.org", HOST),
    ("static.", "crates.io", HOST),
    ("index.", "crates.io", HOST),
    ("deb.", "debian.org", HOST),
];

const MACHINE: &str = "a path of one machine works on no other: write it relative to the clone, or from HOME";
const HOST: &str = "which registry serves a package is the user's setting, not the project's";

pub fn check(files: &[Source]) -> Vec<String> {
    // Cargo writes the registry's URL into its lock file whatever registry is used.
    files.iter().filter(|file| file.path != "Cargo.lock").flat_map(check_file).collect()
}

/// Returns the findings in a file.
fn check_file(file: &Source) -> Vec<String> {
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        for (start, end, why) in FOREIGN {
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
